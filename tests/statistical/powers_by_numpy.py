"""The powers that ``test_power.py`` compares with, without caltest: ``python tests/statistical/powers_by_numpy.py``.

NumPy alone, with arrays of all pairs: exact Monte Carlo tests of the unbiased SKCE and of the binned error of the
simplex (10 bins a class), 199 redraws, at the 5 % level, in 500 or 2000 data sets. Takes a few minutes on one core.
"""

import numpy as np

SETS, DRAWS, K = 500, 199, 10
MODELS = [("W2", 50, SETS), ("W2", 100, SETS), ("W3", 100, SETS), ("OC", 100, SETS), ("UC", 50, 2000), ("M3", 25, SETS)]
"""Names, observations, and data sets: more where rejections are rare."""


def drawn(rng, law, size=()):
    """Labels of probabilities (n, k), (*size, n)."""
    u = rng.random((*size, len(law), 1))
    return np.minimum((u > np.cumsum(law, axis=1)).sum(axis=-1), law.shape[1] - 1)


def data(name, n, rng):
    """Predictions of Dir(0.1) and labels that deviate from them."""
    logs = np.log(rng.gamma(1.1, size=(n, K))) + 10.0 * np.log(rng.random((n, K)))
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    uniform = np.full(K, 1.0 / K)
    law = {
        "W2": lambda: 0.9 * p + 0.1 * np.eye(K)[0],
        "W3": lambda: 0.9 * p + 0.1 * uniform,
        "M3": lambda: np.tile(uniform, (n, 1)),
        "OC": lambda: p**0.6 / (p**0.6).sum(axis=1, keepdims=True),
        "UC": lambda: p**1.6 / (p**1.6).sum(axis=1, keepdims=True),
    }[name]()
    return p, drawn(rng, law)


def exact(statistics):
    """Whether the first of the statistics is among the largest 5 %; ties speak for calibration."""
    above = np.count_nonzero(statistics[1:] >= statistics[0] - 1e-12 * np.abs(statistics).max())
    return (1 + above) / len(statistics) <= 0.05


def skce(p, labels):
    """``sum_{i != j} exp(-TV / median) d_i . d_j`` for labels (B, n)."""
    distance = np.abs(p[:, None] - p).sum(axis=2) / 2.0
    kernel = np.exp(-distance / np.median(distance[np.triu_indices(len(p), 1)]))
    np.fill_diagonal(kernel, 0.0)
    residuals = np.eye(K)[labels] - p
    return np.einsum("bik,bik->b", kernel @ residuals, residuals)


def binned_error(p, labels):
    """``sum_bins |sum of residuals|_1`` for labels (B, n)."""
    bins = np.unique(np.maximum(np.ceil(10.0 * p), 1.0), axis=0, return_inverse=True)[1].ravel()
    members = np.eye(bins.max() + 1)[bins].T
    return np.abs(members @ (np.eye(K)[labels] - p)).sum(axis=(1, 2))


def normal_skce(mean, targets, spread=0.1):
    """The same for N(m, s**2), ``exp(-|m - m'|)`` and a Gaussian kernel of bandwidth 1, for targets (B, n)."""

    def expected(difference, variance):
        return np.exp(-(difference**2) / (2.0 * (1.0 + variance))) / np.sqrt(1.0 + variance)

    kernel = np.exp(-np.abs(mean[:, None] - mean))
    np.fill_diagonal(kernel, 0.0)
    one = expected(targets[:, :, None] - mean, spread**2)
    both = expected(mean[:, None] - mean, 2.0 * spread**2)
    h = expected(targets[:, :, None] - targets[:, None, :], 0.0) - one - one.transpose(0, 2, 1) + both
    return np.einsum("ij,bij->b", kernel, h)


def main():
    """Print the powers in per cent."""
    for name, n, sets in MODELS:
        rng, found = np.random.default_rng([n, len(name), ord(name[0]), ord(name[1])]), np.zeros(2)
        for _ in range(sets):
            p, y = data(name, n, rng)
            labels = np.concatenate([y[None], drawn(rng, p, (DRAWS,))])
            found += exact(skce(p, labels)), exact(binned_error(p, labels))
        print(f"{name}, n = {n}: {found / sets * 100}", flush=True)
    for shift, factor in ((0.3, 1.0), (0.0, 1.3)):
        for n in (16, 64):
            rng = np.random.default_rng([n, int(10 * shift)])
            found = 0
            for _ in range(SETS):
                mean = rng.random(n)
                z = rng.normal(size=(DRAWS + 1, n))
                z[0] = shift + factor * z[0]
                found += exact(normal_skce(mean, mean + 0.1 * z))
            print(f"shift {shift}, spread {factor}, n = {n}: {found / SETS * 100:.1f}", flush=True)


if __name__ == "__main__":
    main()
