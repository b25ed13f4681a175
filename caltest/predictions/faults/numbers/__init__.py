"""Faults of predicted numbers, ensembles and times of events."""
