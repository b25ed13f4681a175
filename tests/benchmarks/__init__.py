"""Time and memory beside other ways to compute the same numbers: ``python -m tests.benchmarks``."""
