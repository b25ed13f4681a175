import dataclasses

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad, quad

import caltest as ct
from caltest.generators import (
    Bias,
    DirichletModel,
    Distorted,
    Friedman1,
    GaussianModel,
    Generator,
    HeteroscedasticSine,
    LeastSquares,
    Scaling,
    class_model,
)

PAPER = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), bandwidth=1.0), ct.GaussianKernel(bandwidth=1.0))
LINE = LeastSquares(0.0, 1.0, 0.45)
CALIBRATED = [GaussianModel(), GaussianModel(dimension=3), HeteroscedasticSine(), Friedman1(), Friedman1(noise=0.3)]
UNCALIBRATED = [GaussianModel(calibrated=False), GaussianModel(dimension=10, calibrated=False), LINE]
OF_CLASSES = [class_model(name, 2) for name in ("M1", "M2", "M3", "W2", "W3", "OC", "UC", "ROT", "SIN")]
OTHERS = [Distorted(GaussianModel(2), Bias(0.3)), Distorted(GaussianModel(), Scaling(0.3)), DirichletModel(3, 1.0)]


@pytest.mark.parametrize("generator", CALIBRATED + UNCALIBRATED + OF_CLASSES + OTHERS, ids=lambda g: g.description)
class TestEveryGenerator:
    def test_samples_are_predictions_with_targets(self, generator):
        predictions, targets = generator.sample(7, rng=1)
        assert len(predictions) == 7
        assert predictions.check_targets(targets) is not None
        assert isinstance(generator, Generator)

    def test_seeds_reproduce_samples(self, generator):
        first, again = generator.sample(50, rng=3)[1], generator.sample(50, rng=np.random.default_rng(3))[1]
        assert np.array_equal(first, again)
        assert not np.array_equal(first, generator.sample(50, rng=4)[1])

    def test_frozen_and_compared_by_value(self, generator):
        assert dataclasses.replace(generator) == generator
        assert hash(generator) == hash(dataclasses.replace(generator))
        with pytest.raises(dataclasses.FrozenInstanceError):
            generator.noise = 3.0

    def test_says_whether_it_is_calibrated(self, generator):
        known = [*UNCALIBRATED, *OF_CLASSES[1:], *OTHERS[:2]]
        assert generator.is_calibrated == (generator not in known)

    @pytest.mark.parametrize("n", [0, 2.5, "3"])
    def test_bad_sizes(self, generator, n):
        with pytest.raises(ValueError, match=r"n: got .*, wanted a whole number of at least 1"):
            generator.sample(n)


@pytest.mark.parametrize("generator", CALIBRATED, ids=lambda g: g.description)
def test_calibrated_models_have_uniform_probability_integral_transforms(generator):
    predictions, targets = generator.sample(20_000, rng=5)
    if isinstance(predictions, ct.MvNormal):
        values = stats.norm.cdf((targets - predictions.mean) / np.sqrt(predictions.covariance)[:, None])
    else:
        values = predictions.cdf(targets)[:, None]
    for column in values.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
        assert abs(stats.spearmanr(column, predictions.mean.reshape(20_000, -1)[:, 0]).statistic) < 4 / np.sqrt(20_000)


@pytest.mark.usefixtures("without_findings")
@pytest.mark.every(2)
@pytest.mark.parametrize("generator", CALIBRATED, ids=lambda g: g.description)
def test_exact_tests_keep_calibrated_models(generator):
    assert ct.calibration_test(*generator.sample(100, rng=6), n_resamples=99, rng=1).pvalue > 0.01


@pytest.mark.every(2)
@pytest.mark.parametrize("generator", UNCALIBRATED, ids=lambda g: g.description)
def test_exact_tests_reject_uncalibrated_models(generator):
    assert ct.calibration_test(*generator.sample(100, rng=6), n_resamples=199, rng=1).pvalue == 0.005


class TestGaussianModel:
    @pytest.mark.parametrize("d", [1, 4])
    def test_predictions_have_uniform_centres(self, d):
        predictions, _ = GaussianModel(d).sample(10_000, rng=1)
        mean = predictions.mean.reshape(10_000, d)
        assert (mean == mean[:, :1]).all()
        assert stats.kstest(mean[:, 0], "uniform").pvalue > 1e-3
        variance = predictions.scale**2 if d == 1 else predictions.covariance
        assert variance == pytest.approx(0.01)

    def test_first_coordinate_of_the_uncalibrated_model_ignores_the_prediction(self):
        predictions, targets = GaussianModel(3, calibrated=False).sample(10_000, rng=2)
        assert stats.kstest(targets[:, 0], stats.norm(0.1, 0.1).cdf).pvalue > 1e-3
        residuals = (targets[:, 1:] - predictions.mean[:, 1:]).ravel()
        assert stats.kstest(residuals, stats.norm(0.0, 0.1).cdf).pvalue > 1e-3

    def test_one_dimension_is_the_case_of_vectors(self):
        one, _ = GaussianModel(1).sample(5, rng=3)
        two, _ = GaussianModel(2).sample(5, rng=3)
        assert isinstance(one, ct.Normal)
        assert isinstance(two, ct.MvNormal)
        assert one.mean == pytest.approx(two.mean[:, 1])

    @pytest.mark.parametrize("d", [1, 2, 10])
    @pytest.mark.parametrize(("nu", "b"), [(1.0, 1.0), (0.3, 0.5)])
    def test_calibration_error_is_the_double_integral(self, d, nu, b):
        def g(x):
            return b / np.sqrt(b**2 + 0.02) * np.exp(-(x**2) / (2 * (b**2 + 0.02)))

        def integrand(a, c):
            others = np.exp(-np.sqrt(d) * abs(a - c) / nu) * g(a - c) ** (d - 1)
            return others * (g(0.0) - g(a - 0.1) - g(c - 0.1) + g(a - c))

        below_the_diagonal = dblquad(integrand, 0, 1, 0, lambda c: c, epsabs=1e-12, epsrel=1e-12)[0]
        kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), nu), ct.GaussianKernel(bandwidth=b))
        assert GaussianModel(d, calibrated=False).skce(kernel) == pytest.approx(2 * below_the_diagonal, rel=1e-10)
        assert GaussianModel(d).skce(kernel) == 0.0

    @pytest.mark.parametrize("d", [1, 10])
    def test_unbiased_estimates_have_the_calibration_error_as_their_mean(self, d, replications):
        model, estimator, rng = GaussianModel(d, calibrated=False), ct.SKCE(PAPER), np.random.default_rng(7)
        number = replications(150, 1000)
        estimates = [estimator(*model.sample(30, rng)) for _ in range(number)]
        deviation = np.mean(estimates) - model.skce(PAPER)
        assert abs(deviation) < 4 * np.std(estimates, ddof=1) / np.sqrt(number)

    def test_bad_settings(self):
        with pytest.raises(ValueError, match="dimension: got 0, wanted a whole number of at least 1"):
            GaussianModel(0)
        with pytest.raises(ValueError, match="calibrated: got 'no', wanted True or False"):
            GaussianModel(calibrated="no")


class TestRegressionProblems:
    def test_sine(self):
        x, y = HeteroscedasticSine().data(20_000, rng=1)
        assert stats.kstest(x, stats.uniform(-1.0, 2.0).cdf).pvalue > 1e-3
        noise = (y - np.sin(np.pi * x)) / np.abs(1.0 + x)
        assert stats.kstest(noise, stats.norm(0.0, 0.15).cdf).pvalue > 1e-3

    def test_friedman(self):
        x, y = Friedman1().data(20_000, rng=1)
        assert x.shape == (20_000, 10)
        assert stats.kstest(x.ravel(), "uniform").pvalue > 1e-3
        # The integral of sin(pi u v) over v is (1 - cos(pi u)) / (pi u).
        mean = 10.0 * quad(lambda u: (1.0 - np.cos(np.pi * u)) / (np.pi * u), 0.0, 1.0)[0] + 20.0 / 12.0 + 7.5
        assert abs(y.mean() - mean) < 4 * y.std() / np.sqrt(y.size)
        residuals = y - (
            10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
        )
        assert stats.kstest(residuals, "norm").pvalue > 1e-3

    def test_inputs_are_checked(self):
        with pytest.raises(ValueError, match=r"inputs: got shape \(2, 4\), wanted rows of at least 5 inputs"):
            Friedman1().mean(np.zeros((2, 4)))
        assert Friedman1().mean(np.zeros((2, 5))).tolist() == [5.0, 5.0]
        with pytest.raises(ValueError, match="noise: got -1"):
            Friedman1(noise=-1)
        with pytest.raises(ValueError, match="noise: got 0"):
            HeteroscedasticSine(noise=0)


class TestLeastSquares:
    def test_fit(self):
        x, y = HeteroscedasticSine().data(40, rng=1)
        model = LeastSquares.fitted(x, y)
        expected = stats.linregress(x, y)
        assert (model.slope, model.intercept) == pytest.approx((expected.slope, expected.intercept), rel=1e-10)
        residuals = y - model.intercept - model.slope * x
        assert model.scale == pytest.approx(np.std(residuals, ddof=1), rel=1e-10)
        assert model.predict([0.5]).mean == pytest.approx([model.intercept + model.slope / 2])

    def test_samples_are_those_of_the_problem(self):
        predictions, targets = LINE.sample(20, rng=3)
        x, y = HeteroscedasticSine().data(20, rng=3)
        assert np.array_equal(targets, y)
        assert predictions.mean == pytest.approx(x)
        assert predictions.scale == pytest.approx(0.45)

    @pytest.mark.parametrize("x", [[1.0, 2.0], [1.0, 1.0, 1.0]])
    def test_points_that_make_no_line(self, x):
        with pytest.raises(ValueError, match=r"x: got . points from 1 to ., wanted 3 or more at two places"):
            LeastSquares.fitted(x, x)

    def test_bad_settings(self):
        with pytest.raises(ValueError, match="y: got 2 values, wanted 3"):
            LeastSquares.fitted([1.0, 2.0, 3.0], [1.0, 2.0])
        with pytest.raises(ValueError, match="scale: got 0"):
            LeastSquares(0.0, 1.0, 0)
        with pytest.raises(ValueError, match="problem: got Friedman1"):
            LeastSquares(0.0, 1.0, 1.0, Friedman1())


def test_noise_of_a_sine_rises_with_its_inputs():
    x = np.array([-1.0, -0.5, 0.0, 1.0])
    assert HeteroscedasticSine(noise=0.3).scale(x) == pytest.approx([0.0, 0.15, 0.3, 0.6])
    assert HeteroscedasticSine().mean(x) == pytest.approx([0.0, -1.0, 0.0, 0.0], abs=1e-15)
