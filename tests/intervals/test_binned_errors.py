"""Intervals for binned errors of any order."""

from functools import cache
from math import inf

import numpy as np
import pytest
from grids import thinned
from scipy import stats
from scipy.optimize import brentq

import caltest as ct
from caltest._basics.numerics import generator_apart
from caltest.intervals import binned_errors as ece_module
from caltest.predictions.inputs.convert import as_predictions

RNG = np.random.default_rng(6)
P, Y = RNG.dirichlet(np.full(3, 0.7), 90), RNG.integers(0, 3, 90)


def distance(deviations, sizes, order):
    """Mean of order q over the bins that are occupied."""
    d = deviations[sizes > 0]
    return d.max() if order == inf else (sizes[sizes > 0] @ d**order / sizes.sum()) ** (1 / order)


def quantile(noise):
    return np.sort(noise)[int(np.ceil(0.95 * (len(noise) - 1)))]


@pytest.mark.parametrize("order", [1, 2, inf])
def test_radius_is_the_larger_of_two_quantiles_of_the_noise(order):
    """Redraws by hand from the smoothed frequencies of the bins, and from the predictions."""
    binning = ct.binning.UniformBinning(2)
    estimator = ct.ECE(binning, order=order)
    interval = ct.ece_interval(P, Y, estimator, n_resamples=199, rng=3)
    bins = binning.assign(P)
    sizes = np.bincount(bins)
    counts = 1.0 + np.array([np.bincount(Y[bins == b], minlength=3) for b in range(sizes.size)])
    rng, radii = generator_apart(3), []
    for law in (ct.Categorical((counts / counts.sum(axis=1, keepdims=True))[bins]), ct.Categorical(P)):
        noise = []
        for _ in range(199):
            gap = law.probabilities - np.eye(3)[law.sample(rng)]
            d = [np.abs(gap[bins == b].sum(axis=0)).sum() / 2 / max(sizes[b], 1) for b in range(sizes.size)]
            noise.append(distance(np.array(d), sizes, order))
        radii.append(quantile(noise))
    assert interval.estimate == estimator(P, Y)
    assert interval.high - interval.estimate == pytest.approx(max(radii), rel=1e-10)
    assert interval.low == pytest.approx(max(0.0, interval.estimate - max(radii)), rel=1e-10)


@pytest.mark.parametrize(("order", "aggregate"), [(1, "mean"), (2, "sum"), (inf, "mean")])
def test_noise_of_class_wise_errors(order, aggregate):
    """Labels drawn from the frequencies of the bins that the classes of an observation are in."""
    binning = ct.binning.QuantileBinning(4)
    estimator = ct.ClasswiseECE(binning, order, aggregate)
    interval = ct.ece_interval(P, Y, estimator, n_resamples=99, rng=3)
    bins = np.stack([binning.assign(P[:, [c]]) for c in range(3)], axis=1)
    f = np.empty_like(P)
    for i in range(90):
        for c in range(3):
            inside = bins[:, c] == bins[i, c]
            f[i, c] = (1 + np.count_nonzero(Y[inside] == c)) / (2 + np.count_nonzero(inside))
    rng, radii = generator_apart(3), []
    for law in (ct.Categorical(f / f.sum(axis=1, keepdims=True)), ct.Categorical(P)):
        noise = []
        for _ in range(99):
            gap = law.probabilities - np.eye(3)[law.sample(rng)]
            errors = []
            for c in range(3):
                sizes = np.bincount(bins[:, c])
                d = np.abs(np.bincount(bins[:, c], gap[:, c])) / np.maximum(sizes, 1)
                errors.append(distance(d, sizes, order))
            noise.append(np.mean(errors) if aggregate == "mean" else np.sum(errors))
        radii.append(quantile(noise))
    assert interval.estimate == estimator(P, Y)
    assert interval.high - interval.estimate == pytest.approx(max(radii), rel=1e-10)


@pytest.mark.every(3)
@pytest.mark.parametrize("estimator", [ct.ECE(), ct.MCE(), ct.ClasswiseECE(aggregate="sum")])
def test_it_has_0_where_the_exact_test_does_not_reject(estimator):
    for share, y in ((0.05, ct.Categorical(P).sample(1)), (0.05, Y), (0.5, ct.Categorical(P).sample(2))):
        interval = ct.ece_interval(P, y, estimator, confidence_level=1 - share, n_resamples=999, rng=1)
        pvalue = ct.MonteCarloTest(estimator, 999)(P, y, rng=1).pvalue
        assert interval.low == 0.0 or pvalue <= share + 0.05


def test_sides_parts_and_kinds(monkeypatch):
    both = ct.ece_interval(*ct.top_label(P, Y), ct.ECE(), n_resamples=99, rng=1)
    upper = ct.ece_interval(*ct.top_label(P, Y), ct.ECE(), side="upper", n_resamples=99, rng=1)
    lower = ct.ece_interval(*ct.top_label(P, Y), ct.ECE(), side="lower", n_resamples=99, rng=1)
    assert (upper.low, upper.high, lower.low, lower.high) == (0.0, both.high, both.low, 1.0)
    largest = {
        ct.ECE(metric=ct.kernels.Cityblock()): 2.0,
        ct.ClasswiseECE(): 2.0 / 3.0,
        ct.ClasswiseECE(aggregate="sum"): 2.0,
        ct.ClasswiseECE(order=inf): 1.0,
        ct.ClasswiseECE(order=2, aggregate="sum"): np.sqrt(6.0),
    }
    for estimator, bound in largest.items():
        found = ct.ece_interval(P, Y, estimator, side="lower", n_resamples=9, rng=1)
        assert found.high == pytest.approx(bound, rel=1e-15)
    wrong = ct.ece_interval(np.eye(3)[[1, 2, 0] * 9], [0, 1, 2] * 9, ct.ClasswiseECE(aggregate="sum"), rng=1)
    assert (wrong.estimate, wrong.high) == (2.0, 2.0)
    monkeypatch.setattr(ece_module, "AT_ONCE", 1)
    again = ct.ece_interval(*ct.top_label(P, Y), ct.ECE(), n_resamples=99, rng=1)
    assert (again.low, again.high) == (both.low, both.high)
    assert isinstance(as_predictions(P), ct.Categorical)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_coverage(noise, replications):
    sets, rng, binning, covered = replications(15, 1000), np.random.default_rng(7), ct.binning.QuantileBinning(5), 0
    for _ in range(sets):
        p = rng.beta(0.5, 0.5, 80)
        truth = (1 - noise) * p + noise / 2
        y = (rng.random(80) < truth).astype(int)
        bins = binning.assign(p[:, None])
        low, high = ct.ece_interval(p, y, ct.MCE(binning), n_resamples=99, rng=rng)
        covered += low <= np.abs(np.bincount(bins, p - truth) / np.bincount(bins)).max() <= high
    assert covered >= stats.binom(sets, 0.93).ppf(0.005)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize(("noise", "order"), thinned([(0.0, inf), (0.0, 1), (0.3, 1)], [(0.0, inf), (0.3, 1)]))
def test_coverage_of_class_wise_errors_and_of_bins_of_one_observation(noise, order, replications):
    sets, rng, binning, covered = (
        replications(12, 1000),
        np.random.default_rng(8),
        ct.binning.UniformBinning(10),
        np.zeros(2),
    )
    for _ in range(sets):
        p = rng.dirichlet(np.full(3, 0.3), 60)
        truth = (1 - noise) * p + noise / 3
        y, errors = ct.Categorical(truth).sample(rng), []
        for c in range(3):
            bins = binning.assign(p[:, [c]])
            sizes = np.bincount(bins)
            errors.append(
                distance(np.abs(np.bincount(bins, p[:, c] - truth[:, c])) / np.maximum(sizes, 1), sizes, order)
            )
        low, high = ct.ece_interval(p, y, ct.ClasswiseECE(binning, order), n_resamples=99, rng=rng)
        covered[0] += low <= np.mean(errors) <= high
        low, high = ct.ece_interval(
            p[:, 0], (y == 0).astype(int), ct.ECE(binning, order=order), n_resamples=99, rng=rng
        )
        # The indicator of class 0 and its probability as a binary prediction.
        covered[1] += low <= errors[0] <= high
    assert covered.min() >= stats.binom(sets, 0.93).ppf(0.005)


@cache
def intervals_of_one_bin():
    """Of 0 to 29 failures of 100 with claims of 0.999."""
    p, order = np.full(100, 0.999), np.arange(100)
    return [ct.ece_interval(p, order >= few, rng=1, n_resamples=99) for few in range(30)]


@pytest.mark.parametrize("truth", [0.9, 0.96, 0.965, 0.99])
def test_few_events_in_one_bin_are_covered(truth):
    """Claims of .999; what redraws of 0 or 1 failures of 100 alone say holds with 87 % for a true .965."""
    failures, found = np.arange(30), intervals_of_one_bin()
    covered = [not one.excludes(0.999 - truth) for one in found]
    assert np.array(covered) @ stats.binom.pmf(failures, 100, 1.0 - truth) >= 0.95
    end = stats.beta.ppf(0.975, 1, 100)
    assert found[0].high == pytest.approx(0.001 + end)


def test_errors():
    for estimator in (ct.ECE(metric=ct.kernels.SquaredEuclidean()), ct.estimators.DebiasedSquaredECE(), 3):
        with pytest.raises(TypeError, match="wanted ECE, MCE or ClasswiseECE with a metric that is a norm"):
            ct.ece_interval(P, Y, estimator)
    with pytest.raises(TypeError, match="Normal predictions"):
        ct.ece_interval(ct.Normal([0.0], 1.0), [0.0], ct.ECE())
    with pytest.raises(ValueError, match="n_resamples"):
        ct.ece_interval(P, Y, ct.ECE(), n_resamples=0)
    with pytest.raises(ValueError, match="side"):
        ct.ece_interval(P, Y, ct.ECE(), side="left")


RNG_BINNED = np.random.default_rng(6)
P_BINNED = RNG_BINNED.dirichlet(np.full(3, 0.7), 120)
Y_BINNED = RNG_BINNED.integers(0, 3, 120)


def slow_moments(p, onehot, binning):
    """Estimate, variance at 0 and slope, bin by bin."""
    bins, n = binning.assign(p), 0
    estimate = variance = slope = 0.0
    kept, largest = np.zeros(len(p), dtype=bool), 0.0
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
        corners = np.eye(len(c)) if len(c) > 1 else np.array([[0.0], [1.0]])
        largest += size * max(((c - e) ** 2).sum() for e in corners)
        kept |= rows
    together = (onehot[kept].sum(axis=0) + 2.0) / (n + 2.0 * max(2, onehot.shape[1]))
    slope = max(slope, (together * (1 - together)).max() * (1 if len(together) == 1 else 2))
    return estimate / n, variance / n**2, slope / n, largest / n


@pytest.mark.parametrize(
    "binning", [ct.binning.UniformBinning(3), ct.binning.QuantileBinning(2), ct.binning.QuantileBinning(8)], ids=str
)
@pytest.mark.parametrize("binary", [False, True])
def test_ends_solve_the_equation(binning, binary):
    if binary:
        confidence, correct = ct.top_label(P_BINNED, Y_BINNED)
        p, onehot = confidence.probability[:, None], np.asarray(correct, float)[:, None]
        interval = ct.binned_error_interval(confidence, correct, binning)
    else:
        p, onehot, interval = P_BINNED, np.eye(3)[Y_BINNED], ct.binned_error_interval(P_BINNED, Y_BINNED, binning)
    estimate, variance, slope, largest = slow_moments(p, onehot, binning)
    z = stats.norm.ppf(0.975)

    def excess(e):
        return (estimate - e) ** 2 - z**2 * (variance + 4 * slope * e)

    assert interval.estimate == pytest.approx(estimate, rel=1e-10, abs=1e-15)
    high = brentq(excess, max(estimate, 0.0), 50.0)
    assert interval.high == pytest.approx(min(high, largest), rel=1e-9)
    low = 0.0 if excess(0.0) <= 0.0 or estimate <= 0.0 else brentq(excess, 0.0, estimate)
    assert interval.low == pytest.approx(low, rel=1e-9, abs=1e-15)


def test_claims_near_1_are_covered():
    """Claims of .999 for events of probability .98, of which 100 have no failure in 13 % of the data sets."""
    missed = [ct.binned_error_interval(np.full(100, 0.999), np.arange(100) >= failures) for failures in range(12)]
    covered = [one.low <= 0.019**2 <= one.high for one in missed]
    assert np.array(covered) @ stats.binom.pmf(np.arange(12), 100, 0.02) >= 0.95


def test_no_interval_goes_beyond_what_is_possible():
    """No probability is farther than .8 from a claim of .8."""
    p, y = np.full(400, 0.8), np.zeros(400, dtype=int)
    assert ct.binned_error_interval(p, y).root().high == pytest.approx(0.8)
    gap = ct.calibration_test(p, y, n_resamples=19, rng=1).measures[0].gap
    assert 0.75 < gap.low < gap.high <= 0.8 + 1e-12


def test_one_sided_intervals():
    upper = ct.binned_error_interval(P_BINNED, Y_BINNED, side="upper")
    lower = ct.binned_error_interval(P_BINNED, Y_BINNED, side="lower")
    both = ct.binned_error_interval(P_BINNED, Y_BINNED, confidence_level=0.9)
    assert upper.low == 0.0
    assert lower.high == pytest.approx(slow_moments(P_BINNED, np.eye(3)[Y_BINNED], ct.binning.QuantileBinning())[3])
    assert (lower.low, upper.high) == pytest.approx((both.low, both.high))
    for level in (0.2, 0.5, 0.9):
        low = ct.binned_error_interval(P_BINNED, Y_BINNED, side="lower", confidence_level=level).low
        high = ct.binned_error_interval(P_BINNED, Y_BINNED, side="upper", confidence_level=1.0 - level).high
        assert low == pytest.approx(high)
    levels = [
        ct.binned_error_interval(P_BINNED, Y_BINNED, side="upper", confidence_level=level).high
        for level in (0.1, 0.5, 0.9)
    ]
    assert levels == sorted(levels)


@pytest.mark.every(2)
@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("concentration", [0.1, 0.5])
def test_coverage_of_binned(noise, concentration, replications):
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


def test_errors_of_binned():
    with pytest.raises(ValueError, match="each alone in its bin"):
        ct.binned_error_interval([0.1, 0.9], [0, 1], ct.binning.UniformBinning(2))
    with pytest.raises(TypeError, match="wanted a binning"):
        ct.binned_error_interval(P_BINNED, Y_BINNED, 10)
    with pytest.raises(TypeError, match="Normal predictions"):
        ct.binned_error_interval(ct.Normal([0.0, 1.0], 1.0), [0.0, 1.0])
    with pytest.raises(ValueError, match="side"):
        ct.binned_error_interval(P_BINNED, Y_BINNED, side="both")
    with pytest.raises(ValueError, match="confidence_level"):
        ct.binned_error_interval(P_BINNED, Y_BINNED, confidence_level=95)
