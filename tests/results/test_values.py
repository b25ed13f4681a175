"""Effect sizes are about 0 for calibrated predictions and do not grow with n."""

import numpy as np
import pytest
from public import CLASSES
from samples import TV, W2, samples
from scipy.special import ndtr, ndtri

import caltest as ct

S = samples(60, 3)


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
        ct.ToleranceTest(TV, 0.1),
    ],
)
def test_kernel_errors_are_shares_of_the_largest(test):
    result = test(S.p, S.y, rng=1)
    assert result.effect_size.value == pytest.approx(np.sqrt(max(0.0, result.estimate) / 2.0), rel=1e-12)
    assert result.effect_size.unit == "KCE as a share of its largest value"
    assert f"Effect size    {result.effect_size.value:.3g} (KCE" in str(result)
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
    assert "If calibrated  mean" in str(result)
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
    ct.ClusterSKCETest: (TV, CLUSTERS),
    ct.ConsistencyTest: (ct.ECE(),),
    ct.EquivalenceTest: (TV, 0.1),
    ct.MonteCarloTest: (ct.SKCE(TV),),
    ct.ScoreCMETest: (ct.UCME(TV, S.p[:2], S.y[:2]),),
    ct.ToleranceTest: (TV, 0.1),
}
BINARY = (ct.CoxTest, ct.ECCETest, ct.HosmerLemeshowTest, ct.LogScoreTest, ct.SpiegelhalterTest)


def named_tests(base=ct.CalibrationTest):
    for child in base.__subclasses__():
        yield from named_tests(child)
        if CLASSES.get(child.__name__) is child:
            yield child


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
    clustered = ct.ClusterSKCETest(TV, CLUSTERS)(S.p, S.y, rng=1)
    assert clustered.effect_size.value == pytest.approx(np.sqrt(max(0.0, clustered.estimate) / 2.0))
    for masks, largest in ((groups, 1.0), (np.ones((60, 4), dtype=bool), 4.0)):
        grouped = ct.estimators.GroupSKCE(TV, masks)
        value = found(grouped).effect_size.value
        assert value == pytest.approx(np.sqrt(max(0.0, grouped(S.p, S.y)) / (2.0 * largest)))
