"""The model of Widmann et al. 2019 against its closed forms, integrals and simulation."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import caltest as ct
from caltest.generators import DirichletModel

UNEVEN = DirichletModel(3, (0.3, 1.0, 2.5), 0.7, (0.2, 0.0, 0.8))
MODELS = [UNEVEN, DirichletModel.m2(4, 0.5), DirichletModel.m3(10, 0.1), DirichletModel.m3(2, 1.0)]


class TestClosedForms:
    # Values of the formulas of the paper, evaluated in another language with 15 digits.
    @pytest.mark.parametrize(
        ("k", "a", "expected"),
        [(10, 0.1, 0.827401212214146), (10, 1.0, 0.473684210526316), (1000, 0.1, 0.882708599268007), (2, 1.0, 1 / 3)],
    )
    def test_mean_total_variation(self, k, a, expected):
        assert DirichletModel(k, a).mean_total_variation() == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize(
        ("k", "a", "expected"),
        [(2, 1.0, 0.25), (10, 0.1, 0.710641801229043), (10, 1.0, 0.3486784401), (1000, 0.1, 0.75511354344951)],
    )
    def test_calibration_error_of_uniform_labels(self, k, a, expected):
        assert DirichletModel.m3(k, a).ece() == pytest.approx(expected, rel=1e-10)

    @pytest.mark.parametrize("k", [2, 10, 1000])
    @pytest.mark.parametrize("a", [0.1, 1.0, 3.0])
    def test_calibration_error_towards_one_class(self, k, a):
        assert DirichletModel.m2(k, a).ece() == pytest.approx(0.5 * (k - 1) / k, rel=1e-12)

    def test_limit_of_many_classes(self):
        assert DirichletModel.m3(10**6, 1.0).ece() == pytest.approx(np.exp(-1.0), rel=1e-5)

    @pytest.mark.parametrize("model", MODELS, ids=lambda m: m.description)
    def test_calibration_error_is_a_sum_of_integrals(self, model):
        alpha = np.broadcast_to(model.concentration, model.n_classes)
        beta = np.full(model.n_classes, 1 / model.n_classes) if model.fixed is None else model.fixed
        total = 0.0
        for a, b in zip(alpha, beta, strict=True):
            law = stats.beta(a, alpha.sum() - a)
            # E|b - X| = 2 E(b - X)+ - b + E X, and E(b - X)+ is the integral of the distribution function up to b.
            total += 2.0 * quad(law.cdf, 0.0, b, epsabs=1e-12)[0] - b + law.mean()
        assert model.ece() == pytest.approx(model.strength * total / 2.0, rel=1e-8)

    @pytest.mark.parametrize("model", MODELS, ids=lambda m: m.description)
    def test_simulation(self, model):
        p = model.sample(20_000, rng=1)[0].probabilities
        beta = np.full(model.n_classes, 1 / model.n_classes) if model.fixed is None else np.array(model.fixed)
        for values, expected in (
            (model.strength * np.abs(p - beta).sum(axis=1) / 2.0, model.ece()),
            (np.abs(p[::2] - p[1::2]).sum(axis=1) / 2.0, model.mean_total_variation()),
        ):
            error = values.std(ddof=1) / np.sqrt(values.size)
            assert values.mean() == pytest.approx(expected, abs=4 * error + 1e-12)

    def test_calibrated_models_have_no_error(self):
        assert DirichletModel.m1().ece() == 0.0


class TestSamples:
    @pytest.mark.parametrize("a", [0.1, 1.0, 4.0])
    def test_coordinates_have_beta_distributions(self, a):
        p = DirichletModel(3, a).sample(5000, rng=2)[0].probabilities
        for column in p.T:
            assert stats.kstest(column, stats.beta(a, 2 * a).cdf).pvalue > 1e-3

    def test_small_concentrations_fill_the_range_of_numbers(self):
        p = DirichletModel(3, 0.02).sample(100_000, rng=11)[0].probabilities
        for place in (1e-100, 1e-10, 0.5, 0.99):
            expected = stats.beta(0.02, 0.04).cdf(place)
            for column in p.T:
                assert stats.binomtest(int((column <= place).sum()), 100_000, expected).pvalue > 1e-3

    def test_uneven_concentrations(self):
        p = UNEVEN.sample(20_000, rng=3)[0].probabilities
        law = stats.dirichlet(UNEVEN.concentration)
        assert p.mean(axis=0) == pytest.approx(law.mean(), abs=4 * np.sqrt(law.var().max() / 20_000))
        assert p.var(axis=0) == pytest.approx(law.var(), rel=0.05)

    def test_tiny_concentrations_give_corners(self):
        p = DirichletModel(5, 1e-4).sample(1000, rng=4)[0].probabilities
        assert np.isfinite(p).all()
        assert np.bincount(p.argmax(axis=1), minlength=5) == pytest.approx(200, abs=70)

    @pytest.mark.parametrize("model", MODELS, ids=lambda m: m.description)
    def test_labels_follow_the_mixture(self, model):
        predictions, labels = model.sample(20_000, rng=5)
        p, k = predictions.probabilities, model.n_classes
        beta = np.full(k, 1 / k) if model.fixed is None else np.array(model.fixed)
        law = (1 - model.strength) * p + model.strength * beta
        residuals = np.eye(k)[labels] - law
        for weights in (np.ones(len(p)), p[:, 0], p.max(axis=1) > 0.7):
            terms = residuals * weights[:, None]
            assert np.abs(terms.sum(axis=0)).max() < 4.5 * np.sqrt((terms**2).sum(axis=0).max())

    def test_published_models(self):
        assert DirichletModel.m1() == DirichletModel(10, 0.1, 0.0)
        assert DirichletModel.m2() == DirichletModel(10, 0.1, 0.5, (1.0,) + (0.0,) * 9)
        assert DirichletModel.m3() == DirichletModel(10, 0.1, 1.0, None)
        assert DirichletModel.m2().with_strength(0.1) == DirichletModel.m2(strength=0.1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((1,), "n_classes: got 1, wanted a whole number of at least 2"),
        ((3, 0.0), r"concentration: got 0.0, wanted 3 positive numbers, or one for all"),
        ((3, (1.0, 2.0)), r"concentration: got \(1.0, 2.0\), wanted 3 positive numbers"),
        ((3, 1.0, 1.5), "strength: got 1.5, wanted a finite number of at least 0 and at most 1"),
        ((3, 1.0, "half"), "strength: got 'half', wanted a finite number"),
        ((3, 1.0, 0.5, (0.5, 0.5)), "fixed: got 2 probabilities, wanted 3, one for each class"),
        ((3, 1.0, 0.5, (0.5, 0.5, 0.5)), r"fixed: got row 0 that sums to 1.5"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        DirichletModel(*settings)


@pytest.mark.usefixtures("without_findings")
def test_exact_test_finds_the_published_models():
    for model, expected in ((DirichletModel.m1(), False), (DirichletModel.m2(), True), (DirichletModel.m3(), True)):
        assert (ct.calibration_test(*model.sample(250, rng=6), n_resamples=99, rng=1).pvalue <= 0.01) == expected


def test_labels_that_do_not_follow_are_named():
    words = [DirichletModel(3, 1.0, 0.5, fixed).description for fixed in (None, (0.0, 1.0, 0.0), (0.5, 0.25, 0.25))]
    assert [one.split("labels ")[1] for one in words] == ["uniform", "class 1", "from (0.5, 0.25, 0.25)"]
