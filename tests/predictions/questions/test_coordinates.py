"""Columns of vectors in another order, and single ones in another unit, are asked about, and nothing else is."""

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.inputs.convert import as_sample

N, D = 300, 3
FACTOR = np.linalg.cholesky(0.5 * np.eye(D) + 0.5)
RNG = np.random.default_rng(3)
MEAN = 20.0 + 2.0 * RNG.normal(size=(N, D))
Y = MEAN + RNG.normal(size=(N, D)) @ FACTOR.T
FAMILIES = {
    "full": ct.MvNormal(MEAN, np.broadcast_to(FACTOR @ FACTOR.T, (N, D, D))),
    "diagonal": ct.MvNormal(MEAN, np.ones((N, D))),
    "scalar": ct.MvNormal(MEAN, np.ones(N)),
    "members": ct.Ensemble(MEAN[:, None] + RNG.normal(size=(N, 20, D)) @ FACTOR.T),
}
FAMILIES["mixture"] = ct.Mixture([FAMILIES["full"], FAMILIES["diagonal"]])


@pytest.mark.every(2)
@pytest.mark.parametrize("family", FAMILIES)
def test_orders_and_units(family):
    predictions = FAMILIES[family]

    def asked(outcomes):
        return as_sample(predictions, outcomes).questions

    assert asked(Y) == asked(MEAN + 1.5 * (Y - MEAN)) == ()
    assert asked(Y[:, [1, 0, 2]]) == (
        "columns of the outcomes in another order would fit (coordinate 0: column 1, coordinate 1: column 0): is "
        "theirs that of the predictions?",
    )
    assert "(coordinate 0: column 2, coordinate 1: column 0, coordinate 2: column 1)" in asked(Y[:, [1, 2, 0]])[0]
    assert asked(Y * [1.0, 10.0, 1.0]) == (
        "outcomes of coordinate 1 divided by 10 or so would fit the predictions: are both in the same unit?",
    )
    assert asked(10.0 * Y) == ("outcomes divided by 10 or so would fit the predictions: are both in the same unit?",)
    assert asked(Y + 5.0) == ()


@pytest.mark.parametrize("family", FAMILIES)
def test_laws_of_coordinates(family):
    predictions = FAMILIES[family]
    for t in range(D):
        one = predictions.coordinate(t)
        mean, variance = one.moments()
        if family == "members":
            assert np.array_equal(one.members, np.sort(predictions.members[..., t], axis=1))
        else:
            assert np.array_equal(mean, MEAN[:, t])
            assert np.allclose(variance, 1.0)
        assert as_sample(one, Y[:, t]).questions == ()


@pytest.mark.parametrize(("factor", "asks"), [(2.0, True), (4.0, False)])
def test_orders_of_predictions_that_are_too_narrow(factor, asks):
    """Where means tell coordinates apart far better than errors blur them."""
    mean = 20.0 + 30.0 * RNG.normal(size=(N, D))
    outcomes = (mean + factor * RNG.normal(size=(N, D)))[:, [1, 0, 2]]
    assert bool(as_sample(ct.MvNormal(mean, np.ones(N)), outcomes).questions) == asks


def test_coordinates_that_are_alike_have_no_order():
    """Where all columns have the same predictions each fits each."""
    same = ct.MvNormal(np.repeat(MEAN[:, :1], 2, axis=1), np.ones(N))
    y = MEAN[:, :1] + RNG.normal(size=(N, 2))
    assert as_sample(same, y).questions == as_sample(same, y[:, ::-1]).questions == ()
    assert as_sample(same, MEAN[:, :1] + 2.0 * RNG.normal(size=(N, 2))).questions == ()
