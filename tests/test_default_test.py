from inspect import signature

import numpy as np
import pytest
from printed import unfolded

import caltest as ct
from caltest._laws import clopper_pearson
from caltest.estimators.combined import findings

TV = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())


def test_default_test_is_the_omnibus_test_with_the_median_bandwidth(ds1):
    p, y = ds1
    result = ct.calibration_test(p, y, n_resamples=99, rng=7)
    by_hand = ct.CalibrationTest(ct.estimators.Omnibus(), ct.nulls.ConditionalMonteCarlo(99))(p, y, rng=7)
    assert (result.pvalue, result.statistic, result.estimator) == (by_hand.pvalue, by_hand.statistic, by_hand.estimator)
    assert result.test == "OmnibusTest"
    assert result.estimate == pytest.approx(ct.SKCE(ct.Categorical(p).default_kernel())(p, y), rel=1e-12)


def test_test_with_a_kernel_is_the_exact_one_of_this_kernel(ds1):
    p, y = ds1
    kernel = ct.ProductKernel(
        ct.ExponentialKernel(ct.TotalVariation(), ct.median_bandwidth(p, ct.TotalVariation())), ct.DeltaKernel()
    )
    result = ct.calibration_test(p, y, kernel=kernel, n_resamples=99, rng=7)
    by_hand = ct.CalibrationTest(ct.SKCE(kernel), ct.nulls.ConditionalMonteCarlo(99))(p, y, rng=7)
    assert result.pvalue == by_hand.pvalue
    assert result.estimate == by_hand.estimate
    assert result.estimator == by_hand.estimator


def test_named_tests_are_pairs():
    assert isinstance(ct.AsymptoticSKCETest(TV).null, ct.nulls.ArconesGineBootstrap)
    redrawn = (
        *(test(ct.ECE()) for test in (ct.MonteCarloTest, ct.ConsistencyTest)),
        *(test(TV) for test in (ct.AsymptoticSKCETest, ct.PearsonSKCETest)),
        *(ct.ClusterSKCETest([0, 0, 1], TV), ct.OmnibusTest(), ct.LikelihoodRatioTest()),
    )
    assert {test.null.n_resamples for test in redrawn} == {999}
    assert ct.named_tests.BinnedEquivalenceTest(0.1).estimator == ct.ECE(ct.binning.UniformBinning(10))
    assert ct.AsymptoticBlockSKCETest(TV).estimator == ct.BlockSKCE(TV, 2)


def test_signatures_name_the_arguments():
    assert list(signature(ct.CalibrationTest).parameters) == ["estimator", "null"]
    assert list(signature(ct.MonteCarloTest).parameters) == ["estimator", "n_resamples"]


def overlapping(n, h, seed=1):
    """Right forecasts of sums of the next h shocks."""
    rng = np.random.default_rng(seed)
    sums = np.convolve(rng.normal(size=n + h - 1), np.ones(h), "valid")
    return ct.Normal(np.zeros(n), np.sqrt(h)), sums


def test_with_a_lag_each_set_of_rows_that_are_so_far_apart_is_tested():
    p, y = overlapping(60, 3)
    x, w = np.random.default_rng(2).normal(size=(2, 60))
    kernel = p.default_kernel()
    for settings in ({}, {"kernel": ct.ProductKernel(ct.ExponentialKernel(bandwidth=1.0), kernel.target_kernel)}):
        for name, values in ((None, None), ("features", x), ("weights", np.exp(w))):
            more = {} if name is None else {name: values}
            alone = []
            for k in range(3):
                rows = np.arange(k, 60, 3)
                some = {} if name is None else {name: values[rows]}
                part = p.take(rows), y[rows] + 2.0
                alone.append(ct.calibration_test(*part, **settings, **some, n_resamples=39, rng=1))
            found = ct.calibration_test(p, y + 2.0, **settings, **more, lag=3, n_resamples=39, rng=1)
            best = min(alone, key=lambda one: one.pvalue)
            assert found.pvalue == pytest.approx(min(1.0, 3.0 * best.pvalue))
            pvalues = [min(1.0, 3.0 * one.pvalue) for one in best.components]
            assert [one.pvalue for one in found.components] == pytest.approx(pvalues)
            assert (found.n, found.pvalue_kind) == (60, "bound")
            assert "n = 60 (20 used)" in unfolded(found)


def test_rows_without_an_outcome_keep_their_place_in_a_lag():
    p, y = overlapping(60, 2)
    y[[3, 10, 11]] = np.nan
    found = ct.calibration_test(p, y, lag=2, missing="drop", n_resamples=39, rng=1)
    alone = [
        ct.calibration_test(p.take(np.arange(k, 60, 2)), y[k::2], missing="drop", n_resamples=39, rng=1).pvalue
        for k in (0, 1)
    ]
    assert found.pvalue == min(1.0, 2.0 * min(alone))
    assert found.given() == ()


def test_with_a_long_lag_only_sets_with_small_pvalues_are_redrawn_more_often(monkeypatch):
    """Else 30 sets would have 600 redraws each, and of a thousand sets tests would take hours."""
    pvalues, on = {99: [], 198: [], 594: []}, ct.CalibrationTest.on

    def noted(test, *given, **more):
        result = on(test, *given, **more)
        pvalues[test.null.n_resamples].append(result.pvalue)
        return result

    monkeypatch.setattr(ct.CalibrationTest, "on", noted)
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, 300)
    right = (rng.random(300) < p).astype(int)
    for lag, y in ((9, right), (30, right), (30, np.where(np.arange(300) % 30 == 7, p < 0.5, right))):
        for some in pvalues.values():
            some.clear()
        found = ct.calibration_test(p, y, lag=lag, n_resamples=99, rng=1)
        assert len(pvalues[99]) == lag
        assert sum(map(len, pvalues.values())) == lag + sum(one <= max(1.0 / lag, 0.05) for one in pvalues[99])
        assert not pvalues[594 if lag == 9 else 198]
    assert "from row 7 on" in found.notes[0]
    assert found.pvalue == pytest.approx(30.0 / (99 * 6 + 1))


def test_with_a_lag_what_is_claimed_and_observed_is_that_of_all_rows():
    """That of the set with the smallest p-value is off by chance."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, 400)
    y = (rng.random(400) < p).astype(int)
    found = ct.calibration_test(p, y, lag=8, n_resamples=19, rng=1)
    first, *_ = found.measures
    assert (first.claimed, first.observed) == (pytest.approx(p.mean()), y.mean())
    assert first.interval.ends == pytest.approx(clopper_pearson(y.sum() / 8, 50, 0.95))
    assert first.gap.low == 0.0
    # A fault of all rows, in numbers of all rows.
    wrong = (rng.random(400) < p + 0.2).astype(int)
    shown = ct.calibration_test(p, wrong, lag=2, n_resamples=99, rng=1)
    assert shown.finding.words.startswith(f"class 1 occurs more often than predicted, {wrong.sum()} times instead of")
    assert "what is wrong, claimed and observed is of all rows; intervals count 2 of them as one" in unfolded(shown)


def test_with_a_lag_faults_are_looked_for_among_all_rows_only(monkeypatch):
    looked_at = []
    monkeypatch.setattr(findings, "measures_of", lambda sample, *_: looked_at.append(len(sample)) or ())
    p, y = overlapping(60, 3)
    ct.calibration_test(p, y, lag=3, n_resamples=9, rng=1)
    assert looked_at == [60]


def test_with_a_lag_it_is_said_that_too_few_redraws_or_rows_cannot_reject():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, 80)
    wrong = np.where(p < 0.5, 1, 0)
    few = ct.calibration_test(p, wrong, lag=10, n_resamples=19, rng=1)
    assert few.pvalue == few.smallest == pytest.approx(10 / 39)
    assert few.verdict() == (
        "undecided at the 5 % level: p-values of so few redraws are 0.256 or more; take n_resamples=199 or more"
    )
    assert few.verdict(0.3).startswith("reject calibration at the 30 % level")
    assert "(the smallest possible with 38 redraws" in unfolded(few)
    assert "could not have been rejected at the 5 % level with so few redraws" in few.sentence()
    enough = ct.calibration_test(p, wrong, lag=10, n_resamples=199, rng=1)
    assert enough.verdict().startswith("reject calibration at the 5 % level")
    assert ct.calibration_test(p[:20], wrong[:20], lag=10, n_resamples=1, rng=1).smallest == 1.0
    # Of the four outcomes of two rows none is rarer than 0.2**2.
    rows = ct.calibration_test(p[:20], wrong[:20], lag=10, n_resamples=39, rng=1)
    assert rows.smallest > 0.05
    assert rows.has_few_rows
    assert "p-values of so few rows are 0.755 or more; take more rows, or a smaller lag" in rows.verdict()
    assert "with so few rows" in rows.sentence()


def test_lags_that_leave_no_two_rows_are_refused():
    p, y = overlapping(40, 3)
    with pytest.raises(ValueError, match="lag: got 21 for 40 rows, wanted at most half of them"):
        ct.calibration_test(p, y, lag=21)
    with pytest.raises(ValueError, match="lag"):
        ct.calibration_test(p, y, lag=0)
    with pytest.raises(TypeError, match="lag: got one with"):
        ct.calibration_test(ct.MultiLabel(np.full((4, 2), 0.5)), np.ones((4, 2)), lag=2)


def test_a_fault_of_the_only_class_that_is_predicted_is_not_said_twice():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([8.0, 1.0, 1.0], 600)
    p = p[p.argmax(axis=1) == 0]
    true = p**0.5 / (p**0.5).sum(axis=1, keepdims=True)
    labels = (true.cumsum(axis=1) < rng.random(len(p))[:, None]).sum(axis=1)
    result = ct.calibration_test(p, labels, n_resamples=19, rng=1)
    assert [one.kind for one in result.findings[:2]] == ["temperature", "temperature of a class"]
    assert "temperature" in result.why(0.1)
    assert "; or " not in result.why(0.1)


class TestClusters:
    """``calibration_test(clusters=)``: the test of clusters, of the rows that have an outcome."""

    P = np.random.default_rng(3).uniform(0.1, 0.9, 120)
    Y = (np.random.default_rng(4).random(120) < P).astype(int)
    PATIENT, DAY = np.arange(120) // 2, np.arange(120) % 10

    @pytest.mark.parametrize("clusters", [PATIENT, (PATIENT, DAY)], ids=["one", "two"])
    def test_it_is_the_test_of_clusters(self, clusters):
        result = ct.calibration_test(self.P, self.Y, clusters=clusters, n_resamples=99, rng=1)
        test = ct.ClusterSKCETest if isinstance(clusters, tuple) else ct.OmnibusTest
        assert str(result) == str(test(clusters=clusters, n_resamples=99)(self.P, self.Y, rng=1))
        kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())
        own = ct.calibration_test(self.P, self.Y, clusters=clusters, kernel=kernel, n_resamples=99, rng=1)
        assert own.pvalue == ct.ClusterSKCETest(clusters, kernel, 99)(self.P, self.Y, rng=1).pvalue

    def test_rows_without_outcomes_are_left_out_of_the_clusters(self):
        y, seen = self.Y.astype(float), np.arange(120) % 7 > 0
        y[~seen] = np.nan
        dropped = ct.calibration_test(
            self.P, y, clusters=(self.PATIENT, self.DAY), missing="drop", n_resamples=99, rng=1
        )
        pair = self.PATIENT[seen], self.DAY[seen]
        assert dropped.pvalue == ct.ClusterSKCETest(pair, n_resamples=99)(self.P[seen], self.Y[seen], rng=1).pvalue

    def test_labels_are_matched_by_the_index(self):
        import pandas as pd

        order = np.random.default_rng(5).permutation(120)
        clusters = pd.Series(self.PATIENT).iloc[order]
        given = pd.Series(self.P), pd.Series(self.Y)
        with pytest.warns(UserWarning, match="matched by their index"):
            found = ct.calibration_test(*given, clusters=clusters, n_resamples=99, rng=1)
        assert found.pvalue == ct.calibration_test(*given, clusters=self.PATIENT, n_resamples=99, rng=1).pvalue

    def test_times_of_which_some_are_censored_have_clusters_too(self):
        import scipy.stats

        time = np.random.default_rng(6).exponential(2.0, 120)
        law, seen = scipy.stats.expon(scale=np.full(120, 2.0)), np.minimum(time, 3.0)
        result = ct.calibration_test(law, ct.Censored(seen, time < 3.0), clusters=self.PATIENT, n_resamples=99, rng=1)
        assert result.test == "OmnibusTest"

    @pytest.mark.parametrize(
        ("others", "error", "message"),
        [
            ({"weights": np.arange(1, 121)}, TypeError, "clusters: got some with weights"),
            ({"features": {"x": P}}, TypeError, "clusters: got some with weights, features"),
            ({"lag": 2}, TypeError, "a lag, wanted none of these beside them; to use these, pass one row"),
            ({"clusters": PATIENT[:-1]}, ValueError, "clusters: got 119 values, wanted 120"),
            ({"clusters": np.zeros(120)}, ValueError, "clusters: got one cluster"),
        ],
    )
    def test_what_does_not_go_together_is_refused(self, others, error, message):
        with pytest.raises(error, match=message):
            ct.calibration_test(self.P, self.Y, **{"clusters": self.PATIENT, "n_resamples": 19} | others)

    def test_labels_and_chunks_have_no_clusters(self):
        with pytest.raises(TypeError, match="weights, features, clusters"):
            ct.calibration_test(ct.MultiLabel(np.full((4, 2), 0.4)), np.zeros((4, 2), int), clusters=[1, 1, 2, 2])

    @pytest.mark.parametrize(
        "call",
        [
            lambda p, y, c: ct.calibration_test(p, y, clusters=c, n_resamples=19),
            lambda p, y, c: ct.ClusterSKCETest((np.arange(90) // 3, c), n_resamples=19)(p, y),
            lambda p, y, c: ct.named_tests.ClusterLikelihoodRatioTest(c)(p, y),
            lambda p, y, c: ct.estimators.one_per_cluster(p, y, c),
            lambda p, y, c: ct.audit(p, y, clusters=c, n_resamples=19),
        ],
    )
    def test_labels_that_are_the_outcomes_are_refused(self, call):
        p = np.random.default_rng(7).dirichlet(np.ones(6), 90)
        y = ct.Categorical(p).sample(1)
        with pytest.raises(ValueError, match="clusters: got the targets"):
            call(p, y, np.array(list("abcdef"))[y])


@pytest.mark.parametrize(("n", "k"), [(1200, 3), (1500, 4), (1500, 40)])
def test_errors_that_follow_the_confidence_up_and_down_are_found(n, k, monkeypatch):
    """With labels in memory, in products of low rank, and in sums over their entries."""
    monkeypatch.setattr("caltest.estimators.combined.components.MANY_CLASSES", 1300)
    monkeypatch.setattr("caltest.estimators.combined.sums.many_classes.WORTH", 1)
    monkeypatch.setattr("caltest.predictions.faults.classes.labels.LARGE", 1)
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.full(k, 2.0 / k), n)
    confidence, top = p.max(axis=1), p.argmax(axis=1)
    ranks = (np.argsort(np.argsort(confidence)) + 0.5) / n
    q = p.copy()
    q[np.arange(n), top] *= np.exp(np.cos(8.0 * np.pi * ranks))
    y = (q.cumsum(axis=1) < rng.random((n, 1)) * q.sum(axis=1, keepdims=True)).sum(axis=1)
    result = ct.calibration_test(p, y, n_resamples=99, rng=1)
    assert result.pvalue == 0.01
    assert result.finding.words.startswith("claims of the most probable class are off in places: those from 0.")
    chunks = ct.OmnibusTest(n_resamples=99).accumulator(predictions=p, rng=1)
    for part in np.array_split(np.arange(n), 3):
        chunks.update(p[part], y[part])
    assert chunks.result().pvalue == 0.01


def test_an_interval_that_says_more_than_the_test_is_in_the_verdict():
    """A wave that is too fast for all rows of the test, of an accuracy that is the one that is claimed."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), 3000)
    confidence, top = p.max(axis=1), p.argmax(axis=1)
    ranks = (np.argsort(np.argsort(confidence)) + 0.5) / confidence.size
    right = rng.random(confidence.size) < np.clip(confidence + 0.14 * np.cos(32.0 * np.pi * ranks), 0.0, 1.0)
    q = p.copy()
    q[np.arange(confidence.size), top] = 0.0
    other = (q.cumsum(axis=1) < rng.random((confidence.size, 1)) * q.sum(axis=1, keepdims=True)).sum(axis=1)
    result = ct.calibration_test(p, np.where(right, top, other), n_resamples=39, rng=1)
    assert result.verdict().startswith(
        "calibration is not rejected at the 5 % level, but probabilities of the most probable class are "
    )
    assert result.verdict().endswith(" percentage points off on average (more than 2 matters)")


@pytest.mark.parametrize("n", [49, 50])
def test_fifty_clusters_give_all_numbers_of_the_omnibus(n):
    clusters = np.repeat(np.arange(n), 2)
    result = ct.calibration_test(np.full(2 * n, 0.4), np.arange(2 * n) % 2, clusters=clusters, n_resamples=9, rng=1)
    assert result.test == ("OmnibusTest" if n == 50 else "ClusterSKCETest")


def test_notes_are_said_once():
    """The kernel of many predictions is chosen for the call, and again for the test."""
    rng = np.random.default_rng(1)
    p = rng.choice([0.01, 0.02, 0.05], 10_050)
    notes = ct.calibration_test(p, rng.random(p.size) < p, clusters=np.arange(p.size) % 6, n_resamples=9, rng=1).notes
    assert any("median bandwidth" in note for note in notes)
    assert len(notes) == len(set(notes))


def test_weights_of_counts_are_asked_whether_they_are_exposures():
    rng = np.random.default_rng(1)
    exposure, frequency = rng.uniform(0.1, 1.0, 200), rng.gamma(4.0, 0.1, 200)
    claims, group = rng.poisson(frequency * exposure), np.arange(200) % 2
    for predictions in (ct.Poisson(frequency), ct.NegativeBinomial.from_mean(frequency, 0.5)):
        for result in (
            ct.calibration_test(predictions, claims, weights=exposure, n_resamples=19, rng=1),
            ct.calibration_by_group(predictions, claims, group, weights=exposure, n_resamples=19, rng=1),
        ):
            (asked,) = [note for note in result.notes if "exposures" in note]
            assert "ct.Poisson(frequency * exposure)" in asked
            assert asked.endswith("?")
    for predictions, weights in ((ct.Poisson(frequency * exposure), None), (ct.Normal(frequency, 1.0), exposure)):
        result = ct.calibration_test(predictions, claims, weights=weights, n_resamples=19, rng=1)
        assert not any("exposures" in note for note in result.notes)
