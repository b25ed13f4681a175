"""What is equal, or singular, but for rounding is told from what varies, whatever the unit."""

import re

import numpy as np
import pytest
from samples import TV

import caltest as ct
from caltest._basics.numerics import at_least_as_large, band_of_redraws
from caltest._validation.arrays import positive_semidefinite
from caltest.estimators.combined.joint import standardised
from caltest.hstatistics.redraws.of_labels import root_of
from caltest.hstatistics.variances.covariance import whitening
from caltest.hstatistics.variances.jackknife import jackknife
from caltest.kernels.matrix import rank_on_residuals
from caltest.nulls.limit_laws import Moments, NormalNull, _t_squared
from caltest.predictions.faults.fault import varies

RNG = np.random.default_rng(1)
X = RNG.normal(size=(20, 3))
SINGULAR = np.array([[4.0, 1.0, 0.0], [1.0, 0.25, 0.0], [0.0, 0.0, 1.0]])
ALMOST = 0.1 * (1.0 + 1e-15 * RNG.integers(-2, 3, 20))
"""Numbers that are equal but for rounding."""


def z_of(terms):
    return NormalNull().outcome_of(ct.BlockSKCE(TV, 2), Moments.of(terms, 0.0)).statistic


def message_of(call, *given):
    """An error without its numbers."""
    with pytest.raises(ValueError, match=r".") as caught:
        call(*given)
    return re.sub(r"-?\d[\d.e+-]*", "#", str(caught.value))


OUTCOMES = {
    "mean of blocks": lambda unit: z_of(unit * X[:, 0]),
    "equal blocks": lambda unit: message_of(z_of, unit * ALMOST),
    "Hotelling": lambda unit: _t_squared(unit * X),
    "equal deviations": lambda unit: message_of(_t_squared, unit * np.column_stack([X, ALMOST])),
    "jackknife": lambda unit: jackknife(unit * X[:, 0]).standard_error / unit,
    "jackknife of equal sums": lambda unit: jackknife(unit * ALMOST).standard_error,
    "whitening": lambda unit: unit * whitening(unit**2 * SINGULAR, 1e-10),
    "features": lambda unit: root_of(unit**2 * SINGULAR) / unit,
    "rank": lambda unit: rank_on_residuals(unit * SINGULAR),
    "ties": lambda unit: at_least_as_large(unit, unit * np.array([1.0 - 1e-15, 1.0 - 1e-6, 2.0])),
    "band": lambda unit: band_of_redraws(unit * np.column_stack([X, ALMOST]), 0.9)[2],
    "joint": lambda unit: standardised(unit * np.stack([X[:, 0], ALMOST])),
    "features that vary": lambda unit: [varies(unit * X[:, 0]), varies(unit * ALMOST)],
    "singular matrix": lambda unit: positive_semidefinite(unit * (SINGULAR - 1e-12 * np.eye(3)), "x") / unit,
    "asymmetric matrix": lambda unit: message_of(positive_semidefinite, unit * X[:3], "x"),
    "distances": lambda unit: (
        ct.MvNormal(unit * X[:2], unit**2 * np.stack([SINGULAR, 2.0 * SINGULAR])).distance(
            ct.Wasserstein(), ct.MvNormal(unit * X[:2], unit**2 * np.stack([SINGULAR, np.diag([1.0, 2.0, 3.0])]))
        )
        / unit
    ),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_unit_does_not_matter(name):
    usual = OUTCOMES[name](1.0)
    for unit in (2.0**-25, 2.0**25):
        found = OUTCOMES[name](unit)
        if isinstance(usual, str):
            assert found == usual
        else:
            np.testing.assert_allclose(found, usual, rtol=1e-6, atol=1e-9)
