"""Several estimators in one statistic, as in the default test."""
