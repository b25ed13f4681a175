"""The same numbers in a few lines of NumPy and SciPy, with n x n arrays."""

import numpy as np

BINS = 15


def h_matrix(predictions, labels):
    """exp(-TV / 0.5) of the predictions times the centred delta kernel."""
    from scipy.spatial.distance import cdist  # Peers need not have it.

    kernel = np.exp(-cdist(predictions, predictions, "cityblock"))  # Half of it is the total variation.
    residuals = _residuals(predictions, labels)
    return kernel * (residuals @ residuals.T)


def skce(predictions, labels):
    n = len(labels)

    def call():
        h = h_matrix(predictions, labels)
        return {"estimate": float((h.sum() - np.trace(h)) / (n * (n - 1)))}

    return call


def block_skce(predictions, labels):
    """Blocks of two."""

    def call():
        residuals = _residuals(predictions, labels)
        one, two = slice(0, len(labels) // 2 * 2, 2), slice(1, None, 2)
        kernel = np.exp(-np.abs(predictions[one] - predictions[two]).sum(axis=1))
        return {"estimate": float(np.mean(kernel * (residuals[one] * residuals[two]).sum(axis=1)))}

    return call


def top_label_ece(predictions, labels):
    def call():
        confidence, correct = predictions.max(axis=1), predictions.argmax(axis=1) == labels
        return {"estimate": _ece(_bins(confidence), confidence - correct)}

    return call


def binary_ece_test(predictions, labels, draws):
    probability = predictions[:, 1].copy()

    def call():
        rng, bins = np.random.default_rng(1), _bins(probability)
        estimate = _ece(bins, probability - labels)
        redraws = (probability - (rng.random(len(labels)) < probability) for _ in range(draws))
        larger = sum(_ece(bins, deviations) >= estimate for deviations in redraws)
        return {"estimate": estimate, "pvalue": (1 + larger) / (1 + draws), "draws": draws}

    return call


def _residuals(predictions, labels):
    residuals = -predictions
    residuals[np.arange(len(labels)), labels] += 1.0
    return residuals


def _bins(probability):
    return np.minimum((probability * BINS).astype(np.int64), BINS - 1)


def _ece(bins, deviations):
    return float(np.abs(np.bincount(bins, deviations, BINS)).sum() / len(bins))
