"""Comparisons of several models for the same outcomes, and of the classes of one model."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from caltest._basics.numerics import ArrayLike, own_errstate, seed_of
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.report import benjamini_hochberg, holm
from caltest._results.values import ConfidenceInterval
from caltest._validation import fraction, same_length, whole_number
from caltest._validation.groups import as_texts
from caltest.calibration_test import CalibrationTest
from caltest.comparisons.tables import ComparedModel, ModelComparison
from caltest.estimators import SKCE, Estimator
from caltest.estimators.kernel_errors.kernel_estimator import shared_kernel
from caltest.intervals.kernel_errors import jackknife_interval
from caltest.intervals.noise_floor import noise_floor
from caltest.kernels import PairKernel
from caltest.named_tests import MonteCarloTest, OmnibusTest
from caltest.predictions import Sample
from caltest.predictions.base import named_one
from caltest.predictions.convert import as_sample
from caltest.predictions.reductions import categorical_sample, one_against_rest


def compared(
    samples: dict[str, Sample],
    kind: str,
    kernel: PairKernel | None,
    estimator: Estimator | None,
    test: CalibrationTest | None,
    n_resamples: int,
    confidence_level: float,
    rng: Any,
    progress: bool,
) -> ModelComparison:
    """Test every row, estimate its error, and adjust the p-values; with a kernel of all rows where one is missing."""
    if estimator is not None and not isinstance(estimator, Estimator):
        raise TypeError(f"estimator: got {type(estimator).__name__}, wanted an estimator such as SKCE(kernel)")
    if test is not None and not isinstance(test, CalibrationTest):
        raise TypeError(f"test: got {type(test).__name__}, wanted a test such as OmnibusTest()")
    number, level = whole_number("n_resamples", n_resamples, 1), fraction("confidence_level", confidence_level)
    if estimator is None or test is None:
        shared = shared_kernel(kernel, [sample.predictions for sample in samples.values()])
        estimator = SKCE(shared) if estimator is None else estimator
        if test is None:
            test = OmnibusTest(shared.single, number) if kernel is None else MonteCarloTest(SKCE(shared), number)
    seed = seed_of(rng)
    results, estimates = [], []
    for (name, sample), stream in zip(samples.items(), np.random.SeedSequence(seed).spawn(len(samples)), strict=True):
        try:
            results.append(test.on(sample, rng=stream, progress=progress))
            estimates.append(_estimated(estimator, sample, number, level, stream.spawn(1)[0], progress))
        except (ValueError, TypeError) as error:
            raise type(error)(f"{kind} {name!r}: {error}") from None
    pvalues = [result.pvalue for result in results]
    scores = [float(np.mean(one.targets)) if kind == "class" else _score(one) for one in samples.values()]
    adjusted = zip(holm(pvalues), benjamini_hochberg(pvalues), strict=True)
    rows = [
        ComparedModel(name, score, *found, result.pvalue, *both, result.finding, result.pvalue_otherwise)
        for name, score, found, result, both in zip(samples, scores, estimates, results, adjusted, strict=True)
    ]
    first = next(iter(samples.values()))
    score_name = "RMSE" if first.predictions.law.finite is None else "accuracy"
    return ModelComparison(
        rows=tuple(rows),
        kind=kind,
        score_name="frequency" if kind == "class" else score_name,
        test=f"{results[0].test}, {results[0].null}",
        estimator=estimator.resolve(first.predictions).describe(first.predictions),
        n=len(first),
        confidence_level=level,
        seed=seed,
        notes=_notes(samples, results),
        n_resamples=results[0].n_resamples,
        citations=tuple(sorted({"benjamini1995", "efron1981", "holm1979", *test.citations, *estimator.citations})),
    )


def _estimated(
    estimator: Estimator, sample: Sample, n_resamples: int, level: float, rng: Any, progress: bool
) -> tuple[float, ConfidenceInterval | None, float, float]:
    """The estimate, its jackknife interval where it has one and h varies, and mean and quantile of the noise floor."""
    floor = noise_floor(sample.predictions, estimator, n_resamples=n_resamples, rng=rng, progress=progress)
    resolved, interval = estimator.resolve(sample.predictions, floor.seed), None
    if isinstance(resolved, SKCE) and resolved.unbiased and len(sample) >= 3:
        interval = jackknife_interval(resolved.kernel, sample, level, "two-sided", floor.seed)
    return resolved.estimate(sample), interval, floor.mean, floor.quantile


def _notes(samples: dict[str, Sample], results: list[CalibrationTestResult]) -> tuple[str, ...]:
    """What the results say, once if all say the same, else with the name."""
    if len({result.notes for result in results}) == 1:
        return results[0].notes
    return tuple(f"{name}: {note}" for name, result in zip(samples, results, strict=True) for note in result.notes)


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
    classes, rng, progress
        As in ``calibration_test``.
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
    return compared(samples, "model", kernel, estimator, test, n_resamples, confidence_level, rng, progress)


def compare_samples(samples: dict[str, Sample], n_resamples: int, rng: Any, progress: bool) -> ModelComparison:
    """``compare_models`` for samples that are already checked, one by one."""
    check_same_kind(samples)
    return compared(samples, "model", None, None, None, n_resamples, 0.95, rng, progress)


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
    predictions, targets, classes
        As in ``calibration_test``: predictions of k classes, (n, k) or ``Categorical``.
    kernel, estimator, test, n_resamples, confidence_level, rng, progress
        As in ``compare_models``, for binary predictions.

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
    return compared(samples, "class", kernel, estimator, test, n_resamples, confidence_level, rng, progress)
