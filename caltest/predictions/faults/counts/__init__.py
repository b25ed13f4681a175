"""Faults of predicted counts."""
