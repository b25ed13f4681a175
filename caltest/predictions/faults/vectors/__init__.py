"""Faults of predicted vectors."""
