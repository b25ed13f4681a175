"""The interval for squared errors: slow twin, coverage of known errors, bad input."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

import caltest as ct
from caltest.predictions.inputs.convert import as_sample
from caltest.risk import interval
from caltest.risk.base import CalibrationData


def obvious(points, deviations):
    """Dense kernels, and a fit without each point in turn."""
    n, tried = len(points), []
    for gamma in interval.GAMMAS:
        kernel = np.exp(-gamma * np.square(points[:, None] - points).sum(axis=2))
        smoothers = [kernel @ np.linalg.inv(kernel + one * n * np.eye(n)) for one in interval.REGULARISATIONS]
        for place, regularisation in enumerate(interval.REGULARISATIONS):
            ridge, errors = kernel + regularisation * n * np.eye(n), np.empty(n)
            for i in range(n):
                rest = np.arange(n) != i
                predicted = kernel[i, rest] @ np.linalg.solve(ridge[np.ix_(rest, rest)], deviations[rest])
                errors[i] = np.square(deviations[i] - predicted).sum()
            tried.append((errors, smoothers[place], smoothers[min(place + 1, len(smoothers) - 1)]))
    plain = [one for one in tried if np.trace(one[2]) <= n / 2]
    best = min(plain, key=lambda one: one[0].mean())
    estimate, low, high = ends_of(points, deviations, *best)
    for errors, *both in plain:
        more = errors - best[0]
        if more.mean() <= more.std() / np.sqrt(n):
            high = max(high, ends_of(points, deviations, errors, *both)[2])
    if best[0].mean() > min(errors.mean() for errors, *_ in tried):
        high = np.inf
    return estimate, low, high


def ends_of(points, deviations, errors, *smoothers):
    """The estimate of the second smoother, with the ends of its interval; errors are those without each point."""
    n, found, z = len(points), [], 1.959964
    for smoother in smoothers:
        twice = 2 * smoother - smoother @ smoother
        fitted = smoother @ deviations
        estimate = variance = spread = 0.0
        for i in range(n):
            both = [covariance_of(law) for law in (np.clip(points[i] - fitted[i], 0.0, 1.0), points[i])]
            estimate -= twice[i, i] * errors[i] / n
            spread += max(fitted[i] @ one @ fitted[i] for one in both)
            for j in range(n):
                estimate += twice[i, j] * deviations[i] @ deviations[j] / n
                variance += 2 * twice[i, j] ** 2 * max(np.trace(one @ one) for one in both) / n**2
        found.append((estimate, variance, 4 * spread / np.square(fitted).sum() / n))
    (smooth, *_), (estimate, variance, slope) = found
    variance += (estimate - smooth) ** 2
    low = estimate - z * np.sqrt(variance + slope * max(0.0, estimate))
    # The root above the estimate.
    high = brentq(lambda e: (e - estimate) ** 2 - z**2 * (variance + slope * e), max(0.0, estimate), 10.0, xtol=1e-14)
    return estimate, max(0.0, low), high


def covariance_of(law):
    if law.size == 1:
        return np.array([law * (1.0 - law)])
    law = law / law.sum()
    return np.diag(law) - np.outer(law, law)


@pytest.mark.parametrize("k", [1, 3])
def test_is_the_quadratic_form(k):
    rng = np.random.default_rng(k)
    if k == 1:
        p = rng.uniform(size=25)
        y = (rng.random(25) < p**3).astype(int)
        points, deviations = p[:, None], (p - y)[:, None]
    else:
        points = p = rng.dirichlet(np.ones(3), 40)
        y = ct.Categorical(np.roll(p, 1, axis=1)).sample(rng)
        deviations = p - np.eye(3)[y]
    estimate, low, high = obvious(points, deviations)
    found = ct.risk.squared_error_interval(p, y)
    assert found.estimate == pytest.approx(estimate, rel=1e-6)
    assert found.ends == pytest.approx([low, high], rel=1e-6)


@pytest.mark.every(2)
@pytest.mark.parametrize(("n", "a", "b", "factor"), [(100, 0.3, 12.0, 0.3), (400, 0.3, 40.0, 2.0), (25, 0.5, 0.5, 0.5)])
def test_covers_errors_of_which_few_outcomes_say_little(n, a, b, factor, replications):
    covered, n_sets = 0, replications(24, 300)
    for number in range(n_sets):
        rng = np.random.default_rng([2040, number])
        p = rng.beta(a, b, n)
        law = np.minimum(factor * p, 1.0)
        found = ct.risk.squared_error_interval(p, (rng.random(n) < law).astype(int))
        covered += found.low <= np.square(p - law).mean() <= found.high
    assert covered >= 0.9 * n_sets


@pytest.mark.every(3)
@pytest.mark.parametrize(("k", "a", "n"), [(50, 0.1, 30), (50, 0.02, 100)])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_many_classes_and_few_rows_show_no_error_that_is_not_there(k, a, n, temperature, replications):
    """A smoother that follows the noise makes it look small, and what is left like an error."""
    missed, n_sets, ends = 0, replications(12, 200), []
    for number in range(n_sets):
        rng = np.random.default_rng([2050, number])
        p = np.maximum(rng.dirichlet(np.full(k, a), n), 1e-12)
        p /= p.sum(axis=1, keepdims=True)
        law = p ** (1.0 / temperature) / (p ** (1.0 / temperature)).sum(axis=1, keepdims=True)
        found = ct.risk.squared_error_interval(p, ct.Categorical(law).sample(rng))
        truth = np.square(p - law).sum(axis=1).mean()
        missed += found.low > truth
        assert found.low <= found.estimate <= found.high <= np.square(p).sum(axis=1).mean() + 1.0
        ends.append(found.high)
    assert missed <= stats.binom.ppf(0.999, n_sets, 0.05)
    assert np.median(ends) < 1.9


@pytest.mark.parametrize(("k", "a", "n", "power"), [(50, 0.1, 100, 0.5), (20, 0.3, 300, 0.25)])
def test_covers_errors_of_many_classes_that_are_too_flat(k, a, n, power, replications):
    """Kernels of all probabilities at once miss most of it."""
    errors, covered, n_sets = [], 0, replications(8, 300)
    for number in range(n_sets):
        rng = np.random.default_rng([2060, number])
        law = np.maximum(rng.dirichlet(np.full(k, a), n), 1e-30)
        p = law**power / (law**power).sum(axis=1, keepdims=True)
        truth = np.square(p - law).sum(axis=1).mean()
        found = ct.risk.squared_error_interval(p, ct.Categorical(law / law.sum(axis=1, keepdims=True)).sample(rng))
        covered += found.low <= truth <= found.high
        errors.append(found.estimate / truth - 1.0)
    assert covered >= 0.9 * n_sets - 1
    assert abs(np.mean(errors)) < 0.25


def test_errors_of_tempered_classes_are_found(replications):
    """Five classes of Dir(0.5) and predictions P**0.3, where the choice among estimators is 11 % too low on average."""
    errors, covered, n_sets = [], 0, replications(2, 200)
    for number in range(n_sets):
        rng = np.random.default_rng([2030, number])
        law = np.maximum(rng.dirichlet(np.full(5, 0.5), replications(1000, 1500)), 1e-30)
        p = law**0.3 / (law**0.3).sum(axis=1, keepdims=True)
        truth = np.square(p - law).sum(axis=1).mean()
        found = ct.risk.squared_error_interval(p, ct.Categorical(law / law.sum(axis=1, keepdims=True)).sample(rng))
        errors.append(found.estimate / truth - 1.0)
        covered += found.low <= truth <= found.high
    assert np.mean(np.abs(errors)) < replications(0.2, 0.1)
    assert covered >= 0.88 * n_sets - 1


def test_noise_that_a_fit_follows_is_no_error():
    """Ten classes, most of them nearly certain and wrong too often: few rows are near those that are not certain."""
    for number in range(4):
        rng = np.random.default_rng([1, number])
        p = np.maximum(rng.dirichlet(np.full(10, 0.05), 600), 1e-30)
        p /= p.sum(axis=1, keepdims=True)
        law = p**0.4 / (p**0.4).sum(axis=1, keepdims=True)
        found = ct.risk.squared_error_interval(p, ct.Categorical(law).sample(rng))
        truth = np.square(p - law).sum(axis=1).mean()
        assert found.low < truth < found.high
        assert 0.4 * truth < found.estimate < 1.2 * truth


def test_calibrated_predictions_and_limits():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(4), 300)
    found = ct.risk.squared_error_interval(p, ct.Categorical(p).sample(rng))
    assert found.low == 0.0
    assert found.high < 0.04
    alike = ct.risk.squared_error_interval(np.full(100, 0.5), np.tile([0, 0, 0, 1], 25))
    # |mean D|**2 = 1/16, without q (1 - q) / n.
    assert alike.estimate == pytest.approx(0.0625 - 0.25 * 0.75 / 100, abs=1e-3)
    with pytest.raises(ValueError, match="got 19 observations"):
        ct.risk.squared_error_interval(np.full(19, 0.5), np.zeros(19, dtype=int))
    with pytest.raises(TypeError):
        ct.risk.squared_error_interval(ct.Normal([0.0] * 30, 1.0), np.zeros(30))


def test_errors_without_a_point_are_those_of_fits_without_it():
    """Of the smoother ``U diag(s) U'`` with ``s = w / (w + c)`` for a kernel matrix ``U diag(w) U'``."""
    rng = np.random.default_rng(2)
    points, deviations = rng.normal(size=(12, 2)), rng.normal(size=(12, 3))
    matrix = np.exp(-np.square(points[:, None] - points).sum(axis=2))
    values, vectors = np.linalg.eigh(matrix)
    found = interval._errors(deviations, vectors, values / (values + 0.3))
    for i in range(12):
        others = np.arange(12) != i
        weights = np.linalg.solve(matrix[np.ix_(others, others)] + 0.3 * np.eye(11), matrix[others, i])
        assert found[i] == pytest.approx(np.square(deviations[i] - weights @ deviations[others]).sum())


def test_probabilities_are_sharpened_up_to_their_tenth_power():
    p = np.tile([0.4, 0.35, 0.25], (30, 1))
    sharp = p[0] ** 10 / (p[0] ** 10).sum()
    gain, low, high = interval._by_temperature(CalibrationData.of(as_sample(p, np.zeros(30, dtype=int))), 1.96)
    right = np.array([1.0, 0.0, 0.0])
    assert gain == pytest.approx(np.square(p[0] - right).sum() - np.square(sharp - right).sum(), rel=1e-4)
    assert (low, high) == pytest.approx((gain, gain))
