"""Studies of tests by simulation: sizes, powers, and the sample sizes that planned studies need."""
