import numpy as np
import pytest
from scipy import stats

import caltest as ct


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
    from caltest._loops.sampling import classes_from_uniforms

    cumulative = np.cumsum([[0.3, 0.7 - 1e-7, 0.0], [0.3, 0.7 + 1e-7, 0.0]], axis=1)
    out = np.empty((1, 2), dtype=np.intp)
    classes_from_uniforms(cumulative, np.full((1, 2), np.nextafter(1.0, 0.0)), out)
    assert out.tolist() == [[1, 1]]


def test_probabilities_are_divided_by_their_sum():
    from caltest._loops.sampling import classes_from_uniforms

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
    redraws = predictions.with_redraws(targets, 1, 5)
    assert redraws.max() > 255
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), ct.DeltaKernel())
    one_by_one = [ct.SKCE(kernel)(predictions, y) for y in redraws]
    assert ct.SKCE(kernel).estimates(predictions, redraws) == pytest.approx(one_by_one, rel=1e-11)
    assert np.array_equal(redraws[1:], predictions.sample(1, 5))


def test_normal_draws():
    draws = ct.Normal([1.0, -2.0], [0.5, 0.0]).sample(1, 20_000)
    assert stats.kstest(draws[:, 0], stats.norm(1.0, 0.5).cdf).pvalue > 1e-3
    assert (draws[:, 1] == -2.0).all()


def test_one_draw_has_one_dimension():
    assert ct.Bernoulli([0.5, 0.2]).sample(1).shape == (2,)
    assert ct.Normal([0.5, 0.2], 1.0).sample(1, 3).shape == (3, 2)


@pytest.mark.parametrize("metric", [ct.TotalVariation(), ct.Cityblock(), ct.Euclidean()])
def test_distances_of_classes(metric):
    from scipy.spatial.distance import cdist

    p, q = np.random.default_rng(1).dirichlet(np.ones(4), (2, 5))
    names = {"TV": "cityblock", "L1": "cityblock", "L2": "euclidean"}
    expected = cdist(p, q, names[metric.symbol]) * (0.5 if metric.symbol == "TV" else 1.0)
    assert ct.Categorical(p).distance(metric, ct.Categorical(q)) == pytest.approx(expected, rel=1e-14)


def test_distances_of_binary_predictions_are_those_of_numbers():
    p, q = ct.Bernoulli([0.2]), ct.Bernoulli([0.7])
    for metric in (ct.TotalVariation(), ct.Cityblock(), ct.Euclidean()):
        assert p.distance(metric, q) == pytest.approx(0.5)
    assert p.distance(ct.SquaredEuclidean(), q) == pytest.approx(0.25)


def test_reductions():
    p = [[0.2, 0.8], [0.7, 0.3], [0.5, 0.5]]
    confidence, correct = ct.top_label(p, [1, 1, 0])
    assert confidence.probability.tolist() == [0.8, 0.7, 0.5]
    assert correct.tolist() == [1, 0, 1]
    assert "top label" in repr(confidence)
    named = ct.Categorical(p, classes=["cat", "dog"])
    pairs = ct.classwise(named, ["dog", "dog", "cat"])
    assert [pair[1].tolist() for pair in pairs] == [[0, 0, 1], [1, 1, 0]]
    assert "class dog against the rest" in repr(pairs[1][0])
    with pytest.raises(TypeError, match="binary predictions need no reduction"):
        ct.top_label([0.2, 0.8], [0, 1])
    result = ct.MonteCarloTest(ct.ECE(), n_resamples=9)(*ct.top_label(p, [1, 1, 0]), rng=1)
    assert result.estimator == "ECE (top label), 15 uniform bins, total variation distance"
