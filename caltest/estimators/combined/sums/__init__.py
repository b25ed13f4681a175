"""The numbers of the omnibus statistic from sums over rows, for data of any size."""
