import numpy as np
import pytest

import caltest as ct
from caltest._loops.pair_sums.tiles import CITYBLOCK


@pytest.mark.parametrize("metric", [ct.TotalVariation(), ct.kernels.Cityblock(), ct.Euclidean()])
def test_distances_of_classes(metric):
    from scipy.spatial.distance import cdist

    p, q = np.random.default_rng(1).dirichlet(np.ones(4), (2, 5))
    names = {"TV": "cityblock", "L1": "cityblock", "L2": "euclidean"}
    expected = cdist(p, q, names[metric.symbol]) * (0.5 if metric.symbol == "TV" else 1.0)
    assert ct.Categorical(p).distance(metric, ct.Categorical(q)) == pytest.approx(expected, rel=1e-14)


def test_distances_of_binary_predictions_are_those_of_numbers():
    p, q = ct.Bernoulli([0.2]), ct.Bernoulli([0.7])
    for metric in (ct.TotalVariation(), ct.kernels.Cityblock(), ct.Euclidean()):
        assert p.distance(metric, q) == pytest.approx(0.5)
    assert p.distance(ct.kernels.SquaredEuclidean(), q) == pytest.approx(0.25)


class MeansApart(ct.kernels.VectorMetric):
    """The distance of the means."""

    symbol, label, kind = "|m - m'|", "mean", CITYBLOCK

    def vectors_of(self, predictions):
        return predictions.moments()[0][..., None]

    known_vectors = vectors_of


@pytest.mark.parametrize("family", [ct.Normal, ct.Gamma, ct.Beta])
def test_families_of_numbers_take_a_metric_of_ones_own(family):
    predictions = family([0.5, 1.0, 3.0], [1.0, 2.0, 0.5])
    mean = predictions.moments()[0]
    assert predictions.distance(MeansApart(), predictions) == pytest.approx(np.abs(mean[:, None] - mean))
    with pytest.raises(TypeError, match=r"^metric: got TotalVariation\(\) for .*, wanted one of Wasserstein\(\)"):
        predictions.distance(ct.TotalVariation(), predictions)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
@pytest.mark.parametrize("metric", [ct.Wasserstein(), ct.kernels.MixtureWasserstein()])
def test_rounding_errors_have_the_unit_of_the_distance(metric, unit):
    rng = np.random.default_rng(1)
    means, scales = rng.normal(size=(2, 6)), rng.uniform(0.5, 2.0, (2, 6))

    def predictions(unit):
        laws = [ct.Normal(unit * mean, unit * scale) for mean, scale in zip(means, scales, strict=True)]
        return laws[0] if metric == ct.Wasserstein() else ct.Mixture(laws)

    assert metric.rounding(predictions(unit)) == pytest.approx(unit * metric.rounding(predictions(1.0)))


def test_energy_distances_that_are_small_are_no_rounding():
    """They have the unit of the square root of the values."""
    members, kernel = np.random.default_rng(1).normal(size=(20, 5)), ct.kernels.EnergyDistance()
    one, small = (ct.median_bandwidth(ct.Ensemble(unit * members), kernel) for unit in (1.0, 1e-8))
    assert small == pytest.approx(1e-4 * one, rel=1e-6)
