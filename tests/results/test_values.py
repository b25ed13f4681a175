"""Effect sizes are about 0 for calibrated predictions and do not grow with n."""

import dataclasses
import inspect
import json
import math
import re
from functools import cache

import numpy as np
import pytest
from printed import unfolded
from public import CLASSES
from samples import TV, W2, samples
from scipy.special import ndtr, ndtri

import caltest as ct
from caltest._results.values import SCHEMA, Entry, Stored, plain, stored_fields

S = samples(60, 3)

X = np.random.default_rng(5).normal(size=(40, 6, 2))


def found(estimator, p=S.p, y=S.y):
    return ct.MonteCarloTest(estimator, 99)(p, y, rng=1)


@pytest.mark.parametrize(
    "test",
    [
        ct.MonteCarloTest(ct.SKCE(TV), 99),
        ct.MonteCarloTest(ct.estimators.MaxSKCE(TV), 99),
        ct.AsymptoticBlockSKCETest(TV),
        ct.named_tests.CertifiedCrossSKCETest(TV),
        ct.OmnibusTest(TV, 99),
        ct.ToleranceTest(0.1, TV),
    ],
)
def test_kernel_errors_are_shares_of_the_largest(test):
    result = test(S.p, S.y, rng=1)
    assert result.effect_size.value == pytest.approx(np.sqrt(max(0.0, result.estimate) / 2.0), rel=1e-12)
    assert result.effect_size.unit == "KCE as a share of its largest value"
    assert f"Effect size    {result.effect_size.value:.3g} (KCE" in unfolded(result)
    assert result.to_dict()["effect_size"]["value"] == result.effect_size.value


def test_the_largest_error_is_one():
    p, y = np.eye(2)[[1] * 50], [0] * 50
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
    assert found(ct.SKCE(kernel), p, y).effect_size.value == pytest.approx(1.0)
    assert ct.MMCE()(np.ones(50), [0] * 50) == pytest.approx(1.0)
    assert found(ct.MMCE(), np.ones(50), [0] * 50).effect_size.value == pytest.approx(1.0)


def test_biased_estimates_lose_their_bias_where_it_is_known():
    for estimator in (ct.SKCE(TV, unbiased=False), ct.LowRankSKCE(TV, 60, False)):
        result = found(estimator)
        above = max(0.0, result.estimate - result.null_distribution.mean())
        assert result.effect_size.value == pytest.approx(np.sqrt(above / 2.0))
    result = ct.DistributionFreeSKCETest(ct.SKCE(TV, unbiased=False))(S.p, S.y)
    assert result.effect_size.value == pytest.approx(np.sqrt(result.estimate / 2.0))


def test_binned_errors_are_above_their_floor():
    result = found(ct.ECE())
    assert result.effect_size.value == pytest.approx(result.estimate - result.null_distribution.mean())
    assert result.effect_size.unit == "binned error above its mean if calibrated"
    assert "If calibrated  mean" in unfolded(result)
    result = ct.named_tests.BinnedEquivalenceTest(0.9)(S.p, S.y)
    assert (result.effect_size.value, result.effect_size.unit) == (result.estimate, "binned error, noise included")


def test_scores_are_per_observation():
    for estimator, unit in (
        (ct.estimators.ExcessLogScore(), "nats"),
        (ct.estimators.ExcessBrierScore(), "Brier score"),
    ):
        result = found(estimator)
        assert result.effect_size.value == result.estimate
        assert unit in result.effect_size.unit
    ratio = found(ct.estimators.LogLikelihoodRatio())
    assert ratio.effect_size.value == pytest.approx(ratio.estimate / 60)


def test_locations_and_residuals():
    ucme = ct.UCME(TV, S.p[:2], S.y[:2])
    result = ct.AsymptoticCMETest(ucme)(S.p, S.y)
    assert result.effect_size.value == pytest.approx(np.sqrt(result.estimate))
    n = 4000
    p, y = ct.Normal(np.zeros(n), 1.0), 1.5 * np.random.default_rng(1).normal(size=n) + 0.5
    assert found(ct.estimators.ResidualMean(), p, y).effect_size.value == pytest.approx(0.5, abs=0.07)
    assert found(ct.estimators.ResidualSpread(), p, y).effect_size.value == pytest.approx(1.25 + 0.25, abs=0.15)
    assert 0.0 < ct.calibration_test(S.normal, S.targets, n_resamples=9, rng=1).effect_size.value < 1.0
    assert found(ct.SKCE(W2), S.normal, S.targets).effect_size.value <= 1.0


def test_effect_sizes_do_not_grow_with_n():
    model = ct.generators.class_model("M2", 3)
    for estimator in (ct.SKCE(TV), ct.ECE(), ct.estimators.ExcessBrierScore(), ct.estimators.LogLikelihoodRatio()):
        small, large = (
            np.mean([found(estimator, *model.sample(n, seed)).effect_size.value for seed in range(5)])
            for n in (200, 800)
        )
        assert large == pytest.approx(small, rel=0.5)


def test_statistics_of_textbooks():
    """Scores per observation, whatever n; none for statistics that grow with n."""
    p, y = np.full(40, 0.8), np.repeat([0, 1], 20)
    for test, excess in (
        (ct.SpiegelhalterTest(), ct.estimators.ExcessBrierScore()),
        (ct.LogScoreTest(), ct.estimators.ExcessLogScore()),
    ):
        for times in (1, 5):
            result = test(np.tile(p, times), np.tile(y, times))
            assert result.effect_size.value == pytest.approx(excess(p, y), rel=1e-10)
    top = ct.MonteCarloTest(ct.estimators.CORPMiscalibration(), 99)(p, y, rng=1)
    assert top.effect_size.value == pytest.approx(top.estimate - top.null_distribution.mean())


@pytest.mark.usefixtures("without_findings")
class TestStatisticsThatGrowWithN:
    """Outcomes of exact frequencies: what a statistic measures is known to rounding, and so is its mean by chance."""

    N = 400

    def binary(self):
        """Two predictions, 0.3 and 0.8, with events of frequency 0.4 and 0.6."""
        events = np.stack([np.arange(200) < 80, np.arange(200) < 120], axis=1)
        return np.tile([0.3, 0.8], 200), events.ravel().astype(int)

    def numbers(self):
        """Normal predictions whose outcomes have the mean 0.2 too much: quantiles at equal steps."""
        return ct.Normal(np.zeros(self.N), 1.0), ndtri((np.arange(self.N) + 0.5) / self.N) + 0.2

    def both(self, estimator, textbook, sample):
        """Values of the effect size with the mean of a law, and with that of redraws, and both means."""
        drawn, known = ct.MonteCarloTest(estimator, 99)(*sample, rng=1), textbook(*sample)
        return (known.effect_size.value, drawn.effect_size.value), drawn.null_distribution.mean()

    def test_hosmer_lemeshow(self):
        (known, drawn), mean = self.both(ct.estimators.HosmerLemeshow(2), ct.HosmerLemeshowTest(2), self.binary())
        square = (0.01 / 0.21 + 0.04 / 0.16) / 2.0
        assert known == pytest.approx(np.sqrt(square - 2.0 / self.N), rel=1e-10)
        assert drawn == pytest.approx(np.sqrt(square - mean / self.N), rel=1e-10)

    def test_likelihood_ratios(self):
        truth = np.mean([q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p)) for p, q in ((0.3, 0.4), (0.8, 0.6))])
        for estimator in (ct.estimators.CoxCalibration(), ct.estimators.CalibrationBelt()):
            (known, drawn), mean = self.both(estimator, ct.CoxTest(), self.binary())
            assert known == pytest.approx(truth - 2.0 / (2 * self.N), rel=1e-8)
            assert drawn == pytest.approx(truth - mean / (2 * self.N), rel=1e-8)

    @pytest.mark.parametrize(("kind", "truth", "mean"), [("MAD", 0.05, np.pi / 2), ("R", 0.1, 8 / np.pi)])
    def test_cumulative_differences(self, kind, truth, mean):
        """The events are 0.05 per observation too many at first, then 0.1 too few."""
        (known, drawn), redrawn = self.both(ct.estimators.ECCE(kind), ct.ECCETest(kind), self.binary())
        unit = np.sqrt(200 * (0.21 + 0.16)) / self.N
        assert known == pytest.approx(truth - np.sqrt(mean) * unit, rel=1e-10)
        assert drawn == pytest.approx(truth - redrawn * unit, rel=1e-10)

    @pytest.mark.parametrize("n_bins", [None, 4])
    def test_cells(self, n_bins):
        """``(sum r)**2 - sum r**2`` of the residuals r of each cell, over its size."""
        p, y = self.binary()
        squared = (20.0**2 - 50.0 + 40.0**2 - 56.0) / 200
        for predictions in (p, np.stack([1.0 - p, p], axis=1)):
            result = ct.MonteCarloTest(ct.estimators.TCal(n_bins), 19)(predictions, y, rng=1)
            assert result.effect_size.value == pytest.approx(np.sqrt(squared / self.N), rel=1e-10)

    def test_cells_without_uncertain_predictions(self):
        assert ct.MonteCarloTest(ct.estimators.TCal(), 19)([0.0, 1.0], [0, 1], rng=1).effect_size.value == 0.0

    @pytest.mark.parametrize(("kind", "by_chance"), [("CvM", 1 / 6), ("AD", 1.0)])
    def test_squares_of_transforms(self, kind, by_chance):
        u = (np.arange(20_000) + 0.5) / 20_000
        below = ndtr(ndtri(u) - 0.2)
        square = np.mean((below - u) ** 2 / (u * (1.0 - u) if kind == "AD" else 1.0))
        (known, drawn), mean = self.both(ct.estimators.PIT(kind), ct.PITTest(kind), self.numbers())
        assert known == pytest.approx(np.sqrt(square - by_chance / self.N), rel=2e-3)
        assert drawn == pytest.approx(np.sqrt(square - mean / self.N), rel=2e-3)

    def test_largest_difference_of_transforms(self):
        """Of the steps of the observed distribution function, at most half a step above that of the distribution."""
        (known, drawn), mean = self.both(ct.estimators.PIT("KS"), ct.PITTest("KS"), self.numbers())
        truth = 1.0 - 2.0 * ndtr(-0.1)
        assert 0.0 <= drawn + mean - truth <= 0.5 / self.N
        assert known == pytest.approx(drawn, abs=0.1 * mean)

    def test_quantiles(self):
        estimator, textbook = ct.estimators.QuantileCalibration([0.1, 0.5]), ct.QuantileCalibrationTest([0.1, 0.5])
        predictions, y = self.numbers()
        expected = np.array([0.1, 0.4, 0.5])
        shares = np.histogram(y, [-np.inf, ndtri(0.1), 0.0, np.inf])[0] / self.N
        square = ((shares - expected) ** 2 / expected).sum()
        (known, drawn), mean = self.both(estimator, textbook, (predictions, y))
        assert known == pytest.approx(np.sqrt(square - 2.0 / self.N), rel=1e-10)
        assert drawn == pytest.approx(np.sqrt(square - mean / self.N), rel=1e-10)

    def test_means_of_textbooks_are_those_of_redraws(self):
        """Up to the error of 4000 redraws, and of 2 % of the mean where it is that of a limit law."""
        p = np.random.default_rng(2).uniform(0.2, 0.8, 400)
        binary, normal = ct.Bernoulli(p), ct.Normal(np.zeros(400), 1.0)
        cases = [
            (ct.estimators.HosmerLemeshow(5), binary, 0.0),
            (ct.estimators.CoxCalibration(), binary, 0.02),
            (ct.estimators.ECCE("MAD"), binary, 0.05),
            (ct.estimators.ECCE("R"), binary, 0.05),
            (ct.estimators.PIT("KS"), normal, 0.02),
            (ct.estimators.PIT("CvM"), normal, 0.0),
            (ct.estimators.PIT("AD"), normal, 0.0),
            (ct.estimators.QuantileCalibration([0.1, 0.5]), normal, 0.0),
        ]
        for estimator, predictions, error in cases:
            draws = estimator.estimates(predictions, predictions.sample(3, 4000))
            mean, radius = draws.mean(), 4.0 * draws.std() / np.sqrt(4000)
            low, high = mean * (1.0 - error) - radius, mean * (1.0 + error) + radius
            far = 10.0 * mean
            value = estimator.effect_size(far, predictions, None).value
            ends = [estimator.effect_size(far, predictions, end).value for end in (high, low)]
            assert ends[0] <= value <= ends[1], estimator


def test_errors_without_a_largest_value():
    rng = np.random.default_rng(1)
    p = ct.Unnormalised(lambda centre, y: centre - y, rng.normal(size=30), points=np.linspace(-3.0, 3.0, 13))
    result = ct.AsymptoticSKCETest(p.default_kernel())(p, rng.normal(1.0, 1.0, 30), rng=1)
    assert result.effect_size.value == pytest.approx(np.sqrt(max(0.0, result.estimate)))


CLUSTERS = np.repeat(np.arange(20), 3)
GIVEN = {
    ct.AsymptoticCMETest: (ct.UCME(TV, S.p[:2], S.y[:2]),),
    ct.named_tests.BinnedEquivalenceTest: (0.1,),
    ct.named_tests.ClusterLikelihoodRatioTest: (CLUSTERS,),
    ct.ClusterSKCETest: (CLUSTERS, TV),
    ct.ConsistencyTest: (ct.ECE(),),
    ct.EquivalenceTest: (0.1, TV),
    ct.MonteCarloTest: (ct.SKCE(TV),),
    ct.ScoreCMETest: (ct.UCME(TV, S.p[:2], S.y[:2]),),
    ct.ToleranceTest: (0.1, TV),
}
BINARY = (ct.CoxTest, ct.ECCETest, ct.HosmerLemeshowTest, ct.LogScoreTest, ct.SpiegelhalterTest)


def named_tests(base=ct.CalibrationTest):
    for child in base.__subclasses__():
        yield from named_tests(child)
        if CLASSES.get(child.__name__) is child:
            yield child


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", sorted(named_tests(), key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__)
def test_every_named_test_has_one(kind):
    bare = (*BINARY, ct.LikelihoodRatioTest, ct.OmnibusTest, ct.PITTest, ct.QuantileCalibrationTest)
    given = GIVEN.get(kind, () if kind in bare else (ct.SKCE(TV) if kind is ct.DistributionFreeSKCETest else TV,))
    sample = ct.top_label(S.p, S.y) if kind in BINARY else (S.p, S.y)
    if kind in (ct.PITTest, ct.QuantileCalibrationTest):
        sample = S.normal, S.targets
    size = kind(*given)(*sample, rng=1).effect_size
    assert np.isfinite(size.value)
    assert size.unit


def test_weights_groups_and_clusters_are_shares_too():
    groups = np.arange(60) % 3
    wanted = np.sqrt(max(0.0, ct.SKCE(TV)(S.p, S.y)) / 2.0)
    assert found(ct.estimators.WeightedSKCE(TV, np.full(60, 2.0))).effect_size.value == pytest.approx(wanted)
    clustered = ct.ClusterSKCETest(CLUSTERS, TV)(S.p, S.y, rng=1)
    assert clustered.effect_size.value == pytest.approx(np.sqrt(max(0.0, clustered.estimate) / 2.0))
    for masks, largest in ((groups, 1.0), (np.ones((60, 4), dtype=bool), 4.0)):
        grouped = ct.estimators.GroupSKCE(TV, masks)
        value = found(grouped).effect_size.value
        assert value == pytest.approx(np.sqrt(max(0.0, grouped(S.p, S.y)) / (2.0 * largest)))


P, Y = ct.generators.class_model("M2", n_classes=3).sample(60, rng=1)


def mean_test(predictions, targets, *, rng):
    return ct.MonteCarloTest(ct.estimators.ExcessBrierScore(), 9)(predictions, targets, rng=rng)


def excluded():
    p = np.array(P.probabilities)
    p[3] = [0.0, 0.5, 0.5]
    return ct.calibration_test(p, np.r_[Y[:3], 0, Y[4:]], n_resamples=19, rng=1)


def stream():
    test = ct.SequentialCalibrationTest()
    return test.update([0.5, 0.3, 0.0, 0.4], [1, 0, 1, 0])


def model():
    return ct.generators.class_model("OC", 3)


RESULTS = {
    "default": lambda: ct.calibration_test(P, Y, n_resamples=19, rng=1),
    "excluded": excluded,
    "blocks": lambda: ct.AsymptoticBlockSKCETest(P.default_kernel())(P, Y),
    "degrees": lambda: ct.AsymptoticCMETest(ct.UCME(P.default_kernel(), P.take(slice(0, 2)), [0, 1]))(P, Y),
    "margin": lambda: ct.ToleranceTest(0.1, P.default_kernel())(P, Y),
    "difference": lambda: ct.PairedSKCETest()(P, P.at_temperature(2.0), Y),
    "audit": lambda: ct.audit(P, Y, n_resamples=19, rng=1),
    "slices": lambda: ct.find_slices(P, Y, {"x": np.arange(60) % 2}, min_variance=0.1, n_resamples=19, rng=1),
    "labels": lambda: ct.calibration_test(ct.MultiLabel(P.probabilities), np.eye(3)[Y], n_resamples=19, rng=1),
    "groups": lambda: ct.calibration_by_group(P, Y, np.arange(60) % 3, n_resamples=19, rng=1),
    "stream": lambda: stream().result(),
    "longer stream": lambda: ct.SequentialCalibrationTest().update(P, Y).result(),
    "monitor": lambda: ct.CalibrationMonitor(20)(P, Y),
    "changed stream": lambda: ct.SequentialCalibrationTest("likelihood")(
        [0.5] * 20 + [0.1] * 20, [0, 1] * 10 + [1] * 20
    ),
    "models": lambda: ct.compare_models({"a": P, "b": P.at_temperature(2.0)}, Y, n_resamples=19, rng=1),
    "classes": lambda: ct.compare_classes(P, Y, estimator=ct.ECE(), n_resamples=19, rng=1),
    "pairs": lambda: ct.compare_pairs({"a": P, "b": P.at_temperature(2.0)}, Y),
    "recalibration": lambda: ct.recalibration.report(
        P, Y, ct.recalibration.TemperatureScaling(), n_resamples=19, rng=1
    ),
    "multicalibration": lambda: ct.recalibration.multicalibration_report(
        np.linspace(0.1, 0.9, 200), np.arange(200) % 3 == 0, {"x": np.arange(200) % 2}, n_resamples=19, rng=1
    ),
    "best map": lambda: ct.recalibration.fit_best(
        P, Y, [ct.recalibration.Identity(), ct.recalibration.TemperatureScaling()], n_folds=2, rng=1
    ),
    "error": lambda: ct.estimate_calibration_error(P, Y, "top_label", rng=1),
    "errors of classes": lambda: ct.estimate_calibration_error(P, Y, "classwise", rng=1),
    "decomposition": lambda: ct.score_decomposition(*ct.top_label(P, Y)),
    "intervals": lambda: ct.score_decomposition(*ct.top_label(P, Y), confidence_level=0.9, n_resamples=19, rng=1),
    "confidence": lambda: ct.confidence_errors(P, Y),
    "intervals of confidence": lambda: ct.confidence_errors(P, Y, confidence_level=0.9, n_resamples=19, rng=1),
    "Cox": lambda: ct.estimators.cox_calibration(*ct.top_label(P, Y)),
    "clinical": lambda: ct.fields.clinical.validate(P.probabilities[:, 0], Y == 0, n_resamples=19, rng=1),
    "decisions": lambda: ct.fields.clinical.decision_curve(P.probabilities[:, 0], Y == 0, n_resamples=19, rng=1),
    "centres": lambda: ct.fields.clinical.validate_by_group(P.probabilities[:, 0], Y == 0, np.arange(len(Y)) % 3),
    "D-calibration": lambda: ct.fields.d_calibration([0.6, 0.9, 0.4], ct.Censored([1.0, 2.0, 3.0], [1, 0, 1]), rng=1),
    "validation size": lambda: ct.fields.clinical.validation_size(P.probabilities[:, 0]),
    "forecasts": lambda: ct.fields.weather.rank_histogram(X[:, :5, 0], X[:, 5, 0], n_resamples=19, rng=1),
    "posteriors": lambda: ct.fields.bayesian.simulation_based_calibration(X[:, 1:], X[:, 0], n_resamples=19, rng=1),
    "noise": lambda: ct.noise_floor(P, ct.ECE(), n_resamples=19, rng=1),
    "power": lambda: ct.power(mean_test, model(), 20, n_simulations=30, alpha=[0.05, 0.2], rng=1),
    "curve": lambda: ct.power_curve({"one": mean_test, "two": mean_test}, model(), [10, 20], n_simulations=20, rng=1),
    "sample size": lambda: ct.sample_size(mean_test, model(), power=0.5, alpha=0.2, n_simulations=30, rng=1),
}


def same(one, other):
    """Whether two values are equal, arrays and not-stored parts included."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if dataclasses.is_dataclass(one):
        skipped = getattr(one, "not_stored", ())
        names = [field.name for field in dataclasses.fields(one) if field.name not in skipped]
        return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def kinds(cls=Stored):
    for kind in cls.__subclasses__():
        yield from [] if inspect.isabstract(kind) else [kind]
        yield from kinds(kind)


@pytest.fixture(scope="module")
def results():
    return cache(lambda name: RESULTS[name]())


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_read_back(name, results):
    result = results(name)
    again = type(result).from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert same(result, again)
    assert (str(again), repr(again)) == (str(result), repr(result))
    assert again.to_dict() == result.to_dict()
    assert result.to_dict()["caltest"] == ct.__version__
    for method in ("sentence", "bibtex", "to_latex", "to_markdown", "summary"):
        if hasattr(result, method):
            assert getattr(again, method)() == getattr(result, method)()


@pytest.mark.parametrize("name", RESULTS)
def test_reports_have_lines_of_at_most_100_letters(name, results):
    result = results(name)
    for text in (str(result), result.summary()):
        assert max(map(len, text.splitlines())) <= 100, text


@pytest.mark.parametrize("name", RESULTS)
def test_a_pvalue_of_just_the_level_rejects(name, results):
    """In the verdict, in the sentence, and of the rows."""
    result = results(name)
    level = getattr(result, "pvalue", None)
    if level is None or not 0.0 < level < 1.0:
        return
    below = level * (1.0 - 1e-9)
    nothing = re.compile("undecided|no evidence|not rejected|none of")
    assert not nothing.search(result.verdict(level))
    assert nothing.search(result.verdict(below))
    assert result.sentence(level) != result.sentence(below)
    if hasattr(result, "rejected"):
        assert result.rejected(level)
        assert not result.rejected(below)


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_a_table_a_sentence_and_a_picture(name, results):
    """Where there is no picture the class says why."""
    result = results(name)
    header, *rows = result.table()
    assert all(len(row) == len(header) and all(isinstance(cell, str) for cell in row) for row in (header, *rows))
    frame, entries = result.to_pandas(), result.row_entries()
    assert len(frame) == len(entries) > 0
    assert all("name" in one and len(one) > 1 for one in entries)
    assert result.to_markdown().count("\n| ") >= len(rows)
    assert result.to_latex().count(r"\\") >= len(rows)
    sentence = result.sentence()
    assert sentence.endswith(".")
    assert sentence[0].isupper()
    assert "\n" not in sentence
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    has_picture = not type(result).no_picture or getattr(result, "null_distribution", None) is not None
    if has_picture or result.bars():
        drawn = result.plot()
        assert isinstance(drawn, (pyplot.Axes, list)), "axes, or a list of them"
        if isinstance(drawn, pyplot.Axes):
            own = pyplot.figure().add_subplot()
            assert result.plot(ax=own) is own
        else:
            assert len(drawn) > 1
            assert all(isinstance(one, pyplot.Axes) for one in drawn)
            own = pyplot.figure().subplots(1, len(drawn)).tolist()
            assert result.plot(axes=own) == own
        pyplot.close("all")
    else:
        with pytest.raises(TypeError, match=re.escape(type(result).no_picture)):
            result.plot()


def test_every_result_with_a_dictionary_is_tested(results):
    public = {kind for kind in CLASSES.values() if hasattr(kind, "to_dict")}
    public = {kind for kind in public | set(kinds()) if not issubclass(kind, (ct.recalibration.CalibrationMap, Entry))}
    assert public == {type(results(name)) for name in RESULTS}


def parts_of(value):
    """All parts of a result that are objects of their own, with what the dictionary of the result has of them."""
    names = stored_fields(type(value)) if dataclasses.is_dataclass(value) else []
    for one in [getattr(value, name) for name in names]:
        for part in one if isinstance(one, tuple) else [one]:
            if isinstance(part, Entry):
                yield part
            yield from parts_of(part)


@pytest.mark.parametrize("name", RESULTS)
def test_every_part_of_a_result_has_the_dictionary_that_the_result_has_of_it(name, results):
    """Rows are objects of their own: an interval, a group or a finding can be stored without the others."""
    result = results(name)
    whole = json.dumps(result.to_dict())
    for part in parts_of(result):
        assert json.dumps(part.to_dict()) in whole


def test_every_public_row_has_a_dictionary():
    assert all(hasattr(kind, "to_dict") for name, kind in vars(ct.results).items() if dataclasses.is_dataclass(kind))


def test_arrays_cannot_be_written_to(results):
    again = ct.results.SequentialTestResult.from_dict(results("stream").to_dict())
    with pytest.raises(ValueError, match="read-only"):
        again.history[0] = 1.0


def test_numbers_of_numpy_and_infinite_ones():
    values = {"a": np.float32(0.5), "b": [np.int64(3), math.inf, -math.inf], "c": np.array([[1.0, math.inf]])}
    assert plain(values) == {"a": 0.5, "b": [3, "inf", "-inf"], "c": [[1.0, "inf"]]}
    interval = ct.results.ConfidenceInterval(np.float64(0.25), math.inf, 0.9, "some method")
    row = ct.compare_models({"a": P}, Y, n_resamples=9, rng=1)
    row = dataclasses.replace(row, rows=(dataclasses.replace(row.rows[0], interval=interval),))
    again = type(row).from_dict(json.loads(json.dumps(row.to_dict(), allow_nan=False)))
    assert again.rows[0].interval == ct.results.ConfidenceInterval(0.25, math.inf, 0.9, "some method")


def test_a_power_study_that_was_read_back_goes_on(results):
    earlier = results("power")
    again = type(earlier).from_dict(json.loads(json.dumps(earlier.to_dict())))
    more = ct.power(mean_test, model(), 20, n_simulations=40, alpha=[0.05, 0.2], resume=again)
    assert np.array_equal(more.pvalues[:30], earlier.pvalues)
    assert more.n_simulations == 40


def test_a_report_that_was_read_back_has_no_data_to_draw(results):
    from caltest.plots import recalibration_report

    again = type(results("recalibration")).from_dict(results("recalibration").to_dict())
    assert (again.map, again.samples) == (None, None)
    with pytest.raises(ValueError, match="report: got one that was read back, without data"):
        recalibration_report(again)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([1, 2], TypeError, r"entries: got list, wanted the dictionary of CalibrationTestResult.to_dict\(\)"),
        ({}, ValueError, "entries: got the result None, wanted 'CalibrationTestResult'"),
    ],
)
def test_other_dictionaries_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        ct.results.CalibrationTestResult.from_dict(given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"schema": SCHEMA + 1, "caltest": "9.1.0"},
            "got schema 2 of caltest 9.1.0, wanted 1; read it with that version",
        ),
        ({"result": "PowerResult"}, "entries: got the result 'PowerResult'"),
        ({"pvalue": "small"}, "pvalue: got 'small', wanted a number"),
        ({"pvalue": math.nan}, "pvalue: got nan, wanted a number"),
        ({"pvalue": True}, "pvalue: got True, wanted a number"),
        ({"n": 3.5}, "n: got 3.5, wanted a whole number"),
        ({"n": None}, "n: got None, wanted a whole number"),
        ({"test": 3}, "test: got 3, wanted a string"),
        ({"pvalue_kind": "sure"}, "pvalue_kind: got 'sure', wanted one of 'exact', 'bound'"),
        ({"notes": "one"}, "notes: got 'one', wanted a list"),
        ({"components": [{"name": "x"}]}, r"components\[0\]: got .* wanted statistic, pvalue"),
        ({"null_distribution": {"mean": 1.0}}, "null_distribution: got .* wanted a list"),
        ({"null_distribution": [1.0, "x"]}, r"null_distribution\[1\]: got 'x', wanted a number"),
        ({"effect_size": [1]}, r"effect_size: got \[1\], wanted a dictionary"),
    ],
)
def test_changed_entries_are_refused(changes, message, results):
    with pytest.raises(ValueError, match=message):
        ct.results.CalibrationTestResult.from_dict(results("default").to_dict() | changes)


@pytest.mark.parametrize("name", RESULTS)
def test_missing_entries_are_named(name, results):
    whole = results(name).to_dict()
    for field in dataclasses.fields(results(name)):
        if field.name in whole:
            less = {key: value for key, value in whole.items() if key != field.name}
            with pytest.raises(ValueError, match=f"entries: got no {field.name}, wanted all that"):
                type(results(name)).from_dict(less)


def test_cells_of_a_power_curve_have_their_places(results):
    whole = results("curve").to_dict()
    del whole["cells"][1]["position"]
    with pytest.raises(ValueError, match=r"cells.position: got None, wanted a whole number"):
        ct.results.PowerCurve.from_dict(whole)


def test_the_command_line_prints_what_can_be_read_back(tmp_path, capsys):
    from caltest.cli import main

    np.save(tmp_path / "p.npy", P.probabilities)
    np.save(tmp_path / "y.npy", Y)
    main(["test", str(tmp_path / "p.npy"), str(tmp_path / "y.npy"), "--seed", "1", "--json"])
    again = ct.results.CalibrationTestResult.from_dict(json.loads(capsys.readouterr().out))
    assert str(again) == str(ct.calibration_test(P, Y, rng=1))
