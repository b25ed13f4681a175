"""Checks of the settings of studies, and their parts in words."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from caltest._basics.numerics import seed_of
from caltest._validation import fraction
from caltest.calibration_test import CalibrationTest


def check_test(test: Any, name: str = "test") -> None:
    """Raise ``TypeError`` unless it can be called."""
    if isinstance(test, type) or not callable(test):
        raise TypeError(
            f"{name}: got {test!r}, wanted a function test(predictions, targets, rng=...) such as ct.calibration_test "
            "or ct.MonteCarloTest(ct.SKCE(kernel))"
        )


def check_generator(generator: Any, name: str = "generator") -> None:
    """Raise ``TypeError`` unless it has a method ``sample``."""
    if isinstance(generator, type) or not callable(getattr(generator, "sample", None)):
        raise TypeError(
            f"{name}: got {generator!r}, wanted an object with a method sample(n, rng), such as "
            "ct.generators.DirichletModel.m2()"
        )


def checked_alphas(alpha: Any) -> tuple[float, ...]:
    """Levels of a test, one or several, each strictly between 0 and 1."""
    several = isinstance(alpha, (list, tuple, np.ndarray))
    alphas = tuple(fraction("alpha", one) for one in (alpha if several else (alpha,)))
    if not alphas:
        raise ValueError("alpha: got none, wanted at least one number between 0 and 1")
    return alphas


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


def is_calibrated(generator: Any) -> bool:
    """Whether a generator says that its predictions are calibrated."""
    return bool(getattr(generator, "is_calibrated", False))
