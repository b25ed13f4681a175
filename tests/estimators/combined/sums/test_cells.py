"""Counts of labels in cells: where all predictions of a cell are equal they give the same numbers as the labels."""

from dataclasses import replace

import numpy as np
import pytest

import caltest as ct
from caltest._loops.rows import row_state, uniform
from caltest._loops.statistics.cell_counts import count_labels
from caltest.estimators.combined.components import in_chunks
from caltest.estimators.combined.sums.cells import UNIT, Cells, FewClasses, kernel_errors

SEED = np.uint64(11)


def repeated(k, n_distinct=12, times=25, seed=3):
    """Predictions with few distinct rows, which are those of the cells."""
    rng = np.random.default_rng([seed, k])
    p = np.rint(rng.dirichlet(np.full(k, 0.6), n_distinct) * 2**20) + 1.0
    p = np.repeat(p / p.sum(axis=1, keepdims=True), times, axis=0)
    p = p[rng.permutation(len(p))]
    return ct.Bernoulli(p[:, 1]) if k == 2 else ct.Categorical(p)


def drawn(p, rows, redraws, seed=SEED):
    """Labels of redraws, one at a time."""
    labels = np.empty((len(redraws), len(rows)), dtype=np.intp)
    for i, row in enumerate(rows):
        ends, state = np.cumsum(p[i]), np.uint64(row_state(seed, row))
        for b, redraw in enumerate(redraws):
            labels[b, i] = int(np.argmax(ends > uniform(state, redraw) * ends[-1]))
    return labels


@pytest.mark.parametrize("first", [-1, 0, 300])
def test_counts_are_those_of_labels_drawn_one_at_a_time(first):
    p, n_redraws = repeated(4).probabilities[:30], 270
    labels, weights = np.arange(30) % 4, np.random.default_rng(1).random(30)
    some, numbers = np.array([3, 5, 6, 20, 29]), 7 * np.arange(30) + 2
    counts, sums = np.zeros((4, n_redraws)), np.zeros((2, n_redraws))
    terms = np.random.default_rng(2).normal(size=(30, 4, 2))
    groups, grouped = np.random.default_rng(3).integers(0, 5, (30, 5)).astype(np.uint8), np.zeros((5, 5, n_redraws))
    tops = np.arange(30) % 3 + np.arange(30) % 2
    rows = tuple(one[some] for one in (p, labels, weights, terms, numbers, groups, tops))
    count_labels(rows, SEED, first, counts, sums, grouped)
    redraws = range(max(first, 0), first + n_redraws)
    made = drawn(p[some], numbers[some], redraws)
    made = np.concatenate([labels[some][None], made]) if first < 0 else made
    expected = np.stack([(made == c) @ weights[some] for c in range(4)])
    np.testing.assert_allclose(counts, expected, rtol=1e-12)
    expected = np.einsum("i,bit->tb", weights[some], terms[some[None], made])
    np.testing.assert_allclose(sums, expected, rtol=1e-10, atol=1e-12)
    expected = np.zeros_like(grouped)
    for b, i in np.ndindex(made.shape):
        expected[made[b, i], groups[some[i], made[b, i]], b] += weights[some[i]]
        expected[4, groups[some[i], 4], b] += weights[some[i]] * (made[b, i] == tops[some[i]])
    np.testing.assert_allclose(grouped, expected, rtol=1e-12, atol=1e-12)


def test_classes_of_probability_zero_are_never_drawn():
    p, counts = np.array([[0.0, 0.3, 0.0, 0.7, 0.0]]), np.zeros((5, 4000))
    none, one = np.zeros(0, dtype=np.intp), np.zeros(1, dtype=np.intp)
    groups, grouped = np.zeros((1, 6), dtype=np.uint8), np.zeros((6, 1, 4000))
    rows = p, none, np.ones(1), np.zeros((1, 5, 0)), one, groups, np.array([3])
    count_labels(rows, SEED, 0, counts, np.zeros((0, 4000)), grouped)
    np.testing.assert_array_equal(grouped[:, 0], counts[[0, 1, 2, 3, 4, 3]])
    totals = counts.sum(axis=1)
    assert not totals[[0, 2, 4]].any()
    assert totals.sum() == 4000
    assert abs(totals[1] - 1200) < 5 * np.sqrt(4000 * 0.21)


def test_cells_are_found_by_comparisons():
    p = np.random.default_rng(2).dirichlet(np.full(3, 0.5), 400)
    cells = Cells.of(p, 20)
    assert len(cells) == 20
    found = cells.find(p)
    assert set(found) == set(range(20))
    angles = np.arcsin(np.sqrt(p))
    within = sum(((angles[found == c] - angles[found == c].mean(axis=0)) ** 2).sum() for c in range(20))
    assert within < 0.1 * ((angles - angles.mean(axis=0)) ** 2).sum()
    assert len(Cells.of(np.full((50, 3), 1 / 3), 20)) == 1
    for nearly in (np.nextafter(1.0, 0.0), 1.0 - 1e-15, 1.0 - 1e-12):
        p = np.repeat([[1.0], [nearly]], 200_000, axis=0)
        assert set(Cells.of(p, 20).find(p)) in ({0}, {0, 1})
    assert len(Cells.of(repeated(3).probabilities, 100)) == 12


@pytest.mark.parametrize("k", [2, 3, 7])
def test_numbers_of_cells_of_equal_predictions_are_those_of_their_labels(k):
    predictions = repeated(k)
    law, rows, targets = predictions.finite, np.arange(len(predictions)) + 5, predictions.redraw(1)
    omnibus = ct.estimators.Omnibus().resolve(predictions)
    few = in_chunks(omnibus.kernel, predictions)
    assert isinstance(few, FewClasses)
    values = few.values(few.sums(law, targets, rows, SEED, range(-1, 6)))
    labels = np.concatenate([targets[None], drawn(law.probabilities, rows, range(6))])
    np.testing.assert_allclose(values, omnibus.values(predictions, labels), rtol=1e-6, atol=1e-5)


def test_weights_that_are_equal_within_cells():
    predictions = repeated(3)
    cells = np.unique(predictions.probabilities[:, 0], return_inverse=True)[1]
    omnibus = ct.estimators.Omnibus(weights=1.0 + cells % 4).resolve(predictions)
    targets = predictions.redraw(2)
    many = in_chunks(omnibus.kernel, predictions)
    few = replace(many, weights=omnibus.weights)
    values = few.drawn(predictions, targets, 3, SEED)
    labels = np.concatenate([targets[None], drawn(predictions.probabilities, range(len(targets)), range(3))])
    np.testing.assert_allclose(values, omnibus.values(predictions, labels), rtol=1e-6, atol=1e-5)


def test_passes_over_redraws_change_nothing(monkeypatch):
    predictions = repeated(3, times=50)
    few, targets = in_chunks(predictions.default_kernel().resolve(predictions), predictions), predictions.redraw(3)
    whole = few.drawn(predictions, targets, 600, SEED)
    monkeypatch.setattr("caltest.estimators.combined.sums.cells.LARGEST", 1)
    np.testing.assert_array_equal(few.drawn(predictions, targets, 600, SEED), whole)


def test_parts_of_the_cells_change_nothing(monkeypatch):
    predictions = ct.Categorical(np.random.default_rng(5).dirichlet(np.ones(4), 300))
    few, targets = in_chunks(predictions.default_kernel().resolve(predictions), predictions), predictions.redraw(3)
    whole = few.drawn(predictions, targets, 5, SEED)
    monkeypatch.setattr("caltest.estimators.combined.sums.cells.ROWS", 40)
    np.testing.assert_array_equal(few.drawn(predictions, targets, 5, SEED), whole)


def test_sums_of_probabilities_do_not_depend_on_the_order():
    predictions = ct.Categorical(np.random.default_rng(5).dirichlet(np.ones(4), 300))
    few = in_chunks(predictions.default_kernel().resolve(predictions), predictions)
    order = np.random.default_rng(6).permutation(300)
    one, other = (few.sums(predictions.take(rows), None, rows, SEED, range(4)) for rows in (np.arange(300), order))
    np.testing.assert_array_equal(one.probabilities, other.probabilities)
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_allclose(one.probabilities.sum() / UNIT, 300, rtol=1e-9)


def test_many_predictions_are_tested_in_cells(monkeypatch):
    monkeypatch.setattr("caltest.estimators.combined.sums.cells.MANY", 3000)
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(4, 0.4), 3000)
    labels = (p.cumsum(axis=1) < rng.random(3000)[:, None]).sum(axis=1)
    result = ct.calibration_test(p, labels, n_resamples=39, rng=1)
    assert any("512 cells" in note for note in result.notes)
    assert result.pvalue > 0.025
    sharper = p**1.3 / (p**1.3).sum(axis=1, keepdims=True)
    result = ct.calibration_test(sharper, labels, n_resamples=39, rng=1)
    assert result.pvalue == 0.025
    assert result.finding.kind == "temperature"
    assert result.finding.interval.low < 1.3 < result.finding.interval.high
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), ct.DeltaKernel())
    exact = ct.SKCE(kernel)(sharper, labels)
    assert result.estimate == pytest.approx(exact, rel=1e-9)


def test_findings_from_some_of_very_many_rows_are_said_to_be_so(monkeypatch):
    for module in ("sums.parts", "omnibus"):
        monkeypatch.setattr(f"caltest.estimators.combined.{module}.KEPT", 200)
    predictions = repeated(3)
    result = ct.OmnibusTest(n_resamples=9)(predictions, predictions.redraw(1), rng=1)
    assert "what is wrong is found from at most 200 of the 300 observations" in result.notes
    fewer = predictions.take(slice(0, 200))
    assert not any("at most 200" in note for note in ct.OmnibusTest(n_resamples=9)(fewer, fewer.redraw(1), rng=1).notes)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_kernel_errors_are_means_over_pairs(k, weighted, monkeypatch):
    """With the kernel between the mean predictions of their cells; a weight counts for pairs of it with itself too.

    Two classes are on a line, where sums take no matrix of the kernel.
    """
    if k == 2:
        monkeypatch.setattr(ct.ExponentialKernel, "tile", None)
    rng = np.random.default_rng(6)
    p = ct.Categorical(rng.dirichlet(np.full(k, 0.5), 60))
    y, w = np.stack([p.sample(rng) for _ in range(4)]), rng.random(60) if weighted else np.ones(60)
    kernel, q = p.default_kernel().resolve(p), p.probabilities
    cells = Cells.of(q, 7).find(q)
    means = np.stack([np.average(q[cells == c], axis=0, weights=w[cells == c]) for c in range(7)])
    counts = np.array([[[w[(cells == c) & (one == a)].sum() for one in y] for a in range(k)] for c in range(7)])
    expected = means * np.bincount(cells, w)[:, None]
    squares = np.bincount(cells, w * w) / np.bincount(cells, w)
    (found,) = kernel_errors([kernel], ct.Categorical(means), counts, expected, squares)
    tile = np.exp(-0.5 * np.abs(means[:, None] - means).sum(axis=-1) / kernel.prediction_kernel.bandwidth)
    tile = tile[cells][:, cells]
    for labels, one in zip(y, found, strict=True):
        residuals = w[:, None] * (np.eye(k)[labels] - q)
        everything = (tile * (residuals @ residuals.T)).sum()
        own = (w * squares[cells] * ((np.eye(k)[labels] - means[cells]) ** 2).sum(axis=1)).sum()
        assert one == pytest.approx((everything - own) / (w.sum() ** 2 - (w * squares[cells]).sum()), rel=1e-9)
