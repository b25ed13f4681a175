"""Intervals for binned errors of any order."""

from math import inf

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.intervals import ece as ece_module
from caltest.predictions import as_predictions

RNG = np.random.default_rng(6)
P, Y = RNG.dirichlet(np.full(3, 0.7), 90), RNG.integers(0, 3, 90)


@pytest.mark.parametrize("order", [1, 2, inf])
def test_radius_is_a_quantile_of_the_noise(order):
    """Redraws by hand from the smoothed frequencies of the bins."""
    binning = ct.UniformBinning(2)
    estimator = ct.ECE(binning, order=order)
    interval = ct.ece_interval(estimator, P, Y, n_resamples=199, rng=3)
    bins = binning.assign(P)
    sizes = np.bincount(bins)
    counts = 1.0 + np.array([np.bincount(Y[bins == b], minlength=3) for b in range(sizes.size)])
    law = ct.Categorical((counts / counts.sum(axis=1, keepdims=True))[bins])
    rng, noise = np.random.default_rng(3), []
    for _ in range(199):
        z = law.sample(rng)
        d = np.array(
            [
                np.abs(law.probabilities[bins == b][0] - np.bincount(z[bins == b], minlength=3) / sizes[b]).sum() / 2
                for b in range(sizes.size)
            ]
        )
        noise.append(d.max() if order == inf else (sizes @ d**order / 90) ** (1 / order))
    radius = np.sort(noise)[int(np.ceil(0.95 * 198))]
    assert interval.estimate == estimator(P, Y)
    assert interval.high - interval.estimate == pytest.approx(radius, rel=1e-10)
    assert interval.low == pytest.approx(max(0.0, interval.estimate - radius), rel=1e-10)


def test_sides_parts_and_kinds(monkeypatch):
    both = ct.ece_interval(ct.ECE(), *ct.top_label(P, Y), n_resamples=99, rng=1)
    upper = ct.ece_interval(ct.ECE(), *ct.top_label(P, Y), side="upper", n_resamples=99, rng=1)
    lower = ct.ece_interval(ct.ECE(), *ct.top_label(P, Y), side="lower", n_resamples=99, rng=1)
    assert (upper.low, upper.high, lower.low, lower.high) == (0.0, both.high, both.low, 1.0)
    assert ct.ece_interval(ct.ECE(distance=ct.Cityblock()), P, Y, side="lower", n_resamples=9, rng=1).high == 2.0
    monkeypatch.setattr(ece_module, "AT_ONCE", 1)
    again = ct.ece_interval(ct.ECE(), *ct.top_label(P, Y), n_resamples=99, rng=1)
    assert (again.low, again.high) == (both.low, both.high)
    assert isinstance(as_predictions(P), ct.Categorical)


@pytest.mark.statistical
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_coverage(noise, replications):
    sets, rng, binning, covered = replications(80, 1000), np.random.default_rng(7), ct.QuantileBinning(5), 0
    for _ in range(sets):
        p = rng.beta(0.5, 0.5, 80)
        truth = (1 - noise) * p + noise / 2
        y = (rng.random(80) < truth).astype(int)
        bins = binning.assign(p[:, None])
        low, high = ct.ece_interval(ct.MCE(binning), p, y, n_resamples=99, rng=rng)
        covered += low <= np.abs(np.bincount(bins, p - truth) / np.bincount(bins)).max() <= high
    assert covered >= stats.binom(sets, 0.93).ppf(0.005)


def test_errors():
    for estimator in (ct.ECE(distance=ct.SquaredEuclidean()), ct.DebiasedSquaredECE(), 3):
        with pytest.raises(TypeError, match="wanted ECE or MCE with a distance that is a norm"):
            ct.ece_interval(estimator, P, Y)
    with pytest.raises(TypeError, match="Normal predictions"):
        ct.ece_interval(ct.ECE(), ct.Normal([0.0], 1.0), [0.0])
    with pytest.raises(ValueError, match="n_resamples"):
        ct.ece_interval(ct.ECE(), P, Y, n_resamples=0)
    with pytest.raises(ValueError, match="side"):
        ct.ece_interval(ct.ECE(), P, Y, side="left")
