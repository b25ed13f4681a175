"""Distributions of scipy.stats and torch.distributions as predictions, without importing either."""
