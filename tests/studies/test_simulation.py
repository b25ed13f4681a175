"""P-values do not depend on workers, batches and interruptions."""

import os
import subprocess
import sys
import textwrap
import warnings
from functools import partial
from types import SimpleNamespace
from unittest import mock

import joblib
import numpy as np
import pytest
from grids import thinned

import caltest as ct
from caltest._basics import threads
from caltest.generators import DirichletModel
from caltest.studies.simulation import BATCH, _parts, child_seed

MODEL = DirichletModel(3, 1.0, 0.3)
TEST = partial(ct.calibration_test, n_resamples=19)


@pytest.fixture(scope="module", autouse=True)
def no_process_is_left():
    yield
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


def threads_in_use(predictions, targets, rng):
    return SimpleNamespace(pvalue=threads.n_threads() / 64)


@pytest.mark.usefixtures("without_findings")
def test_every_data_set_has_streams_of_its_own():
    """The slow way: child (i, 0) of the seed for the data, child (i, 1) for the test."""
    result = ct.power(TEST, MODEL, 12, n_simulations=5, rng=5)
    for i, pvalue in enumerate(result.pvalues):
        data, redraws = (np.random.default_rng(np.random.SeedSequence(5, spawn_key=(i, part))) for part in (0, 1))
        assert TEST(*MODEL.sample(12, data), rng=redraws).pvalue == pvalue


def test_what_is_wrong_is_looked_for_by_functions_of_the_user_only():
    """They may read all of a result; of one of the package a study reads the p-value."""
    model, findings = DirichletModel(3, 1.0, 1.0), []

    def own(predictions, targets, rng):
        findings.append(TEST(predictions, targets, rng=rng))
        return findings[-1]

    alone = ct.power(own, model, 60, n_simulations=3, rng=4)
    assert all(result.measures for result in findings)
    assert any(result.finding for result in findings)
    for test in (TEST, ct.OmnibusTest(n_resamples=19)):
        with mock.patch("caltest.estimators.combined.omnibus.Omnibus.told", side_effect=AssertionError):
            assert np.array_equal(ct.power(test, model, 60, n_simulations=3, rng=4).pvalues, alone.pvalues)


@pytest.mark.parametrize("backend", thinned(["threading", "loky"], ["threading"]))
def test_workers(backend):
    alone = ct.power(TEST, MODEL, 15, n_simulations=8, rng=3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert np.array_equal(ct.power(TEST, MODEL, 15, n_simulations=8, rng=3).pvalues, alone.pvalues)


@pytest.mark.full
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_use_one_thread_each(backend, monkeypatch):
    monkeypatch.setattr(threads, "n_processors", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert set(ct.power(threads_in_use, MODEL, 5, n_simulations=5).pvalues) == {4 / 64}
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert set(ct.power(threads_in_use, MODEL, 5, n_simulations=20).pvalues) == {1 / 64}
    assert threads.n_threads() == 4


@pytest.mark.parametrize(("n", "workers"), [(1, 1), (5, 1), (1, 2), (7, 3), (1000, 2), (100_000, 4)])
def test_parts_cover_the_simulations(n, workers):
    parts = _parts(10, 10 + n, workers)
    assert [i for start, stop in parts for i in range(start, stop)] == list(range(10, 10 + n))
    assert max(stop - start for start, stop in parts) <= (1 if workers == 1 else BATCH)
    assert len(parts) >= min(n, 8 * workers)


def test_seeds_of_parts_differ():
    assert len({child_seed(1, g, n) for g in range(10) for n in range(100)}) == 1000
    assert child_seed(1, 2) == child_seed(1, 2) != child_seed(2, 1)


INTERRUPTED = """
    import os, signal, threading, time
    from types import SimpleNamespace
    import joblib
    import caltest as ct

    def test(predictions, targets, rng):
        return SimpleNamespace(pvalue=rng.random())

    def slow(predictions, targets, rng):
        time.sleep(0.02)
        with open("finished", "a") as file:
            file.write(".")
        return test(predictions, targets, rng)

    def interrupt():
        while not os.path.exists("finished") or os.path.getsize("finished") < 80:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    def study(test, n_simulations=200, **settings):
        return ct.power(test, ct.generators.DirichletModel.m3(3), 5, n_simulations=n_simulations, **settings)

    if __name__ == "__main__":
        # Programs that are started in the background ignore interrupts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with joblib.parallel_config(backend="BACKEND", n_jobs=2):
            study(slow, 20)
            threading.Thread(target=interrupt).start()
            cut = study(slow, rng=1)
            whole = study(slow, resume=cut)
        print(0 < cut.n_simulations < 200, len(cut.notes), whole.n_simulations, whole.notes)
        print((whole.pvalues == study(test, rng=1).pvalues).all())
"""


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="signals of other systems")
@pytest.mark.parametrize("backend", thinned(["threading", "loky"], ["threading"]))
def test_an_interrupt_leaves_what_is_finished_by_workers(backend, tmp_path):
    script = tmp_path / "study.py"
    script.write_text(textwrap.dedent(INTERRUPTED).replace("BACKEND", backend))
    run = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert run.stdout.splitlines() == ["True 1 200 ()", "True"], run.stderr
