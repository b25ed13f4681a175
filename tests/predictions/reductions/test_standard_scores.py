"""Standard scores of many redraws, which several components of a test share."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.reductions.standard_scores import scores_of


def test_scores_of_the_same_targets_are_computed_once():
    p = ct.Normal([0.0, 1.0], [1.0, 2.0])
    first, second = np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]])
    scores = scores_of(p, first)
    assert np.array_equal(scores, [[1.0, 0.5]])
    assert scores_of(p, first) is scores
    assert scores_of(p, second) is not scores
    assert np.array_equal(scores_of(p.take(slice(0, 1)), second[:, :1]), [[1.0]])
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(scores_of, p, second).result() is not scores_of(p, second)


@pytest.mark.parametrize(
    "law",
    [
        ct.Normal([0.0, 3.0, -1.0], [1.0, 2.0, 0.1]),
        ct.Laplace([0.0, 3.0, -1.0], [1.0, 2.0, 0.1]),
        ct.StudentT([3.0, 5.0, 9.0], [0.0, 3.0, -1.0], [1.0, 2.0, 0.1]),
        ct.Gamma([0.5, 2.0, 9.0], [1.0, 2.0, 0.1]),
        ct.LogNormal([0.0, 3.0, -1.0], [1.0, 0.2, 0.1]),
        ct.Beta([0.5, 2.0, 9.0], [1.0, 2.0, 3.0]),
        ct.MvNormal(np.arange(6.0).reshape(3, 2), np.tile([[2.0, 0.7], [0.7, 1.0]], (3, 1, 1))),
    ],
    ids=lambda law: law.family,
)
def test_targets_of_standard_scores_have_these(law):
    targets = law.sample(1, size=4)
    assert law.of_standard_scores(law.standard_scores(targets)) == pytest.approx(targets, rel=1e-9)
