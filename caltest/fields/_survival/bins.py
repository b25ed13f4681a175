"""D- and A-calibration: events in bins of their predicted distributions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from caltest._basics.arrays import order_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray, resampling_pvalue, seed_of
from caltest._laws import garwood
from caltest._results.values import GARWOOD, ConfidenceInterval
from caltest._validation import whole_number
from caltest._validation.arrays import real_array, refuse_rows, same_length
from caltest._validation.groups import rows_of
from caltest.fields._survival.result import SurvivalCalibration, SurvivalGroup
from caltest.predictions.censored import UNSEEN, Censored, in_order_of_times, levels_of, notes_on_times

FEWEST = 5
"""Events that a group of one-calibration has at least, and expected ones of a bin of A-calibration."""

LEVEL = 0.95
"""Of intervals of all bins together."""


@own_errstate
def d_calibration(
    predictions: ArrayLike,
    targets: Censored,
    *,
    limits: ArrayLike | None = None,
    n_bins: int = 10,
    n_resamples: int = 999,
    rng: Any = None,
) -> SurvivalCalibration:
    """D-calibration: whether event times fall into each tenth of their predicted distributions equally often.

    Parameters
    ----------
    predictions, targets
        As in ``censored_pit_values``.
    limits
        (n,) times at which rows were or would have been censored, such as the end of the study, if they are known for
        all, and not only where they came first. The exact p-value is then that of the published statistic.
    n_bins
        Bins of equal width of ``F(time)``.
    n_resamples, rng
        Of the exact p-value, as in ``calibration_test``.

    Raises
    ------
    ValueError
        For bad data or settings.
    TypeError
        For families that are not continuous, or targets that are not ``Censored``.

    Notes
    -----
    As published, a censored row counts in each bin with the conditional probability that its event is there, and
    ``sum_b (N_b - n / K)^2 / (n / K)`` is compared with the chi-squared law with K - 1 degrees of freedom. Counts that
    are spread vary less, so that this p-value is far too large where much is censored. For the exact one the place of a
    censored row is drawn, as in ``censored_pit_values``, and the counts are compared with redrawn multinomial ones; it
    assumes that censoring is independent of the event given the prediction. Places are noise, but where an event came
    first nobody knows when its row would have been censored, so that events cannot be redrawn. With ``limits`` they
    are: of each row up to its limit, and the published statistic of these. ``calibration_test`` finds more, as its
    tests see more than counts. Cost O(n + K B).

    Source: Haider et al. 2020.

    Examples
    --------
    >>> import caltest as ct
    >>> rng = np.random.default_rng(1)
    >>> time, end = rng.exponential(2.0, 200), rng.exponential(4.0, 200)
    >>> targets = ct.Censored(np.minimum(time, end), time <= end)
    >>> ct.fields.d_calibration(ct.Gamma([1.0] * 200, 1.0), targets, rng=1).pvalue
    0.001
    """
    return _in_bins("D-calibration", predictions, targets, limits, n_bins, n_resamples, rng)


@own_errstate
def a_calibration(
    predictions: ArrayLike,
    targets: Censored,
    *,
    limits: ArrayLike | None = None,
    n_bins: int = 10,
    n_resamples: int = 999,
    rng: Any = None,
) -> SurvivalCalibration:
    """A-calibration: events in each tenth of the predicted distributions, beside those expected while at risk.

    Parameters
    ----------
    predictions, targets, limits, n_bins, n_resamples, rng
        As in ``d_calibration``.

    Raises
    ------
    ValueError, TypeError
        As in ``d_calibration``, and fewer than 5 expected events.

    Notes
    -----
    With ``u = F(time)``, a row that leaves at u is expected to have ``log(1 - a) - log(1 - min(b, u))`` events in a bin
    (a, b) that it enters, the predicted cumulative hazard. Observed less expected counts of the bins are uncorrelated
    martingales with the expected counts as variances, so that ``sum_b (N_b - E_b)^2 / E_b`` is compared with the
    chi-squared law with as many degrees of freedom as bins, which is asymptotic; neighbours are joined until each
    expects 5 events. Nothing is spread, so that censoring costs less power than in D-calibration. The exact p-value is
    that of ``d_calibration``: places of censored rows are drawn. Cost O(n K + K B).

    Sources: Akritas 1988; Simonsen and Waagepetersen 2025.

    Examples
    --------
    >>> import caltest as ct
    >>> rng = np.random.default_rng(1)
    >>> time, end = rng.exponential(2.0, 200), rng.exponential(4.0, 200)
    >>> targets = ct.Censored(np.minimum(time, end), time <= end)
    >>> ct.fields.a_calibration(ct.Gamma([1.0] * 200, 1.0), targets, rng=1).approximate < 1e-9
    True
    """
    return _in_bins("A-calibration", predictions, targets, limits, n_bins, n_resamples, rng)


def _in_bins(
    method: str,
    predictions: ArrayLike,
    targets: Censored,
    limits: ArrayLike | None,
    n_bins: int,
    n_resamples: int,
    rng: Any,
) -> SurvivalCalibration:
    k, number = whole_number("n_bins", n_bins, 2), whole_number("n_resamples", n_resamples, 1)
    laws, levels = levels_of(predictions, targets)
    low, high, *_ = levels
    n, seed, event = low.size, seed_of(rng), np.asarray(targets.event)
    ends = None if limits is None else _limits(predictions, targets, limits)
    drawing, redrawing = np.random.default_rng(seed).spawn(2)
    drawn = levels.drawn(drawing)
    edges, seen, counts, expected = _bins(method, low, high, np.where(low < high, drawn, low), event, k)
    if expected.sum() < FEWEST and method == "A-calibration":
        raise ValueError(
            f"targets: got {expected.sum():.3g} expected events, wanted at least {FEWEST}; take calibration_test"
        )
    df, statistic = len(counts) - (method == "D-calibration"), _chi_squared(counts, expected)
    rows = tuple(
        SurvivalGroup(
            name=f"{a:.3g} to {b:.3g}",
            n=n,
            events=int(events),
            predicted=float(wanted / n),
            observed=float(count / n),
            interval=_garwood(count, n, len(counts)),
        )
        for a, b, events, wanted, count in zip(edges, edges[1:], seen, expected, counts, strict=False)
    )
    if ends is None:
        null = np.asarray(_chi_squared(redrawing.multinomial(n, np.full(k, 1.0 / k), size=number), n / k))
        observed = float(_chi_squared(np.bincount(_bin(drawn, k), minlength=k), n / k))
    else:
        null, observed = np.array([_redrawn(method, ends, k, redrawing) for _ in range(number)]), statistic
    pvalue = resampling_pvalue(observed, null)
    tail, censored = float(scipy.special.chdtrc(df, statistic)), int((~event).sum())
    notes = (*notes_on_times(laws, targets, levels), *([] if event.any() else [UNSEEN]))
    return SurvivalCalibration(method, rows, pvalue, tail, float(statistic), df, None, n, censored, number, seed, notes)


def _garwood(count: float, n: int, n_bins: int) -> ConfidenceInterval:
    """Of the expected share of a bin among several, of which all hold with 95 %."""
    ends = garwood(count, n, 1.0 - (1.0 - LEVEL) / n_bins)
    return ConfidenceInterval(*ends, LEVEL, f"{GARWOOD}, {n_bins} bins together", float(count / n))


def _bins(
    method: str, low: FloatArray, high: FloatArray, drawn: FloatArray, event: BoolArray, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Edges of bins, events in them, what is counted there, and what is expected."""
    seen, edges = np.bincount(_bin(drawn[event], k), minlength=k).astype(np.float64), np.arange(k + 1) / k
    if method == "D-calibration":
        return edges, seen, _spread(low, high, k), np.full(k, low.size / k)
    # Of rows that leave at these numbers, the predicted cumulative hazard in each bin.
    left = np.minimum(np.where(event, drawn, low), 1.0 - 1e-12)
    hazards = -np.log1p(-np.minimum(edges[:, None], left))
    expected = np.diff(hazards, axis=0).sum(axis=1)
    starts = starts_of(expected, lambda some: some.sum() >= FEWEST)
    seen, expected = (np.add.reduceat(one, starts) for one in (seen, expected))
    return np.append(edges[starts], 1.0), seen, seen, expected


def _redrawn(method: str, ends: FloatArray, k: int, rng: np.random.Generator) -> float:
    """The published statistic of events that happen as predicted, and are seen up to these ends (n,) of F."""
    u = rng.random(ends.size)
    event, low = u <= ends, np.minimum(u, ends)
    _, _, counts, expected = _bins(method, low, np.where(event, low, 1.0), low, event, k)
    return float(_chi_squared(counts, expected))


def _limits(predictions: ArrayLike, targets: Censored, limits: ArrayLike) -> FloatArray:
    """``F(limit)`` (n,) of the time at which each row would have been censored."""
    given = rows_of(limits, "limits", order_of(targets, predictions)).array("limits")
    ends, time, event = real_array(given, "limits", 1), np.asarray(targets.time), np.asarray(targets.event)
    same_length(len(targets), len(ends), "limits")
    refuse_rows(np.where(event, ends < time, ends != time), ends, "limits", "the time where censored, a later one else")
    laws, (low, high, *_) = levels_of(in_order_of_times(targets, predictions), Censored(ends, np.ones(len(targets))))
    if laws is None:
        raise TypeError("predictions: got probabilities at the times, wanted distributions, which say what F(limit) is")
    if (low < high).any():
        raise ValueError("limits: got some at which the curves do not say what F is; leave limits out")
    return low


def starts_of(parts: Any, are_enough: Callable[[Any], bool]) -> list[int]:
    """First of joined neighbours, which are enough together; all are joined where there are too few."""
    starts = [0]
    for i in range(1, len(parts)):
        if are_enough(parts[starts[-1] : i]) and are_enough(parts[i:]):
            starts.append(i)
    return starts


def _bin(u: FloatArray, k: int) -> IntArray:
    return np.minimum((u * k).astype(np.intp), k - 1)


def _spread(low: FloatArray, high: FloatArray, k: int) -> FloatArray:
    """What rows count in each bin: the share of (low, high) that is in it, or 1 for the bin of a single number."""
    known = high <= low
    edges, start, end = np.arange(k + 1) / k, low[~known, None], high[~known, None]
    inside = np.maximum(np.minimum(edges[1:], end) - np.maximum(edges[:-1], start), 0.0)
    return np.asarray((inside / (end - start)).sum(axis=0) + np.bincount(_bin(low[known], k), minlength=k))


def _chi_squared(counts: Array, expected: Any) -> Any:
    return (np.square(counts - expected) / expected).sum(axis=-1)
