"""Faults of quantiles, beside the probabilities between them that they mean."""

from types import SimpleNamespace

import numpy as np
import pytest

from caltest.predictions.faults import Fit
from caltest.predictions.faults.classes.ordered import Coverage, Level


@pytest.mark.parametrize(
    ("levels", "intervals"),
    [
        ([0.1, 0.5, 0.9], [(10, 90)]),
        ([0.05, 0.25, 0.75, 0.95], [(5, 95), (25, 75)]),
        ([0.1, 0.4, 0.8], [(10, 40), (10, 80), (40, 80)]),
    ],
)
def test_intervals_are_central_or_of_any_two_quantiles(levels, intervals):
    fault, p = Coverage(np.array(levels)), np.diff([0.0, *levels, 1.0])
    seen, above = SimpleNamespace(counts=np.arange(1.0, p.size + 1.0)), np.array([0.0, *levels])
    assert fault.n_siblings == len(intervals)
    for sibling, (low, high) in enumerate(intervals):
        assert fault.place(sibling) == f"the interval from {low} % to {high} %"
        inside = (above > low / 100.0 - 1e-9) & (above < high / 100.0 - 1e-9)
        for t, wrong in ((-0.7, "narrow"), (0.4, "wide")):
            q = p * np.exp(t * inside)
            q /= q.sum()
            assert fault.log_ratio(seen, sibling, t) == pytest.approx(seen.counts @ np.log(q / p))
            assert fault.size(seen, sibling, t) == pytest.approx(q[inside].sum())
            words = fault.words(seen, sibling, Fit(t, t - 0.2, t + 0.2))
            assert words.startswith(f"{fault.place(sibling)} is too {wrong}: it covers ")
            assert words.endswith(f") instead of {high - low} %")


def test_a_quantile_at_another_level_moves_what_is_beside_it():
    p, seen = np.array([0.1, 0.3, 0.4, 0.2]), SimpleNamespace(counts=np.array([3.0, 2.0, 7.0, 5.0]))
    fault = Level(np.array([0.1, 0.4, 0.8]))
    assert (fault.n_siblings, fault.bounds(seen, 1)) == (3, pytest.approx((-0.3, 0.4)))
    for t, wrong, share in ((-0.1, "low", 30), (0.2, "high", 60)):
        q = np.add(p, [0.0, t, -t, 0.0])
        assert fault.log_ratio(seen, 1, t) == pytest.approx(seen.counts @ np.log(q / p))
        words = fault.words(seen, 1, Fit(t, t - 0.05, t + 0.05))
        assert words.startswith(f"the 40 % quantile is too {wrong}: {share} % ({share - 5} % to ")
        assert words.endswith(" of the outcomes are below it")
