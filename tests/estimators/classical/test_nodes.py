"""Sums over places of log-odds, against sums over rows."""

import numpy as np
import pytest
from scipy import special

from caltest._loops.statistics.logistic import selected_ratios
from caltest.estimators.classical.cox import LogOdds
from caltest.estimators.classical.nodes import Nodes

X = np.random.default_rng(3).normal(0.3, 1.5, 20_000)


@pytest.mark.parametrize("function", [*np.eye(10), lambda x: np.logaddexp(0.0, x), lambda x: np.logaddexp(0.3, 4 * x)])
def test_sums_over_places_are_those_over_rows(function):
    """Of polynomials of less than the tenth degree, and of what likelihoods are sums of."""
    f = function if callable(function) else np.polynomial.chebyshev.Chebyshev(function, (X.min(), X.max()))
    nodes = Nodes.of(X)
    assert nodes.places.size % 10 == 0
    assert nodes.places.size < X.size / 8
    assert nodes.weights @ f(nodes.places) == pytest.approx(f(X).sum(), abs=1e-10 * np.abs(f(X)).sum())


def test_places_are_in_the_cells_of_their_rows():
    """Ten of each cell of width 1/4 from the smallest number on, with the weight of its rows."""
    nodes = Nodes.of(X)
    cells, sizes = np.unique(np.floor((X - X.min()) / 0.25), return_counts=True)
    assert nodes.weights.reshape(-1, 10).sum(axis=1) == pytest.approx(sizes)
    inside = (nodes.places.reshape(-1, 10) - X.min()) / 0.25 - cells[:, None]
    assert (np.diff(inside, axis=1) > 0.0).all()
    assert inside.min() > 0.0
    assert inside.max() < 1.0


def test_few_rows_have_no_places():
    assert Nodes.of(np.linspace(0.0, 0.24, 79)) is None
    assert Nodes.of(np.linspace(0.0, 0.24, 80)).places.size == 10
    assert Nodes.of(np.linspace(0.0, 0.26, 159)) is None


@pytest.mark.parametrize("threshold", [0.0, 3.8, np.inf])
def test_ratios_from_places_are_those_from_rows(threshold):
    """Without doubts, of outcomes that are calibrated, too sure or bent; and with doubts where they are separated."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-2.5, 2.5, 6000)
    odds = LogOdds.of(special.expit(x), 3)
    truths = special.expit(np.stack([x, 0.6 * x + 0.4, x + 0.1 * x * x - 0.3, 1e3 * x]))
    outcomes = (rng.random(truths.shape) < truths).astype(np.int8)
    sums, at_places = outcomes.astype(float) @ odds.design, odds.columns(odds.nodes.places)
    expected, of_rows = selected_ratios(odds.design, outcomes, odds.start, 2, threshold)
    ratios, columns, doubtful = odds.nodes.selected_ratios(at_places, sums[:3], odds.start, threshold)
    assert not doubtful.any()
    assert ratios == pytest.approx(expected[:3], rel=1e-7, abs=1e-7)
    assert columns.tolist() == of_rows[:3].tolist()
    assert odds.nodes.selected_ratios(at_places, sums[3:], odds.start, threshold)[2].all()
    ratios, columns = odds.ratios(outcomes, threshold)
    assert ratios == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert columns.tolist() == of_rows.tolist()
