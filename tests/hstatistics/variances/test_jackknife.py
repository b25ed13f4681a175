import numpy as np
import pytest
from samples import TV, W2, samples

import caltest as ct
from caltest.hstatistics.tiles import h_tile
from caltest.hstatistics.variances.jackknife import Jackknife, jackknife, row_sums
from caltest.predictions import Sample
from caltest.predictions.inputs.convert import as_sample

S = samples(25, 3)
LINE = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.3), ct.DeltaKernel())
SUM = TV + ct.ProductKernel(ct.GaussianKernel(ct.Euclidean(), 0.7), ct.kernels.MatrixKernel(np.diag([1.0, 2.0, 3.0])))
CASES = {
    "classes": (TV, S.p, S.y),
    "binary": (LINE, S.p[:, 1], (S.y == 1).astype(int)),
    "normal": (W2, S.normal, S.targets),
    "sum": (SUM, S.p, S.y),
}


@pytest.mark.parametrize(("kernel", "p", "y"), CASES.values(), ids=CASES)
def test_standard_error_is_that_of_leaving_rows_out(kernel, p, y):
    sample = as_sample(p, y)
    n = len(sample)
    found = jackknife(row_sums(kernel, sample))
    without = [ct.SKCE(kernel).estimate(sample.take(np.delete(np.arange(n), i))) for i in range(n)]
    assert found.estimate == pytest.approx(ct.SKCE(kernel).estimate(sample), rel=1e-10)
    assert found.standard_error == pytest.approx(np.sqrt((n - 1) * np.var(without)), rel=1e-10)


def test_row_sums_leave_the_diagonal_out():
    sample = as_sample(S.p, S.y)
    h = h_tile(TV, sample, sample)
    np.testing.assert_allclose(row_sums(TV, sample), h.sum(axis=1) - np.diag(h), rtol=1e-10)


def test_equal_row_sums_have_no_scale():
    certain = as_sample(np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 0])
    assert jackknife(row_sums(TV, certain)).standard_error == 0.0
    sums = row_sums(TV, as_sample(np.full((6, 2), 0.5), [0] * 6))
    assert jackknife(sums).standard_error == 0.0


def test_three_observations_are_needed():
    with pytest.raises(ValueError, match="got 2 observations, wanted at least 3 for the jackknife"):
        jackknife(row_sums(TV, Sample(ct.Categorical(S.p[:2]), S.y[:2])))


@pytest.mark.parametrize(("value", "growth"), [(0.5, 1.0), (1.0, 1.0), (1.44, 1.2), (2.25, 1.5), (9.0, 1.5)])
def test_standard_errors_of_larger_errors_grow_with_their_root(value, growth):
    """Margins are compared with the error at the margin; that of the estimate would reject too often."""
    assert Jackknife(0.1, 0.02).error_at(0.1 * value) == pytest.approx(0.02 * growth, rel=1e-12)
    assert Jackknife(-0.1, 0.02).error_at(0.1) == pytest.approx(0.02 * 1.5, rel=1e-12)
