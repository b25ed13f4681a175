"""Laws of statistics for many observations."""
