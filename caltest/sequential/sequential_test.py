"""Testing calibration while outcomes come in."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from math import exp, isfinite, log, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy

from caltest._basics.calls import are_pvalues_enough
from caltest._basics.numerics import FloatArray
from caltest._results.calibration_test_result import PValueKind
from caltest._results.report import EXCLUDED, KINDS, at_level, counted, format_pvalue, pvalue_phrase
from caltest._results.tables import Grid, Page, Part, Table
from caltest._results.values import Finding, Stored, impossible
from caltest._validation import fraction, whole_number
from caltest.kernels import ProductKernel
from caltest.predictions import Sample
from caltest.predictions.faults.fault import ranks
from caltest.predictions.inputs.convert import excluded_in_words, impossible_note
from caltest.sequential.betting import Betting, State, Strategy
from caltest.sequential.change import Change, change_of, likeliest

ASSUMPTIONS = "observations in the order of time; each prediction made before its outcome, by a model not fitted to it"
"""What no test can check."""


@dataclass(frozen=True, eq=False, repr=False)
class SequentialTestResult(Stored):
    """What a sequential test found so far. Printing it gives a report; ``to_dict()`` is ready for JSON.

    Attributes
    ----------
    history
        ``log E`` after each observation, (n,); infinite from the first outcome of predicted probability 0 on.
    finding
        The fault that explains all outcomes best, or None where nothing is found.
    pvalue_otherwise
        Where the p-value is 0 because an outcome occurred to which probability 0 was given, what it was before; else
        None.
    change
        Since when the predictions are wrong and what they claim and deliver before and after; None where no change
        explains the outcomes clearly better than calibration, after an impossible outcome, and for families without
        likelihood ratios. It is an estimate, and no part of E.
    lag
        After how many observations the outcome of a prediction is known.
    bounds
        With a lag, ``-log p`` after each observation, (n,); else None, as it is the largest ``log E`` so far.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.SequentialCalibrationTest().update(p, y).result()
    >>> result
    <SequentialCalibrationTest: E = 3.23e+108, p = 3.09e-109 (bound), n = 899>
    >>> result.first_rejection(0.05)
    21
    """

    picture = "evidence"

    test: str
    hypothesis: str
    predictions: str
    bets: str
    n: int
    history: FloatArray
    finding: Finding | None
    notes: tuple[str, ...] = ()

    derived = ("evalue", "log_evalue", "pvalue")

    pvalue_kind: PValueKind = "bound"
    pvalue_otherwise: float | None = None
    change: Change | None = None
    lag: int = 1
    bounds: FloatArray | None = None

    @property
    def log_evalue(self) -> float:
        """Natural logarithm of E after all observations."""
        return float(self.history[-1])

    @property
    def evalue(self) -> float:
        """E after all observations: at most 1 on average if calibrated; ``inf`` beyond 1.8e308."""
        return exponential(self.log_evalue)

    @property
    def pvalue(self) -> float:
        """1 / (largest E so far), at most 1: below alpha at any time with probability at most alpha if calibrated."""
        return exp(-max(0.0, float(self._proof.max())))

    @property
    def _proof(self) -> FloatArray:
        return self.history if self.bounds is None else self.bounds

    def curve(self, alpha: float = 0.05) -> tuple[FloatArray, float, str, list[int]]:
        """What ``plots.evidence`` draws: logarithms, where the test rejects, in words too, and when it first does."""
        alarm, line = self.first_rejection(alpha), f"reject {at_level(alpha)}"
        return self._proof, -log(alpha), line, [] if alarm is None else [alarm]

    def first_rejection(self, alpha: float = 0.05) -> int | None:
        """After how many observations E was at least ``1 / alpha``, or with a lag p at most alpha, or None."""
        reached = np.flatnonzero(self._proof >= -log(fraction("alpha", alpha)))
        return int(reached[0]) + 1 if reached.size else None

    def verdict(self, alpha: float = 0.05) -> str:
        """What the largest E says at a level, in words."""
        first, level = self.first_rejection(alpha), at_level(alpha)
        if first is None:
            return f"calibration is not rejected {level} so far"
        what = f"E was {1 / alpha:g} or more" if self.lag == 1 else f"p was {alpha:g} or less"
        return f"reject calibration {level}: {what} after {counted(first, 'observation')}"

    citations = ("arnold2023", "cover1991", "shafer2021", "vovk2020")

    def sentence(self, alpha: float = 0.05) -> str:
        """One sentence for a paper: the evidence, when it was enough, and the p-value.

        Examples
        --------
        >>> import caltest as ct
        >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
        >>> print(ct.SequentialCalibrationTest().update(p, y).result().sentence()[-91:])
        20 after 21 observations; p <= 3.09e-109 (upper bound of the p-value at any stopping time).
        """
        first = self.first_rejection(alpha)
        p = pvalue_phrase(self.pvalue, is_bound=True)
        if self.pvalue_otherwise is not None:
            p = f"p = 0, because {EXCLUDED}, and {pvalue_phrase(self.pvalue_otherwise, is_bound=True)} before"
        if self.lag > 1:
            when = f"(outcomes known after {counted(self.lag, 'observation')}, {self.lag} interleaved tests)"
        elif first is None:
            when = f"and never reached {1 / alpha:g}"
        else:
            when = f"and first reached {1 / alpha:g} after {counted(first, 'observation')}"
        return (
            f"The hypothesis that the predictions are calibrated ({self.hypothesis}) was tested sequentially with "
            f"{self.test} on n = {self.n} observations ({self.bets}): the evidence was E = "
            f"{format_evalue(self.log_evalue)} after all {when}; {p} (upper bound of the p-value at any "
            "stopping time)."
        )

    def why(self, alpha: float = 0.05) -> str | None:
        """The words of the finding if the test rejects at a level, else None."""
        rejects = self.first_rejection(alpha) is not None
        return self.finding.words if rejects and self.finding is not None else None

    def since(self, alpha: float = 0.05) -> str | None:
        """Since when the predictions are wrong and in which direction if the test rejects at a level, else None.

        It is an estimate. Guaranteed, but for a probability alpha, is only that the predictions were not calibrated
        all the time up to ``first_rejection(alpha)``.
        """
        rejects = self.first_rejection(alpha) is not None
        return self.change.words if rejects and self.change is not None else None

    def row_entries(self) -> list[dict[str, Any]]:
        names = "n", "log_evalue", "pvalue"
        found = {name: getattr(self, name) for name in names}
        return [{"name": self.test} | found | {"first_rejection": self.first_rejection()}]

    def table(self) -> Table:
        first = self.first_rejection()
        p = format_pvalue(self.pvalue, self.pvalue_otherwise)
        cells = [format_evalue(self.log_evalue), p, "" if first is None else str(first)]
        return [["test", "n", "evidence E", "p-value", "5 % level after"], [self.test, str(self.n), *cells]]

    def summary(self, alpha: float = 0.05) -> str:
        largest, kind = int(self.history.argmax()), KINDS[self.pvalue_kind]
        found = {"Verdict": self.verdict(alpha), "Since": self.since(alpha), "Why": self.why(alpha)}
        changed = self.change if found["Since"] else None
        table: list[Part] = [[""], Grid(changed.table())] if changed and changed.after else [[], []]
        what = {
            "Hypothesis": f"the predictions are calibrated: {self.hypothesis}",
            "Predictions": self.predictions,
            "Bets": self.bets,
            "Assumes": ASSUMPTIONS,
        }
        parts = {
            "Evidence": f"E = {format_evalue(self.log_evalue)} (at most 1 on average if calibrated)",
            "Largest": f"E = {format_evalue(float(self.history[largest]))} after {counted(largest + 1, 'observation')}",
            "p-value": f"{format_pvalue(self.pvalue)} = 1 / largest E ({kind})",
        }
        if self.lag > 1:
            parts["p-value"] = f"{format_pvalue(self.pvalue)}, from the largest E of each interleaved test ({kind})"
            later = f"E of a stop is that {self.lag - 1} rows later"
            parts["Lag"] = f"{self.lag} rows, so {self.lag} interleaved tests; {later}"
        if self.pvalue_otherwise is not None:
            parts["p-value"] = f"0 ({EXCLUDED}), and {format_pvalue(self.pvalue_otherwise)} before ({kind})"
        return Page(self.test, found, *table, [""], parts, what, notes=self.notes)

    def __repr__(self) -> str:
        p = pvalue_phrase(self.pvalue, otherwise=self.pvalue_otherwise)
        return f"<{self.test}: E = {format_evalue(self.log_evalue)}, {p} ({self.pvalue_kind}), n = {self.n}>"


def exponential(log_value: float) -> float:
    """``exp``, infinite where the number is too large."""
    return exp(log_value) if log_value < 709.7 else float("inf")


def format_evalue(log_value: float) -> str:
    """Three digits, as a power of ten where the number itself is too large or too small."""
    if not isfinite(log_value):
        return "infinite"
    if abs(log_value) < 690.0:
        return f"{exp(log_value):.3g}"
    exponent = log_value / log(10.0)
    return f"10^{exponent:.1f}" if abs(exponent) < 1e5 else f"10^({exponent:.3g})"


@dataclass(eq=False, repr=False)
class SequentialCalibrationTest(Betting[SequentialTestResult]):
    """A test that may be looked at after every observation and stopped at will; E is its evidence against calibration.

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
            return f"{type(self).__name__}({self._made_of()})"
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
        """1 / (largest E so far), at most 1; with a lag, that of ``Notes``."""
        if self._state.n_impossible:
            return 0.0
        return exp(-max(0.0, float(self._taken[-1].bounds[-1]))) if self.n else 1.0

    def result(self) -> SequentialTestResult:
        state, words = self._state, self._in_words()
        history, bounds, before = self.history, self._joined([batch.bounds for batch in self._taken]), None
        history.flags.writeable = bounds.flags.writeable = False
        impossible = state.n_impossible, self.n, state.excluded
        finding, change = self._explained()
        notes = self._notes
        if not are_pvalues_enough() and self.n:
            sample = self._samples()
            found = serial_correlation(sample, self.lag)
            notes = *sample.questions, *notes, *(() if found is None or found.pvalue > CLEAR else (found.words,))
        if state.n_impossible:
            before = exp(-float(bounds[: state.excluded[0][0]].max(initial=0.0)))
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
            return impossible(excluded_in_words(self._state.n_impossible, self._state.excluded)), None
        sample = self._samples()
        return likeliest(sample, self.pvalue, self.lag), change_of(sample, self.lag)


FEWEST = 10
"""Pairs of rows from which on the normal limit holds."""

CLEAR = 0.01
"""P-values up to which the result of a sequential test says so."""


class SerialCorrelation(NamedTuple):
    """The correlation of ranks of transforms that are a lag apart, and the p-value that they are independent."""

    correlation: float
    pvalue: float
    lag: int

    @property
    def words(self) -> str:
        """What was found, which can be so if each forecast is right by itself, and not if all are too narrow."""
        rows = "that follow each other" if self.lag == 1 else f"{self.lag} apart"
        return (
            f"predicted quantiles of the outcomes of rows {rows} have the rank correlation {self.correlation:z.2f} "
            f"({pvalue_phrase(self.pvalue)} for independent rows, calibrated or not)"
        )


def serial_correlation(sample: Sample, lag: int) -> SerialCorrelation | None:
    """Of ranks r of ``F(y)``, ``sum_t r_t r_(t+h) / sum_t r_t**2``; None unless predictions are continuous numbers.

    Where transforms are independent all orders of them are as likely, whatever their law is: the sum of m pairs of n
    rows has mean ``-m / (n (n - 1))`` and a variance of about ``m / n**2``, with a normal limit (Wald and Wolfowitz
    1943). In simulations of 4000 series it rejects 3.4 to 5.7 % at the 5 % level for n = 16 to 2000. Time O(n log n).
    """
    law, n = sample.predictions.law, len(sample)
    if n - lag < FEWEST or not law.is_continuous:
        return None
    r: FloatArray = ranks(law.cdf(np.asarray(sample.targets))) - 0.5
    square, pairs = float(r @ r), n - lag
    if square <= 0.0:
        return None
    correlation = float(r[lag:] @ r[:-lag]) / square
    z = (correlation + pairs / (n * (n - 1.0))) * n / sqrt(pairs)
    return SerialCorrelation(correlation, float(2.0 * scipy.special.ndtr(-abs(z))), lag)
