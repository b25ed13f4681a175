"""Compiled loops on float64 and integer arrays: no classes, no strings, no validation."""
