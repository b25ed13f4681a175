"""What a sequential test found so far."""

from dataclasses import dataclass
from math import exp, isfinite, log

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._results.calibration_test_result import PValueKind
from caltest._results.report import EXCLUDED, KINDS, at_level, format_pvalue, pvalue_phrase
from caltest._results.tables import Grid, Page, Part
from caltest._results.values import Finding, Stored
from caltest._validation import fraction
from caltest.sequential.change import Change

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
        """Below alpha at any time with probability at most alpha if calibrated: 1 / (largest E so far), at most 1.

        With a lag, from the largest E of interleaved tests.
        """
        return exp(-max(0.0, float(self._proof.max())))

    @property
    def _proof(self) -> FloatArray:
        return self.history if self.bounds is None else self.bounds

    def curve(self, alpha: float = 0.05) -> tuple[FloatArray, float, str, list[int]]:
        """What ``plots.evidence`` draws: logarithms, where the test rejects, in words too, and when it first does."""
        alarm, line = self.first_rejection(alpha), f"reject {at_level(alpha)}"
        return self._proof, -log(alpha), line, [] if alarm is None else [alarm]

    def first_rejection(self, alpha: float = 0.05) -> int | None:
        """After how many observations E was at least ``1 / alpha``, or with a lag p at most alpha, or None.

        Raises ``ValueError`` unless the level is between 0 and 1.
        """
        reached = np.flatnonzero(self._proof >= -log(fraction("alpha", alpha)))
        return int(reached[0]) + 1 if reached.size else None

    def verdict(self, alpha: float = 0.05) -> str:
        """What the largest E says at a level, in words."""
        first, level = self.first_rejection(alpha), at_level(alpha)
        if first is None:
            return f"no evidence against calibration {level} so far"
        what = f"E was {1 / alpha:g} or more" if self.lag == 1 else f"p was {alpha:g} or less"
        return f"reject calibration {level}: {what} after {first} observations"

    citations = ("cover1991", "shafer2021")

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
        when = "and never reached" if first is None else f"and first reached {1 / alpha:g} after {first} observations;"
        end = f" {1 / alpha:g};" if first is None else ""
        if self.lag > 1:
            when, end = f"(outcomes known after {self.lag} observations, {self.lag} interleaved tests);", ""
        return (
            f"The hypothesis that the predictions are calibrated ({self.hypothesis}) was tested sequentially with "
            f"{self.test} on n = {self.n} observations ({self.bets}): the evidence was E = "
            f"{format_evalue(self.log_evalue)} after all {when}{end} {p} (upper bound of the p-value at any "
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
            "Largest": f"E = {format_evalue(float(self.history[largest]))} after {largest + 1} observations",
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
