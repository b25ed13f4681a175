"""Proper scores, residuals and likelihood ratios."""
