"""Decompositions of scores."""

import numpy as np
import pytest
from grids import thinned
from scipy import special, stats
from scipy.optimize import isotonic_regression
from slow import pooled

import caltest as ct
from caltest._loops.statistics.binned import class_counts, pooled_means
from caltest.decompositions import parts as intervals_module
from caltest.decompositions.parts import PARTS, Parts, _crossing, inverted, law_at

RNG = np.random.default_rng(4)
P = np.round(RNG.random(200), 2)
Y = (RNG.random(200) < P**1.5).astype(int)


@pytest.mark.parametrize("score", ["brier", "log"])
def test_isotonic_decomposition_against_its_definition(score):
    p = np.clip(P, 0.01, 0.99)

    def mean(q):
        with np.errstate(divide="ignore", invalid="ignore"):
            log = -np.where(Y == 1, np.log(q), np.log1p(-q))
        return np.mean((Y - q) ** 2 if score == "brier" else log)

    parts = ct.score_decomposition(p, Y, score=score)
    own, best, climate = mean(p), mean(pooled(p, Y)), mean(np.full(200, Y.mean()))
    assert parts.score == pytest.approx(own, rel=1e-12)
    assert parts.miscalibration == pytest.approx(own - best, rel=1e-10)
    assert parts.discrimination == pytest.approx(climate - best, rel=1e-10)
    assert parts.uncertainty == pytest.approx(climate, rel=1e-12)
    assert min(parts.miscalibration, parts.discrimination) >= 0.0
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty, rel=1e-12)


def test_two_columns_are_the_same_as_one_but_for_the_scale_of_the_brier_score():
    one, two = ct.score_decomposition(P, Y), ct.score_decomposition(np.stack([1 - P, P], axis=1), Y)
    assert two.score == pytest.approx(2 * one.score, rel=1e-12)
    assert two.miscalibration == pytest.approx(2 * one.miscalibration, rel=1e-12)


@pytest.mark.parametrize("score", ["brier", "log"])
def test_binned_decomposition(score):
    """Miscalibration of predictions that are alike in each bin is the squared binned error."""
    p = np.repeat([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]], 30, axis=0)
    y = RNG.integers(0, 3, 60)
    parts = ct.score_decomposition(p, y, score=score, binning=ct.binning.UniformBinning(10))
    f = np.array([np.bincount(y[:30], minlength=3), np.bincount(y[30:], minlength=3)]) / 30
    if score == "brier":
        assert parts.miscalibration == pytest.approx(((p[[0, 30]] - f) ** 2).sum(axis=1).mean(), rel=1e-10)
        squared = ct.ECE(ct.binning.UniformBinning(10), ct.kernels.SquaredEuclidean())(p, y)
        assert parts.miscalibration == pytest.approx(squared, rel=1e-10)
    else:
        assert parts.miscalibration == pytest.approx((f * np.log(f / p[[0, 30]])).sum(axis=1).mean(), rel=1e-10)
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty, rel=1e-12)
    assert parts.discrimination >= 0.0


def test_perfect_and_constant_predictions():
    perfect = ct.score_decomposition([0.0, 1.0, 1.0], [0, 1, 1], score="log")
    assert (perfect.score, perfect.miscalibration) == (0.0, 0.0)
    constant = ct.score_decomposition([0.5, 0.5], [0, 1])
    assert (constant.miscalibration, constant.discrimination, constant.uncertainty) == (0.0, 0.0, 0.25)
    assert constant.to_dict()["score"] == 0.25


def test_pooled_means_are_isotonic_regressions():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 5, 40).astype(float)
    sums = rng.binomial(sizes.astype(int), rng.random(40), (30, 40)).astype(float)
    sums[0], sums[1] = sizes, 0.0
    for line, found in zip(sums, pooled_means(sums, sizes), strict=True):
        np.testing.assert_allclose(found, isotonic_regression(line / sizes, weights=sizes).x, atol=1e-14)
    labels, numbers = rng.integers(0, 3, (4, 50)), rng.integers(0, 5, 50)
    expected = [[[np.sum(y[numbers == g] == c) for c in range(3)] for g in range(5)] for y in labels]
    np.testing.assert_array_equal(class_counts(labels, numbers, 5, 3), expected)


@pytest.mark.parametrize("score", ["brier", "log"])
@pytest.mark.parametrize("binning", [None, ct.binning.UniformBinning(4)])
def test_parts_of_laws_are_those_of_expected_scores(score, binning):
    """Recalibrated predictions of a law are the regression of its probabilities, or their means in bins."""
    p, truth = np.clip(P, 0.01, 0.99), 0.2 + 0.5 * np.sqrt(P)
    parts = Parts.of(ct.Bernoulli(p), score, binning)
    found = parts.of_law(np.stack([1 - truth, truth], axis=1))

    def mean(q):
        own = (truth * (1 - q) ** 2 + (1 - truth) * q**2, -truth * np.log(q) - (1 - truth) * np.log1p(-q))
        return own[score == "log"].mean()

    if binning is None:
        r = pooled(p, truth)
    else:
        bins = binning.assign(p[:, None])
        r = (np.bincount(bins, truth) / np.bincount(bins))[bins]
    own, best, climate = mean(p), mean(r), mean(np.full(200, truth.mean()))
    np.testing.assert_allclose(found, [own, own - best, climate - best, climate], rtol=1e-10)
    # Labels are laws of probabilities 0 and 1.
    np.testing.assert_allclose(parts.of_labels(Y[None])[:, 0], parts.of_law(np.eye(2)[Y]), rtol=1e-10)


def test_outcomes_are_redrawn_from_smoothed_frequencies():
    """For isotonic regression those of 15 neighbours or more, as equal predictions stay together."""
    order, blocks, start = np.argsort(P, kind="stable"), np.empty(200, dtype=int), 0
    for i, row in enumerate(order):
        start = start if i and P[row] == P[order[i - 1]] else i
        blocks[row] = start // 15
    sums, sizes = 1 + np.bincount(blocks, Y), 2 + np.bincount(blocks)
    expected = isotonic_regression(sums / sizes, weights=sizes).x[blocks]
    parts = Parts.of(ct.Bernoulli(P), "brier", None)
    found = parts.smoothed(parts.expected_counts(np.eye(2)[Y]))[parts.numbers]
    np.testing.assert_allclose(found, np.stack([1 - expected, expected], axis=1), rtol=1e-12)
    bins = ct.binning.UniformBinning(4).assign(P[:, None])
    expected = ((1 + np.bincount(bins, Y)) / (2 + np.bincount(bins)))[bins]
    parts = Parts.of(ct.Bernoulli(P), "brier", ct.binning.UniformBinning(4))
    found = parts.smoothed(parts.expected_counts(np.eye(2)[Y]))[parts.numbers]
    np.testing.assert_allclose(found[:, 1], expected, rtol=1e-12)


def test_inverted_tests_of_a_frequency_are_the_exact_interval():
    """Clopper and Pearson 1934: the probabilities for which so many events are in neither tail."""
    line = np.zeros(1), np.full(1, 0.3), np.ones(1)

    def draws(law):
        return np.random.default_rng(2).binomial(2000, law[0], 20_000) / 2000

    low, high, middle = inverted(line, lambda law: float(law[0]), draws, 0.3, 0.95)
    exact = stats.binomtest(600, 2000).proportion_ci(method="exact")
    assert middle == pytest.approx(0.3, abs=0.001)
    assert (low, high) == (pytest.approx(exact.low, abs=0.001), pytest.approx(exact.high, abs=0.001))
    assert inverted(line, lambda law: float(law[0]), draws, 0.0, 0.95).low == 0.0
    assert inverted(line, lambda law: float(law[0]), draws, 1.0, 0.95).high == 1.0


@pytest.mark.parametrize(("bias", "estimate", "ends"), [(0.1, 0.0, (0.0, 0.0392)), (-0.1, 1.0, (0.9608, 1.0))])
def test_estimates_that_chance_explains_least_at_an_end_of_the_line_count_as_the_median_there(bias, estimate, ends):
    """Which is 0.1 and 0.9, from normal estimates with a standard deviation of 0.02."""
    noise = bias + 0.02 * special.ndtri((np.arange(1000) + 0.5) / 1000)
    line = np.zeros(1), np.ones(1)
    found = inverted(line, lambda law: float(law[0]), lambda law: law[0] + noise, estimate, 0.95)
    assert found[:2] == pytest.approx(ends, abs=2e-4)


@pytest.mark.parametrize("binning", [None, ct.binning.QuantileBinning(5)])
def test_recalibrated_predictions_vary_within_bins_as_predictions_do(binning):
    parts = Parts.of(ct.Bernoulli(0.4 + 0.1 * P), "brier", binning)
    fitted = parts.smoothed(parts.expected_counts(np.eye(2)[Y]))[parts.numbers]
    recalibrated = intervals_module.miscalibration_line(parts, fitted)[-2]
    assert parts.expected_counts(recalibrated) == pytest.approx(parts.expected_counts(fitted))
    moved = recalibrated - (fitted if binning is None else parts.probabilities)
    means = parts.expected_counts(moved) / parts.sizes[:, None]
    assert moved == pytest.approx(means[parts.numbers])


@pytest.mark.every(4)
@pytest.mark.parametrize("score", ["brier", "log"])
@pytest.mark.parametrize("binning", [None, ct.binning.QuantileBinning(5)])
def test_ends_are_values_that_redraws_just_reach(score, binning):
    """On each line, redraws at the lower end reach up to the estimate in 1 of 40 cases, and none below do."""
    p = np.clip(P, 0.01, 0.99)
    found = ct.score_decomposition(p, Y, score=score, binning=binning, confidence_level=0.9, n_resamples=999, rng=3)
    parts = Parts.of(ct.Bernoulli(p), score, binning)
    fitted = parts.smoothed(parts.expected_counts(np.eye(2)[Y]))[parts.numbers]
    lines = (
        intervals_module.score_line(parts, fitted),
        intervals_module.miscalibration_line(parts, fitted),
        intervals_module.discrimination_line(parts, fitted),
    )
    # Of the redraws of the interval and of these.
    error = np.sqrt(0.05 * 0.95 * (1 / 999 + 1 / 4000))
    for j, (part, line) in enumerate(zip(PARTS, lines, strict=False)):
        interval, places = found.intervals[part], np.linspace(0.0, len(line) - 1.0, 1001)
        values = np.array([parts.of_law(law_at(line, place))[j] for place in places])
        observed = getattr(found, part)
        assert interval.low <= interval.estimate <= interval.high
        for end, sign in ((interval.low, 1), (interval.high, -1), (interval.estimate, 1)):
            law = law_at(line, places[np.argmin(np.abs(values - end))])
            draws = parts.of_labels((np.random.default_rng(4).random((4000, 200)) < law[:, 1]).astype(np.intp))[j]
            tail = np.mean(sign * draws >= sign * observed)
            if end == interval.estimate:
                assert 0.45 <= tail <= 0.55 or part == "discrimination"
                continue
            # Where the line starts, more than that are beyond the estimate.
            assert abs(tail - 0.05) <= 3.0 * error or (end == values[0] and tail > 0.05)


def test_an_interval_has_0_where_the_exact_test_does_not_reject():
    for power in (1.0, 1.6, 2.5):
        y = (np.random.default_rng(5).random(200) < P**power).astype(int)
        interval = ct.score_decomposition(P, y, confidence_level=0.9, n_resamples=199, rng=1).intervals[
            "miscalibration"
        ]
        pvalue = ct.MonteCarloTest(ct.estimators.CORPMiscalibration(), 199)(P, y, rng=1).pvalue
        assert (interval.low <= 1e-12) == (pvalue > 0.05) or abs(pvalue - 0.05) < 0.02


@pytest.mark.parametrize("score", ["brier", "log"])
def test_means_under_calibration(score, monkeypatch):
    p = np.clip(P, 0.01, 0.99)
    found = ct.score_decomposition(p, Y, score=score, confidence_level=0.9, n_resamples=300, rng=1)
    draws = ct.noise_floor(p, ct.estimators.CORPMiscalibration(score), n_resamples=300, rng=2)
    error = 5 * draws.standard_deviation / np.sqrt(300)
    assert found.calibrated["miscalibration"] == pytest.approx(draws.mean, abs=error)
    expected = np.mean(p * (1 - p)) if score == "brier" else np.mean(stats.bernoulli(p).entropy())
    assert found.calibrated["score"] == pytest.approx(expected, rel=0.02)
    parts = found.calibrated
    total = parts["miscalibration"] - parts["discrimination"] + parts["uncertainty"]
    assert parts["score"] == pytest.approx(total, rel=1e-10)
    monkeypatch.setattr(intervals_module, "AT_ONCE", 1)
    settings = {"confidence_level": 0.9, "n_resamples": 19}
    once = ct.score_decomposition(P, Y, **settings, rng=1)
    monkeypatch.undo()
    again = ct.score_decomposition(P, Y, **settings, rng=once.seed)
    assert again.calibrated == pytest.approx(once.calibrated, rel=1e-12)
    for part in PARTS:
        assert tuple(again.intervals[part]) == pytest.approx(tuple(once.intervals[part]), rel=1e-9)


HEADER = {"result", "schema", "caltest"}


def test_report_and_dictionary():
    plain, found = (
        ct.score_decomposition(P, Y, confidence_level=level, n_resamples=19, rng=1) for level in (None, 0.9)
    )
    assert {key for key, value in plain.to_dict().items() if value is not None} == HEADER | {"name", *PARTS}
    assert plain.intervals is None
    assert found.to_dict()["intervals"]["score"]["low"] == found.intervals["score"].low
    assert len({hash(plain), hash(found)}) == 2
    lines = str(found).splitlines()
    assert "90 % interval" in lines[2]
    assert f"[{found.intervals['score'].low:.4f}, {found.intervals['score'].high:.4f}]" in lines[3]
    assert lines[4].split()[-1] == f"{found.calibrated['miscalibration']:.4f}"


def test_intervals_of_degenerate_data():
    one = ct.score_decomposition([0.3], [1], confidence_level=0.95, n_resamples=99, rng=1).intervals
    assert tuple(one["discrimination"]) == pytest.approx((0.0, 0.0), abs=1e-15)
    assert one["score"].high == pytest.approx(0.49)
    # Outcomes of predicted probability 0 are impossible with the log loss.
    settings = {"confidence_level": 0.95, "n_resamples": 199, "rng": 1}
    certain = ct.score_decomposition([0.0, 1.0, 1.0], [0, 1, 1], score="log", **settings).intervals
    assert (certain["score"].high, certain["miscalibration"].high) == (0.0, 0.0)
    # With the Brier score they are not: of n right ones there may be wrong ones as 3 / n.
    certain = ct.score_decomposition(np.repeat([0.0, 1.0], 30), np.repeat([0, 1], 30), **settings)
    assert 0.03 <= certain.intervals["score"].high <= 0.08
    constant = ct.score_decomposition([0.5] * 40, [0, 1] * 20, **settings).intervals
    assert constant["discrimination"].high == pytest.approx(0.0, abs=1e-15)
    assert 0.03 <= constant["miscalibration"].high <= 0.05
    # Class frequencies that are equal, as in stratified samples.
    stratified = ct.score_decomposition(
        np.full((40, 4), 0.25), np.arange(40) % 4, binning=ct.binning.UniformBinning(2), **settings
    )
    assert stratified.intervals["uncertainty"].low < 0.75 == stratified.intervals["uncertainty"].high


COVERED = [("brier", None), ("log", None), ("brier", ct.binning.QuantileBinning(5))]


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize(
    ("score", "binning", "noise"),
    thinned([(*one, noise) for one in COVERED for noise in (0.0, 0.5)], [(*COVERED[1], 0.0), (*COVERED[2], 0.5)]),
)
def test_coverage(score, binning, noise, replications):
    sets, rng, covered = replications(8, 1000), np.random.default_rng(7), np.zeros(4)
    for _ in range(sets):
        p = rng.beta(0.5, 0.5, 60)
        truth = (1 - noise) * p + noise / 2
        y = (rng.random(60) < truth).astype(int)
        found = ct.score_decomposition(
            p, y, score=score, binning=binning, confidence_level=0.95, n_resamples=99, rng=rng
        ).intervals
        target = Parts.of(ct.Bernoulli(p), score, binning).of_law(np.stack([1 - truth, truth], axis=1))
        ends = [(found[part].low - 1e-9, found[part].high + 1e-9) for part in PARTS]
        covered += [low <= value <= high for (low, high), value in zip(ends, target, strict=True)]
    assert covered.min() >= stats.binom(sets, 0.92).ppf(0.002)


def test_errors():
    with pytest.raises(ValueError, match="predicted probability 0 at row 1"):
        ct.score_decomposition([0.5, 0.0], [0, 1], score="log")
    with pytest.raises(ValueError, match='wanted "brier" or "log"'):
        ct.score_decomposition(P, Y, score="crps")
    with pytest.raises(TypeError, match="3 classes"):
        ct.score_decomposition(np.full((4, 3), 1 / 3), [0, 1, 2, 0])
    with pytest.raises(TypeError, match="wanted a binning"):
        ct.score_decomposition(P, Y, binning=10)
    with pytest.raises(TypeError, match="Normal"):
        ct.score_decomposition(ct.Normal([0.0], 1.0), [0.0])
    with pytest.raises(ValueError, match="confidence_level: got 95"):
        ct.score_decomposition(P, Y, confidence_level=95)
    with pytest.raises(ValueError, match="n_resamples: got 0"):
        ct.score_decomposition(P, Y, n_resamples=0)


def test_bins_of_one_observation_count_the_predictions_as_a_law():
    """The interval for discrimination spans those of the lines through the frequencies and through the predictions."""
    rng = np.random.default_rng(4)
    predictions = ct.Categorical(rng.dirichlet(np.full(10, 0.5), 300))
    labels, seed = predictions.sample(rng), 3
    binning = ct.binning.UniformBinning(4)
    found = ct.score_decomposition(
        predictions, labels, binning=binning, confidence_level=0.95, n_resamples=99, rng=seed
    ).intervals["discrimination"]
    parts = Parts.of(predictions, "brier", binning)
    fitted = parts.smoothed(parts.expected_counts(np.eye(10)[labels]))[parts.numbers]
    functions = intervals_module._functions(parts, 2, 99, seed)
    estimate = float(parts.of_labels(labels[None])[2, 0])
    one, other = (
        inverted(intervals_module.discrimination_line(parts, law), *functions, estimate, 0.95)
        for law in (fitted, predictions.probabilities)
    )
    assert one.high < other.high
    assert (found.low, found.high) == (min(one.low, other.low), max(one.high, other.high))


@pytest.mark.parametrize(
    ("margins", "place"), [([-1.0, -3.0, 1.0], 1.75), ([0.0, -1.0, 2.0], 0.0), ([-3.0, -2.0, -1.0], 2.0)]
)
def test_first_place_that_is_reached_or_the_last(margins, place):
    assert _crossing(np.array([0.0, 1.0, 2.0]), np.array(margins)) == pytest.approx(place, rel=1e-14)


def test_laws_lose_outcomes_that_the_log_score_has_as_impossible():
    """The others keep their ratios; rows that have no other become the prediction."""
    p = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    law = np.array([[0.1, 0.3, 0.6], [0.6, 0.3, 0.1], [0.5, 0.5, 0.0]])
    parts = Parts.of(ct.Categorical(p), "log", ct.binning.UniformBinning(2))
    assert parts.allowed(law) == pytest.approx(np.array([[0.25, 0.75, 0.0], law[1], p[2]]))


def test_uncertainty_of_events_that_did_not_occur_is_that_of_the_exact_interval():
    """Of 250 outcomes none may be an event where its probability is up to that of Clopper and Pearson."""
    p = 0.001 * np.linspace(0.5, 2.0, 250)
    found = ct.score_decomposition(p, np.zeros(250, dtype=int), confidence_level=0.95, n_resamples=399, rng=1).intervals
    largest = stats.binomtest(0, 250).proportion_ci().high
    assert found["uncertainty"].low == 0.0
    assert found["uncertainty"].high == pytest.approx(largest * (1.0 - largest), rel=0.15)


@pytest.mark.parametrize("n_events", [0, 2])
def test_discrimination_that_few_events_do_not_show_is_not_excluded(n_events):
    """Events that are most frequent where they are predicted least tell isotonic regression nothing."""
    p = np.repeat([0.03, 0.1], 30)
    y = (np.arange(60) < n_events).astype(int)
    found = ct.score_decomposition(p, y, confidence_level=0.95, n_resamples=199, rng=1).intervals
    parts = Parts.of(ct.Bernoulli(p), "brier", None)
    true = parts.of_law(np.stack([1.0 - p, p], axis=1))[2]
    assert found["discrimination"].low <= true <= found["discrimination"].high
