"""Intervals for the squared binned error."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

import caltest as ct

RNG = np.random.default_rng(6)
P = RNG.dirichlet(np.full(3, 0.7), 120)
Y = RNG.integers(0, 3, 120)


def slow_moments(p, onehot, binning):
    """Estimate, variance at 0 and slope, bin by bin."""
    bins, n = binning.assign(p), 0
    estimate = variance = slope = 0.0
    for b in range(bins.max() + 1):
        rows = bins == b
        size = rows.sum()
        if size < 2:
            continue
        n += size
        c, f = p[rows].mean(axis=0), onehot[rows].mean(axis=0)
        estimate += size * (((c - f) ** 2).sum() - (f * (1 - f)).sum() / (size - 1))
        covariances = [np.diag(q) - np.outer(q, q) for q in (f, c)]
        variance += 2 * (size / (size - 1)) ** 2 * max(np.trace(s @ s) for s in covariances)
        bound = max(np.abs(s).sum(axis=1).max() if len(s) > 1 else s[0, 0] for s in covariances)
        slope = max(slope, size / (size - 1) * bound)
    return estimate / n, variance / n**2, slope / n


@pytest.mark.parametrize(
    "binning", [ct.binning.UniformBinning(3), ct.binning.QuantileBinning(2), ct.binning.QuantileBinning(8)], ids=str
)
@pytest.mark.parametrize("binary", [False, True])
def test_ends_solve_the_equation(binning, binary):
    if binary:
        confidence, correct = ct.top_label(P, Y)
        p, onehot = confidence.probability[:, None], np.asarray(correct, float)[:, None]
        interval = ct.binned_error_interval(confidence, correct, binning)
    else:
        p, onehot, interval = P, np.eye(3)[Y], ct.binned_error_interval(P, Y, binning)
    estimate, variance, slope = slow_moments(p, onehot, binning)
    z = stats.norm.ppf(0.975)

    def excess(e):
        return (estimate - e) ** 2 - z**2 * (variance + 4 * slope * e)

    assert interval.estimate == pytest.approx(estimate, rel=1e-10, abs=1e-15)
    high = brentq(excess, max(estimate, 0.0), 50.0)
    assert interval.high == pytest.approx(min(high, 1.0 if binary else 2.0), rel=1e-9)
    low = 0.0 if excess(0.0) <= 0.0 or estimate <= 0.0 else brentq(excess, 0.0, estimate)
    assert interval.low == pytest.approx(low, rel=1e-9, abs=1e-15)


def test_one_sided_intervals():
    upper = ct.binned_error_interval(P, Y, side="upper")
    lower = ct.binned_error_interval(P, Y, side="lower")
    both = ct.binned_error_interval(P, Y, confidence_level=0.9)
    assert (upper.low, lower.high) == (0.0, 2.0)
    assert (lower.low, upper.high) == pytest.approx((both.low, both.high))
    assert ct.binned_error_interval(*ct.top_label(P, Y), side="lower").high == 1.0
    levels = [ct.binned_error_interval(P, Y, side="upper", confidence_level=level).high for level in (0.1, 0.5, 0.9)]
    assert levels == sorted(levels)


@pytest.mark.statistical
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("concentration", [0.1, 0.5])
def test_coverage(noise, concentration, replications):
    sets, rng, binning = replications(100, 2000), np.random.default_rng(7), ct.binning.QuantileBinning(10)
    covered = np.zeros(3)
    for _ in range(sets):
        p = rng.beta(concentration, concentration, 100)
        truth = (1 - noise) * p + noise / 2
        y = (rng.random(100) < truth).astype(int)
        bins = binning.assign(p[:, None])
        sizes = np.bincount(bins)
        d = np.bincount(bins, p - truth) / sizes
        kept = sizes >= 2
        error = (sizes * d**2)[kept].sum() / sizes[kept].sum()
        for i, side in enumerate(("two-sided", "upper", "lower")):
            low, high = ct.binned_error_interval(p, y, binning, side=side)
            covered[i] += low <= error + 1e-15 <= high + 1e-15
    assert (covered >= stats.binom(sets, 0.93).ppf(0.005)).all()


def test_errors():
    with pytest.raises(ValueError, match="each alone in its bin"):
        ct.binned_error_interval([0.1, 0.9], [0, 1], ct.binning.UniformBinning(2))
    with pytest.raises(TypeError, match="wanted a binning"):
        ct.binned_error_interval(P, Y, 10)
    with pytest.raises(TypeError, match="Normal predictions"):
        ct.binned_error_interval(ct.Normal([0.0, 1.0], 1.0), [0.0, 1.0])
    with pytest.raises(ValueError, match="side"):
        ct.binned_error_interval(P, Y, side="both")
    with pytest.raises(ValueError, match="confidence_level"):
        ct.binned_error_interval(P, Y, confidence_level=95)
