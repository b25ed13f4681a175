"""Statistics other than sums over pairs, for many redraws at once."""
