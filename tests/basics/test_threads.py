"""Parts of a computation in threads: the same results for any number of them, and nothing left behind."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from grids import thinned
from samples import TV, W2, samples
from threadpoolctl import threadpool_info, threadpool_limits

import caltest as ct
from caltest._basics import threads
from caltest._basics.threads import redrawn, threaded

N = 1100
_, P, Y, NORMAL, TARGETS = samples(N, 4)


def monte_carlo(estimator, p, y, n_resamples):
    return ct.MonteCarloTest(estimator, n_resamples)(p, y, rng=1).null_distribution


COMPUTATIONS = {
    "SKCE": lambda: ct.SKCE(TV)(P, Y),
    "SKCE, normal": lambda: ct.SKCE(W2)(NORMAL, TARGETS),
    "bootstrap": lambda: ct.AsymptoticSKCETest(TV, 99)(P, Y, rng=1).null_distribution,
    "Monte Carlo": lambda: monte_carlo(ct.SKCE(TV), P, Y, 99),
    "Monte Carlo, many labels": lambda: monte_carlo(ct.SKCE(TV), P, Y, 299),
    "Monte Carlo, binary": lambda: monte_carlo(ct.SKCE(TV), P[:, 0], Y == 1, 99),
    "Monte Carlo, normal": lambda: monte_carlo(ct.SKCE(W2), NORMAL.take(slice(0, 600)), TARGETS[:600], 3),
    "Monte Carlo, blocks": lambda: monte_carlo(ct.BlockSKCE(TV, 200), P, Y, 9),
    "small blocks": lambda: ct.AsymptoticBlockSKCETest(TV, 3)(P, Y).statistic,
    "large blocks": lambda: ct.AsymptoticBlockSKCETest(TV, 200)(P, Y).statistic,
    "low rank": lambda: ct.LowRankSKCE(TV, rank=20)(P, Y),
    "Monte Carlo, low rank": lambda: monte_carlo(ct.LowRankSKCE(TV, rank=20), P, Y, 99),
    "median": lambda: ct.median_bandwidth(P, ct.TotalVariation()),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("compute", COMPUTATIONS.values(), ids=COMPUTATIONS)
def test_results_do_not_depend_on_the_number_of_threads(compute, monkeypatch):
    monkeypatch.setattr("caltest.hstatistics.sums.features.ROWS", 300)
    monkeypatch.setattr("caltest.hstatistics.sums.pairs.PART", 4096)
    monkeypatch.setattr("caltest.hstatistics.redraws.of_all_families.LABELS_AT_ONCE", 30 * N)
    alone = None
    for number in (1, 2, 3, 7):
        monkeypatch.setattr(threads, "n_threads", lambda number=number: number)
        values = np.asarray(compute())
        alone = values if alone is None else alone
        assert values == pytest.approx(alone, rel=1e-12, abs=1e-12 * np.abs(alone).max())


@pytest.mark.parametrize("number", [1, 2, 7])
@pytest.mark.parametrize("total", [1, 2, 100])
def test_results_come_in_the_order_of_the_items(number, total, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: number)
    assert list(threaded(lambda i: i * i, iter(range(total)), total, "squares")) == [i * i for i in range(total)]


def test_items_are_taken_as_they_are_needed(monkeypatch):
    """Results that wait are few: of a million parts, only some are begun before the first result is used."""
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    taken = []

    def items():
        for i in range(1_000_000):
            taken.append(i)
            yield i

    results = threaded(lambda i: i, items(), 1_000_000, "parts")
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    assert len(taken) <= 2 * threads.AHEAD + 3
    results.close()


class Broken(Exception):
    pass


def fail_at_5(i):
    if i == 5:
        raise Broken("part 5")
    return i


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_blas_threads(monkeypatch):
    """More than the one that parts get; numpy's own library is loaded by the first product."""
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    np.ones((2, 2)) @ np.ones((2, 2))
    # In a thread that ends, because threadpoolctl lets no second thread set what a living one has set.
    with ThreadPoolExecutor(1) as thread:
        undo = thread.submit(threadpool_limits, 2, user_api="blas").result().restore_original_limits
    before = blas_threads()
    if not before or set(before) != {2}:
        pytest.skip("no BLAS library whose threads can be counted")
    yield before
    with ThreadPoolExecutor(1) as thread:
        thread.submit(undo).result()


def test_blas_has_one_thread_inside_and_its_own_number_afterwards(two_blas_threads):
    inside = list(threaded(lambda _: blas_threads(), range(6), 6, "parts", products=True))
    assert all(set(numbers) == {1} for numbers in inside)
    assert blas_threads() == two_blas_threads


def test_functions_of_redraws_have_one_blas_thread_each(two_blas_threads):
    """They multiply matrices: with pools of both kinds a validation took 10 to 30 times its processor time."""
    law, rng = ct.Bernoulli(P[:, 0]), np.random.default_rng(1)
    assert (redrawn(law, lambda some: np.tile(blas_threads(), (len(some), 1)), 96, rng) == 1).all()
    assert blas_threads() == two_blas_threads


def test_an_exception_reaches_the_caller_and_restores_the_threads(two_blas_threads):
    with pytest.raises(Broken, match="part 5"):
        list(threaded(fail_at_5, range(50), 50, "parts", products=True))
    assert blas_threads() == two_blas_threads


def test_an_exception_inside_an_estimate_reaches_the_caller(monkeypatch):
    def broken(self, strip):
        raise Broken("strip")

    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    monkeypatch.setattr("caltest.hstatistics.tiles.FiniteTiles.sums", broken)
    with pytest.raises(Broken, match="strip"):
        ct.SKCE(TV)(P, Y)


def test_overlapping_users_restore_the_threads_when_the_last_one_ends(two_blas_threads):
    """The first user ends while the second is at work, in an order that events enforce."""
    second_is_in, first_is_out = threading.Event(), threading.Event()
    seen = []

    def first(i):
        assert second_is_in.wait(10)
        return i

    def second(i):
        second_is_in.set()
        assert first_is_out.wait(10)
        seen.append(blas_threads())
        return i

    def use(function, done):
        list(threaded(function, range(2), 2, "parts", products=True))
        done.set()

    with ThreadPoolExecutor(2) as users:
        futures = [users.submit(use, first, first_is_out), users.submit(use, second, threading.Event())]
        for future in futures:
            future.result(20)
    assert [set(numbers) for numbers in seen] == [{1}, {1}]
    assert blas_threads() == two_blas_threads


@pytest.mark.parametrize("first_lives", [True, False])
def test_a_second_thread_limits_blas_after_a_first_one_has(first_lives, two_blas_threads):
    """Whether or not the first user's thread is still there."""

    def inside():
        return list(threaded(lambda _: blas_threads(), range(2), 2, "parts", products=True))

    with ThreadPoolExecutor(1) as first:
        if first_lives:
            first.submit(inside).result()
        assert all(set(numbers) == {1} for numbers in inside())
    assert blas_threads() == two_blas_threads


def test_two_users_at_once_get_what_each_gets_alone(two_blas_threads):
    tests = [ct.MonteCarloTest(ct.SKCE(TV), 49), ct.AsymptoticSKCETest(TV, 49)]
    alone = [test(P, Y, rng=1).null_distribution for test in tests]
    with ThreadPoolExecutor(2) as users:
        for _ in range(2):
            together = list(users.map(lambda test: test(P, Y, rng=1).null_distribution, tests))
            for ours, theirs in zip(together, alone, strict=True):
                assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-14)
    assert blas_threads() == two_blas_threads


@pytest.mark.parametrize(
    ("limit", "number"), [(None, 8), ("", 8), ("3", 3), ("1", 1), ("64", 8), ("0", 1), ("4,2", 8), ("many", 8)]
)
def test_number_of_threads_obeys_the_environment(limit, number, monkeypatch):
    monkeypatch.setattr(threads, "n_processors", lambda: 8)
    if limit is None:
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    else:
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert threads.n_threads() == number


ROWS = 60
_, CLASSES, LABELS, NUMBERS, OUTCOMES = samples(ROWS, 3)

TESTS = {
    "Monte Carlo": (lambda n: ct.MonteCarloTest(ct.SKCE(TV), n), CLASSES, LABELS),
    "Monte Carlo, ECE": (lambda n: ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(4)), n), CLASSES, LABELS),
    "Monte Carlo, binary": (lambda n: ct.MonteCarloTest(ct.SKCE(TV), n), CLASSES[:, 0], LABELS == 0),
    "Monte Carlo, normal": (lambda n: ct.MonteCarloTest(ct.SKCE(W2), n), NUMBERS, OUTCOMES),
    "Monte Carlo, low rank": (lambda n: ct.MonteCarloTest(ct.LowRankSKCE(TV, 9), n), CLASSES, LABELS),
    "bootstrap": (lambda n: ct.AsymptoticSKCETest(TV, n), CLASSES, LABELS),
    "mean embedding": (lambda n: ct.ScoreCMETest(ct.UCME(TV, CLASSES[:3], LABELS[:3]), n), CLASSES, LABELS),
    "consistency": (lambda n: ct.ConsistencyTest(ct.SKCE(TV), n), CLASSES, LABELS),
}
each_test = pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)


def result_of(test, n_resamples):
    make, p, y = test
    return make(n_resamples)(p, y, rng=3)


def assert_same(one, other):
    assert one.null_distribution == pytest.approx(other.null_distribution, rel=1e-12, abs=1e-14)
    assert (one.pvalue, one.seed) == (other.pvalue, other.seed)
    assert (one.estimate, one.statistic) == pytest.approx((other.estimate, other.statistic), rel=1e-12)


@pytest.mark.every(2)
@each_test
def test_threads_of_joblib(test):
    alone = result_of(test, 150)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert threads.n_jobs() == 2
        assert_same(result_of(test, 150), alone)


@pytest.fixture(scope="module", autouse=True)
def no_process_is_left():
    yield
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


@pytest.mark.parametrize("name", thinned(TESTS, ["Monte Carlo", "bootstrap"]))
def test_processes_of_joblib(name):
    alone = result_of(TESTS[name], 70)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        with joblib.parallel_config(backend="loky", n_jobs=2):
            assert_same(result_of(TESTS[name], 70), alone)


def test_an_exception_of_a_worker_reaches_the_caller():
    with joblib.parallel_config(backend="threading", n_jobs=2), pytest.raises(ZeroDivisionError):
        threads.run(lambda i: 1 / i, [(1,), (0,), (2,)], "parts")


@pytest.mark.every(3)
@each_test
@pytest.mark.parametrize("n_jobs", [2, 3, 100])
def test_redraws_do_not_depend_on_the_number_of_parts(test, n_jobs, monkeypatch):
    whole = result_of(test, 150)
    monkeypatch.setattr(threads, "n_jobs", lambda: n_jobs)
    for module in ("monte_carlo", "bootstraps"):
        monkeypatch.setattr(f"caltest.nulls.{module}.run", lambda f, calls, what: [f(*c) for c in calls])
    assert_same(result_of(test, 150), whole)


def test_redraws_do_not_depend_on_the_memory_for_labels(monkeypatch):
    whole = result_of(TESTS["Monte Carlo"], 150)
    monkeypatch.setattr("caltest.nulls.monte_carlo.LARGEST", 1)
    assert_same(result_of(TESTS["Monte Carlo"], 150), whole)


@pytest.mark.every(3)
@each_test
@pytest.mark.parametrize(("few", "many"), [(99, 199), (32, 33), (5, 64)])
def test_more_resamples_begin_with_the_same_ones(test, few, many):
    """Also where the fewer ones end inside a stream: each stream draws its resamples one after the other."""
    fewer, more = result_of(test, few), result_of(test, many)
    assert more.null_distribution[:few] == pytest.approx(fewer.null_distribution, rel=1e-12, abs=1e-14)
    assert len(set(more.null_distribution[few - 1 :])) > 1


def test_streams_are_independent_and_of_bounded_length():
    made = threads.streams(np.random.default_rng(1), 70)
    assert [size for _, size in made] == [32, 32, 6]
    firsts = [generator.random() for generator, _ in made]
    assert len(set(firsts)) == 3
    again = threads.streams(np.random.default_rng(1), 33)
    assert [generator.random() for generator, _ in again] == firsts[:2]


@pytest.mark.every(4)
@pytest.mark.parametrize("n_jobs", [1, 2, 5, 50])
@pytest.mark.parametrize("at_most", [0, 1, 3, 7, 100])
@pytest.mark.parametrize("n", [1, 2, 10, 31])
def test_parts_hold_all_items_in_their_order(n, at_most, n_jobs, monkeypatch):
    monkeypatch.setattr(threads, "n_jobs", lambda: n_jobs)
    parts = threads.in_parts(list(range(n)), at_most)
    assert [item for part in parts for item in part] == list(range(n))
    sizes = [len(part) for part in parts]
    assert 1 <= min(sizes) <= max(sizes) <= min(max(1, at_most), min(sizes) + 1)
    assert len(parts) >= min(n, n_jobs)


@pytest.mark.full
def test_one_worker_without_a_configuration():
    assert threads.n_jobs() == 1
    with joblib.parallel_config(n_jobs=3, backend="threading"):
        assert threads.n_jobs() == 3
    assert threads.n_jobs() == 1
