"""Search of the slices of the data in which predictions are wrong."""
