"""Parts of a computation in threads: the same results for any number of them, and nothing left behind."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from samples import TV, W2, samples
from threadpoolctl import threadpool_info, threadpool_limits

import caltest as ct
from caltest._basics import threads
from caltest._basics.jobs import redrawn
from caltest._basics.threads import threaded

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
