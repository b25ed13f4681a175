"""Predicted counts: laws, the window of counts that sums run over, and expectations of kernels."""

from caltest.predictions.counts.expectations import CountPredictions
from caltest.predictions.counts.negative_binomial import NegativeBinomial
from caltest.predictions.counts.poisson import Poisson

__all__ = ["CountPredictions", "NegativeBinomial", "Poisson"]
