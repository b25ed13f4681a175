"""Decompositions of scores, and what confidence misses."""
