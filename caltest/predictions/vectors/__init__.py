"""Distributions of vectors."""
