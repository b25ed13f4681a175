import numpy as np
import pytest
from scipy.stats import beta, norm, t as student
from statistical.cluster_intervals import CLAIMS, TRUTHS, coverage, drawn, events, gaps_missed

import caltest as ct
from caltest._results.values import Finding
from caltest.estimators.combined.findings import GROUPS, _beside, _effect_on, design_effect, findings_of, told
from caltest.estimators.combined.measures import measures_of
from caltest.estimators.kernel_errors.cluster_skce import as_clusters
from caltest.predictions.faults.classes.ordered import LatentSlope
from caltest.predictions.faults.classes.several import Slope
from caltest.predictions.faults.search import candidates_of
from caltest.predictions.inputs.convert import as_sample


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("in coordinate 1 errors are skewed: 5 % above", "in coordinate 1: 5 % above"),
        ("in coordinate 1 errors are heavy: 5 % above", "in coordinate 1 errors are heavy: 5 % above"),
        ("in coordinate 1 errors are 2 times as large", "in coordinate 1 errors are 2 times as large"),
        ("errors of coordinate 1 are skewed: 5 % above", "errors of coordinate 1 are skewed: 5 % above"),
    ],
)
def test_what_holds_in_another_place_is_not_said_again(words, said):
    first = Finding("in coordinate 0 errors are skewed: 9 % above", place="coordinate 0")
    assert _beside(Finding(words, place="coordinate 1"), first) == said


def test_coordinates_with_the_same_fault_are_named_with_their_numbers():
    rng = np.random.default_rng(1)
    members = rng.normal(size=(1000, 20, 2))
    first = findings_of(as_sample(ct.Ensemble(members), rng.exponential(size=(1000, 2)) - 1.0))[0]
    assert first.words.count("are skewed beside those of members") == 1
    assert "; and in coordinate 0: " in first.words or "; and in coordinate 1: " in first.words


N, RNG = 600, np.random.default_rng(8)
P = RNG.dirichlet(np.full(4, 0.7), N)
M, RISK, MEAN = RNG.normal(size=N), RNG.beta(1, 3, N), RNG.gamma(2, 2, N)
FLAT = P**0.5 / (P**0.5).sum(axis=1, keepdims=True)
WRONG = {
    "classes": (ct.Categorical(P), ct.Categorical(FLAT)),
    "ordered": (ct.Ordinal(P), ct.Ordinal(FLAT)),
    "events": (ct.Bernoulli(RISK), ct.Bernoulli(0.6 * RISK)),
    "rare events": (ct.Bernoulli(0.05 * RISK), ct.Bernoulli(0.15 * RISK)),
    "counts": (ct.Poisson(MEAN), ct.NegativeBinomial(MEAN, 0.7)),
    "numbers": (ct.Normal(M, 1.0), ct.Normal(M, 1.5)),
    "vectors": (ct.MvNormal(np.stack([M, -M], 1), 1.0), ct.MvNormal(np.stack([M + 0.4, -M], 1), 1.0)),
    "ensembles": (ct.Ensemble(RNG.normal(size=(N, 20))), ct.Normal(np.zeros(N), 1.6)),
}
EACH = [pytest.param(*pair, id=name) for name, pair in WRONG.items()]


@pytest.mark.parametrize(("law", "truth"), EACH)
def test_copies_of_rows_say_what_the_rows_say(law, truth):
    """Three copies of each in a cluster are worth one; Student's law makes intervals longer by 5 %."""
    sample = as_sample(law, truth.sample(3))
    three, clusters = sample.take(np.repeat(np.arange(N), 3)), as_clusters(np.repeat(np.arange(N), 3))
    once, copied = findings_of(sample)[0], told(three, 0.001, clusters=clusters)["findings"][0]
    assert (once.kind, once.place) == (copied.kind, copied.place)
    assert copied.estimate == pytest.approx(once.estimate, rel=0.01)
    ratio = (copied.interval.high - copied.interval.low) / (once.interval.high - once.interval.low)
    assert 0.7 < ratio < 1.7


@pytest.mark.parametrize(("law", "truth"), EACH)
def test_clusters_of_independent_rows_take_little(law, truth):
    effects = [design_effect(as_sample(law, truth.sample(seed)), as_clusters(np.arange(N) // 4)) for seed in (1, 2)]
    assert 1.0 <= np.mean(effects) < 1.0 + 5.0 * np.sqrt(2.0 / GROUPS / 2.0)


def test_clusters_whose_rows_make_up_for_each_other_count_as_their_rows():
    up, clusters = np.arange(N) % 2 == 0, as_clusters(np.arange(N) // 2)
    assert design_effect(as_sample(ct.Normal(np.zeros(N), np.ones(N)), np.where(up, 1.5, -0.9)), clusters) == 1.0


@pytest.mark.parametrize("events", [(12, 9, 3), (12, 9, 3, 5)])
def test_effect_of_few_clusters_is_that_of_their_sums(events):
    """Outcomes less their frequency, summed over clusters of 20, against the variance of independent outcomes."""
    n = len(events)
    y = (np.arange(20) < np.array(events)[:, None]).astype(int).ravel()
    sums, variance = np.array(events) - 20 * y.mean(), y.mean() * (1.0 - y.mean())
    wider = (student.ppf(0.975, n - 1) / norm.ppf(0.975)) ** 2
    effect = design_effect(as_sample(np.full(y.size, 0.3), y), as_clusters(np.repeat(np.arange(n), 20)))
    assert effect == pytest.approx(n * sums.var(ddof=1) * wider / (y.size * variance), rel=1e-4)


def test_the_effect_is_that_of_the_likeliest_of_two_faults_with_one_name(monkeypatch):
    """Ordered classes have slopes of claims and of what is behind them."""
    law, truth = WRONG["ordered"]
    sample = as_sample(law, truth.sample(3))
    with np.errstate(divide="ignore"):
        likely = candidates_of(faults := law.faults(), faults.seen(np.asarray(sample.targets)[None]))
    best = next(one for one in likely if type(one.fault) is LatentSlope and one.kind == Slope.kind)
    monkeypatch.setattr(Slope, "log_ratio", None)
    once, copies = np.arange(N), np.repeat(np.arange(N), 5)
    effect = _effect_on(best, sample.take(copies), as_clusters(copies))
    assert effect == pytest.approx(5.0 * _effect_on(best, sample, as_clusters(once)), rel=0.01)


def test_words_count_observations():
    y = np.repeat(WRONG["events"][1].sample(3), 2)
    result = ct.calibration_test(np.repeat(RISK, 2), y, clusters=np.repeat(np.arange(N), 2), n_resamples=19, rng=1)
    assert f"{y.sum()} times instead of {2 * RISK.sum():.0f}" in str(result.finding)


@pytest.mark.statistical
def test_intervals_cover_with_dependent_outcomes(replications):
    named, covered, alone = coverage(events, 60, 20, 0.5, replications(10, 400))
    assert named > 0.8
    assert covered > 0.85
    assert alone < 0.75


def test_frequencies_of_copies_have_the_interval_of_the_rows():
    p = RNG.uniform(0.2, 0.6, 400)
    sample = as_sample(np.repeat(p, 3), np.repeat(RNG.random(400) < p, 3).astype(int))
    clusters = as_clusters(np.repeat(np.arange(400), 3))
    measured = measures_of(sample, clusters=clusters)[0]
    alone = measures_of(sample.take(np.arange(0, 1200, 3)))[0]
    assert measured.gap.estimate == pytest.approx(alone.gap.estimate)
    assert measured.gap.low <= alone.gap.low
    assert alone.gap.high < measured.gap.high < alone.gap.high + 0.01
    low, high = measured.interval.low, measured.interval.high
    events = 400 * measured.observed
    assert low == pytest.approx(beta.ppf(0.025, events, 401 - events), abs=2e-3)
    assert high == pytest.approx(beta.ppf(0.975, events + 1, 400 - events), abs=2e-3)


@pytest.mark.parametrize("claims", CLAIMS.values(), ids=CLAIMS)
def test_gaps_cover_with_dependent_outcomes(claims, replications):
    missed = [gaps_missed(claims, 60, 20, 0.5, truth, replications(30, 400)) for truth in TRUTHS]
    assert np.sum(missed, axis=1).max() <= 0.1


def test_events_in_few_clusters_count_once_each():
    p, y, clusters = np.full(300, 0.02), np.zeros(300, dtype=int), as_clusters(np.arange(300) // 10)
    y[[5, 105, 205]] = 1
    interval = measures_of(as_sample(p, y), clusters=clusters)[0].interval
    assert interval.low == pytest.approx(beta.ppf(0.025, 0.3, 30.7), rel=1e-6)
    assert interval.high == pytest.approx(beta.ppf(0.975, 1.3, 29.7), rel=1e-6)


def test_nothing_has_the_interval_of_independent_outcomes():
    """Not the test of likelihood ratios of clusters either, nor two labels of each row."""
    sample, _, _, _ = drawn(events, 60, 20, 0.5, 2)
    (p, y), c = (sample.predictions, sample.targets), np.arange(1200) // 20
    alone = findings_of(sample)[0].interval
    tests = (
        ct.ClusterSKCETest(c, n_resamples=99),
        ct.ClusterSKCETest((c, np.arange(1200) % 30), n_resamples=99),
        ct.named_tests.ClusterLikelihoodRatioTest(c),
    )
    for test in tests:
        interval = test(p, y, rng=1).finding.interval
        assert interval.high - interval.low > 1.5 * (alone.high - alone.low), test


def test_a_kernel_of_ones_own_says_why():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    own, default = (ct.calibration_test(p, y, kernel=k, n_resamples=99, rng=1) for k in (p.default_kernel(), None))
    assert own.finding == default.finding
    assert own.measures == default.measures
    assert own.verdict() == default.verdict()
