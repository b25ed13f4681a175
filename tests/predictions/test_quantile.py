import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.predictions.inputs.convert import as_predictions

LEVELS = np.array([0.001, 0.05, 0.5, 0.77, 0.999])


def mixture(n=6):
    rng = np.random.default_rng(1)
    components = [ct.Normal(rng.normal(0, 3, n), rng.uniform(0.1, 1.0, n)) for _ in range(3)]
    return ct.Mixture(components, rng.dirichlet(np.ones(3), n))


@pytest.mark.parametrize(("family", "reference"), [(ct.Normal, stats.norm), (ct.Laplace, stats.laplace)])
def test_quantiles_of_families_with_a_scale(family, reference):
    mean, scale = np.array([0.0, -2.0, 5.0]), np.array([1.0, 0.3, 2.0])
    expected = reference(mean, scale).ppf(LEVELS[:, None])
    assert family(mean, scale).quantile(LEVELS[:, None]) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert family(mean, scale).quantile(0.05) == pytest.approx(expected[1], rel=1e-12)


@pytest.mark.parametrize(
    "predictions",
    [mixture(), ct.Mixture([ct.Laplace([0.0, 1.0], 0.5), ct.Laplace([7.0, 1.5], [1.0, 2.0])])],
    ids=["Normal", "Laplace"],
)
def test_quantiles_of_mixtures_invert_the_distribution_function(predictions):
    y = predictions.quantile(LEVELS[:, None])
    assert y.shape == (LEVELS.size, len(predictions))
    assert predictions.cdf(y) == pytest.approx(np.broadcast_to(LEVELS[:, None], y.shape), rel=1e-12)
    assert predictions.take([1, 0]).quantile(0.3) == pytest.approx(predictions.quantile(0.3)[[1, 0]])


def test_quantile_of_a_mixture_of_one_component_is_that_of_the_component():
    one = ct.Normal([1.0, 2.0], [0.5, 3.0])
    assert ct.Mixture([one]).quantile(0.2) == pytest.approx(one.quantile(0.2), rel=1e-15)


def test_components_without_weight_do_not_count():
    far = ct.Normal([1e6], [1.0])
    near = ct.Normal([0.0], [1.0])
    assert ct.Mixture([near, far], [1.0, 0.0]).quantile(0.9) == pytest.approx(near.quantile(0.9), rel=1e-12)


def test_quantiles_at_jumps_are_the_jumps():
    """Two points of probability 0.3 and 0.7: the smallest value whose probability reaches the level."""
    points = ct.Mixture([ct.Normal([1.0], 0.0), ct.Normal([4.0], 0.0)], [0.3, 0.7])
    assert points.quantile([[0.1], [0.3], [0.31], [0.9]]).ravel() == pytest.approx([1.0, 1.0, 4.0, 4.0])


@pytest.mark.parametrize("level", [0.0, 1.0, -0.2, np.nan, [0.5, 1.5], "half"])
def test_levels_are_checked(level):
    with pytest.raises(ValueError, match=r"level: got .*, wanted numbers between 0 and 1"):
        ct.Normal([0.0], 1.0).quantile(level)


@pytest.mark.parametrize("many", [1, 1000])
def test_quantiles_of_mixtures_are_the_first_numbers_at_which_a_level_is_reached(many, monkeypatch):
    """At the end of the lower of two parts with nothing in between, and at a count; by all numbers in turn."""
    monkeypatch.setattr("caltest.predictions.mixture.MANY", many)
    apart = ct.Mixture([as_predictions(stats.uniform([a], [1.0])) for a in (0.0, 5.0)])
    assert apart.quantile([[0.25], [0.5], [0.75]]).ravel() == pytest.approx([0.5, 1.0, 5.5], abs=1e-14)
    rate, weights = np.array([[2.0, 30.0], [7.0, 7.5]]), [0.3, 0.7]
    counts = ct.Mixture([ct.Poisson(rate[:, 0]), ct.Poisson(rate[:, 1])], weights)
    below = stats.poisson.cdf(np.arange(100)[:, None, None], rate) @ weights
    for level in (0.01, 0.3, 0.5, 0.999):
        assert counts.quantile(level).tolist() == (below >= level).argmax(axis=0).tolist()


def test_families_without_quantiles_say_so():
    with pytest.raises(TypeError, match="MvNormal predictions, whose quantiles are not known"):
        ct.MvNormal([[0.0, 1.0]], 1.0).quantile(0.5)
    with pytest.raises(TypeError, match="Categorical predictions, whose quantiles"):
        ct.Categorical([[0.5, 0.5]]).quantile(0.5)
