import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest._basics.threads import streams


def test_class_frequencies():
    p = np.array([[0.1, 0.2, 0.7], [0.5, 0.0, 0.5]])
    draws = ct.Categorical(p).sample(1, 50_000)
    for i in range(2):
        counts = np.bincount(draws[:, i], minlength=3)
        positive = p[i] > 0
        assert counts[~positive].sum() == 0
        assert stats.chisquare(counts[positive], 50_000 * p[i][positive]).pvalue > 1e-3


def test_outcomes_of_probability_zero_never_occur():
    p = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert np.array_equal(np.unique(ct.Categorical(p).sample(1, 10_000), axis=0), [[1, 0, 2]])
    binary = ct.Bernoulli([0.0, 1.0]).sample(1, 10_000)
    assert np.array_equal(np.unique(binary, axis=0), [[0, 1]])


def test_rows_are_used_in_proportion_to_their_sum():
    """Uniform numbers next to 1 give the last class of positive probability, whatever the rounding of the row."""
    from caltest._loops.rows import classes_from_uniforms

    cumulative = np.cumsum([[0.3, 0.7 - 1e-7, 0.0], [0.3, 0.7 + 1e-7, 0.0]], axis=1)
    out = np.empty((1, 2), dtype=np.intp)
    classes_from_uniforms(cumulative, np.full((1, 2), np.nextafter(1.0, 0.0)), out)
    assert out.tolist() == [[1, 1]]


def test_probabilities_are_divided_by_their_sum():
    from caltest._loops.rows import classes_from_uniforms

    out = np.empty((1, 1), dtype=np.intp)
    for uniform, label in ((0.4999, 0), (0.5001, 1)):
        classes_from_uniforms(np.array([[0.4, 0.8]]), np.array([[uniform]]), out)
        assert out[0, 0] == label


def test_more_than_256_classes():
    """Labels 0 and 256 are different classes in redraws too."""
    k = 300
    p = np.full((40, k), 0.5 / (k - 2))
    p[:, [0, 256]] = 0.25
    predictions, targets = ct.Categorical(p), np.arange(40) % 2 * 256
    redraws = predictions.with_redraws(targets, streams(np.random.default_rng(1), 5))
    assert redraws.max() > 255
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), ct.DeltaKernel())
    one_by_one = [ct.SKCE(kernel)(predictions, y) for y in redraws]
    assert ct.SKCE(kernel).estimates(predictions, redraws) == pytest.approx(one_by_one, rel=1e-11)
    (stream,) = np.random.default_rng(1).spawn(1)
    assert np.array_equal(redraws[1:], predictions.sample(stream, 5))


def test_normal_draws():
    draws = ct.Normal([1.0, -2.0], [0.5, 0.0]).sample(1, 20_000)
    assert stats.kstest(draws[:, 0], stats.norm(1.0, 0.5).cdf).pvalue > 1e-3
    assert (draws[:, 1] == -2.0).all()


def test_one_draw_has_one_dimension():
    assert ct.Bernoulli([0.5, 0.2]).sample(1).shape == (2,)
    assert ct.Normal([0.5, 0.2], 1.0).sample(1, 3).shape == (3, 2)


class OneDraw(ct.Gamma):
    """A family of one's own that forgets how many redraws are asked for."""

    def _draw(self, rng, shape):
        return rng.standard_gamma(self.shape_parameter)


def test_draws_of_a_wrong_shape_are_refused():
    predictions = OneDraw([1.0, 2.0, 3.0], 1.0)
    with pytest.raises(ValueError, match=r"^OneDraw.sample: got the shape \(3,\), wanted \(9, 3\) for 9 redraws of 3"):
        ct.MonteCarloTest(ct.SKCE(predictions.default_kernel()), 9)(predictions, [1.0, 2.0, 3.0])
