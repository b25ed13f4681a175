"""The calibration belt: logistic regression on a polynomial of the log-odds, of a degree that is selected forward."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray
from caltest._results.values import EffectSize
from caltest._validation import fraction, whole
from caltest.estimators.classical.base import BinaryStatistic
from caltest.estimators.classical.cox import GAIN, LogOdds
from caltest.predictions import Predictions

HIGHEST = 4
"""The highest degree: others are hardly ever selected, and powers of log-odds lose their digits."""

POINTS = 400
"""Predictions at which a belt is computed."""

SLOPES = np.linspace(-7.0, 7.0, 281)
"""Inverse hyperbolic sines of slopes of lines through outcomes that are all the same."""

ROUNDED = 2
"""Digits of the log-odds that these lines are fitted to."""

SINGULAR = 1e-9
"""Eigenvalues of the information, in units of that of calibrated predictions, that count as 0."""


@dataclass(frozen=True)
class CalibrationBelt(BinaryStatistic):
    """Likelihood ratio of ``logit P(Y = 1) = z(logit p)' b`` against calibration, for a polynomial of selected degree.

    The degree is 1 at first, intercept and slope, and is raised by one as long as twice the gain in log-likelihood is
    at least the quantile of the chi-squared law with 1 degree of freedom at the level ``selection``. The statistic is
    twice the log-likelihood of the polynomial minus that of the predictions themselves.

    Parameters
    ----------
    max_degree
        Highest degree, 1 to 4; with 1 it is ``CoxCalibration``.
    selection
        Level of the quantile, between 0 and 1.

    Notes
    -----
    ``MonteCarloTest(CalibrationBelt())`` is exact: redraws select their degrees too. ``caltest.plots.calibration_belt``
    draws the polynomial with its confidence bands. Differs from the paper in that its law given the selected degree,
    which is worked out case by case, is not needed.

    Separated outcomes and predictions of 0 and 1 count as in ``CoxCalibration``; the degree is less than the number of
    different predictions. Time O(n), for each redraw too: some twenty exponentials an observation, or a few products
    where there are many more observations than cells of log-odds of width 1/4. Log-likelihoods are then sums over ten
    places in each cell, which agree with those over observations to about 1e-10; where a polynomial is too steep for
    that, they are over observations.

    Source: Nattino, Finazzi and Bertolini 2014.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.MonteCarloTest(ct.estimators.CalibrationBelt(), n_resamples=99)(*ct.top_label(p, y), rng=1).pvalue
    0.01
    """

    citations = ("nattino2014",)

    max_degree: int = HIGHEST
    selection: float = 0.95
    _checks = {"max_degree": whole(1, HIGHEST), "selection": fraction}

    @property
    def threshold(self) -> float:
        """What another degree has to add to the likelihood ratio."""
        return float(scipy.special.chdtri(1, 1.0 - self.selection))

    def statistic_of(self, p: FloatArray) -> Callable[[Array], FloatArray]:
        odds, threshold = LogOdds.of(p, self.max_degree), self.threshold
        return lambda outcomes: odds.ratios(outcomes, threshold)[0]

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize | None:
        """What recalibration adds to the log-likelihood of an observation, above its mean, where that is known."""
        return None if mean is None else EffectSize((estimate - mean) / (2.0 * len(predictions)), GAIN)

    def describe(self, predictions: Predictions) -> str:
        return f"likelihood ratio of a polynomial of the log-odds, of a selected degree up to {self.max_degree}"


class Belt(NamedTuple):
    """Predictions (m,), what is observed for them according to the polynomial, and the ends (L, m) of its bands."""

    predictions: FloatArray
    curve: FloatArray
    low: FloatArray
    high: FloatArray
    degree: int


def belt(estimator: CalibrationBelt, p: FloatArray, outcomes: Array, critical: FloatArray) -> Belt:
    """The polynomial b of the selected degree with bands ``z'b -+ sqrt(c z' I**-1 z)`` for critical values c (L,).

    I is the information matrix, so that the bands hold all polynomials with ``(b' - b)' I (b' - b) <= c``. Bands of
    outcomes that are all the same hold all lines of which twice the log-likelihood, whose supremum is 0, is at least
    -c. ``ValueError`` if the predictions separate other outcomes, so that b is infinite.
    """
    expit = scipy.special.expit
    odds = LogOdds.of(p, estimator.max_degree)
    n_columns = int(odds.ratios(outcomes[None], estimator.threshold)[1][0])
    if n_columns < 2:
        raise ValueError("predictions: got only one value beside 0 and 1, wanted several for a calibration belt")
    least, most = p[odds.kept].min(), p[odds.kept].max()
    places = np.clip(expit(np.linspace(scipy.special.logit(least), scipy.special.logit(most), POINTS)), least, most)
    inner = outcomes[odds.kept]
    if (inner == inner[0]).all():
        sign = 1.0 if inner[0] else -1.0
        x, at = sign * scipy.special.logit(p[odds.kept]), sign * scipy.special.logit(places)
        ends = expit(sign * np.stack([_lowest_lines(x, at, c) for c in critical]))
        curve = np.full(POINTS, float(inner[0]))
        best = np.broadcast_to(curve, ends.shape)
        low, high = (ends, best) if inner[0] else (best, ends)
        return Belt(places, curve, low, high, 1)
    coefficients = odds.fit(outcomes, n_columns)
    design = odds.design[:, :n_columns]
    chances = expit(design @ coefficients)
    information = design.T @ ((chances * (1.0 - chances))[:, None] * design)
    if not np.linalg.eigvalsh(information)[0] > SINGULAR:
        raise ValueError(
            "predictions: got some that separate the outcomes, so that no polynomial is best; "
            "MonteCarloTest(CalibrationBelt()) still applies"
        )
    columns = odds.columns(scipy.special.logit(places))[:, :n_columns]
    log_odds = columns @ coefficients
    spread = np.sqrt(np.einsum("ij,ij->i", columns, np.linalg.solve(information, columns.T).T))
    widths = np.sqrt(critical)[:, None] * spread
    return Belt(places, expit(log_odds), expit(log_odds - widths), expit(log_odds + widths), n_columns - 1)


def _lowest_lines(x: FloatArray, places: FloatArray, critical: float) -> FloatArray:
    """The smallest ``a + s x'`` at places x' (m,) of lines with ``2 sum_i log(1 + exp(-(a + s x_i))) <= critical``.

    For each slope s there is a smallest a, and ``a + s x'`` is smallest for one of the slopes.
    """
    x, counts = np.unique(np.round(x, ROUNDED), return_counts=True)
    half = max(critical / 2.0, SINGULAR)
    n = float(counts.sum())

    def excess(a: float, line: FloatArray) -> float:
        return float(counts @ np.logaddexp(0.0, -(a + line))) - half

    lines = np.sinh(SLOPES)[:, None] * x
    ends = zip(-lines.max(axis=1) - half / n, -lines.min(axis=1) + np.log1p(n / half), strict=True)
    smallest = [scipy.optimize.brentq(excess, *pair, args=(line,)) for pair, line in zip(ends, lines, strict=True)]
    return np.asarray((np.array(smallest)[:, None] + np.sinh(SLOPES)[:, None] * places).min(axis=0))
