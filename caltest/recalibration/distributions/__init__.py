"""Maps of distributions of numbers and vectors."""
