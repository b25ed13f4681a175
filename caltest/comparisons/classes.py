"""Comparison of the classes of one model."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._groups import as_texts
from caltest._numerics import own_errstate
from caltest._types import ArrayLike
from caltest.calibration_test import CalibrationTest
from caltest.comparisons.model_comparison import ModelComparison
from caltest.comparisons.rows import Settings, compared
from caltest.estimators import Estimator
from caltest.kernels import PairKernel
from caltest.predictions import Sample
from caltest.predictions.reductions import categorical_sample, one_against_rest


@own_errstate
def compare_classes(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    kernel: PairKernel | None = None,
    estimator: Estimator | None = None,
    test: CalibrationTest | None = None,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
    progress: bool = False,
) -> ModelComparison:
    """Compare the calibration of the classes of one model, each against the rest.

    As ``compare_models``, for the binary predictions of ``classwise``; the scores are frequencies of the classes.

    Parameters
    ----------
    predictions
        ``Categorical`` predictions or an (n, k) array-like.
    targets
        (n,) labels 0..k-1, or names.
    classes
        Names of the classes in the order of the columns, if the targets are names.
    kernel, estimator, test, n_resamples, confidence_level, rng, progress
        As in ``compare_models``, for binary predictions.

    Returns
    -------
    ModelComparison
        A row for each class.

    Raises
    ------
    ValueError, TypeError
        As ``classwise``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.generators.class_model("M2", n_classes=3).sample(200, rng=1)
    >>> comparison = ct.compare_classes(p, y, n_resamples=99, rng=1)
    >>> comparison
    <comparison of 3 classes, n = 200>
    >>> comparison["0"].pvalue_holm
    0.03
    """
    categorical, y = categorical_sample(predictions, targets, classes)
    pairs = one_against_rest(categorical, y)
    names = as_texts(categorical.classes or range(len(pairs)))
    samples = {name: Sample(*pair) for name, pair in zip(names, pairs, strict=True)}
    settings = Settings.of(list(samples.values()), kernel, estimator, test, n_resamples, confidence_level)
    scores = [float(np.mean(sample.targets)) for sample in samples.values()]
    return compared(samples, scores, settings, "class", "frequency", rng, progress)
