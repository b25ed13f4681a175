"""Distortions: their laws by hand, their draws against the laws, for families of all kinds."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

import caltest as ct
from caltest.generators import (
    Bias,
    Contamination,
    DirichletModel,
    Distorted,
    GaussianModel,
    LabelNoise,
    Outliers,
    Resampled,
    Rotation,
    Scaling,
    Tempering,
    Wave,
    class_model,
)

P = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]])
PAIR = np.array([[0.9, 0.1], [0.35, 0.65]])
N = 20_000


class TestClassDistortions:
    @pytest.mark.parametrize(
        ("distortion", "p", "expected"),
        [
            (Contamination(0.5, (0.0, 1.0, 0.0)), P, [[0.35, 0.6, 0.05], [0.0, 0.75, 0.25]]),
            (LabelNoise(0.3), P, [[0.59, 0.24, 0.17], [0.1, 0.45, 0.45]]),
            (Rotation(0.3), P, [[0.52, 0.35, 0.13], [0.15, 0.35, 0.5]]),
            (Wave(0.2), PAIR, [[0.9 - 0.2 * np.sin(0.4 * np.pi), None], [0.35 - 0.2 * np.sin(2.6 * np.pi), None]]),
        ],
        ids=lambda value: getattr(value, "description", ""),
    )
    def test_laws_by_hand(self, distortion, p, expected):
        law = distortion.law(ct.Categorical(p)).probabilities
        expected = np.array([[x if x is not None else 1 - row[0] for x in row] for row in expected])
        assert law == pytest.approx(expected, abs=1e-14)
        assert distortion.total_variation(ct.Categorical(p)) == pytest.approx(np.abs(expected - p).sum() / 4)

    def test_waves_are_cut_at_0_and_1(self):
        assert Wave(0.5).law(ct.Bernoulli([0.125, 0.375, 0.625, 0.875])).probabilities[:, 1] == pytest.approx(
            [0.625, 0.0, 1.0, 0.375]
        )

    @pytest.mark.parametrize("exponent", [0.6, 1.6, 0.01])
    def test_tempering(self, exponent):
        law = Tempering(exponent - 1.0).law(ct.Categorical(P)).probabilities
        powers = np.where(P > 0, P**exponent, 0.0)
        assert law == pytest.approx(powers / powers.sum(axis=1, keepdims=True), rel=1e-12)

    @pytest.mark.parametrize(
        "distortion", [Contamination(0.0, (1.0, 0.0)), LabelNoise(0.0), Rotation(0.0), Wave(0.0), Tempering(0.0)]
    )
    def test_nothing_happens_at_strength_0(self, distortion):
        assert np.array_equal(distortion.law(ct.Categorical(PAIR)).probabilities, PAIR)

    @pytest.mark.parametrize(
        "distortion",
        [Contamination(0.4, (0.1, 0.2, 0.7)), LabelNoise(0.3), Rotation(0.3), Tempering(-0.4), Tempering(0.6)],
        ids=lambda d: d.description,
    )
    @pytest.mark.parametrize("family", [ct.Categorical, ct.Ordinal])
    def test_draws_follow_the_law(self, distortion, family):
        predictions = family(np.repeat(P[:1], N, axis=0))
        counts = np.bincount(distortion.sample(predictions, rng=1), minlength=3)
        law = distortion.law(family(P[:1])).probabilities[0]
        assert stats.chisquare(counts, N * law).pvalue > 1e-3

    def test_binary_predictions(self):
        predictions = ct.Bernoulli(np.full(N, 0.9))
        for distortion, expected in ((Tempering(-0.4), 0.9**0.6 / (0.9**0.6 + 0.1**0.6)), (LabelNoise(0.2), 0.82)):
            drawn = distortion.sample(predictions, rng=2)
            assert drawn.mean() == pytest.approx(expected, abs=4 / np.sqrt(N) / 2)

    @pytest.mark.parametrize("distortion", [LabelNoise(0.3), Tempering(0.5)])
    def test_names_of_classes_are_kept(self, distortion):
        predictions = ct.Categorical(P, classes=["a", "b", "c"])
        labels = distortion.sample(predictions, rng=3)
        assert set(labels) <= {"a", "b", "c"}
        assert predictions.check_targets(labels).shape == (2,)

    def test_other_families_are_refused(self):
        with pytest.raises(TypeError, match="predictions: got Normal predictions, wanted Categorical, Bernoulli or"):
            LabelNoise(0.1).sample(ct.Normal([0.0], 1.0))

    def test_numbers_of_classes(self):
        with pytest.raises(ValueError, match="fixed: got 2 probabilities, wanted 3, one for each class"):
            Contamination(0.5, (0.5, 0.5)).sample(ct.Categorical(P))
        with pytest.raises(ValueError, match="predictions: got 3 classes, wanted 2 for Wave"):
            Wave(0.1).sample(ct.Categorical(P))


def scores(predictions, targets):
    """What is standard normal for targets drawn from continuous predictions."""
    return ndtri(predictions.cdf(targets))


CONTINUOUS = {
    "Normal": ct.Normal(np.linspace(-3, 3, N), np.linspace(0.1, 5, N)),
    "Gamma": ct.Gamma(np.linspace(0.5, 9, N), 2.0),
    "StudentT": ct.StudentT(4.0 * np.ones(N), np.linspace(-3, 3, N), 2.0 * np.ones(N)),
    "LogNormal": ct.LogNormal(np.linspace(-1, 1, N), 0.5 * np.ones(N)),
    "Beta": ct.Beta(np.linspace(1, 4, N), 2.0 * np.ones(N)),
    "Laplace": ct.Laplace(np.linspace(-3, 3, N), 0.7),
}


class TestDistortionsOfNumbers:
    @pytest.mark.every(4)
    @pytest.mark.parametrize("family", CONTINUOUS)
    @pytest.mark.parametrize(
        ("distortion", "law"),
        [
            (Bias(0.4), stats.norm(0.4, 1.0)),
            (Bias(-1.0), stats.norm(-1.0, 1.0)),
            (Scaling(0.3), stats.norm(0.0, 1.3)),
            (Scaling(-0.5), stats.norm(0.0, 0.5)),
            (Bias(0.0), stats.norm()),
        ],
        ids=lambda value: getattr(value, "description", ""),
    )
    def test_normal_scores_are_moved(self, family, distortion, law):
        predictions = CONTINUOUS[family]
        targets = distortion.sample(predictions, rng=4)
        assert predictions.check_targets(targets) is not None
        assert stats.kstest(scores(predictions, targets), law.cdf).pvalue > 1e-3

    @pytest.mark.parametrize("kind", ["isotropic", "diagonal", "full"])
    def test_vectors(self, kind):
        matrix = np.array([[4.0, 1.0], [1.0, 0.5]])
        covariance = {"isotropic": 4.0, "diagonal": [4.0, 0.5], "full": matrix}[kind]
        expected = {"isotropic": 4.0 * np.eye(2), "diagonal": np.diag([4.0, 0.5]), "full": matrix}[kind]
        covariance = np.broadcast_to(covariance, (N, *np.shape(covariance)))
        predictions = ct.MvNormal(np.tile([1.0, -1.0], (N, 1)), covariance)
        moved = Bias(0.5).sample(predictions, rng=5)
        assert moved.mean(axis=0) == pytest.approx([1.0 + 0.5 * 2.0, -1.0], abs=4 * 2 / np.sqrt(N))
        assert np.cov(moved.T) == pytest.approx(expected, rel=0.06, abs=0.06)
        spread = Scaling(0.5).sample(predictions, rng=6)
        assert spread.mean(axis=0) == pytest.approx([1.0, -1.0], abs=4 * 3 / np.sqrt(N))
        assert np.cov(spread.T) == pytest.approx(2.25 * expected, rel=0.06, abs=0.12)

    def test_scenarios(self):
        members = np.tile([0.0, 1.0, 5.0], (N, 1))
        predictions = ct.Scenarios(members)
        deviation = np.std([0.0, 1.0, 5.0])
        assert set(np.round(Bias(0.5).sample(predictions, rng=7) - 0.5 * deviation, 9)) == {0.0, 1.0, 5.0}
        assert set(np.round(Scaling(1.0).sample(predictions, rng=7), 9)) == {-2.0, 0.0, 8.0}
        vectors = ct.Scenarios(np.stack([members, -members], axis=2))
        assert set(np.round(Bias(0.5).sample(vectors, rng=7)[:, 0] - 0.5 * deviation, 9)) == {0.0, 1.0, 5.0}

    @pytest.mark.parametrize("family", ["Normal", "LogNormal", "Laplace", "Gamma"])
    def test_tempering(self, family):
        predictions = CONTINUOUS[family]
        targets = Tempering(0.6).sample(predictions, rng=8)
        transforms = predictions.at_temperature(1 / 1.6).cdf(targets)
        assert stats.kstest(transforms, "uniform").pvalue > 1e-3

    def test_outliers(self):
        predictions = ct.Normal(np.zeros(N), 0.1)
        targets = Outliers(0.2, ct.Normal([100.0], 1.0)).sample(predictions, rng=9)
        assert stats.binomtest(int((targets > 50).sum()), N, 0.2).pvalue > 1e-3
        assert stats.kstest(targets[targets < 50], stats.norm(0, 0.1).cdf).pvalue > 1e-3
        vectors = ct.MvNormal(np.zeros((N, 2)), 1.0)
        moved = Outliers(0.5, ct.MvNormal([[50.0, 50.0]], 1.0)).sample(vectors, rng=9)
        assert ((moved[:, 0] > 25) == (moved[:, 1] > 25)).all()
        assert Outliers(0.3, ct.Poisson([40.0])).sample(ct.Poisson([1.0, 2.0]), rng=1).dtype.kind == "i"

    def test_families_without_quantiles_are_refused(self):
        with pytest.raises(TypeError, match="whose quantiles are not known here, wanted a family of numbers"):
            Bias(0.1).sample(ct.Categorical(P))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LabelNoise(-0.1), "strength: got -0.1, wanted a finite number of at least 0 and at most 1"),
        (lambda: Rotation(True), "strength: got True"),
        (lambda: Wave(float("nan")), "strength: got nan"),
        (lambda: Tempering(-1.0), "strength: got -1.0, wanted a finite number above -1"),
        (lambda: Scaling(-2), "strength: got -2, wanted a finite number above -1"),
        (lambda: Bias("0.3"), "strength: got '0.3', wanted a finite number"),
        (lambda: Contamination(0.1, (0.5, 0.6)), "fixed: got row 0 that sums to 1.1"),
        (lambda: Outliers(0.1, ct.Normal([0.0, 1.0], 1.0)), "fixed: got <Normal, n = 2>, wanted one distribution"),
        (lambda: class_model("M4"), "name: got 'M4', wanted one of M1, M2, M3, W2, W3, OC, UC, ROT, SIN"),
        (lambda: class_model("SIN"), "n_classes: got 10 for SIN, wanted 2"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


class TestDistorted:
    def test_predictions_are_those_of_the_source(self):
        source = GaussianModel()
        predictions, targets = Distorted(source, Bias(2.0)).sample(5000, rng=1)
        assert np.array_equal(predictions.mean, source.sample(5000, rng=1)[0].mean)
        assert ((targets - predictions.mean) / predictions.scale).mean() == pytest.approx(2.0, abs=0.06)

    def test_strength(self):
        generator = Distorted(GaussianModel(), Bias(2.0))
        assert generator.strength == 2.0
        assert generator.with_strength(0.5) == Distorted(GaussianModel(), Bias(0.5))
        assert class_model("OC").strength == -0.4

    def test_bad_arguments(self):
        with pytest.raises(TypeError, match="source: got 3, wanted a generator"):
            Distorted(3, Bias(0.1))
        with pytest.raises(TypeError, match=r"got 0.1, wanted a distortion such as ct.generators.Tempering\(-0.4\)"):
            Distorted(GaussianModel(), 0.1)


class TestResampled:
    PREDICTIONS = ct.Categorical(np.random.default_rng(1).dirichlet(np.ones(3), 40))

    def test_as_many_predictions_are_the_same_ones(self):
        generator = Resampled(self.PREDICTIONS)
        assert generator.sample(40, rng=1)[0] is self.PREDICTIONS
        assert generator.is_calibrated

    def test_others_are_drawn_with_replacement(self):
        rows = {tuple(row) for row in self.PREDICTIONS.probabilities}
        for n in (10, 500):
            drawn = Resampled(self.PREDICTIONS).sample(n, rng=2)[0].probabilities
            assert {tuple(row) for row in drawn} <= rows
        assert np.unique(drawn, axis=0).shape[0] == 40

    def test_targets_follow_the_distortion_of_each_prediction(self):
        generator = Resampled(self.PREDICTIONS, Rotation(1.0))
        predictions, labels = generator.sample(N, rng=3)
        residuals = np.eye(3)[labels] - np.roll(predictions.probabilities, 1, axis=1)
        assert np.abs(residuals.mean(axis=0)).max() < 4 / np.sqrt(N)
        assert not generator.is_calibrated

    def test_arrays_become_predictions(self):
        assert Resampled([0.1, 0.4, 0.8], Tempering(0.5)).description == "Bernoulli, n = 3; targets from p^1.5"

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            (DirichletModel.m3(4), "predictions of Dir(0.1), 4 classes; targets from p^1.5"),
            (Distorted(DirichletModel.m2(4), Tempering(0.1)), "predictions of Dir(0.1), 4 classes; targets from p^1.5"),
            (GaussianModel(calibrated=False), "predictions of Gaussian model, d = 1; targets from p^1.5"),
            (Resampled([0.1, 0.4], Tempering(-0.1)), "predictions of Bernoulli, n = 2; targets from p^1.5"),
        ],
        ids=["classes", "distorted", "normal", "resampled"],
    )
    def test_only_the_predictions_of_a_source_are_named(self, source, words):
        assert Distorted(source, Tempering(0.5)).description == words
        with pytest.raises(TypeError, match="distortion: got None"):
            Resampled([0.1], None)

    def test_exact_tests_work_on_every_family(self):
        members = np.array([[0.0, 1.0, 2.0], [0.0, 2.0, 4.0], [1.0, 3.0, 9.0]])
        for predictions in (ct.Normal([0.0, 1.0, 2.0], 1.0), ct.Poisson([1.0, 5.0, 2.0]), ct.Ensemble(members)):
            sample = Resampled(predictions).sample(20, rng=1)
            assert 0.0 < ct.calibration_test(*sample, n_resamples=19, rng=1).pvalue <= 1.0


def test_weak_models_have_a_tenth_of_the_labels_moved():
    assert class_model("W2") == DirichletModel.m2(strength=0.1)
    assert class_model("W3", 4, 1.0) == DirichletModel(4, 1.0, 0.1)
