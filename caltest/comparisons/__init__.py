"""Comparisons of models, and of the classes of a model: two of them in pairs, or several in a table."""
