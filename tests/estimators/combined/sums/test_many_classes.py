"""The omnibus statistic of many classes: the same numbers as other ways, in blocks those of another kernel."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import caltest as ct
from caltest._loops.rows import draw_by_row
from caltest.estimators.combined.sums import many_classes
from caltest.estimators.combined.sums.many_classes import FACTORS, ORDER, blocks_of
from caltest.predictions.classes.categorical import SparseRows
from caltest.predictions.faults.classes.labels import log_norms_of, sum_of_log_norms


def predictions(n, k, seed=1, alpha=0.1):
    p = np.maximum(np.random.default_rng([seed, n, k]).dirichlet(np.full(k, alpha), n), 1e-9)
    return ct.Categorical(p / p.sum(axis=1, keepdims=True))


def both_ways(p, y, monkeypatch):
    """Numbers of all components by component, in the usual way and as sums over entries."""
    numbers = []
    for worth in (np.inf, 0):
        monkeypatch.setattr(many_classes, "WORTH", worth)
        estimator = ct.estimators.Omnibus().resolve(p)
        assert (estimator._many is None) == (worth > 0)
        numbers.append(estimator.parts(estimator.values(p, y)))
    return numbers


def one_dominates(n, k):
    p = 0.05 * predictions(n, k).probabilities
    p[:, 3] += 0.95
    return p


ODD = {
    "plain": lambda: predictions(450, 40).probabilities,
    "more classes than rows": lambda: predictions(50, 300).probabilities,
    "257 classes": lambda: predictions(60, 257).probabilities,
    "one dominates": lambda: one_dominates(300, 40),
    "never predicted": lambda: np.hstack([predictions(200, 40).probabilities, np.zeros((200, 2))]),
    "certain rows": lambda: np.concatenate([np.eye(40)[:30], predictions(100, 40).probabilities]),
    "few predictions": lambda: np.repeat(predictions(4, 40).probabilities, 50, axis=0),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("lists", [False, True])
def test_numbers_are_those_of_other_ways(kind, lists, monkeypatch):
    monkeypatch.setattr(many_classes, "PAIR", 1e9 if lists else 0.0)
    p = ct.Categorical(ODD[kind]())
    y = p.redraw(1, 30)
    # Where all predictions are nearly equal, differences of large sums are small.
    error = 5e-3 if kind == "one dominates" else 5e-4
    for usual, sums in zip(*both_ways(p, y, monkeypatch), strict=True):
        sizes = np.maximum(usual.std(axis=1, keepdims=True), 1e-3 * np.abs(usual).max() + 1e-9)
        assert np.abs((sums - usual) / sizes).max() < error


def test_more_classes_than_numbers_of_two_bytes(without_findings):
    """Of which the matrix of the kernel of targets would take 39 GB."""
    p = np.random.default_rng(1).dirichlet(np.full(70_000, 0.001), 6)
    y = np.array([69_999, 0, 5, 65_536, 65_535, 1])
    p[np.arange(6), y] += 0.5
    p /= p.sum(axis=1, keepdims=True)
    result = ct.calibration_test(p, y, n_resamples=19, rng=1)
    kernel = np.exp(-np.abs(p[:, None] - p).sum(axis=2) / 2.0 / ct.median_bandwidth(p, ct.TotalVariation()))
    residuals = -p
    residuals[np.arange(6), y] += 1.0
    h = np.triu(kernel * (residuals @ residuals.T), 1).sum() / 15.0
    assert result.estimate == pytest.approx(h, rel=1e-4, abs=1e-7)
    assert result.pvalue == 0.05


def test_the_pvalue_is_that_of_other_ways(monkeypatch):
    p = predictions(400, 50)
    y = ct.Categorical(p.probabilities**1.5 / (p.probabilities**1.5).sum(axis=1, keepdims=True)).sample(3)
    results = []
    for worth in (np.inf, 0):
        monkeypatch.setattr(many_classes, "WORTH", worth)
        results.append(ct.calibration_test(p, y, n_resamples=99, rng=1))
    usual, sums = results
    assert sums.pvalue == usual.pvalue
    assert sums.estimate == pytest.approx(usual.estimate, rel=1e-4)
    assert [one.kind for one in sums.findings] == [one.kind for one in usual.findings]


def block_kernel_errors(p, y, blocks, bandwidth):
    """With the kernel of blocks, written out."""
    block_of = np.empty(len(p), dtype=int)
    for number, rows in enumerate(blocks):
        block_of[rows] = number
    residuals = np.eye(p.shape[1])[y] - p
    h = residuals @ residuals.T
    tv = np.abs(p[:, None] - p).sum(axis=2) / 2.0
    errors = []
    for factor in FACTORS:
        apart = np.exp(-1.0 / (factor * bandwidth))
        kernel = apart + (block_of[:, None] == block_of) * (np.exp(-tv / (factor * bandwidth)) - apart)
        errors.append((np.triu(kernel * h, 1)).sum() * 2.0 / (len(p) * (len(p) - 1)))
    return np.array(errors)[ORDER]


def test_kernels_in_blocks(monkeypatch):
    for name, value in (("WORTH", 0), ("ALL_PAIRS", 100), ("LARGEST_BLOCK", 70), ("SMALLEST_BLOCK", 30)):
        monkeypatch.setattr(many_classes, name, value)
    p = predictions(260, 40)
    estimator, y = ct.estimators.Omnibus().resolve(p), p.redraw(1, 9)
    many = estimator._many
    blocks = blocks_of(many.faults.view)
    assert np.array_equal(np.sort(np.concatenate(blocks)), np.arange(260))
    values = estimator.values(p, y)
    wanted = np.stack([block_kernel_errors(p.probabilities, one, blocks, many.bandwidth) for one in y], axis=1)
    assert np.abs(values[:5] - wanted).max() < 1e-4 * wanted.std(axis=1).min()
    monkeypatch.setattr(many_classes, "ALL_PAIRS", 1000)
    others = ct.estimators.Omnibus().resolve(p).values(p, y)
    assert values[5:] == pytest.approx(others[5:], rel=1e-5, abs=1e-6)
    assert "in blocks of similar ones" in " ".join(estimator.resolved_notes())


def test_sums_of_parts_are_added_and_their_labels_depend_on_rows_only(monkeypatch):
    """Blocks of a part are of its own rows; everything but the kernels is that of all rows."""
    for name, value in (("WORTH", 0), ("ALL_PAIRS", 10)):
        monkeypatch.setattr(many_classes, name, value)
    p, seed = predictions(300, 40), np.uint64(5)
    y, many = p.sample(2), ct.estimators.Omnibus().resolve(p)._many

    def sums(rows):
        return many.sums(p.take(rows), y[rows], np.arange(300)[rows], seed, range(-1, 19))

    whole, parts = sums(slice(None)), sums(slice(0, 120))
    parts += sums(slice(120, None))
    assert parts.n == 300
    for name in ("labels", "by_class", "expected", "squares", "entropy", "log_norms"):
        one, other = (np.asarray(getattr(of, name)) for of in (parts, whole))
        if name == "labels":
            one, other = one[:, :7], other[:, :7]
        assert one == pytest.approx(other, rel=1e-4, abs=1e-4), name
    drawn = np.empty((19, 300), dtype=np.uint8)
    draw_by_row(np.cumsum(p.probabilities, axis=1), seed, np.arange(300), drawn)
    counts = np.stack([np.bincount(one, minlength=40) for one in (y, *drawn)], axis=1)
    assert np.array_equal(whole.by_class[:, :, -1], counts)
    errors = [one[:5] for one in (many.values(whole), many.values(parts))]
    assert np.corrcoef(errors[0].ravel(), errors[1].ravel())[0, 1] > 0.9


@pytest.mark.usefixtures("without_findings")
def test_results_in_blocks_do_not_depend_on_threads(monkeypatch):
    for name, value in (("WORTH", 0), ("ALL_PAIRS", 100), ("LARGEST_BLOCK", 60), ("SMALLEST_BLOCK", 60)):
        monkeypatch.setattr(many_classes, name, value)
    p = predictions(400, 40)
    y, results = p.sample(2), []
    for threads in ("1", "3"):
        monkeypatch.setattr("caltest._basics.threads.n_threads", lambda threads=threads: int(threads))
        results.append(ct.calibration_test(p, y, n_resamples=49, rng=1))
    assert results[0].statistic == results[1].statistic
    assert np.array_equal(results[0].null_distribution, results[1].null_distribution)


@pytest.mark.usefixtures("without_findings")
def test_single_precision_is_read_as_it_is(monkeypatch):
    monkeypatch.setattr("caltest._validation.probabilities.LARGE", 0)
    monkeypatch.setattr(many_classes, "WORTH", 0)
    p = predictions(300, 40).probabilities.astype(np.float32)
    borrowed = ct.Categorical.borrowed(p, None)
    assert np.shares_memory(borrowed.stored, p)
    assert borrowed.probabilities.dtype == np.float64
    y = ct.Categorical(p.astype(np.float64)).sample(1)
    single, double = (ct.calibration_test(one, y, n_resamples=99, rng=1) for one in (p, p.astype(np.float64)))
    assert single.pvalue == double.pvalue
    assert single.statistic == pytest.approx(double.statistic, rel=1e-6)
    skce = ct.SKCE(ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel()))
    assert skce(p, y) == skce(p.astype(np.float64), y)


def test_norms_of_powers_in_single_precision(monkeypatch):
    p = predictions(300, 60)
    view, exponents = p.faults().view, np.exp(-np.linspace(-3.0, 3.0, 7))
    powers = [np.log((p.probabilities**s).sum(axis=1)) for s in exponents]
    assert log_norms_of(p.probabilities, exponents) == pytest.approx(np.array(powers), rel=1e-5, abs=2e-6)
    sums = sum_of_log_norms(view, np.arange(300), exponents)
    assert sums == pytest.approx(np.sum(powers, axis=1), rel=1e-5, abs=1e-4)
    monkeypatch.setattr("caltest.predictions.faults.classes.labels.LARGE", 0)
    between = view.log_norms(slice(None))
    for t in (-2.9, -0.3, 0.0, 0.7, 2.5):
        wanted = np.log((p.probabilities ** np.exp(-t)).sum(axis=1)).sum()
        assert between(t) == pytest.approx(wanted, abs=300 * 1e-5)


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array, sparse.lil_matrix])
def test_sparse_predictions(kind):
    p = predictions(60, 5).probabilities
    p = np.where(p < 0.05, 0.0, p)
    p /= p.sum(axis=1, keepdims=True)
    y = ct.Categorical(p).sample(1)
    dense, result = (ct.calibration_test(one, y, n_resamples=19, rng=1) for one in (p, kind(p)))
    assert result.statistic == dense.statistic
    assert ct.Categorical(kind(p.astype(np.float32))).n_classes == 5
    with pytest.raises(ValueError, match=r"sums to 0\.5, wanted rows that sum to 1"):
        ct.calibration_test(kind(p / 2.0), y)


def sparse_rows(n=10_100, k=60, m=5):
    """Rows with m of k classes, and labels of which one is impossible."""
    rng = np.random.default_rng(8)
    columns = np.argsort(rng.random((n, k)), axis=1)[:, :m]
    values = rng.dirichlet(np.ones(m), n)
    y = columns[np.arange(n), (np.cumsum(values, axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, m - 1)]
    y[-1] = columns[-1, -1]
    values[-1] = [0.5, 0.5, 0.0, 0.0, 0.0]
    return sparse.csr_array((values.ravel(), columns.ravel(), np.arange(0, n * m + 1, m)), shape=(n, k)), y


def test_blocks_of_sparse_predictions_are_those_of_all_numbers(monkeypatch):
    """The same result, an outcome of probability 0 with it, without an array of all numbers."""
    p, y = sparse_rows(600)
    monkeypatch.setattr("caltest.predictions.base.MEDIAN_OF", 500)
    for name, value in (("WORTH", 0), ("ALL_PAIRS", 500), ("LARGEST_BLOCK", 200), ("SMALLEST_BLOCK", 50)):
        monkeypatch.setattr(many_classes, name, value)
    dense = ct.calibration_test(p.toarray(), y, n_resamples=9, rng=1)
    monkeypatch.setattr(sys.modules[SparseRows.__module__], "DENSE", p.shape[1] * 550)
    monkeypatch.setattr("caltest.predictions.classes.claims.AT_ONCE", 2**14)
    monkeypatch.setattr("caltest.estimators.dependence.NUMBERS", 2**14)
    monkeypatch.setattr(SparseRows, "__array__", None)
    result = ct.calibration_test(p, y, n_resamples=9, rng=1)
    assert result.null_distribution == pytest.approx(dense.null_distribution, rel=1e-12)
    assert (result.pvalue, result.pvalue_otherwise, result.notes) == (0.0, dense.pvalue_otherwise, dense.notes)
    assert "in blocks of similar ones" in " ".join(result.notes)


def test_sparse_predictions_that_are_none():
    p, y = sparse_rows()
    for change, message in (
        (lambda p: p * 1.004, None),
        (lambda p: p * 1.1, r"row 0 that sums to 1\.1, wanted rows that sum to 1"),
        (lambda p: p * np.where(np.arange(p.shape[0]) == 7, -1.0, 1.0)[:, None], "at row 7, column .*, wanted prob"),
        (lambda p: p * np.where(np.arange(p.shape[0]) == 7, np.nan, 1.0)[:, None], "row 7 that sums to nan"),
    ):
        if message is None:
            assert "they were renormalised" in ct.Categorical.of_sparse(change(p)).notes[0]
            continue
        with pytest.raises(ValueError, match=message):
            ct.calibration_test(change(p).tocsr(), y)


def test_sparse_predictions_that_are_too_large():
    with pytest.raises(MemoryError, match="predictions as an array that is not sparse would take 8e"):
        ct.LikelihoodRatioTest()(sparse.csr_matrix((10**6, 10**6)), [0])


MEMORY = """
import resource, sys
import numpy as np
import caltest as ct
n, k = 12_000, 200
rng = np.random.default_rng(1)
p = np.concatenate([rng.gamma(0.05, size=(1000, k)) for _ in range(n // 1000)]).astype(np.float32)
p /= p.sum(axis=1, keepdims=True)
y = p.argmax(axis=1)
ct.calibration_test(p[:11_000], y[:11_000], n_resamples=9, rng=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ct.calibration_test(p, y, n_resamples=249, rng=1)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3)
"""


@pytest.mark.full
def test_labels_of_many_predictions_are_kept_nowhere():
    """Measured 45 MB beyond the test with few redraws; the labels alone would take 3 MB, tables of them 145 MB."""
    pytest.importorskip("resource")
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 120.0
