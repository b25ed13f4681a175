"""Maps of the probabilities of several classes."""
