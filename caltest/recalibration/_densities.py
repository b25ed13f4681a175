"""Logarithms of densities of targets, for families that have powers."""

from typing import Any

import numpy as np

from caltest._types import Array, FloatArray
from caltest.predictions import (
    Beta,
    Gamma,
    Laplace,
    LogNormal,
    MvNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Predictions,
    StudentT,
)


def log_densities(predictions: Predictions, targets: Array) -> FloatArray:
    """``log p_i(y_i)`` with respect to the Lebesgue or the counting measure, (n,)."""
    if isinstance(predictions, MvNormal):
        from scipy.special import xlogy

        z = predictions.standardised(targets)[1]
        sign_and_size = np.linalg.slogdet(_matrices(predictions))
        return np.asarray(
            -0.5 * (np.square(z).sum(axis=1) + sign_and_size[1] + xlogy(predictions.dimension, 2.0 * np.pi))
        )
    law = _law(predictions)
    if isinstance(predictions, (Poisson, NegativeBinomial)):
        return np.asarray(law.logpmf(targets), dtype=np.float64)
    predictions.check_continuous()
    return np.asarray(law.logpdf(targets), dtype=np.float64)


def _matrices(predictions: MvNormal) -> FloatArray:
    """Covariance matrices (n, d, d)."""
    covariance, d = predictions.covariance, predictions.dimension
    if covariance.ndim == 1:
        return covariance[:, None, None] * np.eye(d)
    return covariance[:, :, None] * np.eye(d) if covariance.ndim == 2 else covariance


def _law(predictions: Predictions) -> Any:
    """The frozen distribution of scipy.stats."""
    from scipy import stats

    match predictions:
        case Normal():
            return stats.norm(predictions.mean, predictions.scale)
        case Laplace():
            return stats.laplace(predictions.mean, predictions.scale)
        case StudentT():
            return stats.t(predictions.df, predictions.location, predictions.scale)
        case LogNormal():
            return stats.lognorm(predictions.log_scale, scale=np.exp(predictions.log_mean))
        case Gamma():
            return stats.gamma(predictions.shape_parameter, scale=predictions.scale)
        case Beta():
            return stats.beta(predictions.a, predictions.b)
        case Poisson():
            return stats.poisson(predictions.rate)
        case NegativeBinomial():
            return stats.nbinom(predictions.size, predictions.probability)
    raise TypeError(
        f"predictions: got {predictions.family} predictions, wanted a family with powers and densities: Normal, "
        "MvNormal, Laplace, StudentT, LogNormal, Gamma, Beta, Poisson or NegativeBinomial; TemperatureScaling() is for "
        "classes"
    )
