import numpy as np
import pytest

import caltest as ct


def column(*values):
    return np.array(values, dtype=float)[:, None]


def test_uniform_bins_are_closed_on_the_right_and_the_first_on_both_sides():
    bins = ct.binning.UniformBinning(4).assign(column(0.0, 0.1, 0.25, 0.26, 0.5, 0.75, 0.76, 1.0))
    assert bins.tolist() == [0, 0, 0, 1, 1, 2, 3, 3]


def test_uniform_bins_of_vectors_are_tuples():
    """The two coordinates of p = 0.1 lie in bins 1 and 9, those of p = 0.05 in bins 1 and 10."""
    p = np.array([[0.1, 0.9], [0.05, 0.95], [0.08, 0.92]])
    assert ct.binning.UniformBinning(10).assign(p).tolist() == [0, 1, 1]


@pytest.mark.parametrize("b", [*range(2, 20), 49, 60])
def test_points_next_to_edges(b):
    """The bins are those between numbers j / b as they are rounded."""
    rng, edges = np.random.default_rng(b), np.arange(b + 1) / b
    points = np.concatenate([edges, np.nextafter(edges, 2.0), np.nextafter(edges, -1.0), rng.random(200), [1.0 + 1e-6]])
    points = np.clip(points, 0.0, None)
    expected = np.unique(np.searchsorted(edges[1:-1], points, side="left"), return_inverse=True)[1]
    assert np.array_equal(ct.binning.UniformBinning(b).assign(points[:, None]), expected)


@pytest.mark.parametrize("b", [7, 25, 50, 100])
def test_edges_belong_to_the_bin_on_their_left(b):
    edges = np.arange(1, b) / b
    assert ct.binning.UniformBinning(b).assign(edges[:, None]).tolist() == list(range(b - 1))
    assert ct.binning.UniformBinning(b).assign(np.nextafter(edges, 1.0)[:, None]).tolist() == list(range(b - 1))
    both = ct.binning.UniformBinning(b).assign(np.stack([edges, np.nextafter(edges, 1.0)], axis=1).ravel()[:, None])
    assert both.tolist() == [0, *np.repeat(np.arange(1, b - 1), 2).tolist(), b - 1]


def test_values_that_exceed_one_by_rounding_stay_in_the_last_bin():
    assert ct.binning.UniformBinning(10).assign(column(1.0 + 1e-7, 0.95)).tolist() == [0, 0]


@pytest.mark.parametrize("d", [1, 2, 3, 40])
@pytest.mark.parametrize("b", [1, 2, 3, 15, 100_000])
def test_bins_are_numbered_in_the_order_of_their_cells(b, d):
    """40 columns of 15 cells make more rows than there are 64-bit integers."""
    rng = np.random.default_rng(4)
    p = np.round(rng.random((60, d)), 1)[rng.integers(0, 60, 200)]
    cells = np.searchsorted(np.arange(1, b) / b, p, side="left")
    slow = {row: number for number, row in enumerate(sorted(set(map(tuple, cells.tolist()))))}
    expected = [slow[tuple(row)] for row in cells.tolist()]
    assert ct.binning.UniformBinning(b).assign(p).tolist() == expected
    assert ct.binning.UniformBinning(b).assign(np.asfortranarray(p)).tolist() == expected
    assert ct.binning.UniformBinning(b).assign(np.repeat(p, 2, axis=0)[::2]).tolist() == expected


def test_quantile_bins_hold_equal_numbers():
    values = np.random.default_rng(1).random(100)
    for n_bins in (1, 3, 7, 15):
        sizes = np.bincount(ct.binning.QuantileBinning(n_bins).assign(values[:, None]))
        assert sizes.size == n_bins
        assert sizes.max() - sizes.min() <= 1


def test_quantile_bins_keep_equal_values_together_and_lose_nothing():
    values = column(0, 0, 0, 0, 0, 0.2, 0.3, 1, 1, 1)
    bins = ct.binning.QuantileBinning(5).assign(values)
    assert all(np.unique(bins[values[:, 0] == v]).size == 1 for v in np.unique(values))
    assert ct.binning.QuantileBinning(20).assign(values).size == 10


def test_median_variance_bins_by_hand():
    """Five points, bins of at least two: split at the third smallest value, two below and three above."""
    assert ct.binning.MedianVarianceBinning(2).assign(column(0.9, 0.1, 0.5, 0.2, 0.8)).tolist() == [0, 1, 0, 1, 0]
    assert ct.binning.MedianVarianceBinning(3).assign(column(0.9, 0.1, 0.5, 0.2, 0.8)).tolist() == [0] * 5
    assert ct.binning.MedianVarianceBinning(2, max_bins=1).assign(column(0.9, 0.1, 0.5, 0.2)).tolist() == [0] * 4


def test_median_variance_bins_split_the_coordinate_that_varies_most():
    p = np.array([[0.1, 0.5], [0.2, 0.1], [0.1, 0.9], [0.2, 0.6]])
    assert ct.binning.MedianVarianceBinning(2).assign(p).tolist() == [0, 0, 1, 1]


def test_median_variance_bins_split_the_bin_with_the_larger_unbiased_variance():
    """Two values below the median 0.5 and three from it on: variances .0050 and .0048, over n .0025 and .0032."""
    points = column(0.1, 0.2, 0.5, 0.6, 0.635)
    below, above = points[:2], points[2:]
    assert below.var(ddof=1) > above.var(ddof=1)
    assert below.var() < above.var()
    assert ct.binning.MedianVarianceBinning(1, max_bins=3).assign(points).tolist() == [0, 1, 2, 2, 2]


def test_median_variance_bins_stop_at_ties():
    """All values equal the median, so nothing lies below it."""
    assert np.unique(ct.binning.MedianVarianceBinning(2).assign(np.full((20, 2), 0.5))).size == 1


@pytest.mark.parametrize("n", [101, 250])
def test_median_variance_error_does_not_depend_on_the_order_of_two_classes(n):
    rng = np.random.default_rng(2)
    for _ in range(20):
        p, y = rng.dirichlet((1, 2), n), rng.integers(0, 2, n)
        ece = ct.ECE(ct.binning.MedianVarianceBinning(10))
        assert ece(p[:, ::-1], 1 - y) == pytest.approx(ece(p, y), rel=1e-12)


def test_median_variance_bins_are_large_enough():
    p = np.random.default_rng(3).dirichlet(np.full(10, 0.1), 1000)
    for min_size in (5, 10, 100):
        assert np.bincount(ct.binning.MedianVarianceBinning(min_size).assign(p)).min() >= min_size


@pytest.mark.parametrize("edges", [[0.1, 1.0], [1e-12, 1.0], [0.0, 0.9], [0.0, 1.0 - 1e-12]])
def test_edges_hold_every_probability(edges):
    with pytest.raises(ValueError, match="wanted the first at most 0 and the last at least 1"):
        ct.binning.EdgeBinning(edges)


def test_edges_that_are_no_numbers_are_named():
    with pytest.raises(ValueError, match=r"edges: got nan, wanted at least two increasing numbers"):
        ct.binning.EdgeBinning(float("nan"))
    with pytest.raises(ValueError, match=r"edges: got nan at edge 2 \(1 in all\), wanted finite numbers"):
        ct.binning.EdgeBinning([0.0, 0.5, float("nan"), 1.0])


def test_cells_of_edges_are_numbered_in_their_order():
    """Of two coordinates all pairs of bins are apart, and four of nine cells have the numbers from 0 to 3."""
    binning = ct.binning.EdgeBinning([0.0, 0.2, 0.5, 1.0])
    x = np.array([0.1, 0.2, 0.3, 0.9])
    points = np.array([(a, b) for a in x for b in x])
    assert binning.assign(points).reshape(4, 4).tolist() == [[0, 0, 1, 2], [0, 0, 1, 2], [3, 3, 4, 5], [6, 6, 7, 8]]
    assert binning.assign(points[[3, 5, 10, 12]]).tolist() == [1, 0, 2, 3]
