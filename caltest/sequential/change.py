"""Since when predictions are wrong: the change point of largest likelihood."""

from dataclasses import dataclass

import numpy as np

from caltest._basics.calls import are_pvalues_enough
from caltest._basics.numerics import FloatArray, ranges
from caltest._results.measures import Measure
from caltest._results.tables import Table
from caltest._results.values import ConfidenceInterval, Entry, Finding
from caltest.estimators.combined.findings import findings_of, named
from caltest.estimators.combined.measures import measures_of
from caltest.predictions import Sample

DROP = 4.0
"""Starts whose log likelihood is less than the largest by at most this are in the interval."""

NEARLY = 1.0
"""The first observation is the start if its log likelihood is less than the largest by at most this."""

LEVEL = 0.95
"""Coverage of the interval that is aimed at."""

AT_ONCE = 2**20
"""Log likelihood ratios that are computed together."""


@dataclass(frozen=True)
class Change(Entry):
    """Since when predictions are wrong, in which direction, and what they claim and deliver before and after.

    With the alternatives Q_k on which is bet, the log likelihood of a change at observation s of T is
    ``l(s) = max_k sum_{t=s..T} log(Q_k(Y_t | P_t) / P_t(Y_t))``: predictions are calibrated before s and wrong in one
    way from then on. The estimate is the s of largest l, or 1 if ``l(1) >= max l - 1``: then little tells a change from
    predictions that never were right. The interval goes from the first to the last s with ``l(s) >= max l - 4``. With a
    lag h, as many outcomes in a row say little more than one of them, and l is divided by h.

    Attributes
    ----------
    interval
        The first wrong observation, counted from 1: ``interval.estimate``, and a 95 % interval for it. The level holds
        approximately, for abrupt changes that last; gradual ones are dated when they have become large.
    finding
        The fault that explains the outcomes from then on best, or None. Its interval takes the start as known.
    before, after
        What the predictions claim beside what happened, up to the change and from then on; none before a change at the
        first observation, and for families without such claims. Their intervals, as that of the finding, take the start
        as known, and with a lag count as many outcomes as one.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = ct.Normal(rng.normal(size=400), 1.0)
    >>> late = p.sample(rng) + 0.8 * (np.arange(400) >= 300)
    >>> change = ct.SequentialCalibrationTest()(p, late).change
    >>> change.start, change.interval.ends
    (301, (283.0, 318.0))
    """

    interval: ConfidenceInterval
    finding: Finding | None = None
    before: tuple[Measure, ...] = ()
    after: tuple[Measure, ...] = ()

    @property
    def start(self) -> int:
        """The first wrong observation, counted from 1."""
        assert self.interval.estimate is not None
        return int(self.interval.estimate)

    @property
    def words(self) -> str:
        """Since when and in which direction."""
        low, high = map(int, self.interval)
        where = f"about observation {self.start}" if self.start > 1 else "the first observation"
        found = "" if self.finding is None else f": {self.finding.words}"
        level = f"{100 * LEVEL:g} % interval {low} to {high}, counted from 1"
        return f"{where} ({level}, if it changed at once and for good){found}"

    def __str__(self) -> str:
        return self.words

    def table(self) -> Table:
        """A line for each measure, below a heading; without columns of what was before if nothing was."""
        when = ("before", "since") if self.before else ("since",)
        rows = [["", *(f"{what} {one}" for one in when for what in ("claimed", "observed"))]]
        earlier = {one.name: _numbers(one) for one in self.before}
        nothing = ["", ""] if self.before else []
        return rows + [[one.name, *earlier.get(one.name, nothing), *_numbers(one)] for one in self.after]


def _numbers(measure: Measure) -> list[str]:
    return [f"{measure.claimed:.3g}", "" if measure.observed is None else f"{measure.observed:.3g}"]


def change_of(sample: Sample, lag: int = 1) -> Change | None:
    """The change that explains the outcomes best, of which those a lag apart may be taken as independent.

    None where none explains the outcomes clearly better than calibration, ``max l <= 4``, no alternatives are known, or
    only p-values are asked for. Time O(n K) for K alternatives.
    """
    found = None if are_pvalues_enough() else _log_likelihoods(sample)
    if found is None or found.max() <= DROP * lag:
        return None
    likelihood = found / lag
    start, near = int(likelihood.argmax()), np.flatnonzero(likelihood >= likelihood.max() - DROP)
    if likelihood[0] >= likelihood.max() - NEARLY:
        start = 0
    interval = ConfidenceInterval(
        float(near[0] + 1), float(near[-1] + 1), LEVEL, "largest log likelihood less 4", float(start + 1)
    )
    before, after = sample.take(slice(0, start)), sample.take(slice(start, None))
    finding = likeliest(after, 0.0, lag)
    return Change(interval, finding, measures_of(before, lag=lag) if start else (), measures_of(after, lag=lag))


def likeliest(sample: Sample, pvalue: float, lag: int = 1) -> Finding | None:
    """The fault that explains outcomes best, of which as many as the lag count as one."""
    weights = None if lag == 1 else np.full(len(sample), 1.0 / lag)
    return next(iter(named(findings_of(sample, weights, pvalue), pvalue)), None)


def _log_likelihoods(sample: Sample) -> FloatArray | None:
    """``l(s)`` of a change at each observation, (n,); None without alternatives."""
    odds = sample.take(slice(0, 1)).predictions.law.odds()
    if odds is None:
        return None
    n, size = len(sample), AT_ONCE // odds.weights.size
    largest, later = np.empty(n), np.zeros((odds.weights.size, 1))
    for part in reversed(list(ranges(n, size))):
        some = sample.take(part)
        odds = some.predictions.law.odds()
        if odds is None:
            return None
        sums = later + np.cumsum(odds.log_ratio_terms(np.asarray(some.targets))[:, ::-1], axis=1)[:, ::-1]
        largest[part], later = sums.max(axis=0), sums[:, :1]
    return largest
