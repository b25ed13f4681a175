"""Distances of integral transforms from the uniform distribution against scipy."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma

import caltest as ct
from caltest._basics.numerics import generator_apart
from caltest._laws import anderson_darling_tail, cramer_von_mises_tail
from caltest.estimators.classical.pit import POINTWISE

RNG = np.random.default_rng(1)
NORMAL = ct.Normal(RNG.normal(size=40), RNG.uniform(0.5, 2.0, 40))
Y = NORMAL.mean + 1.3 * RNG.normal(size=40)
U = stats.norm.cdf((Y - NORMAL.mean) / NORMAL.scale)
STATISTICS = ("KS", "CvM", "AD")
COMBINATIONS = ("POT", "PRIT", "PIET", "PITOS")
statistics = pytest.mark.parametrize("statistic", STATISTICS)


def by_hand(u, statistic):
    u, n = sorted(u), len(u)
    if statistic == "KS":
        return max(max((i + 1) / n - u[i], u[i] - i / n) for i in range(n))
    if statistic == "CvM":
        return 1 / (12 * n) + sum((u[i] - (2 * i + 1) / (2 * n)) ** 2 for i in range(n))
    return -n - sum((2 * i + 1) / n * (np.log(u[i]) + np.log(1 - u[n - 1 - i])) for i in range(n))


@statistics
def test_definition(statistic):
    redraws = NORMAL.sample(2, 7)
    u = stats.norm.cdf((redraws - NORMAL.mean) / NORMAL.scale)
    expected = [by_hand(row, statistic) for row in u]
    assert ct.estimators.PIT(statistic).estimates(NORMAL, redraws) == pytest.approx(expected, rel=1e-9)
    assert ct.estimators.PIT(statistic)(NORMAL, Y) == pytest.approx(by_hand(U, statistic), rel=1e-10)
    assert ct.estimators.PIT(statistic)(*ct.pit_values(NORMAL, Y)) == pytest.approx(by_hand(U, statistic), rel=1e-10)


@pytest.mark.parametrize("n", [2, 5, 40])
def test_effect_sizes_are_distances_beyond_their_means(n):
    """Means are sums over order statistics, whose law is a beta law; that of the largest one is known to 1.1 %."""
    laws, i = stats.beta(range(1, n + 1), range(n, 0, -1)), np.arange(1, n + 1)
    squares = laws.var() + (laws.mean() - (i - 0.5) / n) ** 2
    logs = digamma(i) - digamma(n + 1)
    means = {"CvM": 1 / (12 * n) + squares.sum(), "AD": -n - ((2 * i - 1) / n * 2.0 * logs).sum()}
    predictions = ct.Normal(np.zeros(n), 1.0)
    for statistic, mean in means.items():
        found = ct.estimators.PIT(statistic).effect_size(mean + 0.09 * n, predictions, None)
        assert found.value == pytest.approx(0.3, rel=1e-12)
    largest = ct.estimators.PIT("KS").effect_size(0.0, predictions, None)
    grid = np.linspace(0.0, 1.0, 2001)
    assert -largest.value == pytest.approx(np.trapezoid(stats.kstwo(n).sf(grid), grid), rel=0.011)


def mirrored(index, base):
    """The element of the Halton sequence with a number."""
    found, share = 0.0, 1.0 / base
    while index:
        index, digit = divmod(index, base)
        found, share = found + share * digit, share / base
    return found


def combined_by_hand(u, statistic):
    """One p-value after the other, by the laws of scipy."""
    u, n = sorted(u), len(u)
    if statistic == "PIET":
        tails = list(u)
    elif statistic == "POT":
        tails = [stats.beta.cdf(u[i], i + 1, n - i) for i in range(n)]
    elif statistic == "PRIT":
        tails = [stats.binom.cdf(i + 1, n, u[i]) - 0.5 * stats.binom.pmf(i + 1, n, u[i]) for i in range(n)]
    else:
        numbers = range(1, round(10 * n * np.log(n)) + 1)
        drawn = [[stats.beta.ppf(mirrored(one, base), 0.7, 0.7) for one in numbers] for base in (2, 3)]
        pairs = [[int(np.ceil(n * one)) for one in pair] for pair in zip(*drawn, strict=True)]
        tails = []
        for i, j in [*pairs, *((i, i) for i in range(1, n + 1))]:
            x, y = u[i - 1], u[j - 1]
            laws = {0: (y, j, n + 1 - j), 1: ((y - x) / (1 - x), j - i, n + 1 - j), -1: (y / x, j, i - j)}
            tails.append(stats.beta.cdf(*laws[np.sign(j - i)]))
    p = 2 * np.minimum(tails, 1 - np.array(tails))
    scores = np.tan(np.pi * (0.5 - p))
    return np.mean(np.where(p < 0.5, scores, 0.0) if statistic in ("POT", "PRIT") else scores)


@pytest.mark.parametrize("statistic", COMBINATIONS)
def test_combinations(statistic):
    assert ct.estimators.PIT(statistic)(NORMAL, Y) == pytest.approx(combined_by_hand(U, statistic), rel=1e-9)
    result = ct.PITTest(statistic)(NORMAL, Y)
    assert result.pvalue == pytest.approx(stats.cauchy.sf(result.statistic), rel=1e-9)
    assert (result.pvalue_kind, result.effect_size) == ("asymptotic", None)
    assert ct.PITTest(statistic)(ct.Normal([0.0], 1.0), [0.3]).pvalue > 0.1
    far = 4.0 + 0.01 * np.arange(40)
    assert ct.PITTest(statistic)(NORMAL, NORMAL.mean + far * NORMAL.scale).pvalue < 1e-4


def test_combinations_that_reject_a_little_too_often_say_so():
    null = np.sort(np.random.default_rng(5).random((4000, 30)), axis=1)
    for statistic in COMBINATIONS:
        notes = ct.PITTest(statistic)(NORMAL, Y).notes
        assert (
            f'6 to 7 % of independent transforms at the 5 % level; MonteCarloTest(PIT("{statistic}"))' in "".join(notes)
        ) is (statistic in ("POT", "PRIT"))
        if statistic != "PITOS":
            low, high = (0.055, 0.075) if notes else (0.04, 0.06)
            assert low < np.mean(stats.cauchy.sf(POINTWISE[statistic](null)) <= 0.05) < high


def test_combinations_are_nearly_uniform():
    null = np.random.default_rng(3).normal(size=(400, 100))
    predictions = ct.Normal(np.zeros(100), 1.0)
    low, high = stats.binom.interval(0.999, 400, 0.05)
    for statistic, least in (("POT", 0.0), ("PRIT", 0.0), ("PIET", low)):
        tails = stats.cauchy.sf(ct.estimators.PIT(statistic).estimates(predictions, null))
        assert least <= np.sum(tails <= 0.05) <= high


def test_agrees_with_scipy():
    kolmogorov, cramer = stats.kstest(U, "uniform", method="exact"), stats.cramervonmises(U, "uniform")
    result = ct.PITTest("KS")(NORMAL, Y)
    assert (result.statistic, result.pvalue) == pytest.approx((kolmogorov.statistic, kolmogorov.pvalue), rel=1e-10)
    assert result.pvalue_kind == "exact"
    result = ct.PITTest("CvM")(NORMAL, Y)
    assert (result.statistic, result.pvalue) == pytest.approx((cramer.statistic, cramer.pvalue), rel=1e-9)
    assert result.pvalue_kind == "asymptotic"


def test_limit_laws_have_the_published_quantiles():
    """Anderson and Darling 1954: 1.933, 2.492 and 3.857; 3.878 by Marsaglia and Marsaglia 2004 for the last."""
    for x, tail in ((1.933, 0.1), (2.492, 0.05), (3.878, 0.01)):
        assert anderson_darling_tail(x) == pytest.approx(tail, rel=2e-3)
    for x, tail in ((0.34730, 0.1), (0.46136, 0.05), (0.74346, 0.01)):
        assert cramer_von_mises_tail(x) == pytest.approx(tail, rel=1e-4)


def test_small_pvalues_keep_their_digits():
    far = NORMAL.mean + 5.0 * NORMAL.scale
    for statistic in STATISTICS:
        assert 0.0 < ct.PITTest(statistic)(NORMAL, far).pvalue < 1e-12
    # Largest values of 1/(12 n) + sum (u - (2 i - 1)/(2 n))**2 are n/3; the limit law is used.
    assert ct.PITTest("CvM")(NORMAL, far).pvalue == pytest.approx(cramer_von_mises_tail(40 / 3), rel=1e-3)


@pytest.mark.parametrize(
    "predictions", [ct.Poisson(RNG.gamma(2.0, 2.0, 50)), ct.NegativeBinomial(RNG.gamma(2.0, 2.0, 50), 0.4)]
)
def test_counts_are_randomised(predictions):
    y = predictions.sample(3)
    if isinstance(predictions, ct.Poisson):
        law = stats.poisson(predictions.rate)
    else:
        law = stats.nbinom(predictions.size, predictions.probability)
    u = law.cdf(y - 1) + generator_apart(7).random(50) * law.pmf(y)
    assert ct.estimators.PIT("KS")(predictions, y, rng=7) == pytest.approx(by_hand(u, "KS"), rel=1e-10)
    estimator = ct.estimators.PIT("AD").resolve(predictions, 7)
    redraws = predictions.sample(4, 6)
    assert estimator.estimates(predictions, redraws) == pytest.approx(
        [ct.estimators.PIT("AD")(predictions, one, rng=7) for one in redraws], rel=1e-12
    )
    assert ct.MonteCarloTest(ct.estimators.PIT("AD"), 19)(predictions, y, rng=1).pvalue_kind == "exact"
    assert "randomised" in ct.PITTest()(predictions, y).estimator


def test_ties_are_drawn_anew_without_a_seed_and_for_each_row_in_every_group():
    predictions = ct.Poisson(RNG.gamma(2.0, 0.5, 50))
    y = predictions.sample(3)
    results = [ct.PITTest()(predictions, y) for _ in range(2)]
    assert results[0].pvalue != results[1].pvalue
    assert ct.PITTest()(predictions, y, rng=results[0].seed).pvalue == results[0].pvalue
    assert ct.PITTest()(NORMAL, NORMAL.sample(1)).seed is None
    first = np.arange(50) < 20
    maximum = ct.estimators.GroupMaximum(ct.estimators.PIT(), {"first": first, "other": ~first}).resolve(predictions, 7)
    v = generator_apart(7).random(50)
    u = stats.poisson(predictions.rate).cdf(y - 1) + v * stats.poisson(predictions.rate).pmf(y)
    expected = [by_hand(u[first], "KS"), by_hand(u[~first], "KS")]
    assert maximum.values(predictions, y[None])[:, 0] == pytest.approx(expected, rel=1e-10)


def test_far_outcomes_are_finite():
    assert np.isfinite(ct.estimators.PIT("AD")(NORMAL, NORMAL.mean + 1e6))
    assert 0.0 < ct.PITTest("KS")(NORMAL.take(slice(0, 2)), [1e6, 1e6]).pvalue < 1e-30


def test_one_observation():
    one = ct.Normal([0.0], 1.0)
    assert ct.PITTest("KS")(one, [stats.norm.ppf(0.9)]).pvalue == pytest.approx(0.2)
    for statistic in ("CvM", "AD"):
        assert 0.0 < ct.PITTest(statistic)(one, [0.3]).pvalue <= 1.0


def test_note_of_few_observations():
    few = NORMAL.take(slice(0, 5))
    assert "only 5 observations" in ct.PITTest("AD")(few, Y[:5]).notes[0]
    assert not ct.PITTest("AD")(NORMAL, Y).notes
    assert not ct.PITTest("KS")(few, Y[:5]).notes


def test_bad_input():
    with pytest.raises(ValueError, match='statistic: got \'Kuiper\', wanted "KS", "CvM", "AD"'):
        ct.estimators.PIT("Kuiper")
    with pytest.raises(ValueError, match="scale: got 0"):
        ct.estimators.PIT()(ct.Normal([0.0, 1.0], [0.0, 1.0]), [0.0, 1.0])
    for predictions, y in ((ct.Bernoulli([0.3]), [1]), (ct.MvNormal([[0.0, 1.0]], [1.0]), [[0.0, 1.0]])):
        with pytest.raises(TypeError, match="which are not continuous distributions of a real target"):
            ct.estimators.PIT()(predictions, y)


POINTS = {
    "numbers": (ct.Normal([0.0, 1.0], [1.0, 0.0]), "got 0 at row 1, wanted positive scales", [0.5, 1.0]),
    "Laplace": (ct.Laplace([0.0, 1.0], [1.0, 0.0]), "got 0 at row 1, wanted positive scales", [0.5, 1.0]),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("family", POINTS)
@pytest.mark.parametrize("test", [ct.PITTest(), ct.QuantileCalibrationTest(), ct.estimators.PIT()], ids=repr)
def test_point_predictions_are_refused_in_favour_of_a_test_that_takes_them(test, family):
    predictions, message, y = POINTS[family]
    with pytest.raises(ValueError, match=f"{message}.*; leave such rows out, or use calibration_test"):
        test(predictions, y)
    assert ct.calibration_test(predictions, y, n_resamples=9, rng=1).pvalue > 0.0


@pytest.mark.parametrize("predictions", [ct.Bernoulli([0.3]), ct.Categorical([[0.2, 0.8]])], ids=repr)
def test_predictions_of_classes_are_refused_in_favour_of_a_test_that_takes_them(predictions):
    with pytest.raises(TypeError, match=r"got .*, wanted such as Normal or Gamma; calibration_test takes all"):
        ct.PITTest()(predictions, [1])
