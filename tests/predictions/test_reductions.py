import numpy as np
import pytest

import caltest as ct


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


def test_the_top_label_is_the_first_among_equals():
    confidence, correct = ct.top_label([[0.25, 0.25, 0.25, 0.25], [0.1, 0.45, 0.0, 0.45]] * 4, [0, 0, 1, 1, 2, 2, 3, 3])
    assert confidence.probability.tolist() == [0.25, 0.45] * 4
    assert correct.tolist() == [1, 0, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("n", [1, 2, 300])
def test_reductions_do_not_read_the_array_later(n):
    """A column of a single row is contiguous, so nothing forces a copy of it."""
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(4), n), rng.integers(0, 4, n)
    given, labels = p.copy(), y.copy()
    reduced = [ct.top_label(given, labels), *ct.classwise(given, labels)]
    given[:], labels[:] = given[:, ::-1].copy(), 3 - labels
    expected = [(p.max(axis=1), p.argmax(axis=1) == y), *((p[:, c], y == c) for c in range(4))]
    for (predictions, outcomes), (probability, occurred) in zip(reduced, expected, strict=True):
        assert np.array_equal(predictions.probability, probability)
        assert np.array_equal(outcomes, occurred)
        with pytest.raises(ValueError, match="read-only"):
            predictions.probability[0] = 0.0
