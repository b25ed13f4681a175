"""Predictions of classes."""
