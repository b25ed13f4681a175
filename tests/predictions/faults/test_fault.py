"""Every fault is a family of distributions with calibration at 0: its likelihood ratios have mean 1 if calibrated."""

import math

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.predictions.faults import Fit
from caltest.predictions.faults.values import OF_RECORDS
from caltest.predictions.faults.words import about, count, instead, percent, percents, sized, sized_shift

RNG = np.random.default_rng(5)
OF_OUTCOMES = {*OF_RECORDS, "outliers", "other rows"}
"""Faults of counts whose law the outcomes decide, or other predictions."""

OF_TARGETS = {*OF_RECORDS, "other rows"}
"""Faults of numbers that are none of their scores."""

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


def quantiles():
    middle, width = RNG.normal(size=40), RNG.uniform(0.5, 2.0, 40)
    return ct.QuantileForecast(LEVELS, middle[:, None] + width[:, None] * stats.norm.ppf(LEVELS))


FINITE = {
    "classes": ct.Categorical(RNG.dirichlet(np.ones(4), 40)),
    "claims": ct.Bernoulli(RNG.random(40)),
    "ordered": ct.Ordinal(RNG.dirichlet(np.ones(4), 40)),
    "quantiles": quantiles(),
}
COUNTS = {
    "Poisson": ct.Poisson(RNG.uniform(0.5, 6.0, 40)),
    "NegativeBinomial": ct.NegativeBinomial.from_mean(RNG.uniform(0.5, 6.0, 40), 0.6),
}
NUMBERS = {
    "normal": ct.Normal(RNG.normal(size=40), RNG.uniform(0.5, 2.0, 40)),
    "gamma": ct.Gamma(RNG.uniform(1.0, 4.0, 40), RNG.uniform(0.5, 2.0, 40)),
}


def sizes(fault, seen, sibling, parts):
    """A few sizes of a fault inside of its range."""
    low, high = fault.bounds(seen, sibling)
    low, high = max(low, -1.5), min(high, 1.5)
    return [low + part * (high - low) for part in parts]


def siblings(fault, n):
    return range(min(n, fault.n_siblings)) if fault.n_siblings < 8 else range(0, n, 7)


def with_one(targets, i, y):
    """Targets of which one is another."""
    new = np.array(targets)
    new[i] = y
    return new


def weighted_only(predictions, i):
    weights = np.zeros(len(predictions))
    weights[i] = 1.0
    return predictions.faults(weights)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", [*FINITE, *COUNTS])
def test_ratios_have_mean_one(name, replications):
    predictions = (FINITE | COUNTS)[name]
    if name in FINITE:
        outcomes, p = np.arange(predictions.n_classes), predictions.probabilities
    else:
        outcomes = np.arange(400)
        p = np.exp(predictions.log_probabilities(outcomes.astype(float)))
    everyone = predictions.faults()
    y = np.asarray(predictions.redraw(3))
    rows, parts = replications(((39,), (0.15, 0.9)), ((0, 17, 39), (0.15, 0.4, 0.7, 0.9)))
    for i in rows:
        faults = weighted_only(predictions, i)
        with_each = [faults.seen(with_one(y, i, u)[None]) for u in outcomes]
        for fault, whole in zip(faults.kinds, everyone.kinds, strict=True):
            if fault.kind in OF_OUTCOMES:
                continue
            seen = everyone.seen(y[None])
            for sibling in siblings(fault, fault.n_siblings):
                for t in sizes(whole, seen, sibling, parts):
                    logs = [fault.log_ratio(one, sibling, t) for one in with_each]
                    mean = p[i] @ np.exp(np.minimum(logs, 700.0))
                    assert mean == pytest.approx(1.0, abs=1e-4), (fault.kind, sibling, t)


@pytest.mark.parametrize("name", NUMBERS)
def test_ratios_of_numbers_have_mean_one(name, replications):
    predictions = NUMBERS[name]
    y = np.asarray(predictions.redraw(3))
    n_nodes, rows, parts = replications((200, (3,), (0.15, 0.9)), (600, (3, 30), (0.15, 0.4, 0.7, 0.9)))
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    z = 14.0 * nodes
    outcomes = predictions.of_standard_scores(np.repeat(z[:, None], 40, axis=1))
    for i in rows:
        faults = weighted_only(predictions, i)
        for fault, whole in zip(faults.kinds, predictions.faults().kinds, strict=True):
            if fault.kind in OF_TARGETS:
                continue
            for sibling in siblings(fault, fault.n_siblings):
                for t in sizes(whole, predictions.faults().seen(y[None]), sibling, parts):
                    logs = []
                    for score, targets in zip(z, outcomes, strict=True):
                        seen = faults.seen(targets[None])
                        seen.__dict__ |= {"residuals": np.full(40, score), "_outlier_scale_kept": {(): 5.0}}
                        logs.append(fault.log_ratio(seen, sibling, t))
                    density = stats.norm.pdf(z) * np.exp(np.minimum(logs, 700.0))
                    assert 14.0 * (weights @ density) == pytest.approx(1.0, abs=3e-3), (fault.kind, sibling, t)


@pytest.mark.parametrize("kind", ["shift", "local shift", "scale", "local scale", "wave of scales"])
def test_ratios_of_laws_of_other_shapes_have_mean_one(kind, replications):
    """By quadrature over the outcomes themselves, between the tails of the law."""
    law = ct.Mixture([ct.Normal(RNG.normal(size=40), 0.7), ct.Normal(RNG.normal(size=40) + 3.0, 1.5)], [0.7, 0.3])
    faults = weighted_only(law, 3)
    (fault,) = [one for one in faults.kinds if one.kind == kind]
    nodes, weights = np.polynomial.legendre.leggauss(200)
    values = [np.full(40, 1.5 + 15.0 * node) for node in nodes]
    density, seen = [law.log_density(y)[3] for y in values], [faults.seen(y[None]) for y in values]
    for sibling in range(0, fault.n_siblings, replications(8, 1)):
        for t in (-0.4, 0.3):
            ratios = [fault.log_ratio(one, sibling, t) for one in seen]
            assert 15.0 * (weights @ np.exp(np.add(ratios, density))) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", [*FINITE, *COUNTS, *NUMBERS])
def test_nothing_changes_at_size_0(name):
    predictions = (FINITE | COUNTS | NUMBERS)[name]
    faults = predictions.faults()
    seen = faults.seen(np.asarray(predictions.redraw(1))[None])
    for fault in faults.kinds:
        for sibling in range(fault.n_siblings):
            low, high = fault.range
            if low <= 0.0 <= high and not (fault.kind.endswith("dispersion") and name == "Poisson"):
                with np.errstate(divide="ignore"):
                    assert fault.log_ratio(seen, sibling, 0.0) == pytest.approx(0.0, abs=1e-8), fault.kind


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.24, "0.24"), (15.2, "15"), (1234.0, "1200"), (1e-200, "0"), (2e7, "2e+07"), (-0.043, "-0.043"), (3.0, "3")],
)
def test_two_digits(number, text):
    assert about(number) == text


def test_counts_and_shares():
    assert [count(623.0), count(14.06), count(15.0 + 1e-12)] == ["623", "14.1", "15"]
    assert [percent(share) for share in (0.3604, 0.9951, 1.0)] == ["36 %", "99.5 %", "100 %"]
    assert percents(0.981, 0.976) == ["98.1 %", "97.6 %"]
    assert percents(0.97, 0.962, 0.97) == ["97 %", "96 %", "97 %"]


def test_weights_are_numbers_of_observations_where_all_are_equal():
    assert instead(3.0, 1.5, np.full(20, 0.25), " times") == "12 times instead of 6"
    assert instead(3.0, 1.0, np.array([1.0, 4.0, 5.0])) == "30 % of the weight instead of 10 %"


def test_zeros_of_weighted_counts_are_shares_of_the_weight():
    law = ct.Poisson(np.full(400, 3.0))
    y = np.where(np.random.default_rng(1).random(400) < 0.3, 0, law.sample(2))
    words = ct.calibration_test(law, y, weights=np.linspace(1.0, 2.0, 400), n_resamples=19, rng=1).finding.words
    assert "% of the weight instead of" in words


def test_sizes_have_digits_that_tell_the_ends_apart():
    def same(t):
        return t

    assert sized(Fit(0.25, 0.2, 0.31), same) == "0.25 (0.2 to 0.31)"
    assert sized(Fit(1.197, 1.164, 1.231), same) == "1.2 (1.16 to 1.23)"
    assert sized(Fit(2.0, 1.0, 3.0, is_open_above=True), same) == "2 (at least 1)"
    assert sized(Fit(2.0, 1.0, 3.0, is_open_below=True), same) == "2 (at most 3)"
    assert sized(Fit(0.1, 0.05, 0.2), same, percent) == "10 % (5 % to 20 %)"


def test_ends_are_not_rounded_to_no_fault():
    assert sized(Fit(0.122, 0.03, 0.223), math.exp) == "1.13 (1.03 to 1.25)"
    assert sized(Fit(0.122, -0.01, 0.223), math.exp) == "1.1 (0.99 to 1.2)"


def test_shifts_are_positive_in_their_direction():
    assert sized_shift(Fit(-0.3, -0.4, -0.2)) == "0.3 (0.2 to 0.4)"
    assert sized_shift(Fit(-0.1, -0.4, 0.2)) == "0.1 (-0.2 to 0.4)"
    assert sized_shift(Fit(0.3, 0.2, 0.4), lambda t: 2.0 * t) == "0.6 (0.4 to 0.8)"


CUTS = np.array([-1.5, -0.5, 0.5, 1.5])


@pytest.mark.every(7)
@pytest.mark.parametrize("family", ["ordered", "quantiles", "normal"])
@pytest.mark.parametrize("half", [-1, 1])
@pytest.mark.parametrize("shift", [-0.6, 0.6])
def test_shifts_of_one_half_have_the_sign_of_the_error(family, half, shift):
    rng = np.random.default_rng(4)
    mean = rng.normal(size=800)
    y = mean + np.where(half * mean > 0, shift, 0.0) + rng.normal(size=800)
    if family == "ordered":
        below = stats.norm.cdf(np.column_stack([np.full(800, -np.inf), CUTS - mean[:, None], np.full(800, np.inf)]))
        law, y = ct.Ordinal(np.diff(below, axis=1)), np.searchsorted(CUTS, y)
    else:
        law = (
            ct.Normal(mean, 1.0)
            if family == "normal"
            else ct.QuantileForecast(LEVELS, mean[:, None] + stats.norm.ppf(LEVELS))
        )
    found = ct.calibration_test(law, y, n_resamples=19, rng=1).finding
    assert found.kind == "local shift"
    assert found.estimate == pytest.approx(shift, abs=0.2)
    assert found.interval.low < found.estimate < found.interval.high
    assert ("lower" in found.words or "below what" in found.words) == (shift < 0)


@pytest.mark.parametrize("name", FINITE)
def test_corrected_probabilities_are_those_of_the_likelihood(name):
    predictions, weights = FINITE[name], RNG.uniform(0.5, 2.0, 40)
    faults = predictions.faults(weights)
    labels = predictions.finite.sample(RNG)
    targets = np.asarray(predictions.check_targets(labels))
    seen = faults.seen(targets[None])
    p, rows, n_corrected = predictions.probabilities, np.arange(40), 0
    for fault in faults.kinds:
        for sibling in siblings(fault, fault.n_siblings):
            for t in sizes(fault, seen, sibling, (0.35, 0.8)):
                q = fault.corrected(seen, sibling, t)
                if q is not None:
                    n_corrected += 1
                    np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=1e-12)
                    expected = weights @ np.log(q[rows, targets] / p[rows, targets])
                    assert fault.log_ratio(seen, sibling, t) == pytest.approx(expected, rel=1e-8, abs=1e-8), fault.kind
    assert n_corrected >= 10


VECTORS = ct.MvNormal(RNG.normal(size=(40, 3)), np.tile([0.5, 1.0, 2.0], (40, 1)))


ROOT = RNG.normal(size=(40, 3, 3))
CORRELATED = ct.MvNormal(RNG.normal(size=(40, 3)), ROOT @ ROOT.swapaxes(1, 2) + 0.5 * np.eye(3))


@pytest.mark.parametrize(
    "predictions", [NUMBERS["normal"], VECTORS, CORRELATED], ids=["numbers", "vectors", "correlated vectors"]
)
def test_corrected_residuals_have_the_law_of_the_likelihood(predictions):
    """``log f(e') + log |de' / de| - log f(e)`` of errors e, with derivatives by differences."""
    faults = predictions.faults(RNG.uniform(0.5, 2.0, 40))
    seen = faults.seen(np.asarray(predictions.sample(RNG))[None])
    z = seen.errors.reshape(40, -1)
    steps = 1e-5 * np.eye(z.shape[1])

    def corrected(fault, sibling, t, z):
        moved = fault.corrected(seen.after(z.reshape(seen.errors.shape)), sibling, t)
        return moved.reshape(z.shape)

    def squares(z):
        return np.square(seen.after(z.reshape(seen.errors.shape)).residuals.reshape(z.shape)).sum(axis=1)

    for fault in faults.kinds:
        for sibling in siblings(fault, 0 if fault.kind in OF_TARGETS else fault.n_siblings):
            for t in sizes(fault, seen, sibling, (0.35, 0.8)):
                if not np.isfinite(fault.log_ratio(seen, sibling, t)):
                    continue  # No matrix has these correlations.
                new = corrected(fault, sibling, t, z)
                slopes = [corrected(fault, sibling, t, z + s) - corrected(fault, sibling, t, z - s) for s in steps]
                logs = np.log(np.linalg.det(np.stack(slopes, axis=2) / 2e-5))
                expected = seen.weights @ (logs - 0.5 * (squares(new) - squares(z)))
                assert fault.log_ratio(seen, sibling, t) == pytest.approx(expected, rel=1e-6, abs=1e-5), fault.kind


@pytest.mark.parametrize("name", COUNTS)
def test_corrected_counts_have_the_law_of_the_likelihood(name):
    predictions = COUNTS[name]
    faults = predictions.faults()
    targets = predictions.sample(RNG)
    seen, n_corrected = faults.seen(targets[None]), 0
    for fault in faults.kinds:
        for t in sizes(fault, seen, 0, (0.35, 0.8)):
            if fault.kind not in OF_OUTCOMES and (law := fault.corrected(seen, 0, t)) is not None:
                n_corrected += 1
                expected = (law.log_density(targets) - predictions.log_density(targets)).sum()
                assert fault.log_ratio(seen, 0, t) == pytest.approx(expected, rel=1e-10)
                others, again = faults.after(seen, law)
                assert again.view.law is law
                assert others.kinds[0].log_ratio(again, 0, 0.0) == pytest.approx(0.0, abs=1e-10)
    assert n_corrected == 14


@pytest.mark.parametrize("units", [False, True])
def test_a_shift_in_the_units_of_the_outcomes_is_one_fault(units):
    """Of numbers with different standard deviations, and of few members, whose spread is noise."""
    rng = np.random.default_rng(5)
    m, s = rng.normal(size=1000), np.exp(0.4 * rng.normal(size=1000))
    y = m + (1.0 if units else s) + s * rng.normal(size=1000)
    assert ct.calibration_test(ct.Normal(m, s), y, n_resamples=19, rng=1).finding.second is None
    ensemble = ct.Ensemble(m[:, None] + rng.normal(size=(1000, 5)))
    assert ct.calibration_test(ensemble, m + 1.0 + rng.normal(size=1000), n_resamples=19, rng=1).finding.second is None


def test_zeros_are_too_many_only_where_more_occur_than_predicted():
    u, w = np.random.default_rng(0).random((2, 40))
    counts = np.floor(1.0 + 4.0 * u + 6.0 * w).astype(int)
    found = ct.calibration_test(ct.Poisson(1.0 + 5.0 * u), counts, rng=1).findings
    assert not any("too many zeros" in one.words for one in found)
