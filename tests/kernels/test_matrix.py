"""Kernels of classes given by matrices: their values, their bounds, what they see and what they refuse."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from operator_bounds import operator_bounds, operator_norms
from samples import samples
from slow import h_matrix_finite, mean_upper

import caltest as ct

METRIC_KERNEL = ct.ExponentialKernel(ct.TotalVariation(), 0.4)
DELTA = ct.ProductKernel(METRIC_KERNEL, ct.DeltaKernel())
P, Y = samples(60, 4).p, samples(60, 4).y
INF = math.inf


def random_matrix(seed, k=4, rank=None):
    root = np.random.default_rng(seed).normal(size=(k, k if rank is None else rank))
    return root @ root.T


def with_matrix(matrix):
    return ct.ProductKernel(METRIC_KERNEL, ct.kernels.MatrixKernel(matrix))


@pytest.mark.parametrize("seed", range(3))
def test_estimates_against_sums_over_outcomes(seed):
    matrix = random_matrix(seed)
    h = h_matrix_finite(lambda p, q: np.exp(-np.abs(p - q).sum() / 2 / 0.4), matrix, P, Y)
    kernel = with_matrix(matrix)
    assert ct.SKCE(kernel)(P, Y) == pytest.approx(mean_upper(h), rel=1e-11, abs=1e-13)
    assert ct.SKCE(kernel, unbiased=False)(P, Y) == pytest.approx(h.mean(), rel=1e-11)
    blocks = [mean_upper(h[i : i + 12, i : i + 12]) for i in range(0, 60, 12)]
    assert ct.BlockSKCE(kernel, 12)(P, Y) == pytest.approx(np.mean(blocks), rel=1e-11)


TESTS = {
    "unbiased": lambda kernel: ct.MonteCarloTest(ct.SKCE(kernel), 19),
    "biased": lambda kernel: ct.MonteCarloTest(ct.SKCE(kernel, unbiased=False), 19),
    "blocks": lambda kernel: ct.MonteCarloTest(ct.BlockSKCE(kernel, 7), 19),
    "UCME": lambda kernel: ct.MonteCarloTest(ct.UCME(kernel, P[:3], Y[:3]), 19),
    "low rank": lambda kernel: ct.MonteCarloTest(ct.LowRankSKCE(kernel, 8), 19),
    "consistency": lambda kernel: ct.ConsistencyTest(ct.SKCE(kernel), 19),
    "bootstrap": lambda kernel: ct.AsymptoticSKCETest(kernel, 19),
    "normal limit": lambda kernel: ct.AsymptoticBlockSKCETest(kernel, 5),
    "CME": lambda kernel: ct.AsymptoticCMETest(ct.UCME(kernel, P[:3], Y[:3])),
    "bound": lambda kernel: ct.DistributionFreeSKCETest(ct.SKCE(kernel, unbiased=False)),
}


@pytest.mark.parametrize("make", TESTS.values(), ids=TESTS)
def test_the_identity_is_the_delta_kernel_exactly(make):
    delta, identity = (make(kernel)(P, Y, rng=3) for kernel in (DELTA, with_matrix(np.eye(4))))
    assert identity.estimate == delta.estimate
    assert identity.pvalue == delta.pvalue
    if delta.null_distribution is not None:
        assert np.array_equal(identity.null_distribution, delta.null_distribution)


@pytest.mark.parametrize("make", TESTS.values(), ids=TESTS)
def test_tests_do_not_depend_on_the_unit_of_the_matrix(make):
    matrix = random_matrix(5)
    one, other = (make(with_matrix(unit * matrix))(P, Y, rng=3) for unit in (1.0, 128.0))
    assert other.pvalue == pytest.approx(one.pvalue, rel=1e-12)
    if "CME" not in repr(make):
        assert other.estimate / one.estimate in (pytest.approx(128.0), pytest.approx(128.0**2))


def test_two_classes_have_one_kernel_up_to_a_factor():
    """``(e_y - p)' A (e_y' - p')`` is ``(A_00 - 2 A_01 + A_11) r r'`` with r = y - p: 2 r r' for the Delta kernel."""
    p, y = samples(60, 2).p, samples(60, 2).y
    kernel = with_matrix([[3.0, 0.5], [0.5, 1.0]])
    for predictions in (p, p[:, 1]):
        for estimator in (ct.SKCE, ct.BlockSKCE):
            assert estimator(kernel)(predictions, y) == pytest.approx(1.5 * estimator(DELTA)(predictions, y), rel=1e-12)
    results = [ct.calibration_test(p[:, 1], y, kernel=k, n_resamples=19, rng=1) for k in (kernel, DELTA)]
    assert results[0].null_distribution == pytest.approx(1.5 * results[1].null_distribution, rel=1e-11)


def test_adding_a_number_to_the_matrix_changes_nothing():
    matrix = random_matrix(6)
    one, other = (ct.SKCE(with_matrix(m))(P, Y) for m in (matrix, matrix + 3.0))
    assert other == pytest.approx(one, rel=1e-11)


# Bounds.


def vectors(k, seed=0):
    """Unit vectors, all vectors of signs, eigenvectors' stand-ins by the hundreds."""
    rng = np.random.default_rng(seed)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=k)))
    return np.concatenate([np.eye(k), signs, rng.normal(size=(5000, k)), rng.normal(size=(500, k)) ** 5])


NORMS = list(itertools.product([1.0, 2.0, INF], repeat=2))


@pytest.mark.every(4)
@pytest.mark.parametrize(("p", "q"), NORMS)
@pytest.mark.parametrize("symmetric", [True, False])
def test_operator_norms_are_the_largest_ratios(p, q, symmetric):
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(3, 3))
    matrix = matrix @ matrix.T if symmetric else matrix
    x = vectors(3)
    if q != INF and p == 2.0:
        # Powers of the matrix lead to the maximiser; for q = 1 the signs of A x are what is multiplied back.
        for _ in range(200):
            image = x @ matrix.T
            x = (np.sign(image) if q == 1.0 else image) @ matrix
            x /= np.linalg.norm(x, axis=1, keepdims=True)
    if q == INF and p == 2.0:
        x = np.concatenate([x, matrix])
    if q == INF and p == INF:
        x = np.concatenate([x, np.sign(matrix)])
    ratios = np.linalg.norm(x @ matrix.T, q, axis=1) / np.linalg.norm(x, p, axis=1)
    assert ratios.max() == pytest.approx(operator_norms(matrix)[p, q], rel=1e-10)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_operator_norms_of_the_identity(k):
    """Example H.1 of Widmann et al. 2019."""
    for (p, q), norm in operator_norms(np.eye(k)).items():
        assert norm == pytest.approx(1.0 if p <= q else k ** (1 / q - 1 / p), rel=1e-12)


def test_operator_bounds_of_the_identity():
    bounds = operator_bounds(np.eye(5))
    assert set(bounds) == set(NORMS)
    for (p, q), bound in bounds.items():
        factor = 1.0 if p <= q else 5 ** (1 / q - 1 / p)
        assert bound == pytest.approx(2 ** (1 + 1 / p - 1 / q) * factor, rel=1e-12)
    assert min(bounds.values()) == pytest.approx(2.0)
    assert {pair for pair, bound in bounds.items() if bound < 2.0 + 1e-9} == {(1, 1), (2, 2), (INF, INF)}
    assert ct.kernels.MatrixKernel(np.eye(5)).squared_diameter == 2.0


def test_operator_bounds_of_many_classes_leave_out_what_takes_too_long():
    kernel = ct.kernels.MatrixKernel(random_matrix(1, 17))
    assert set(NORMS) - set(operator_bounds(kernel.matrix)) == {(2, 1), (INF, 1), (INF, 2)}
    assert kernel.squared_diameter <= min(operator_bounds(kernel.matrix).values())


@pytest.mark.every(4)
@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("seed", range(20))
def test_the_bound_that_is_used_is_at_most_the_operator_bounds(k, seed):
    kernel = ct.kernels.MatrixKernel(random_matrix((seed, k), k, rank=1 + seed % k))
    assert kernel.squared_diameter <= min(operator_bounds(kernel.matrix).values()) * (1 + 1e-12)


def test_the_bound_that_is_used_can_be_less_than_half_of_the_operator_bounds():
    matrix = np.full((4, 4), 10.0) + np.eye(4)
    kernel = ct.kernels.MatrixKernel(matrix)
    assert kernel.squared_diameter == pytest.approx(2.0)
    assert min(operator_bounds(kernel.matrix).values()) > 40.0


@pytest.mark.parametrize("seed", range(10))
def test_the_squared_diameter_bounds_the_bilinear_form_and_is_attained(seed):
    rng = np.random.default_rng(seed)
    k = 4
    matrix = random_matrix(seed, k)
    diameter = ct.kernels.MatrixKernel(matrix).squared_diameter
    predictions = np.concatenate([np.eye(k), rng.dirichlet(np.ones(k), 50), rng.dirichlet(np.full(k, 0.05), 50)])
    deltas = (np.eye(k)[:, None] - predictions).reshape(-1, k)
    forms = deltas @ matrix @ deltas.T
    assert np.abs(forms).max() <= diameter * (1 + 1e-12)
    assert np.abs(forms).max() == pytest.approx(diameter, rel=1e-12)


# What a matrix does not see.


def rank_notes(kernel):
    return [note for note in ct.MonteCarloTest(ct.SKCE(kernel), 9)(P, Y, rng=1).notes if "rank" in note]


def test_results_say_what_a_singular_matrix_does_not_see():
    (note,) = rank_notes(with_matrix(np.diag([1.0, 1.0, 0.0, 0.0])))
    assert note.startswith("the matrix of the target kernel has rank 2 on residuals, less than 3")
    (note,) = rank_notes(with_matrix(np.full((4, 4), 0.3)))
    assert note.startswith("the matrix of the target kernel has rank 0 on residuals, less than 3")
    assert rank_notes(with_matrix(np.diag([1.0, 1.0, 0.0, 0.0])) + with_matrix(np.diag([0.0, 0.0, 1.0, 0.0]))) == []
    assert rank_notes(with_matrix(np.diag([1.0, 1.0, 1.0, 0.0]))) == []
    assert rank_notes(with_matrix(random_matrix(1, rank=2))) != []
    assert rank_notes(with_matrix(random_matrix(1, rank=2)) + DELTA) == []
    assert (
        rank_notes(
            ct.ProductKernel(METRIC_KERNEL, ct.kernels.MatrixKernel(random_matrix(1, rank=1)) + ct.DeltaKernel())
        )
        == []
    )


def test_unseen_miscalibration():
    """Probabilities of two classes swapped, which the matrix does not tell apart."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 400)
    y = ct.Categorical(p[:, [0, 2, 1]]).sample(2)
    blind = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    assert ct.calibration_test(p, y, kernel=with_matrix(blind), n_resamples=99, rng=1).pvalue > 0.05
    assert ct.calibration_test(p, y, kernel=with_matrix(np.eye(3)), n_resamples=99, rng=1).pvalue == 0.01


# Data.


def test_the_matrix_is_kept():
    given = np.eye(3)
    kernel = ct.kernels.MatrixKernel(given)
    given[0, 0] = 5.0
    assert np.array_equal(kernel.matrix, np.eye(3))
    with pytest.raises(ValueError, match="read-only"):
        kernel.matrix[0, 0] = 2.0


def test_kernels_are_equal_if_their_matrices_are():
    assert ct.kernels.MatrixKernel(np.eye(3)) == ct.kernels.MatrixKernel(np.eye(3).tolist())
    assert hash(ct.kernels.MatrixKernel(np.eye(3))) == hash(ct.kernels.MatrixKernel(np.eye(3)))
    assert ct.kernels.MatrixKernel(np.eye(3)) != ct.kernels.MatrixKernel(2 * np.eye(3))
    assert ct.kernels.MatrixKernel(np.eye(3)) != ct.DeltaKernel()
    assert ct.kernels.MatrixKernel(np.eye(3)).bound == 1.0
    assert with_matrix(np.eye(3)).describe() == "exp(-TV / 0.4) x A[y, y'] (3 x 3)"


def test_rounding_of_symmetry_and_eigenvalues_is_mended():
    matrix = random_matrix(2, rank=2)
    matrix[0, 1] += 1e-15
    kept = ct.kernels.MatrixKernel(matrix).matrix
    assert np.array_equal(kept, kept.T)


BAD = {
    "not square": (np.ones((2, 3)), r"matrix: got shape \(2, 3\), wanted a square matrix"),
    "vector": ([1.0, 2.0], r"matrix: got shape \(2,\), wanted 2 dimensions"),
    "nan": ([[1.0, np.nan], [np.nan, 1.0]], "matrix: got nan at row 0, column 1"),
    "not symmetric": ([[1.0, 0.5], [0.2, 1.0]], r"got 0.5 at row 0, column 1 but 0.2 at row 1, column 0, .* symmetric"),
    "not definite": ([[1.0, 2.0], [2.0, 1.0]], "matrix: got the eigenvalue -1, wanted a positive semi-definite matrix"),
    "negative diagonal": (-np.eye(2), "matrix: got the eigenvalue -1"),
    "zero": (np.zeros((3, 3)), "matrix: got 0 everywhere, wanted a matrix that tells classes apart"),
    "text": ([["a"]], "matrix: got values of type"),
    "empty": (np.empty((0, 0)), "matrix: got no values"),
}


@pytest.mark.parametrize(("matrix", "message"), BAD.values(), ids=BAD)
def test_bad_matrices(matrix, message):
    with pytest.raises(ValueError, match=message):
        ct.kernels.MatrixKernel(matrix)


@pytest.mark.parametrize("make", TESTS.values(), ids=TESTS)
@pytest.mark.parametrize("k", [3, 5])
def test_matrices_for_another_number_of_classes(make, k):
    with pytest.raises(ValueError, match=rf"^matrix: got {k} rows and columns.*wanted (4, )?one for each class"):
        make(with_matrix(np.eye(k)))(P, Y, rng=1)


def test_matrices_for_another_number_of_classes_in_a_sum():
    sum_of_products = DELTA + with_matrix(np.eye(3))
    with pytest.raises(ValueError, match="matrix: got 3 rows and columns, wanted 4"):
        ct.SKCE(sum_of_products)(P, Y)
    with pytest.raises(ValueError, match="matrix: got 3 rows and columns, wanted 4"):
        ct.SKCE(ct.ProductKernel(METRIC_KERNEL, ct.DeltaKernel() + ct.kernels.MatrixKernel(np.eye(3))))(P, Y)
    with pytest.raises(ValueError, match="matrix: got 3 rows and columns, wanted 2"):
        ct.SKCE(with_matrix(np.eye(3)))(P[:, 1], Y == 1)


def test_matrices_for_targets_that_are_no_classes():
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.kernels.MatrixKernel(np.eye(2)))
    for predictions in (ct.Normal(P[:, 0], 1.0), ct.Ensemble(P)):
        with pytest.raises(TypeError, match="target_kernel: got MatrixKernel"):
            ct.SKCE(kernel)(predictions, P[:, 1])


def test_a_matrix_whose_columns_are_other_classes_in_another_order_is_refused():
    names, order = list("abcd"), [2, 0, 1, 3]
    matrix = pd.DataFrame(random_matrix(0), index=names, columns=names)
    named, places = ct.Categorical(P, classes=names), np.array(names, dtype=object)[Y]
    turned = matrix.iloc[order, order]
    assert ct.SKCE(with_matrix(matrix))(named, places) == ct.SKCE(with_matrix(matrix.to_numpy()))(P, Y)
    for p, y in ((named, places), (pd.DataFrame(P, columns=names), Y)):
        with pytest.raises(ValueError, match="matrix: got the columns"):
            ct.SKCE(with_matrix(turned))(p, y)
