"""The named tests: names for pairs of an estimator and a null."""
