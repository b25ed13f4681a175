"""Continuous distributions of a number."""
