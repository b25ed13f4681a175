"""Maps of the probability of one class."""
