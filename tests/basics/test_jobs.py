"""Resamples on joblib's workers: the same as without, whatever the number of workers and parts."""

import warnings

import joblib
import numpy as np
import pytest
from grids import thinned
from samples import TV, W2, samples

import caltest as ct
from caltest._basics import jobs

N = 60
_, P, Y, NORMAL, TARGETS = samples(N, 3)

TESTS = {
    "Monte Carlo": (lambda n: ct.MonteCarloTest(ct.SKCE(TV), n), P, Y),
    "Monte Carlo, ECE": (lambda n: ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(4)), n), P, Y),
    "Monte Carlo, binary": (lambda n: ct.MonteCarloTest(ct.SKCE(TV), n), P[:, 0], Y == 0),
    "Monte Carlo, normal": (lambda n: ct.MonteCarloTest(ct.SKCE(W2), n), NORMAL, TARGETS),
    "Monte Carlo, low rank": (lambda n: ct.MonteCarloTest(ct.LowRankSKCE(TV, 9), n), P, Y),
    "bootstrap": (lambda n: ct.AsymptoticSKCETest(TV, n), P, Y),
    "mean embedding": (lambda n: ct.ScoreCMETest(ct.UCME(TV, P[:3], Y[:3]), n), P, Y),
    "consistency": (lambda n: ct.ConsistencyTest(ct.SKCE(TV), n), P, Y),
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
        assert jobs.n_jobs() == 2
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
        jobs.run(lambda i: 1 / i, [(1,), (0,), (2,)], "parts")


@pytest.mark.every(3)
@each_test
@pytest.mark.parametrize("n_jobs", [2, 3, 100])
def test_redraws_do_not_depend_on_the_number_of_parts(test, n_jobs, monkeypatch):
    whole = result_of(test, 150)
    monkeypatch.setattr(jobs, "n_jobs", lambda: n_jobs)
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
    made = jobs.streams(np.random.default_rng(1), 70)
    assert [size for _, size in made] == [32, 32, 6]
    firsts = [generator.random() for generator, _ in made]
    assert len(set(firsts)) == 3
    again = jobs.streams(np.random.default_rng(1), 33)
    assert [generator.random() for generator, _ in again] == firsts[:2]


@pytest.mark.every(4)
@pytest.mark.parametrize("n_jobs", [1, 2, 5, 50])
@pytest.mark.parametrize("at_most", [0, 1, 3, 7, 100])
@pytest.mark.parametrize("n", [1, 2, 10, 31])
def test_parts_hold_all_items_in_their_order(n, at_most, n_jobs, monkeypatch):
    monkeypatch.setattr(jobs, "n_jobs", lambda: n_jobs)
    parts = jobs.in_parts(list(range(n)), at_most)
    assert [item for part in parts for item in part] == list(range(n))
    sizes = [len(part) for part in parts]
    assert 1 <= min(sizes) <= max(sizes) <= min(max(1, at_most), min(sizes) + 1)
    assert len(parts) >= min(n, n_jobs)


@pytest.mark.full
def test_one_worker_without_a_configuration():
    assert jobs.n_jobs() == 1
    with joblib.parallel_config(n_jobs=3, backend="threading"):
        assert jobs.n_jobs() == 3
    assert jobs.n_jobs() == 1
