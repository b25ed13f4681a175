"""Errors measured by bins."""
