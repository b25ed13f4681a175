"""Testing calibration while outcomes come in."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from math import exp
from typing import Any, Literal, Self, get_args

import numpy as np

from caltest._basics.numerics import ArrayLike, FloatArray, OwnErrstate, ranges, seed_of, to_array
from caltest._results.values import Finding, impossible
from caltest._validation import one_of, switch
from caltest.estimators.combined.findings import findings_of, named
from caltest.estimators.scores import log_mixture
from caltest.kernels import ProductKernel
from caltest.kernels.product import check_product_kernel
from caltest.predictions import Predictions, Sample
from caltest.predictions.base import assumed, named_one
from caltest.predictions.convert import as_sample, excluded_in_words, impossible_note
from caltest.sequential.bets import Bets, KernelBets, LikelihoodBets
from caltest.sequential.change import AT_ONCE, Change, change_of
from caltest.sequential.sequential_result import SequentialTestResult, exponential, format_evalue

Strategy = Literal["both", "likelihood", "kernel"]

NAMED = 6
"""Rows of impossible outcomes that are kept, one more than notes name."""


@dataclass(eq=False, repr=False)
class SequentialCalibrationTest(OwnErrstate):
    """Evidence E against calibration that may be looked at after every observation, and the test stopped at will.

    Gamblers bet against the predictions: E is their mean capital, of which each started with 1. After the outcome Y_t
    their capital is multiplied by a factor that has mean 1 if ``P(Y_t | P_t, past) = P_t``, so E is a martingale and

        P(E_t >= 1 / alpha for some t) <= alpha

    (Ville's inequality), for every stopping rule, and for time series whose predictions depend on earlier outcomes.

    Parameters
    ----------
    strategy
        ``"likelihood"``: gamblers on other temperatures, random labels, too frequent classes; shifted and scaled
        scores; other means and dispersions of counts (``caltest.predictions.alternatives``); outcomes shifted or
        farther from the members of an ensemble than these from each other; with the factors
        ``Q_k(Y_t | P_t) / P_t(Y_t)``. ``"kernel"``: gamblers on any error that is alike where predictions are alike,
        with the factors ``1 + lambda g_t(Y_t) / -min g_t`` and the witness function
        ``g_t(y) = sum_{s<t} k_P(P_s, P_t) <phi_s(Y_s), phi_t(y)>``, ``phi_t(y) = k_Y(y, .) - E k_Y(Z, .)``, Z ~ P_t.
        ``"both"``: the mean of both, or the kernel alone for families without likelihood ratios.
    kernel
        Product kernel for the witness; by default that of the family. ``"median"`` bandwidths and, for numbers and
        vectors, 64 landmarks of the targets come from the first 50 observations, which the kernel does not bet on; by
        default from 100 if the first 50 predictions are identical. Given ``"median"``, it waits until some differ.
    classes
        Names of the classes in the order of the columns, if the targets are names.

    Attributes
    ----------
    n
        Number of observations so far.

    Raises
    ------
    ValueError
        For another strategy; in ``update`` for bad data, or other classes than before.
    TypeError
        For an unsuitable kernel; in ``update`` for predictions of another family than before, or without likelihood
        ratios for ``strategy="likelihood"``.

    Notes
    -----
    Assumes observations in the order of time. It does not need outcomes that are independent given all predictions.
    E is infinite from the first outcome on that was predicted to be impossible. The same data in other batches give
    the same E up to rounding.

    Time for an observation after t others: O(K) for K alternatives, and O(t r) for the kernel with r features of the
    targets (k classes or at most 64 landmarks), hence O(n**2 r) in all; memory O(n r). ``strategy="likelihood"`` has
    time O(n K).

    Sources: Shafer 2021 on testing by betting; Shekhar and Ramdas 2024 on bets on a witness function; Cover 1991 on the
    mean of capitals. Differs from Shekhar and Ramdas in that g_t has mean 0 given the prediction, not in a comparison
    of two samples, and in that a mean over lambda takes the place of an online Newton step.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> test = ct.SequentialCalibrationTest()
    >>> for start in range(0, 100, 20):
    ...     test = test.update(p.take(slice(start, start + 20)), y[start : start + 20])
    >>> test.n, test.evalue > 1000, test.pvalue < 0.001
    (100, True, True)
    >>> ct.SequentialCalibrationTest("likelihood").update(0.9, 0).update(0.8, 0).history.round(2)
    array([0.39, 0.77])
    """

    strategy: Strategy = "both"
    kernel: ProductKernel | None = None
    _: KW_ONLY
    classes: Sequence[Any] | None = None

    citations = SequentialTestResult.citations

    def __post_init__(self) -> None:
        one_of("strategy", self.strategy, get_args(Strategy))
        if self.kernel is not None:
            check_product_kernel(self.kernel)
        self._state = _State()
        self._batches: list[_Batch] = []

    def __call__(
        self,
        predictions: ArrayLike,
        targets: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        rng: Any = None,
        progress: bool = False,
    ) -> SequentialTestResult:
        """Test observations that are all there, in the order of time; what the test itself has seen does not count.

        Parameters
        ----------
        predictions, targets
            As in ``update``.
        classes, rng, progress
            As in ``calibration_test``: the same call as that of other tests. No random numbers are drawn, and there is
            no progress bar.

        Returns
        -------
        SequentialTestResult
            That of a test that is updated once.
        """
        seed_of(rng)
        switch("progress", progress)
        fresh = replace(self, classes=self.classes if classes is None else classes)
        return fresh.update(predictions, targets).result()

    @property
    def n(self) -> int:
        """Number of observations so far."""
        return self._state.n

    def update(self, predictions: ArrayLike, targets: ArrayLike) -> Self:
        """Take the next observations, in the order of time; returns the test itself.

        Parameters
        ----------
        predictions
            What ``calibration_test`` takes; or, for one outcome, a probability or the (k,) probabilities of k classes.
        targets
            Outcomes, (b,) or (b, d); or one outcome.

        Returns
        -------
        SequentialCalibrationTest
            The test itself. Whatever is raised, an interruption too, the batch is taken wholly or not at all: ``n``
            says which.
        """
        classes = None if isinstance(predictions, Predictions) else self.classes
        sample = as_sample(*_as_batch(predictions, targets), classes, copy=True)
        state = self._state
        if state.kind is not None:
            state.kind.check_compatible(sample.predictions, "predictions")
        if state.kind is None:
            state = self._started(sample.predictions)
        evidence = []
        for part in ranges(len(sample), max(1, AT_ONCE // state.weights.size)):
            played, state = state.played(sample.take(part))
            evidence.append(played)
        state = replace(
            state,
            n=state.n + len(sample),
            n_batches=state.n_batches + 1,
            impossible=(*state.impossible, *(sample.impossible[:NAMED] + self.n).tolist())[:NAMED],
            n_impossible=state.n_impossible + sample.impossible.size,
            kind=named_one(state.kind, sample.predictions),
            notes=tuple(dict.fromkeys((*state.notes, *assumed(sample.predictions)))),
        )
        # Those of an update that was not finished are none.
        del self._batches[self._state.n_batches :]
        self._batches.append(_Batch(sample, np.concatenate(evidence), sample.excluded_outcomes(self.n)))
        self._state = state
        return self

    def __repr__(self) -> str:
        if not self.n:
            classes = "" if self.classes is None else f", classes={self.classes!r}"
            return f"{type(self).__name__}(strategy={self.strategy!r}, kernel={self.kernel!r}{classes})"
        return f"<{type(self).__name__}: E = {format_evalue(self.log_evalue)}, n = {self.n}>"

    @property
    def history(self) -> FloatArray:
        """``log E`` after each observation, (n,)."""
        history = np.concatenate([np.empty(0), *(batch.evidence for batch in self._taken)])
        if self._state.n_impossible:
            history[self._state.impossible[0] :] = np.inf
        return history

    @property
    def log_evalue(self) -> float:
        """Natural logarithm of E; 0 before the first observation."""
        return float("inf") if self._state.n_impossible else self._state.last

    @property
    def evalue(self) -> float:
        """E: at most 1 on average if calibrated, at any stopping time; ``inf`` beyond 1.8e308."""
        return exponential(self.log_evalue)

    @property
    def pvalue(self) -> float:
        """1 / (largest E so far), at most 1: below alpha at any time with probability at most alpha if calibrated."""
        return 0.0 if self._state.n_impossible else exp(-self._state.largest)

    def result(self) -> SequentialTestResult:
        """What was found so far; ``ValueError`` before the first observation. More can follow."""
        state = self._state
        if state.kind is None:
            raise ValueError("predictions: got none so far, wanted at least one observation: update(predictions, y)")
        history, before = self.history, None
        history.flags.writeable = False
        impossible = state.n_impossible, self.n, state.impossible
        finding, change = self._explained()
        if state.n_impossible:
            before = exp(-float(history[: state.impossible[0]].max(initial=0.0)))
        return SequentialTestResult(
            test=type(self).__name__,
            hypothesis=f"{state.kind.hypothesis}, at every time given the past",
            predictions=state.kind.describe(self.n),
            bets=" and ".join(one.describe() for one in state.bets),
            n=self.n,
            history=history,
            finding=finding,
            change=change,
            notes=state.notes if before is None else (*state.notes, *impossible_note(*impossible)),
            pvalue_otherwise=before,
        )

    @property
    def _taken(self) -> "list[_Batch]":
        return self._batches[: self._state.n_batches]

    def _started(self, predictions: Predictions) -> "_State":
        """The bets for the family."""
        known = predictions.law.odds() is not None
        if not known and self.strategy == "likelihood":
            raise TypeError(
                f"predictions: got {predictions.family} predictions, for which no likelihood ratios are known here; "
                'wanted strategy="kernel"'
            )
        bets: list[Bets] = [LikelihoodBets(predictions)] if known and self.strategy != "kernel" else []
        if self.strategy != "likelihood":
            bets.append(KernelBets(self.kernel, predictions))
        weights = np.concatenate([one.weights / len(bets) for one in bets])
        return _State(bets=tuple(bets), weights=weights, capitals=np.zeros(weights.size))

    def _explained(self) -> tuple[Finding | None, Change | None]:
        """The fault that explains all outcomes best, or that some were excluded; and since when there is one."""
        if self._state.n_impossible:
            excluded = [words for batch in self._taken for words in batch.excluded]
            return impossible(excluded_in_words(self._state.n_impossible, excluded)), None
        samples = [batch.sample for batch in self._taken]
        while len(samples) > 1:
            # In pairs, so that few rows are copied often.
            pairs = zip(samples[::2], samples[1::2], strict=False)
            samples = [one.followed_by(other) for one, other in pairs] + samples[len(samples) // 2 * 2 :]
        finding = next(iter(named(findings_of(samples[0]), exp(-self._state.largest))), None)
        return finding, change_of(samples[0])


@dataclass(frozen=True, eq=False)
class _Batch:
    """What one update adds: ``log E`` (b,) after each observation, and how some were excluded."""

    sample: Sample
    evidence: FloatArray
    excluded: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _State:
    """What the next bets depend on, and how many batches count: replaced as a whole, when all of an update is done."""

    n: int = 0
    n_batches: int = 0
    impossible: tuple[int, ...] = ()
    n_impossible: int = 0
    kind: Predictions | None = None
    notes: tuple[str, ...] = ()
    bets: tuple[Bets, ...] = ()
    weights: FloatArray = field(default_factory=lambda: np.empty(0))
    capitals: FloatArray = field(default_factory=lambda: np.empty(0))
    last: float = 0.0
    largest: float = 0.0

    def played(self, sample: Sample) -> "tuple[FloatArray, _State]":
        """``log E`` after each of the next observations, and the state after them."""
        factors, bets = zip(*(one.log_factors(sample) for one in self.bets), strict=True)
        capitals = self.capitals[:, None] + np.cumsum(np.concatenate(factors), axis=1)
        evidence = log_mixture(capitals, self.weights)
        last, largest = float(evidence[-1]), max(self.largest, float(evidence.max()))
        return evidence, replace(self, bets=bets, capitals=capitals[:, -1].copy(), last=last, largest=largest)


def _as_batch(predictions: ArrayLike, targets: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
    """One prediction and one outcome as a batch of one."""
    if isinstance(targets, (Predictions, list, tuple)) or np.ndim(targets) > 0:
        return predictions, targets
    if not isinstance(predictions, Predictions):
        predictions = to_array(predictions, "predictions")[None]
    return predictions, [targets]
