"""Dask arrays on two worker processes: the same as in memory, and errors that say what to do."""

import logging
import os
import pickle
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import pytest
from grids import thinned
from samples import TV, samples

import caltest as ct
from caltest._basics.chunks import Place, _merged, _updated

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")
import dask.array as da  # noqa: E402

N = 500
RNG, P, _, _, _ = samples(N, 3)
Y = ct.Categorical(P).sample(RNG)
MEDIAN = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), ct.DeltaKernel())

# Rows of predictions and of targets, and columns of predictions.
CHUNKS = {
    "equal": ((100,) * 5, (100,) * 5, (3,)),
    "odd": ((101, 7, 250, 1, 141), (101, 7, 250, 1, 141), (3,)),
    "different": ((101, 7, 250, 1, 141), (3, 333, 164), (3,)),
    "columns": ((150, 250, 100), (500,), (2, 1)),
    "one": ((500,), (499, 1), (3,)),
}
each_chunking = pytest.mark.parametrize("name", thinned(CHUNKS, ["different", "columns"]))


@pytest.fixture(scope="module")
def client(request):
    """Threads, or two processes with ``--full``. Workers that are stopped complain of that, in a log."""
    if not request.config.getoption("--full"):
        with dask.config.set(scheduler="threads"):
            yield None
        return
    log = logging.getLogger("distributed")
    level, log_level = log.level, logging.ERROR
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ResourceWarning)
        warnings.filterwarnings("ignore", message="Port .* is already in use")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=log_level
        )
        with cluster, distributed.Client(cluster) as made:
            yield made
    log.setLevel(level)


def chunked(chunks, p=P, y=Y):
    rows, target_rows, columns = chunks
    return da.from_array(p, chunks=(rows, columns)), da.from_array(y, chunks=(target_rows,))


def assert_same_results(one, other):
    ours, theirs = one.to_dict(), other.to_dict()
    assert ours.keys() == theirs.keys()
    assert ours.pop("effect_size")["value"] == pytest.approx(theirs.pop("effect_size")["value"], rel=1e-11)
    for name, value in theirs.items():
        assert ours[name] == (pytest.approx(value, rel=1e-11) if isinstance(value, float) else value), name


TESTS = {
    "blocks of 2": ct.AsymptoticBlockSKCETest(TV),
    "low rank": ct.MonteCarloTest(ct.LowRankSKCE(TV, 9), 9),
    "low rank, median": ct.MonteCarloTest(ct.LowRankSKCE(MEDIAN, 9, unbiased=False), 9),
    "log loss": ct.MonteCarloTest(ct.estimators.ExcessLogScore(), 9),
}


@each_chunking
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_estimates_are_those_in_memory(test, name, client):
    assert test(*chunked(CHUNKS[name])).estimate == pytest.approx(test.estimator(P, Y), rel=1e-12)


@each_chunking
@pytest.mark.parametrize("kernel", [TV, MEDIAN], ids=["number", "median"])
def test_block_tests_are_those_in_memory(kernel, name, client):
    test = ct.AsymptoticBlockSKCETest(kernel, 7)
    assert_same_results(test(*chunked(CHUNKS[name])), test(P, Y))


def test_tasks_are_sent_to_other_processes():
    test = ct.AsymptoticBlockSKCETest(TV, 7)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, dask.config.set(scheduler="processes", pool=pool):
        assert_same_results(test(*chunked(CHUNKS["different"])), test(P, Y))


def test_binary_predictions(client):
    test = ct.AsymptoticBlockSKCETest(TV, 4)
    p, y = da.from_array(P[:, 0], chunks=130), da.from_array(Y == 0, chunks=77)
    assert_same_results(test(p, y), test(P[:, 0], Y == 0))


@pytest.mark.parametrize("which", ["predictions", "targets"])
def test_one_of_both_in_memory(which, client):
    p, y = chunked(CHUNKS["odd"])
    test = ct.AsymptoticBlockSKCETest(TV, 7)
    assert_same_results(test(P, y) if which == "predictions" else test(p, Y.tolist()), test(P, Y))


def test_median_of_some_of_the_rows(monkeypatch, client):
    """As in memory: evenly spaced rows, and a note that says so."""
    for module in (
        "caltest.predictions.base",
        "caltest.hypothesis_test",
        "caltest.estimators.kernel_errors.kernel_estimator",
    ):
        monkeypatch.setattr(sys.modules[module], "MEDIAN_OF", 60)
    test = ct.AsymptoticBlockSKCETest(MEDIAN, 40)
    result, expected = test(*chunked(CHUNKS["odd"])), test(P, Y)
    assert result.estimator == expected.estimator
    assert result.pvalue == pytest.approx(expected.pvalue, rel=1e-11)
    assert set(result.notes) == set(expected.notes)
    assert "the median bandwidth is that of 60 evenly spaced predictions" in result.notes


def test_notes_name_rows_of_all_data(client):
    p, y = P.copy(), Y.copy()
    p[[5, 260, 499]], y[[5, 260, 499]] = [0.0, 0.5, 0.5], 0
    test = ct.AsymptoticBlockSKCETest(TV, 7)
    result = test(*chunked(CHUNKS["odd"], p, y))
    assert result.notes == test(p, y).notes
    assert "3 of 500 outcomes had predicted probability 0 (row 5, 260, 499)" in result.notes[0]


@pytest.mark.parametrize("kernel", [TV, MEDIAN], ids=["number", "median"])
def test_exact_test_is_reproduced_by_its_seed_and_chunks(kernel, client):
    test = ct.MonteCarloTest(ct.LowRankSKCE(kernel, 9), 99)
    data = chunked(CHUNKS["odd"])
    first = test(*data, rng=np.random.default_rng(7))
    again = test(*data, rng=first.seed)
    assert np.array_equal(first.null_distribution, again.null_distribution)
    assert first.to_dict() == again.to_dict()
    in_memory = test(P, Y, rng=first.seed)
    for name in ("estimate", "statistic"):
        assert getattr(first, name) == pytest.approx(getattr(in_memory, name), rel=1e-11)
    for name in ("test", "estimator", "null", "n", "n_used", "n_resamples", "predictions", "hypothesis", "pvalue_kind"):
        assert getattr(first, name) == getattr(in_memory, name)
    draws = first.null_distribution
    assert first.pvalue == (1 + np.count_nonzero(draws >= first.estimate)) / 100
    assert draws.std() == pytest.approx(in_memory.null_distribution.std(), rel=0.3)
    others = [test(*data, rng=first.seed + 1), test(*chunked(CHUNKS["equal"]), rng=first.seed)]
    assert all(not np.isclose(other.null_distribution, draws).all() for other in others)


def test_chunks_are_redrawn_with_different_numbers(client):
    """The same rows in both chunks: with equal redraws every draw would be that of one chunk, doubled."""
    p, y = np.tile(P[:40], (2, 1)), np.tile(Y[:40], 2)
    biased = ct.LowRankSKCE(TV, 9, unbiased=False)
    halves = ct.MonteCarloTest(biased, 199)(da.from_array(p, chunks=(40, 3)), da.from_array(y, chunks=40), rng=1)
    whole = ct.MonteCarloTest(biased, 199)(p, y, rng=1)
    assert halves.null_distribution.mean() == pytest.approx(whole.null_distribution.mean(), rel=0.3)


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler:UserWarning")
def test_without_a_cluster():
    data = chunked(CHUNKS["different"])
    with dask.config.set(scheduler="threads"):
        assert_same_results(ct.AsymptoticBlockSKCETest(TV, 7)(*data), ct.AsymptoticBlockSKCETest(TV, 7)(P, Y))


@pytest.mark.full
@pytest.mark.parametrize("test", [ct.MonteCarloTest(ct.SKCE(TV), 70), ct.AsymptoticSKCETest(TV, 70)])
def test_resamples_on_the_workers(test, client):
    alone = test(P, Y, rng=1)
    with joblib.parallel_config(backend="dask", n_jobs=2):
        there = test(P, Y, rng=1)
    assert there.null_distribution == pytest.approx(alone.null_distribution, rel=1e-12, abs=1e-14)
    assert there.pvalue == alone.pvalue


def unknown(array):
    """A part of the rows that is known only when it is computed."""
    return array[array.sum(axis=-1) > -1.0] if array.ndim == 2 else array[array > -1]


def series_and_frame():
    frame = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
    table = pd.DataFrame(P, columns=["a", "b", "c"])
    return frame.from_pandas(table, npartitions=3), frame.from_pandas(pd.Series(Y), npartitions=4)


def test_data_frames(client):
    p, y = series_and_frame()
    test = ct.AsymptoticBlockSKCETest(MEDIAN, 7)
    assert_same_results(test(p, y), test(P, Y))
    binary = p["a"], y == 0
    assert test(*binary).estimate == pytest.approx(test.estimator(P[:, 0], Y == 0), rel=1e-12)


def test_names_of_columns_of_data_frames_are_those_of_classes(client):
    frame = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
    names = np.array(["eel", "cat", "dog"])
    table = frame.from_pandas(pd.DataFrame(P[:, [2, 0, 1]], columns=names[[2, 0, 1]]), npartitions=3)
    labels = da.from_array(names[Y], chunks=(167,))
    test = ct.OmnibusTest(n_resamples=19)
    assert_same_results(
        test(table, labels, rng=1),
        test(table.to_dask_array(lengths=True), labels, classes=["dog", "eel", "cat"], rng=1),
    )
    with pytest.raises(ValueError, match="wanted them in the order of the columns of the predictions"):
        test(table, labels, classes=["cat", "dog", "eel"], rng=1)
    by_number = frame.from_pandas(pd.DataFrame(P[:, [2, 0, 1]], columns=["2", "0", "1"]), npartitions=3)
    with pytest.raises(ValueError, match=r"names of the columns of the predictions \(2, 0, 1\) as well as"):
        test(by_number, Y, rng=1)
    counted = frame.from_pandas(pd.DataFrame(P), npartitions=3)
    assert_same_results(
        test(counted, Y, classes=[2, 0, 1], rng=1), test(da.from_array(P, chunks=(167, 3)), Y, classes=[2, 0, 1], rng=1)
    )


def test_bad_chunks(client):
    entry = ct.AsymptoticBlockSKCETest(MEDIAN, 7)
    p, y = chunked(CHUNKS["odd"])
    cases = [
        (unknown(p), y, "predictions: got a dask array with chunks of unknown size; call compute_chunk_sizes()"),
        (p, unknown(y), "targets: got a dask array with chunks of unknown size; call compute_chunk_sizes()"),
        (p, y[:-1], r"targets: got shape \(499,\), wanted \(500,\), one target per prediction"),
        (p, y[:, None], r"targets: got shape \(500, 1\), wanted \(500,\)"),
        (p[:0], y[:0], r"got no values \(shape \(0, 3\)\), wanted at least one observation"),
        (p[:6], y[:6], "predictions: got 6 observations"),
    ]
    for predictions, targets, message in cases:
        with pytest.raises(ValueError, match=message):
            entry(predictions, targets)
    known = unknown(p).compute_chunk_sizes(), unknown(y).compute_chunk_sizes()
    assert entry(*known).pvalue == pytest.approx(entry(P, Y).pvalue, rel=1e-11)


def test_errors_of_a_late_chunk_name_its_first_row(client):
    labels = Y.copy()
    labels[360] = 7
    p, y = chunked(CHUNKS["odd"], P, labels)
    # Chunks are cut at multiples of the block size: that of rows 358 and 359 begins at row 357.
    with pytest.raises(ValueError, match=r"in the chunk that begins at row 357: targets: got label 7 at row 3, wanted"):
        ct.AsymptoticBlockSKCETest(TV, 7)(p, y)
    with pytest.raises(ValueError, match=r"in the chunk that begins at row 359: targets: got label 7 at row 1, wanted"):
        ct.MonteCarloTest(ct.LowRankSKCE(TV, 7), 9)(p, y)


def test_bad_predictions_are_found_among_some_or_in_their_chunk(monkeypatch, client):
    """Which row that is depends on who finds it, so the message says among which rows it is counted."""
    p, y = P.copy(), Y
    p[400:] = [0.5, 0.7, 0.7]
    with pytest.raises(ValueError, match=r"in 500 evenly spaced rows: .* got row 400 that sums to 1.9"):
        ct.AsymptoticBlockSKCETest(TV, 2)(*chunked(CHUNKS["equal"], p, y))
    monkeypatch.setattr(sys.modules["caltest.hypothesis_test"], "MEDIAN_OF", 10)
    with pytest.raises(ValueError, match=r"in 10 evenly spaced rows: .* got row 8 that sums to 1.9"):
        ct.AsymptoticBlockSKCETest(TV, 2)(*chunked(CHUNKS["equal"], p, y))
    p = P.copy()
    p[423] = [0.5, 0.7, 0.7]
    with pytest.raises(ValueError, match=r"in the chunk that begins at row 400: .* got row 23 that sums to 1.9"):
        ct.AsymptoticBlockSKCETest(TV, 2)(*chunked(CHUNKS["equal"], p, y))


WHAT_TO_USE = "BlockSKCE|LowRankSKCE"


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (lambda p, y: ct.compare_models({"a": p}, y), "predictions: got a dask Array"),
        (ct.SKCE(TV), "got dask arrays for SKCE"),
        (ct.ECE(), "got dask arrays for ECE"),
        (ct.MonteCarloTest(ct.SKCE(TV)), "got SKCE for ConditionalMonteCarlo"),
        (ct.AsymptoticSKCETest(TV), "got ArconesGineBootstrap, which needs all observations at once"),
        (ct.MonteCarloTest(ct.BlockSKCE(TV)), "got BlockSKCE for ConditionalMonteCarlo"),
        (lambda p, y: ct.median_bandwidth(p, ct.TotalVariation()), "predictions: got a dask Array"),
        (lambda p, y: ct.SKCE(TV)(ct.Categorical(p), y), "got dask arrays for SKCE"),
        (lambda p, y: ct.compare_models({"a": ct.Categorical(p)}, y), "predictions: got a dask ChunkedPredictions"),
    ],
)
def test_what_needs_all_data_at_once_says_what_does_not(entry, name):
    with pytest.raises(TypeError, match=WHAT_TO_USE) as caught:
        entry(*chunked(CHUNKS["equal"]))
    assert name in str(caught.value)


def test_checked_predictions_with_targets_in_chunks():
    for predictions in (ct.Categorical(P), ct.Normal(P[:, 0], 1.0)):
        with pytest.raises(TypeError, match=f"predictions: got {predictions.family} together with a dask array"):
            ct.AsymptoticBlockSKCETest(TV)(predictions, da.from_array(Y, chunks=100))


@pytest.mark.parametrize("entry", [ct.SKCE(TV), ct.AsymptoticBlockSKCETest(TV, 7)])
def test_a_bar_is_not_a_number(entry):
    with pytest.raises(ValueError, match="progress: got 1, wanted True or False"):
        entry(*chunked(CHUNKS["equal"]), progress=1)


M = 900
MEANS, SCALES = RNG.normal(size=M), np.exp(0.3 * RNG.normal(size=M))
NOISE = RNG.normal(size=(M, 8))
NUMBERS = MEANS + SCALES * NOISE[:, 0]
COUNTS = RNG.poisson(np.exp(1.0 + 0.3 * NOISE[:, 0]))
IN_CHUNKS = {
    "Normal": (lambda a: ct.Normal(a(MEANS), a(SCALES)), NUMBERS),
    "Normal of one scale": (lambda a: ct.Normal(a(MEANS), scale=1.0), NUMBERS),
    "Laplace, an array in memory": (lambda a: ct.Laplace(a(MEANS), SCALES), NUMBERS),
    "Poisson": (lambda a: ct.Poisson(a(np.exp(1.0 + 0.3 * NOISE[:, 0]))), COUNTS),
    "Ensemble": (lambda a: ct.Ensemble(a(MEANS[:, None] + NOISE)), NUMBERS),
    "MvNormal": (lambda a: ct.MvNormal(a(NOISE[:, :2]), a(np.ones(M))), NOISE[:, :2] + NOISE[:, 2:4]),
    "Ordinal": (lambda a: ct.Ordinal(a(np.tile(P, (2, 1))[:M])), np.tile(Y, 2)[:M]),
    "QuantileForecast": (
        lambda a: ct.QuantileForecast([0.1, 0.5, 0.9], a(MEANS[:, None] + np.array([-1.28, 0.0, 1.28]))),
        NUMBERS,
    ),
    "Mixture": (
        lambda a: ct.Mixture([ct.Normal(a(MEANS), a(SCALES)), ct.Normal(a(MEANS), 1.0)], np.full((M, 2), 0.5)),
        NUMBERS,
    ),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", thinned(IN_CHUNKS, ["Normal", "MvNormal", "Ensemble", "Laplace, an array in memory"]))
def test_families_of_dask_arrays(name):
    """The same null distribution as of one chunk in memory."""
    make, y = IN_CHUNKS[name]
    test, p = ct.OmnibusTest(n_resamples=9), make(np.asarray)
    in_memory = test.accumulator(predictions=p, rng=5).update(p, y).result()
    with dask.config.set(scheduler="synchronous"):
        chunks = da.from_array(y, chunks=(170, *y.shape[1:]))
        result = test(make(lambda array: da.from_array(array, chunks=(250, -1)[: array.ndim])), chunks, rng=5)
    assert result.n == M
    assert result.null_distribution == pytest.approx(in_memory.null_distribution, rel=1e-8)
    assert (result.pvalue, result.predictions) == (in_memory.pvalue, in_memory.predictions)


@pytest.mark.full
@pytest.mark.parametrize("death", ["error", "exit"])
def test_a_worker_that_dies_changes_nothing(death, client, tmp_path):
    """The first task that sees the last chunk fails, or its process ends."""
    mark = tmp_path / "died"

    def once(block, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 3 and not mark.exists():
            mark.touch()
            if death == "exit":
                os._exit(1)
            raise RuntimeError("a disk that is full")
        return block

    make = partial(da.from_array, chunks=250)
    test = ct.OmnibusTest(n_resamples=9)
    expected = test(ct.Normal(make(MEANS), make(SCALES)), make(NUMBERS), rng=5)
    with dask.annotate(retries=2):
        result = test(ct.Normal(make(MEANS).map_blocks(once, dtype=float), make(SCALES)), make(NUMBERS), rng=5)
    assert mark.exists()
    assert result.to_dict() == expected.to_dict()


def test_tasks_change_none_of_their_arguments():
    empty = ct.OmnibusTest(n_resamples=9).accumulator(predictions=P, rng=5)
    left, right = (_updated(empty, part, Place(0), [P], Y, start, None) for part, start in enumerate((0, N)))
    assert _merged(left, right).n == _merged(left, right).n == 2 * N
    assert (empty.n, left.n, right.n) == (0, N, N)


def test_what_all_chunks_share_is_sent_once():
    sizes = []

    def count(graph, keys, **_):
        tasks = graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph
        sizes.append(sum(len(cloudpickle.dumps(task)) for task in tasks.values()))
        return dask.get(graph, keys)

    test = ct.OmnibusTest(n_resamples=9)
    with dask.config.set(scheduler=count):
        for rows in (250, 50):
            test(da.from_array(P, (rows, 3)), da.from_array(Y, rows), rng=5)
    (few, many), empty = (max(sizes[i::2]) for i in range(2)), len(pickle.dumps(test.accumulator(predictions=P, rng=5)))
    assert many - few < 5 * empty


def test_columns_of_different_lengths():
    make = partial(da.from_array, chunks=250)
    with pytest.raises(ValueError, match="predictions: got dask arrays of 800 and 900 rows, wanted one length"):
        ct.calibration_test(ct.Normal(make(MEANS), make(SCALES[:800])), make(NUMBERS))
