"""Comparisons of several models for the same outcomes, and of the classes of one model."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from caltest._basics.numerics import own_errstate
from caltest._basics.types import ArrayLike
from caltest._validation import same_length
from caltest._validation.groups import as_texts
from caltest.calibration_test import CalibrationTest
from caltest.comparisons.model_comparison import ModelComparison
from caltest.comparisons.rows import Settings, compared
from caltest.estimators import Estimator
from caltest.kernels import PairKernel
from caltest.predictions import Sample
from caltest.predictions.base import named_one
from caltest.predictions.convert import as_sample
from caltest.predictions.reductions import categorical_sample, one_against_rest


@own_errstate
def compare_models(
    models: Mapping[str, ArrayLike],
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
    """Compare the calibration of several models for the same outcomes.

    For each model: its score, the estimated error with an interval and with what calibrated predictions would give, the
    p-value of calibration, and this p-value adjusted for the number of models.

    Parameters
    ----------
    models
        Predictions of each model by its name: ``Predictions``, or what becomes some, all of one family.
    targets
        (n,) outcomes, the same for all models.
    kernel
        Of the unbiased SKCE that is estimated; by default that of the family. A ``"median"`` bandwidth is that of the
        predictions of all models together, so that errors are comparable.
    estimator
        Another estimator instead of the SKCE. Only the unbiased SKCE has an interval.
    test
        By default ``OmnibusTest`` with the shared kernel, or ``MonteCarloTest(SKCE(kernel))`` if a kernel is given.
    n_resamples
        Redraws of the test, if none is given, and of the noise floor.
    confidence_level
        Of the intervals.
    classes, rng, progress
        As in ``calibration_test``.

    Returns
    -------
    ModelComparison
        ``print`` it for a table; ``to_pandas()``, ``to_markdown()``, ``to_latex()``, ``to_dict()``.

    Raises
    ------
    ValueError
        For no models, bad predictions or outcomes; the message names the model.
    TypeError
        For names that are not strings, or models of different families.

    Notes
    -----
    Models are tested one by one: the outcomes cannot be drawn from all of them at once, so the adjustments are Holm's,
    valid for any dependence, and that of Benjamini and Hochberg. Whether two errors differ is another question, for
    ``compare_pairs``: intervals of models with the same outcomes can overlap although the errors differ. Cost: for
    each model that of the test, of ``n_resamples`` redraws of the estimate, and O(n**2 k) for the interval; for many
    rows pass ``estimator=LowRankSKCE(kernel)``.

    Sources: Holm 1979; Benjamini and Hochberg 1995.

    Examples
    --------
    >>> import caltest as ct
    >>> models = ct.datasets.load_digits_predictions()
    >>> labels = models["random forest"][1]
    >>> predictions = {name: p for name, (p, _) in models.items() if name != "naive Bayes"}
    >>> comparison = ct.compare_models(predictions, labels, n_resamples=99, rng=1)
    >>> [(row.name, row.pvalue, row.pvalue_holm) for row in comparison.rows]
    [('random forest', 0.01, 0.02), ('neural network', 0.03, 0.03)]
    """
    samples = samples_of(models, targets, classes)
    settings = Settings.of(list(samples.values()), kernel, estimator, test, n_resamples, confidence_level)
    return _compared_models(samples, settings, rng, progress)


def compare_samples(samples: dict[str, Sample], n_resamples: int, rng: Any, progress: bool) -> ModelComparison:
    """``compare_models`` for samples that are already checked, one by one."""
    check_same_kind(samples)
    settings = Settings.of(list(samples.values()), None, None, None, n_resamples, 0.95)
    return _compared_models(samples, settings, rng, progress)


def _compared_models(samples: dict[str, Sample], settings: "Settings", rng: Any, progress: bool) -> ModelComparison:
    score_name = "RMSE" if next(iter(samples.values())).predictions.law.finite is None else "accuracy"
    scores = [_score(sample) for sample in samples.values()]
    return compared(samples, scores, settings, "model", score_name, rng, progress)


def samples_of(models: Mapping[str, ArrayLike], targets: ArrayLike, classes: Sequence[Any] | None) -> dict[str, Sample]:
    """Checked samples by name, all of one family."""
    if not isinstance(models, Mapping):
        raise TypeError(f'models: got {type(models).__name__}, wanted a dictionary {{"name": predictions, ...}}')
    if not models:
        raise ValueError('models: got none, wanted at least one {"name": predictions}')
    samples: dict[str, Sample] = {}
    for name, predictions in models.items():
        if not isinstance(name, str):
            raise TypeError(f"models: got the name {name!r}, wanted names that are strings")
        try:
            samples[name] = as_sample(predictions, targets, classes)
        except (ValueError, TypeError) as error:
            raise type(error)(f"models[{name!r}]: {error}") from None
    check_same_kind(samples)
    return samples


def check_same_kind(samples: dict[str, Sample]) -> None:
    """Raise unless all models are of the same family and length as the first one."""
    first = next(iter(samples.values()))
    known = first.predictions
    for name, sample in samples.items():
        try:
            same_length(len(first), len(sample), "predictions")
            known.check_compatible(sample.predictions, "predictions")
            known = named_one(known, sample.predictions)
        except (ValueError, TypeError) as error:
            raise type(error)(f"models[{name!r}]: {error}") from None


def _score(sample: Sample) -> float | None:
    """Accuracy of classes; else the root mean square distance of outcomes and predicted means, if these are known."""
    law = sample.predictions.law
    hits = law.hits(sample.targets)
    if hits is not None:
        return float(hits.mean())
    try:
        means = sample.predictions.moments()[0]
    except TypeError:
        return None
    return sample.predictions.weight * sqrt(float(np.sum(np.square(sample.targets - means))) / len(sample))


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
