"""Calibration tests: pairs of an estimator of a calibration error and a null that turns it into a p-value."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from caltest._basics.arrays import Table, are_chunks
from caltest._basics.calls import are_pvalues_enough, without_power
from caltest._basics.chunks import accumulate, evenly_spaced_rows
from caltest._basics.numerics import ArrayLike, check_finite, seed_of
from caltest._basics.threads import one_blas_thread, progress_bars
from caltest._results.calibration_test_result import CalibrationTestResult, with_other_rows
from caltest._results.values import EffectSize
from caltest._validation import CalledWithData, instance_of, switch
from caltest.calibration_accumulator import CalibrationTestAccumulator
from caltest.estimators import BlockSKCE, Estimator
from caltest.estimators.base import an_estimator
from caltest.estimators.combined.features import features_of
from caltest.estimators.combined.joint import JointEstimator
from caltest.nulls import Null, Outcome
from caltest.nulls.base import kind_given
from caltest.predictions import Predictions, Sample
from caltest.predictions.bandwidth import MEDIAN_OF
from caltest.predictions.inputs.convert import as_predictions, as_sample

FEATURES_OF_CHUNKS = "features: got some with dask arrays, wanted none, or arrays in memory"
"""What an error says."""

SHOWN = 10
"""Values of an array or a list that is given up to which tests show all of them."""

WITH_PRODUCTS = 200
"""Rows from which on products of matrices within a joint statistic are so large that several threads take them."""


class _Named(CalledWithData):
    """What tests are made of; a base, so that the signature of a test is that of what it is made of."""

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        """A test; a named one that is given a pair is that pair, without a name.

        A pair is what ``dataclasses.replace`` gives: with another null a named test is another test.
        """
        made: Any = cls.__init__
        if made is not CalibrationTest.__init__ and named.keys() == {"estimator", "null"}:
            return CalibrationTest(**named)
        return super().__new__(cls, *arguments, **named)


@dataclass(frozen=True, repr=False, eq=False)
class CalibrationTest(_Named):
    """A test of the null hypothesis that predictions are calibrated, P(Y | P_X) = P_X.

    Call it with predictions and targets. Tests hold no data and no state: one object serves any number of samples.
    Subclasses are names for pairs, with arguments of their own: equal pairs are equal tests, whatever their name.

    Parameters
    ----------
    estimator
        Which calibration error is estimated, and how.
    null
        How the estimate is turned into a p-value.

    Raises
    ------
    TypeError
        If the null does not apply to the estimator.

    Examples
    --------
    >>> import caltest as ct
    >>> estimator, null = ct.ECE(ct.binning.UniformBinning(10)), ct.nulls.ConditionalMonteCarlo(n_resamples=199)
    >>> test = ct.CalibrationTest(estimator, null)
    >>> result = test([0.1, 0.8, 0.6, 0.3], [1, 0, 0, 1], rng=1)
    >>> result.pvalue_kind, result.pvalue
    ('exact', 0.005)
    """

    estimator: Estimator
    null: Null[Any]
    _checks = {"estimator": an_estimator, "null": instance_of(Null, "a null such as ct.nulls.ConditionalMonteCarlo()")}

    def __repr__(self) -> str:
        arguments, named = vars(self)["_arguments"]
        shown = [_shown(value) for value in arguments] + [f"{name}={_shown(value)}" for name, value in named.items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CalibrationTest):
            return NotImplemented
        return (self.estimator, self.null) == (other.estimator, other.null)

    def __hash__(self) -> int:
        return hash((self.estimator, self.null))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.null.check_estimator(self.estimator)
        self.null.check_clusters(self.estimator)

    @property
    def citations(self) -> tuple[str, ...]:
        """Sources of the estimator and the null, keys of ``caltest/_results/citations.bib``."""
        return tuple(sorted({*self.estimator.citations, *self.null.citations}))

    def __call__(
        self,
        predictions: ArrayLike,
        targets: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        features: Any = None,
        rng: Any = None,
        progress: bool = False,
    ) -> CalibrationTestResult:
        """Test predictions against observed targets.

        Parameters
        ----------
        predictions, targets, classes, rng
            As in ``calibration_test``. Dask arrays are taken chunk by chunk, on dask's workers, by tests that have an
            ``accumulator``.
        features
            As in ``calibration_test``, for a ``MonteCarloTest`` of ``SKCE``, which is then one of
            ``estimators.FeatureSKCE``, and for ``OmnibusTest``.
        progress
            Show a progress bar on standard error for what takes more than a second, except for dask arrays, whose
            progress dask shows.

        Raises
        ------
        ValueError
            For bad data, or too few for the estimator or the null.
        TypeError
            For predictions of a family that the estimator or its kernel does not know, and for features with other
            estimators, other nulls or dask arrays.
        """
        shown = switch("progress", progress)
        if are_chunks(predictions) or are_chunks(targets):
            if features is not None:
                raise TypeError(FEATURES_OF_CHUNKS)
            return self._on_chunks(predictions, targets, classes, rng)
        sample = as_sample(predictions, targets, classes)
        if features is None:
            return self.on(sample, rng=rng, progress=shown)
        columns, notes = features_of(features, sample)
        estimator = self.in_order_of(sample.order).estimator.given_features(columns)
        result = replace(self, estimator=estimator).on(sample, rng=rng, progress=shown)
        return replace(result, test=type(self).__name__, notes=(*result.notes, *notes))

    def on(self, sample: Sample, *, rng: Any = None, progress: bool = False) -> CalibrationTestResult:
        """Test a sample that is already checked; raises what a call raises for too few observations."""
        if (test := self.in_order_of(sample.order)) is not self:
            return test.on(sample, rng=rng, progress=progress)
        self.estimator.check_sample(sample)
        self.null.check_size(self.estimator, len(sample))
        has_products = isinstance(self.estimator, JointEstimator) and len(sample) >= WITH_PRODUCTS
        with progress_bars(switch("progress", progress)), one_blas_thread if has_products else nullcontext():
            seed = seed_of(rng)
            estimator = self.estimator.resolve(sample.predictions, seed)
            outcome = self.null.outcome(estimator, sample, np.random.default_rng(seed))
        notes = (*sample.predictions.notes, *sample.notes, *self.estimator.notes(len(sample)))
        notes += () if are_pvalues_enough() else self.estimator.cautions(sample)
        effect_size = estimator.effect_size_of(outcome.estimate, sample, outcome.null_mean)
        result = self.result_of(estimator, sample.predictions, len(sample), outcome, effect_size, seed, notes)
        return self._with_other_rows(result, sample, progress) if outcome.is_excluded else result

    def _with_other_rows(self, result: CalibrationTestResult, sample: Sample, progress: bool) -> CalibrationTestResult:
        """With the p-value, and what was found if it is small, of the rows whose outcomes no prediction excludes.

        Their outcomes are draws from their predictions if these are calibrated, also given that they were possible.
        """
        rest = sample.without(sample.predictions.impossible(sample.targets))
        estimator = self.estimator.for_rows(np.setdiff1d(np.arange(len(sample)), sample.impossible))
        try:
            estimator.check(rest.predictions)
            self.null.check_size(estimator, len(rest))
        except ValueError:
            return with_other_rows(result, len(rest), None)
        with without_power():
            other = CalibrationTest(estimator, self.null).on(rest, rng=result.seed, progress=progress)
        return with_other_rows(result, len(rest), other)

    def accumulator(
        self, *, predictions: ArrayLike = None, rng: Any = None, part: int = 0
    ) -> "CalibrationTestAccumulator":
        """The test for data that come in chunks: ``update(predictions, targets)``, ``merge(other)``, ``result()``.

        For ``OmnibusTest``, for blocks with the normal limit, for excess scores, and for Monte Carlo with
        ``LowRankSKCE`` and ``ECE`` in fixed bins; ``TypeError`` for others. Settings that depend on all predictions,
        such as the median bandwidth, are chosen from ``predictions``, some of them. See ``CalibrationTestAccumulator``.
        """
        if predictions is None:
            return CalibrationTestAccumulator(self, rng=rng, part=part)
        seed = seed_of(rng)
        estimator = self.estimator.resolve_for_chunks(as_predictions(predictions), seed)
        return CalibrationTestAccumulator(self, rng=seed, part=part, estimator=estimator)

    def _on_chunks(
        self, predictions: Any, targets: Any, classes: Sequence[Any] | None, rng: Any
    ) -> CalibrationTestResult:
        seed = seed_of(rng)
        estimator = self.estimator.resolve_for_chunks(_some_predictions(predictions), seed)
        granularity = self.estimator.block_size if isinstance(self.estimator, BlockSKCE) else 1
        empty = CalibrationTestAccumulator(self, rng=seed, estimator=estimator)
        total = accumulate(empty, predictions, targets, granularity, classes)
        result: CalibrationTestResult = total.result()
        return replace(result, notes=(*result.notes, *self.estimator.notes(result.n)))

    def result_of(
        self,
        estimator: Estimator,
        predictions: Predictions,
        n: int,
        outcome: Outcome,
        effect_size: EffectSize | None,
        seed: int,
        notes: tuple[str, ...],
    ) -> CalibrationTestResult:
        """The result of a resolved estimator for n predictions, of which some are given, and what was found."""
        check_finite(outcome.estimate, outcome.statistic, outcome.pvalue)
        uses_seed = self.null.draws_for(estimator, predictions) or estimator.uses_random_numbers(predictions)
        draws = outcome.null_distribution
        if draws is not None:
            draws.flags.writeable = False
        return CalibrationTestResult(
            test=type(self).__name__,
            hypothesis=self.null.hypothesis(estimator, predictions),
            question=self.null.question,
            citations=self.citations,
            effect_size=effect_size,
            predictions=predictions.describe(n),
            estimator=estimator.describe(predictions),
            null=self.null.describe_for(predictions),
            n=n,
            n_used=estimator.n_used(n),
            statistic_name=self.null.statistic_name_of(estimator),
            pvalue_kind=kind_given(predictions, self.null.pvalue_kind_of(estimator), draws is not None),
            n_resamples=None if draws is None else draws.size,
            seed=seed if uses_seed else None,
            notes=tuple(
                dict.fromkeys((*notes, *estimator.resolved_notes(), *self.null.notes(estimator, n), *outcome.notes))
            ),
            assumes="; ".join(filter(None, (estimator.assumptions, predictions.assumption))),
            **{name: value for name, value in vars(outcome).items() if name not in ("notes", "is_excluded")},
        )


def _shown(value: Any) -> str:
    """What is given, or how much of it if that is long."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_shown(one)}' for key, one in value.items())}}}"
    shape = (len(value),) if isinstance(value, (list, tuple)) else getattr(value, "shape", ())
    if not isinstance(shape, tuple) or np.prod(shape) <= SHOWN:
        return repr(value)
    return f"<{type(value).__name__} of shape {shape}>"


def _some_predictions(data: Any) -> Predictions:
    """At most 10 000 evenly spaced predictions of a dask array, checked."""
    rows = evenly_spaced_rows(data, MEDIAN_OF)
    try:
        return as_predictions(rows)
    except ValueError as error:
        n = len(rows.values if isinstance(rows, Table) else rows)
        raise ValueError(f"in {n} evenly spaced rows: {error}") from error
