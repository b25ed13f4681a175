"""Standard scores of many redraws, which several components of a test share."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import caltest as ct
from caltest.predictions.standard_scores import scores_of


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
