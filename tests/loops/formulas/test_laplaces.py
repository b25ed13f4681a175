"""The Laplacian kernel averaged over Laplace distributions, beside integrals of the definition."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace

from caltest._loops.formulas.laplaces import one_noise, one_sided_sums, two_noises

SCALES = {"small": 0.05, "close": 1.3 * (1.0 + 1e-9), "near": 1.32, "large": 4.0}


def averaged(function, x, scale):
    """``E f(x + Z)`` of an even function, for Z of a Laplace distribution."""
    ends = sorted({0.0, x, x - 60.0 * scale, x + 60.0 * scale, -x})
    pieces = pairwise(ends)
    return sum(quad(lambda z: function(abs(z)) * laplace.pdf(z, x, scale), *piece, epsabs=1e-13)[0] for piece in pieces)


@pytest.mark.parametrize("x", [0.0, 0.4, 6.0])
@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_averages_over_one_distribution(x, scale):
    assert one_noise(x, 1.3, scale) == pytest.approx(averaged(lambda z: np.exp(-z / 1.3), x, scale), rel=1e-9)


@pytest.mark.parametrize("other", [0.7, 1.29])
@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_averages_over_two_distributions(scale, other):
    wanted = averaged(lambda z: one_noise(z, 1.3, scale), 0.4, other)
    assert two_noises(0.4, 1.3, scale, other) == pytest.approx(wanted, rel=1e-9)


def test_sums_over_redraws_are_those_of_averages_over_one_distribution():
    rng = np.random.default_rng(2)
    rows, targets = (rng.normal(size=4), np.array(list(SCALES.values()))), rng.normal(size=(5, 3))
    tiles = rng.normal(size=(2, 4, 5)) * (rng.random((4, 5)) < 0.8)
    averages = np.array(
        [[[one_noise(abs(m - y), 1.3, s) for y in one] for one in targets] for m, s in zip(*rows, strict=True)]
    )
    assert one_sided_sums(tiles, rows, targets, 1.3) == pytest.approx(
        np.einsum("lij,ijb->lb", tiles, averages), rel=1e-9
    )
