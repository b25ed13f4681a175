import numpy as np

from caltest.plots.reliability import _Reliability


def test_frequencies_at_the_ends_of_their_bars_are_inside():
    low, high = np.full(5, 0.2), np.full(5, 0.4)
    bins = _Reliability(np.ones(5), np.full(5, 0.3), np.array([0.19, 0.2, 0.3, 0.4, 0.41]), low, high)
    assert bins.outside.tolist() == [True, False, False, False, True]
