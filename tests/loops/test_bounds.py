"""Compiled loops with parameters that are as extreme as floating point numbers get, in processes that may die."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from caltest._loops import counting, transport
from caltest._loops.formulas import kernels
from caltest._loops.pair_sums import members, pairs, tiles

TESTS = Path(__file__).parents[1]
EXTREMES = [5e-324, 1e-310, 1e-100, 1e100, 1e308]
EXPECTATIONS = """
import numpy as np, caltest as ct
kernels = [ct.GaussianKernel(bandwidth=1.0), ct.LaplacianKernel(1e-150), ct.MaternKernel(bandwidth=1e150)]
kernels += [ct.kernels.RationalQuadraticKernel(bandwidth=1e300)]
for value in {extremes}:
    shape = min(max(value, 1e-300), 1e300)
    for law in [{laws}]:
        print(law.family, law._parameters, flush=True)
        power = [ct.ExponentialKernel(ct.Euclidean(), 1.0, exponent=0.02)] if law.family == "Gamma" else []
        for kernel in kernels + power:
            try:
                means = law.expected_kernel(kernel, np.array([0.5]))
                both = law.expected_kernel2(kernel, law)
            except ct.predictions.ClosedFormMissing as error:
                assert "lost to rounding" in str(error)
                continue
            assert (abs(means - 0.5) <= 0.5 + 1e-9).all(), (law._parameters, kernel, means)
            assert (abs(both - 0.5) <= 0.5 + 1e-9).all(), (law._parameters, kernel, both)
"""
LAWS = """
    ct.StudentT(3.0, 0.0, [1.0, value]), ct.StudentT([shape], 0.0, 1.0), ct.StudentT(3.0, [value], 1.0),
    ct.Normal([0.0, min(value, 1e100)], 1.0), ct.Normal([0.0, 0.0], [1.0, value]),
    ct.Laplace([0.0, min(value, 1e100)], 1.0), ct.Laplace([0.0, 0.0], [1.0, value]),
    ct.LogNormal([0.0], value), ct.LogNormal([value], 1.0), ct.LogNormal([-value], 1.0),
    ct.Gamma([shape], 1.0), ct.Gamma(2.0, [value]), ct.Gamma([shape], 1e10), ct.Gamma(0.01, [value]),
    ct.Beta([shape], 2.0), ct.Beta([shape], shape), ct.Beta(0.01, [shape])
"""


def run(code, **variables):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])} | variables
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stdout[-200:] + process.stderr[-2000:]


@pytest.mark.full
def test_expectations(replications):
    run(EXPECTATIONS.format(extremes=replications(EXTREMES[::4], EXTREMES), laws=LAWS))


def settings(kind=tiles.CITYBLOCK, function=kernels.EXPONENTIAL):
    return pairs.Settings(kind, False, function, 1.0, False, 0.0)


ONE, LINE, TILE = np.ones(1), np.ones((1, 1)), np.ones((1, 1, 1))
UNKNOWN = {
    "tiles": lambda: tiles.sum_over_coordinates(99, LINE, LINE),
    "members": lambda: members.redrawn_sums((99, 1.0, True, ONE), TILE, TILE, TILE, False),
    "blocks": lambda: pairs.block_sums((np.ones((2, 1)),) * 3, settings(99), 2),
    "function": lambda: pairs.finite_sums((LINE, LINE, LINE), (0, 1), 1, settings(function=99)),
    "pairs": lambda: pairs.finite_tile((LINE, LINE, LINE), (0, 1), (0, 1), settings(99), np.ones((1, 1))),
    "transport": lambda: transport.transport_costs(
        np.full((1, 2), 0.5), np.full((1, 2), 0.5), np.full((1, 1, 2, 2), np.inf)
    ),
}


@pytest.mark.parametrize("call", UNKNOWN.values(), ids=UNKNOWN)
def test_what_loops_do_not_know_is_an_error(call):
    with pytest.raises(ValueError, match=r"unknown|no coupling|without a branch"):
        call()


@pytest.mark.parametrize("step", [5e-324, 1e-320, 1e-300, 1.0, 1e307])
def test_cells_of_an_interval_of_any_size(step):
    values, counts = step * np.arange(9.0), np.zeros(4, np.intp)
    assert counting.count_values(values, 0.0, 8.0 * step, counts) == 0
    assert counts.tolist() == [2, 2, 2, 3]


def test_cells_of_what_is_no_number():
    counts = np.zeros(4, np.intp)
    assert counting.count_values(np.array([np.inf, np.nan, 0.0]), 0.0, np.inf, counts) == 0
    assert counts.sum() == 2


def test_steps_at_places_that_are_no_numbers_do_not_lead_beyond_the_end():
    code = """
import numpy as np
from caltest._loops.transport import squared_gaps
np.seterr(all="ignore")
for value in (np.inf, np.nan):
    for x, y in (([value] * 9, [value]), ([value], [value] * 9), ([0.0] * 9, [value]), ([value], [0.0] * 9)):
        rows, columns = (np.array([[one + [np.inf]]]) for one in (x, y))
        squared_gaps(rows, columns, np.empty((1, 1, 1)))
"""
    run(code, NUMBA_DISABLE_JIT="1")
