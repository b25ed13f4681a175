"""Upper bounds of p-values that hold for every n."""
