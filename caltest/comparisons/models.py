"""Comparisons of several models for the same outcomes, and of the classes of one model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, seed_of
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import HIGH, fields_of_size
from caltest._results.model_comparison import ComparedModel, ModelComparison
from caltest._results.report import benjamini_hochberg, holm
from caltest._results.values import ConfidenceInterval
from caltest._validation import fraction, switch, whole_number
from caltest._validation.groups import as_texts
from caltest.comparisons.samples import check_same_kind, notes_of, samples_of
from caltest.estimators import SKCE, Estimator
from caltest.estimators.kernel_errors.kernel_estimator import shared_kernel
from caltest.hypothesis_test import CalibrationTest
from caltest.intervals.kernel_errors import jackknife_interval
from caltest.intervals.noise_floor import noise_floor
from caltest.kernels import PairKernel
from caltest.named_tests import MonteCarloTest, OmnibusTest
from caltest.predictions import Sample
from caltest.predictions.questions.misread import misread
from caltest.predictions.reductions.classes import categorical_sample, one_against_rest


def compared(
    samples: dict[str, Sample],
    kind: str,
    n_resamples: int,
    rng: Any,
    progress: bool,
    confidence_level: float = 0.95,
    kernel: PairKernel | None = None,
    estimator: Estimator | None = None,
    test: CalibrationTest | None = None,
) -> ModelComparison:
    """Test every row, estimate its error, and adjust the p-values; with a kernel of all rows where one is missing."""
    check_same_kind(samples)
    if estimator is not None and not isinstance(estimator, Estimator):
        raise TypeError(f"estimator: got {type(estimator).__name__}, wanted an estimator such as SKCE(kernel)")
    if test is not None and not isinstance(test, CalibrationTest):
        raise TypeError(f"test: got {type(test).__name__}, wanted a test such as OmnibusTest()")
    number, level = whole_number("n_resamples", n_resamples, 1), fraction("confidence_level", confidence_level)
    progress = switch("progress", progress)
    if estimator is None or test is None:
        shared = shared_kernel(kernel, [sample.predictions for sample in samples.values()])
        estimator = SKCE(shared) if estimator is None else estimator
        if test is None:
            test = OmnibusTest(shared.single, number) if kernel is None else MonteCarloTest(SKCE(shared), number)
    seed = seed_of(rng)
    results, estimates = [], []
    for name, sample in samples.items():
        # The same random numbers for all: equal predictions have equal p-values, in any place.
        (stream,) = np.random.SeedSequence(seed).spawn(1)
        try:
            results.append(test.on(sample, rng=stream, progress=progress))
            estimates.append(_estimated(estimator, sample, number, level, stream.spawn(1)[0], progress))
        except (ValueError, TypeError) as error:
            raise type(error)(f"{kind} {name!r}: {error}") from None
    pvalues = [result.pvalue for result in results]
    scores = [float(np.mean(one.targets)) if kind == "class" else _score(one) for one in samples.values()]
    adjusted = zip(holm(pvalues), benjamini_hochberg(pvalues), strict=True)
    rows = [
        _row(name, score, found, both, result)
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
        notes=notes_of({name: one.notes for name, one in zip(samples, results, strict=True)}),
        n_resamples=results[0].n_resamples,
        citations=tuple(sorted({"benjamini1995", "efron1981", "holm1979", *test.citations, *estimator.citations})),
    )


def _row(
    name: str,
    score: float | None,
    estimated: tuple[float, ConfidenceInterval | None, float, float | None],
    adjusted: tuple[float, float],
    result: CalibrationTestResult,
) -> ComparedModel:
    """That of a model."""
    return ComparedModel(
        name,
        score,
        *estimated,
        result.pvalue,
        *adjusted,
        result.finding,
        result.pvalue_otherwise,
        **fields_of_size(result),
        found_at=None if result.detectable is None else result.detectable.level(HIGH),
    )


def _estimated(
    estimator: Estimator, sample: Sample, n_resamples: int, level: float, rng: Any, progress: bool
) -> tuple[float, ConfidenceInterval | None, float, float | None]:
    """The estimate, its jackknife interval where it has one and h varies, and mean and quantile of the noise floor."""
    estimator, seed = estimator.in_order_of(sample.order), seed_of(rng)
    resolved = estimator.resolve(sample.predictions, seed)
    if isinstance(resolved, SKCE) and resolved.unbiased and len(sample) >= 3:
        interval = jackknife_interval(resolved.kernel, sample, level, "two-sided", seed)
        if interval is not None:
            return resolved.estimate(sample), interval, 0.0, None
    floor = noise_floor(sample.predictions, estimator, n_resamples=n_resamples, rng=seed, progress=progress)
    return resolved.estimate(sample), None, floor.mean, floor.quantile


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

    For each model: its score, how far its probabilities are off, the p-value of calibration, this p-value adjusted for
    the number of models, and the estimated calibration error with an interval; for estimators without an interval, with
    what calibrated predictions would give.

    Parameters
    ----------
    models
        Predictions of each model by its name: ``Predictions``, or what becomes some, all of one family.
    targets
        (n,) outcomes, the same for all models; ``ct.Censored(time, event)`` for times, as in ``calibration_test``: then
        ``F(time)`` is compared, with the same random numbers for all models.
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
        Redraws of the test, if none is given, and of the noise floor of an estimator without an interval.
    confidence_level
        Of the intervals.

    Returns
    -------
    ModelComparison
        ``print`` it for a table; ``to_latex()`` and ``to_pandas()`` have it for papers and programs.

    Raises
    ------
    ValueError
        For no models, bad predictions or outcomes; the message names the model.
    TypeError
        For names that are not strings, or models of different families.

    Notes
    -----
    Models are tested one by one, with the same random numbers: the outcomes cannot be drawn from all of them at once,
    so the adjustments are Holm's, valid for any dependence, and that of Benjamini and Hochberg. Whether two errors
    differ is another question, for ``compare_pairs``: intervals of models with the same outcomes can overlap although
    the errors differ. Cost: for each model that of the test, and O(n**2 k) for the interval, or ``n_resamples`` redraws
    of the estimate if it has none; for many rows pass ``estimator=LowRankSKCE(kernel)``.

    Sources: Holm 1979; Benjamini and Hochberg 1995.

    Examples
    --------
    >>> import caltest as ct
    >>> models = ct.datasets.load_digits_predictions()
    >>> labels = models["random forest"][1]
    >>> predictions = {name: p for name, (p, _) in models.items() if name != "naive Bayes"}
    >>> comparison = ct.compare_models(predictions, labels, n_resamples=99, rng=1)
    >>> [(row.name, row.pvalue, row.pvalue_holm) for row in comparison.rows]
    [('random forest', 0.01, 0.02), ('neural network', 0.02, 0.02)]
    """
    seed = seed_of(rng)
    samples = samples_of(models, targets, classes, seed)
    return compared(samples, "model", n_resamples, seed, progress, confidence_level, kernel, estimator, test)


def _score(sample: Sample) -> float | None:
    """Accuracy of classes; else the root mean square distance of outcomes and predicted means, if these are known."""
    law = sample.predictions.law
    if law is not sample.predictions:
        # Of levels F(y) those of a model that is wrong can have the smaller distance.
        return None
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

    Returns
    -------
    ModelComparison
        As of ``compare_models``, with a row for each class.

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
    found = compared(samples, "class", n_resamples, rng, progress, confidence_level, kernel, estimator, test)
    return replace(found, notes=(*misread(categorical, y), *found.notes))
