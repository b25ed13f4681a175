"""Simulated p-values, the same for any number of workers, in any batches and sittings, and settings of studies."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from inspect import signature
from math import isclose, isfinite
from typing import Any

import numpy as np

from caltest._basics.calls import pvalues_only
from caltest._basics.numerics import FloatArray, seed_of
from caltest._basics.threads import n_jobs, one_thread, results
from caltest._validation import fraction, in_short, instance_of
from caltest.default_test import calibration_test
from caltest.generators import Distortion
from caltest.hypothesis_test import CalibrationTest
from caltest.named_tests import OmnibusTest

Test = Callable[..., Any]
"""``test(predictions, targets, rng=...)``, whose result has a ``pvalue``."""

BATCH = 32
"""The most simulations that a worker makes before it reports."""
BATCHES_OF_A_WORKER = 8
"""So many batches at least for each worker, so that none waits long for the others."""


@dataclass(frozen=True, eq=False)
class Task:
    """Tests of the same data sets of n observations.

    The i-th data set is drawn with the child ``(i, 0)`` of the seed and every test gets the child ``(i, 1)``, so
    p-values depend neither on how many simulations there are nor on the other tests.
    """

    tests: tuple[Test, ...]
    generator: Any
    n: int
    seed: int

    def pvalues(self, i: int) -> list[float]:
        """P-values of all tests on the i-th data set."""
        try:
            predictions, targets = self.generator.sample(self.n, rng=self._stream(i, 0))
            return [_pvalue(_only_tested(test)(predictions, targets, rng=self._stream(i, 1))) for test in self.tests]
        except Exception as error:
            error.add_note(f"in simulation {i} of n = {self.n} with seed {self.seed}")
            raise

    def _stream(self, i: int, part: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(i, part)))


def simulate(task: Task, earlier: FloatArray, stop: int, *, resumed: bool = True) -> FloatArray:
    """P-values of earlier data sets (m, number of tests) and of the next ones up to ``stop - 1``, in order.

    On joblib's workers if there are several. ``KeyboardInterrupt`` ends the simulation; what was finished before is
    returned. Where a study is resumed, the first data set is tested again: ``ValueError`` for other p-values.
    """
    workers = n_jobs()
    calls = [(task, *part, workers > 1) for part in _parts(len(earlier), stop, workers)]
    rows: list[list[float]] = []
    with suppress(KeyboardInterrupt):
        if resumed and 0 < len(earlier) < stop:
            _check_repeated(task, earlier[0])
        for made in results(_batch, calls, f"n = {task.n}"):
            rows += made
    made_now = np.array(rows, dtype=np.float64).reshape(len(rows), len(task.tests))
    return np.concatenate([earlier, made_now])


def _check_repeated(task: Task, earlier: FloatArray) -> None:
    """Raise unless the first data set has the p-values of an earlier study: words do not show all settings."""
    for now, before in zip(task.pvalues(0), earlier, strict=True):
        if not isclose(now, before, rel_tol=1e-6):
            raise ValueError(
                f"resume: got a study whose first simulation of n = {task.n} has the p-value {before:.6g}; with this "
                f"test and generator it has {now:.6g}, so that one of them, or a version of a package, is another"
            )


def _parts(start: int, stop: int, workers: int) -> Sequence[tuple[int, int]]:
    """Ranges of simulations: single ones where nothing has to be sent to a worker."""
    size = 1 if workers == 1 else max(1, min(BATCH, (stop - start) // (BATCHES_OF_A_WORKER * workers)))
    return [(i, min(i + size, stop)) for i in range(start, stop, size)]


def _batch(task: Task, start: int, stop: int, among_workers: bool) -> list[list[float]]:
    with one_thread() if among_workers else nullcontext():
        return [task.pvalues(i) for i in range(start, stop)]


def _only_tested(test: Test) -> Test:
    """A test of the package without what is not read; a function of the user may read everything."""
    own = test
    while isinstance(own, partial):
        own = own.func
    if own is not calibration_test and not isinstance(own, CalibrationTest):
        return test

    def only_tested(*data: Any, rng: Any) -> Any:
        with pvalues_only():
            return test(*data, rng=rng)

    return only_tested


def _pvalue(result: Any) -> float:
    try:
        pvalue = float(result.pvalue)
    except (AttributeError, TypeError, ValueError):
        raise TypeError(f"test: got {result!r} from it, wanted a result with a number as its pvalue") from None
    if not (isfinite(pvalue) and 0.0 <= pvalue <= 1.0):
        raise ValueError(f"test: got the p-value {pvalue!r} from it, wanted a number from 0 to 1")
    return pvalue


def child_seed(seed: int, *key: int) -> int:
    """A seed of its own for a part of a study that is named by whole numbers."""
    return seed_of(np.random.SeedSequence(seed, spawn_key=key))


def check_test(test: Any, name: str = "test") -> None:
    """Raise ``TypeError`` unless it can be called."""
    if isinstance(test, type) or not callable(test):
        raise TypeError(
            f"{name}: got {test!r}, wanted a function test(predictions, targets, rng=...) such as ct.calibration_test "
            "or ct.MonteCarloTest(ct.SKCE(kernel))"
        )


def check_generator(generator: Any, name: str = "generator") -> None:
    """Raise ``TypeError`` unless it has a method ``sample`` of a number of observations and an ``rng``."""
    sample = None if isinstance(generator, (type, Distortion)) else getattr(generator, "sample", None)
    if not callable(sample) or not _takes_a_number(sample):
        raise TypeError(
            f"{name}: got {in_short(generator)}, wanted an object with a method sample(n, rng), "
            "such as ct.generators.DirichletModel.m2(), or for predictions p and an error of them "
            "ct.generators.Resampled(p, ct.generators.Tempering(-0.4))"
        )


def _takes_a_number(sample: Callable[..., Any]) -> bool:
    """Whether a method can be called so; those of predictions and of tables of pandas have the same name."""
    try:
        signature(sample).bind(1, rng=None)
    except TypeError:
        return False
    except ValueError:  # Compiled functions may not say what they take.
        return True
    return True


def several(values: Any) -> Iterable[Any]:
    """A list or an array, of a single value one of it alone."""
    return values if isinstance(values, (list, tuple, range, np.ndarray)) else [values]


def checked_alphas(alpha: Any) -> tuple[float, ...]:
    """Levels of a test, one or several, each strictly between 0 and 1."""
    alphas = tuple(fraction("alpha", one) for one in several(alpha))
    if not alphas:
        raise ValueError("alpha: got none, wanted at least one number between 0 and 1")
    return alphas


def check_resumed(resume: Any, kind: type, **asked: Any) -> None:
    """Raise unless an earlier result is that of a study of what is asked."""
    instance_of(kind, "the result of an earlier call")("resume", resume)
    for name, value in asked.items():
        if getattr(resume, name) != value:
            raise ValueError(f"resume: got a study with {name} = {getattr(resume, name)}, wanted {value}")


def checked_seed(rng: Any, resume: Any) -> int:
    """The seed of a study, or that of the earlier one that it continues."""
    if resume is None:
        return seed_of(rng)
    if rng is not None and seed_of(rng) != resume.seed:
        raise ValueError(f"rng: got {rng!r} to continue a study with rng={resume.seed}; leave it out")
    return int(resume.seed)


def describe_test(test: Callable[..., Any]) -> str:
    """A test in words, without addresses in memory."""
    if isinstance(test, CalibrationTest):
        return f"{type(test).__name__}({test.estimator!r}, {test.null!r})"
    if isinstance(test, partial):
        given = [repr(one) for one in test.args] + [f"{key}={value!r}" for key, value in test.keywords.items()]
        return f"{describe_test(test.func)}({', '.join(given)})"
    return str(getattr(test, "__name__", type(test).__name__))


def describe_generator(generator: Any) -> str:
    """A generator in words."""
    return str(getattr(generator, "description", type(generator).__name__))


def study_of(test: Any, generator: Any) -> dict[str, str]:
    """Both in words, as results have them."""
    return {"test": describe_test(test), "generator": describe_generator(generator)}


def sources_of(test: Any) -> tuple[str, ...]:
    """Keys of the sources of a test, and of the default test, with settings or without; none of other functions."""
    own = getattr(test, "func", test)
    return OmnibusTest().citations if own is calibration_test else tuple(getattr(own, "citations", ()))


def is_calibrated(generator: Any) -> bool:
    """Whether a generator says that its predictions are calibrated."""
    return bool(getattr(generator, "is_calibrated", False))
