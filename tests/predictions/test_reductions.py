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
