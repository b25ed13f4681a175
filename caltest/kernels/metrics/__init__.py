"""Distances between predicted distributions."""
