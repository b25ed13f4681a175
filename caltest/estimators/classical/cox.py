"""Logistic recalibration: polynomials of log-odds, of many rows by sums over few places, and Cox's line of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Self

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray
from caltest._loops.statistics.logistic import maximise, selected_ratios
from caltest._results.report import at_level, decision, pvalue_phrase, with_interval
from caltest._results.tables import Bar, Page
from caltest._results.values import ConfidenceInterval, EffectSize, Stored
from caltest._validation import fraction
from caltest.estimators.base import TextbookTail
from caltest.estimators.classical.base import BinaryStatistic, chi_squared_tail, probability_of_event
from caltest.predictions import Predictions, Sample
from caltest.predictions.inputs.convert import as_sample

WIDTH = 0.25
"""Of the cells that log-odds are in."""

DEGREE = 10
"""Places in each cell, one more than the degree of the polynomials that stand for functions there."""

STEEPEST = 4.0
"""Slopes of log-odds in predicted log-odds up to which sums over places are as good as those over rows."""

FEWER = 8
"""So many rows for each place make them worthwhile."""

MOST_STEPS, SMALLEST_GAIN, ROUNDING = 20, 1e-11, 1e-8
"""Newton steps, the gain in log-likelihood of the last one, and a loss that may be rounding."""


@dataclass(frozen=True)
class Nodes:
    """Places x' (m,) and weights w (m,) with ``sum_j w_j f(x'_j) = sum_i f(x_i)`` for the log-odds x (n,) of rows.

    It is exact for polynomials of less than the tenth degree in each cell. The poles of ``log(1 + exp(z(x)' b))`` are
    pi over the slope away from the real line, so that the error of a row is about ``(4 pi / (slope WIDTH))**-DEGREE``:
    1e-17 for a slope of 1, 1e-11 for the steepest.
    """

    places: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, x: FloatArray) -> Self | None:
        """For log-odds (n,); None if there are not many more of them than places."""
        low = float(x.min())
        cells, members = np.unique(np.floor((x - low) / WIDTH), return_inverse=True)
        if FEWER * DEGREE * cells.size > x.size:
            return None
        # Sums of Chebyshev polynomials over the rows of a cell, and their values at the places.
        angles, orders = np.pi * (np.arange(DEGREE)[::-1] + 0.5) / DEGREE, np.arange(DEGREE)
        turns = np.arccos(np.clip(2.0 * ((x - low) / WIDTH - cells[members]) - 1.0, -1.0, 1.0))
        sums = np.stack([np.bincount(members, np.cos(order * turns), cells.size) for order in orders], axis=1)
        sums[:, 1:] = 2.0 * sums[:, 1:]
        places = low + WIDTH * (cells[:, None] + (np.cos(angles) + 1.0) / 2.0)
        return cls(places.ravel(), (sums @ np.cos(np.outer(orders, angles)) / DEGREE).ravel())

    def selected_ratios(
        self, design: FloatArray, sums: FloatArray, start: FloatArray, threshold: float
    ) -> tuple[FloatArray, IntArray, BoolArray]:
        """What the loop over rows gives: likelihood ratios (B,) of columns selected forward, and how many these are.

        Of the design (m, q) at the places and its sums (B, q) over rows with an event. True in the third array where
        they are not to be relied on, as for outcomes that are nearly separated.
        """
        fewest = min(2, start.size)
        first = sums @ start - self.weights @ np.logaddexp(0.0, design @ start)
        best, doubtful = self._maximised(design, sums, start, fewest)
        columns, some = np.full(len(sums), fewest), np.arange(len(sums))
        for m in range(fewest + 1, start.size + 1):
            larger, unsure = self._maximised(design, sums[some], start, m)
            doubtful[some] |= unsure
            adds = 2.0 * (larger - best[some]) >= threshold
            some = some[adds]
            best[some], columns[some] = larger[adds], m
        return 2.0 * (best - first), columns, doubtful

    def _maximised(
        self, design: FloatArray, sums: FloatArray, start: FloatArray, m: int
    ) -> tuple[FloatArray, BoolArray]:
        """Largest log-likelihoods (B,) of the first m columns by Newton's method from the start, and doubts."""
        z, b = design[:, :m], np.tile(start[:m], (len(sums), 1))
        squares = (z[:, :, None] * z[:, None, :]).reshape(len(z), m * m)
        lost = np.zeros(len(b), dtype=bool)
        values = np.full(len(b), -np.inf)
        for _ in range(MOST_STEPS):
            eta = b @ z.T
            now = np.einsum("bj,bj->b", sums[:, :m], b) - np.logaddexp(0.0, eta) @ self.weights
            lost |= ~(now >= values - ROUNDING)
            values = now
            chances = scipy.special.expit(eta)
            gradient = sums[:, :m] - (chances * self.weights) @ z
            hessian = ((chances * (1.0 - chances) * self.weights) @ squares).reshape(-1, m, m)
            lost |= ~(np.linalg.eigvalsh(hessian)[:, 0] > SMALLEST_GAIN)
            hessian[lost] = np.eye(m)
            step = np.where(lost[:, None], 0.0, np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0])
            if not (np.einsum("bj,bj->b", gradient, step) > SMALLEST_GAIN).any():
                break
            b += step
        else:
            lost[:] = True
        slopes = np.abs(np.diff(eta, axis=1) / np.diff(self.places)).max(axis=1)
        return values, lost | (slopes > STEEPEST)


RANK = 1e-9
"""Columns of which less than this part is new count as combinations of those before."""

GAIN = "nats per observation gained by logistic recalibration, above the mean if calibrated"
"""The effect size of likelihood ratios."""


@dataclass(frozen=True)
class LogOdds:
    """Polynomials ``z(x)`` of the log-odds ``x = log(p / (1 - p))`` of the predictions that are not 0 or 1.

    The columns of the design are orthonormal with the weights p (1 - p), in which the information matrix of calibrated
    predictions is the identity; ``start`` has the coefficients for which ``z(x)' start = x``.
    """

    kept: BoolArray
    scale: float
    triangle: FloatArray
    design: FloatArray
    start: FloatArray
    nodes: Nodes | None = None

    @classmethod
    def of(cls, p: FloatArray, degree: int) -> "LogOdds":
        """Polynomials of at most a degree, of a lower one if there are not more than ``degree`` different values."""
        kept = (p > 0.0) & (p < 1.0)
        if not kept.any():
            return cls(kept, 1.0, np.eye(0), np.empty((0, 0)), np.empty(0))
        x = scipy.special.logit(p[kept])
        scale = max(float(np.abs(x).max()), 1e-300)
        powers = np.vander(x / scale, min(degree + 1, np.unique(x).size), increasing=True)
        weighted = np.sqrt(p[kept] * (1.0 - p[kept]))[:, None] * powers
        triangle = np.asarray(np.linalg.qr(weighted, mode="r"), dtype=np.float64)
        news = np.abs(np.diag(triangle)) > RANK * np.sqrt(np.square(weighted).sum(axis=0))
        rank = news.size if news.all() else int(np.argmin(news))
        triangle = triangle[:rank, :rank]
        design = np.linalg.solve(triangle.T, powers[:, :rank].T).T
        start = scale * triangle[:, 1] if rank > 1 else x[0] * triangle[:, 0]
        return cls(kept, scale, triangle, np.ascontiguousarray(design), np.ascontiguousarray(start), Nodes.of(x))

    @property
    def rank(self) -> int:
        """Number of columns."""
        return int(self.start.size)

    def columns(self, x: FloatArray) -> FloatArray:
        """The design (m, q) of other log-odds (m,)."""
        powers = np.vander(x / self.scale, self.rank, increasing=True)
        return np.asarray(np.linalg.solve(self.triangle.T, powers.T).T)

    def ratios(self, outcomes: Array, threshold: float) -> tuple[FloatArray, IntArray]:
        """Likelihood ratios of outcomes (B, n), (B,), and how many columns were selected for them."""
        if self.rank == 0:
            return np.zeros(len(outcomes)), np.zeros(len(outcomes), dtype=np.intp)
        inner = np.ascontiguousarray(outcomes if self.kept.all() else outcomes[:, self.kept])
        if self.nodes is None:
            return selected_ratios(self.design, inner, self.start, min(2, self.rank), threshold)
        sums, at_places = inner.astype(np.float64) @ self.design, self.columns(self.nodes.places)
        ratios, columns, doubtful = self.nodes.selected_ratios(at_places, sums, self.start, threshold)
        if doubtful.any():
            again = selected_ratios(self.design, inner[doubtful], self.start, min(2, self.rank), threshold)
            ratios[doubtful], columns[doubtful] = again
        return ratios, columns

    def fit(self, outcomes: Array, n_columns: int) -> FloatArray:
        """Coefficients (n_columns,) of the largest likelihood."""
        coefficients = self.start[:n_columns].copy()
        maximise(self.design, np.ascontiguousarray(outcomes[self.kept]), coefficients, n_columns)
        return coefficients


INFORMATION = 10.0
"""Sums of p (1 - p) below which the chi-squared law is rough."""


@dataclass(frozen=True)
class CoxCalibration(BinaryStatistic):
    """Likelihood ratio of ``logit P(Y = 1) = a + b logit(p)`` with the best (a, b) against (0, 1).

    ``2 (max_ab l(a, b) - l(0, 1))`` with the log-likelihood l. ``cox_calibration`` gives intercept and slope.

    Notes
    -----
    ``MonteCarloTest(CoxCalibration())`` is exact, ``CoxTest()`` compares the statistic with the chi-squared law with 2
    degrees of freedom, 1 if all predictions are equal and only the intercept can be fitted. Its results have a note if
    the variance of the number of events, the sum of p (1 - p), is less than 10.

    Outcomes that predictions separate have no largest likelihood; its supremum is taken, to 1e-10. Predictions of 0 and
    1, whose log-odds are infinite, are left out; if there are no others, the statistic is 0 and the p-value 1. Time
    O(n), for each redraw too, with about six exponentials an observation. Source: Cox 1958.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.CoxCalibration()(*ct.top_label(p, y)), 3)
    470.458
    """

    citations = ("cox1958",)

    textbook_statistic = "likelihood ratio, chi-squared if calibrated"

    def statistic_of(self, p: FloatArray) -> Callable[[Array], FloatArray]:
        odds = LogOdds.of(p, 1)
        return lambda outcomes: odds.ratios(outcomes, inf)[0]

    def textbook_tail(self, estimate: float, sample: Sample) -> TextbookTail:
        """The chi-squared tail."""
        p = self.probabilities(sample.predictions)
        information = float(np.sum(p * (1.0 - p)))
        note = (
            f"the sum of p (1 - p) is only {information:.2g}, for which the chi-squared law is rough: in simulations "
            "it rejected up to 12.5 % of calibrated predictions at the 5 % level and 3 % at the 1 % level; "
            "MonteCarloTest(CoxCalibration()) is exact"
        )
        return chi_squared_tail(estimate, LogOdds.of(p, 1).rank, note if information < INFORMATION else "")

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        """What recalibration adds to the log-likelihood of an observation, above what it adds by chance."""
        df = LogOdds.of(self.probabilities(predictions), 1).rank if mean is None else mean
        return EffectSize((estimate - df) / (2.0 * len(predictions)), GAIN)

    def describe(self, predictions: Predictions) -> str:
        return "likelihood ratio of intercept and slope of the log-odds against 0 and 1"


@dataclass(frozen=True)
class CoxCalibrationResult(Stored):
    """Intercept and slope of the log-odds, which are 0 and 1 for calibrated predictions.

    Attributes
    ----------
    intercept, slope
        a and b of ``logit P(Y = 1) = a + b logit(p)``. A slope below 1 says that predictions are overconfident.
    intercept_standard_error, slope_standard_error
        From the information matrix.
    intercept_interval, slope_interval
        ``estimate -+ z standard_error`` with the normal quantile z.
    statistic, pvalue
        Likelihood ratio of both against (0, 1), and its chi-squared tail with 2 degrees of freedom.
    n_used
        Number of predictions other than 0 and 1.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> result = ct.estimators.cox_calibration(*ct.top_label(p, y))
    >>> print(result.slope_interval)
    [0.02681, 0.131] (95 %, normal limit of the estimate)
    """

    citations = ("cox1958", "miller1991")
    intercept: float
    slope: float
    intercept_standard_error: float
    slope_standard_error: float
    intercept_interval: ConfidenceInterval
    slope_interval: ConfidenceInterval
    statistic: float
    pvalue: float
    n_used: int

    picture = "forest"

    def bars(self) -> list[Bar]:
        found = ("intercept", self.intercept, self.intercept_interval), ("slope", self.slope, self.slope_interval)
        return [
            Bar(name, value, one, right, "if calibrated", "coefficient", one.excludes(right))
            for right, (name, value, one) in zip((0.0, 1.0), found, strict=True)
        ]

    def verdict(self, alpha: float = 0.05) -> str:
        """What the p-value of both says at a level."""
        return f"{'reject calibration' if self.pvalue <= alpha else 'calibration is not rejected'} {at_level(alpha)}"

    def sentence(self, alpha: float = 0.05) -> str:
        return (
            f"The regression of {self.n_used} outcomes on the log-odds of their predictions had an intercept of "
            f"{with_interval(self.intercept, self.intercept_interval)} and a slope of "
            f"{with_interval(self.slope, self.slope_interval)}; calibration, 0 and 1, was "
            f"{decision(self.pvalue, alpha)} (likelihood ratio test, chi-squared law, {pvalue_phrase(self.pvalue)})."
        )

    def summary(self, alpha: float = 0.05) -> str:
        found = {
            "Verdict": self.verdict(alpha),
            "Intercept": f"{self.intercept:.4g}, {self.intercept_interval}; 0 if calibrated",
            "Slope": f"{self.slope:.4g}, {self.slope_interval}; 1 if calibrated",
            "Both": f"likelihood ratio {self.statistic:.6g}, {pvalue_phrase(self.pvalue)} (asymptotic)",
        }
        return Page("Logistic recalibration", found)


@own_errstate
def cox_calibration(
    predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None, confidence_level: float = 0.95
) -> CoxCalibrationResult:
    """Intercept and slope of the regression of outcomes on the log-odds of predictions, with their intervals.

    ``logit P(Y = 1) = a + b logit(p)``: a is 0 and b is 1 if the predictions are calibrated.

    Parameters
    ----------
    predictions
        Binary predictions: probabilities of class 1, (n,) or ``Bernoulli``, or those of two classes.
    targets, classes
        As in ``calibration_test``.
    confidence_level
        Of each of the intervals.

    Raises
    ------
    ValueError
        If the predictions separate the outcomes, so that the slope is infinite, or are all equal or certain, so that
        there is no slope. ``CoxTest()`` tests such predictions too.
    TypeError
        For predictions that are not binary.

    Notes
    -----
    Standard errors, intervals and p-value are asymptotic; ``MonteCarloTest(CoxCalibration())`` is exact. Predictions of
    0 and 1 are left out. Fitted by statsmodels. Time O(n).

    Source: Cox 1958; Miller, Hui and Tierney 1991.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> print(ct.estimators.cox_calibration(*ct.top_label(p, y)))
    Logistic recalibration
    ----------------------
    Verdict        reject calibration at the 5 % level
    Intercept      -0.3279, [-0.8532, 0.1974] (95 %, normal limit of the estimate);
                   0 if calibrated
    Slope          0.07892, [0.02681, 0.131] (95 %, normal limit of the estimate); 1
                   if calibrated
    Both           likelihood ratio 1237.22, p = 2.20e-269 (asymptotic)
    """
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    level = fraction("confidence_level", confidence_level)
    sample = as_sample(predictions, targets, classes)
    p = probability_of_event(sample.predictions, "cox_calibration")
    kept = (p > 0.0) & (p < 1.0)
    x, y = np.log(p[kept]) - np.log1p(-p[kept]), sample.targets[kept]
    # The largest likelihood has a place if both classes overlap in more than a point.
    zeros, ones = x[y == 0], x[y == 1]
    if x.size and x.min() == x.max():
        raise ValueError("predictions: got only one value beside 0 and 1, wanted several, or there is no slope")
    if not (zeros.size and ones.size and zeros.min() < ones.max() and ones.min() < zeros.max()):
        raise ValueError(
            "predictions: got some that separate the outcomes (all events have larger predictions than all others, or "
            "smaller ones, or there is only one kind of outcome), so the slope is infinite; CoxTest() and "
            "MonteCarloTest(CoxCalibration()) still apply"
        )
    fitted = GLM(y, np.column_stack([np.ones(x.size), x]), family=Binomial()).fit(tol=1e-12)
    method = "normal limit of the estimate"
    intercept, slope = (
        ConfidenceInterval(low, high, level, method) for low, high in fitted.conf_int(1.0 - level).tolist()
    )
    estimator = CoxCalibration()
    statistic = estimator.estimate(sample)
    (a, b), errors = fitted.params.tolist(), fitted.bse.tolist()
    return CoxCalibrationResult(
        intercept=a,
        slope=b,
        intercept_standard_error=errors[0],
        slope_standard_error=errors[1],
        intercept_interval=intercept,
        slope_interval=slope,
        statistic=statistic,
        pvalue=estimator.textbook_tail(statistic, sample).pvalue,
        n_used=int(x.size),
    )
