"""Testing calibration while outcomes come in."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from math import exp
from typing import Any

from caltest._basics.numerics import FloatArray
from caltest._results.values import Finding, impossible
from caltest._validation import whole_number
from caltest.estimators.combined.findings import are_pvalues_enough, findings_of, named
from caltest.kernels import ProductKernel
from caltest.predictions.convert import excluded_in_words, impossible_note
from caltest.sequential.betting import Betting, State, Strategy
from caltest.sequential.change import Change, change_of
from caltest.sequential.independence import independence_notes
from caltest.sequential.sequential_result import SequentialTestResult, exponential, format_evalue


@dataclass(eq=False, repr=False)
class SequentialCalibrationTest(Betting[SequentialTestResult]):
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
    lag
        After how many observations the outcome of a prediction is known: h for forecasts of h steps ahead, whose
        outcomes overlap. Rows are in the order of their outcomes.

    Raises
    ------
    ValueError
        For another strategy or lag; in ``update`` for bad data, or other classes than before.
    TypeError
        For an unsuitable kernel; in ``update`` for predictions of another family than before, or without likelihood
        ratios for ``strategy="likelihood"``.

    Notes
    -----
    Assumes observations in the order of time. It does not need outcomes that are independent given all predictions.
    With a lag h every h-th row is played by gamblers of its own, who know the outcomes before: h martingales, whose
    mean is E. As they are martingales in what was known at their own rows only, E stopped by a look at all rows is at
    most 1 on average when it is read h - 1 rows later, not at once. The p-value holds at any time: that of martingale k
    is ``1 / max E_k``, and their harmonic mean is multiplied by the factor that makes it valid under any dependence
    (2, 2.7, 3.2, 3.6 for h = 2 to 5).

    Of continuous predictions of numbers the result notes where ``F(y)`` of a row is clearly correlated with that of the
    row a lag before: forecasts do not use what was known, or changed, which they can if each is right by itself.

    E is infinite from the first outcome on that was predicted to be impossible. The same data in other batches give
    the same E up to rounding.

    Time for an observation after t others: O(K) for K alternatives, and O(t r) for the kernel with r features of the
    targets (k classes or at most 64 landmarks), hence O(n**2 r) in all; memory O(n r). ``strategy="likelihood"`` has
    time O(n K).

    Sources: Shafer 2021 on testing by betting; Shekhar and Ramdas 2024 on bets on a witness function; Cover 1991 on the
    mean of capitals; Arnold, Henzi and Ziegel 2023 on lags; Vovk and Wang 2020 on harmonic means. Differs from Shekhar
    and Ramdas in that g_t has mean 0 given the prediction, not in a comparison of two samples, and in that a mean over
    lambda takes the place of an online Newton step.

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
    lag: int = 1

    citations = SequentialTestResult.citations

    def _empty(self) -> State:
        return State(lag=whole_number("lag", self.lag, 1))

    def __repr__(self) -> str:
        if not self.n:
            classes = "" if self.classes is None else f", classes={self.classes!r}"
            lag = "" if self.lag == 1 else f", lag={self.lag}"
            return f"{type(self).__name__}(strategy={self.strategy!r}, kernel={self.kernel!r}{classes}{lag})"
        return f"<{type(self).__name__}: E = {format_evalue(self.log_evalue)}, n = {self.n}>"

    @property
    def history(self) -> FloatArray:
        """``log E`` after each observation, (n,)."""
        return self._joined([batch.evidence for batch in self._taken])

    @property
    def log_evalue(self) -> float:
        """Natural logarithm of E; 0 before the first observation."""
        if self._state.n_impossible:
            return float("inf")
        return float(self._taken[-1].evidence[-1]) if self.n else 0.0

    @property
    def evalue(self) -> float:
        """E: at most 1 on average if calibrated, at any stopping time; ``inf`` beyond 1.8e308."""
        return exponential(self.log_evalue)

    @property
    def pvalue(self) -> float:
        """1 / (largest E so far), at most 1: below alpha at any time with probability at most alpha if calibrated.

        With a lag, that of ``Notes``.
        """
        if self._state.n_impossible:
            return 0.0
        return exp(-max(0.0, float(self._taken[-1].bounds[-1]))) if self.n else 1.0

    def result(self) -> SequentialTestResult:
        state, words = self._state, self._in_words()
        history, bounds, before = self.history, self._joined([batch.bounds for batch in self._taken]), None
        history.flags.writeable = bounds.flags.writeable = False
        impossible = state.n_impossible, self.n, state.impossible
        finding, change = self._explained()
        notes = state.notes if are_pvalues_enough() else (*state.notes, *independence_notes(self._samples(), self.lag))
        if state.n_impossible:
            before = exp(-float(bounds[: state.impossible[0]].max(initial=0.0)))
        return SequentialTestResult(
            test=type(self).__name__,
            **words,
            history=history,
            lag=self.lag,
            bounds=None if self.lag == 1 else bounds,
            finding=finding,
            change=change,
            notes=notes if before is None else (*notes, *impossible_note(*impossible)),
            pvalue_otherwise=before,
        )

    def _explained(self) -> tuple[Finding | None, Change | None]:
        """The fault that explains all outcomes best, or that some were excluded; and since when there is one."""
        if self._state.n_impossible:
            excluded = [words for batch in self._taken for words in batch.excluded]
            return impossible(excluded_in_words(self._state.n_impossible, excluded)), None
        sample = self._samples()
        finding = next(iter(named(findings_of(sample), self.pvalue)), None)
        return finding, change_of(sample)
