"""Watching predictions for as long as they are made, with alarms after which watching begins anew."""

from collections.abc import Sequence, Sized
from dataclasses import KW_ONLY, dataclass, replace
from math import log
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._results.tables import Grid, Page, Part, Table
from caltest._results.values import Stored
from caltest._validation import whole_number
from caltest.estimators.scores import log_mixture
from caltest.kernels import ProductKernel
from caltest.predictions import Sample
from caltest.sequential.bets import Bets
from caltest.sequential.betting import Betting, State, Strategy
from caltest.sequential.change import Change, change_of
from caltest.sequential.sequential_test import ASSUMPTIONS, format_evalue


@dataclass(frozen=True)
class Alarm:
    """An alarm of a monitor.

    Attributes
    ----------
    after
        The observation after which it was raised, counted from 1.
    change
        Since when predictions were wrong, and how, from the observations since the alarm before; None after an outcome
        that was predicted to be impossible, and where no change explains them clearly better than calibration.

    Examples
    --------
    >>> from caltest.results import Alarm
    >>> print(Alarm(120))
    after 120 observations
    """

    after: int
    change: Change | None = None

    def __str__(self) -> str:
        since = "" if self.change is None else f", wrong since {self.change.words}"
        return f"after {self.after} observations{since}"


@dataclass(frozen=True, eq=False, repr=False)
class MonitorResult(Stored):
    """What a monitor saw so far. Printing it gives a line for each alarm.

    Attributes
    ----------
    average_run_length
        How many observations calibrated predictions have on average before an alarm, at least.
    history
        Logarithm of the detector after each observation, (n,); it starts anew after each alarm.
    alarms
        All of them, in their order.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.CalibrationMonitor(100)(p.take(slice(0, 60)), y[:60])
    <CalibrationMonitor: 2 alarms in 60 observations>
    """

    hypothesis: str
    predictions: str
    bets: str
    n: int
    average_run_length: int
    history: FloatArray
    alarms: tuple[Alarm, ...]
    notes: tuple[str, ...] = ()

    picture = "evidence"
    citations = ("shafer2021", "shin2024")

    def curve(self, alpha: float = 0.05) -> tuple[FloatArray, float, str, list[int]]:
        """What ``plots.evidence`` draws: logarithms, where the alarm is, in words too, and when it was raised."""
        line = f"alarm, on average after {self.average_run_length} or more if calibrated"
        return self.history, log(self.average_run_length), line, [one.after for one in self.alarms]

    def verdict(self) -> str:
        """How many alarms there were, beside what calibrated predictions have."""
        found = _counted(self.alarms) if self.alarms else "no alarm"
        most = self.n / self.average_run_length
        usual = f"{most:.0f}" if most >= 9.5 else f"{most:.2g}"
        return f"{found} in {self.n} observations; calibrated predictions raise at most {usual} on average"

    def row_entries(self) -> list[dict[str, Any]]:
        """For each alarm after how many observations it was raised, and since when predictions were wrong."""
        entries = []
        for i, one in enumerate(self.alarms, 1):
            low, high = (None, None) if one.change is None else one.change.interval.ends
            since = None if one.change is None else one.change.interval.estimate
            entries.append({"name": i, "after": one.after, "since": since, "low": low, "high": high})
        return entries

    def table(self) -> Table:
        rows = [["alarm after", "wrong since", "95 % interval"]]
        for one in self.row_entries():
            since = (
                ["", ""] if one["since"] is None else [f"{one['since']:.0f}", "{low:.0f} to {high:.0f}".format(**one)]
            )
            rows.append([str(one["after"]), *since])
        return rows

    def sentence(self) -> str:
        return f"The predictions were watched for errors ({self.bets}): {self.verdict()}."

    def summary(self) -> str:
        last = self.alarms[-1].change if self.alarms else None
        found = {
            "Verdict": self.verdict(),
            "Last alarm": None if last is None or last.finding is None else last.finding.words,
        }
        what = {
            "Detector": f"{format_evalue(float(self.history[-1]))} now, {self.average_run_length} for an alarm",
            "Hypothesis": f"the predictions are calibrated: {self.hypothesis}",
            "Predictions": self.predictions,
            "Bets": self.bets,
            "Assumes": ASSUMPTIONS,
        }
        table: list[Part] = [[""], Grid(self.table())] if self.alarms else [[], []]
        return Page("CalibrationMonitor", found, *table, [""], what, notes=self.notes)

    def __repr__(self) -> str:
        return f"<CalibrationMonitor: {_counted(self.alarms)} in {self.n} observations>"


@dataclass(frozen=True, eq=False)
class Watching(State):
    """The state of a monitor: ``capitals`` are logarithms of the sums of the capitals of all starts."""

    threshold: float = 0.0
    alarms: tuple[int, ...] = ()

    def started(self, bets: tuple[Bets, ...], weights: FloatArray) -> Self:
        return replace(super().started(bets, weights), capitals=np.full((1, weights.size), -np.inf))

    def played(self, sample: Sample) -> tuple[FloatArray, FloatArray, Self]:
        """``log M`` after each of the next observations (twice), and the state after them."""
        factors, bets = self._factors(0, sample)
        evidence, logs, alarms = np.empty(len(sample)), self.capitals[0], list(self.alarms)
        excluded, start = np.zeros(len(sample), dtype=np.bool_), 0
        excluded[sample.impossible] = True
        while start < len(sample):
            sums = _sums(logs, factors[:, start:])
            found = np.where(excluded[start:], np.inf, log_mixture(sums, self.weights))
            reached = np.flatnonzero(found >= self.threshold)
            stop = int(reached[0]) + 1 if reached.size else found.size
            evidence[start : start + stop], logs = found[:stop], sums[:, stop - 1]
            start += stop
            if reached.size:
                alarms.append(self.n + start)
                logs = np.full(self.weights.size, -np.inf)
        n = self.n + len(sample)
        later = replace(self, n=n, bets=(bets,), capitals=logs[None].copy(), alarms=tuple(alarms))
        return evidence, evidence, later


def _sums(before: FloatArray, factors: FloatArray) -> FloatArray:
    """Logarithms (K, b) of ``S_t = (1 + S_{t-1}) f_t`` from those (K,) of the S before and (K, b) of the factors."""
    capitals = np.cumsum(factors, axis=1)
    earlier = np.column_stack([before, np.zeros(len(before)), -capitals[:, :-1]])
    return np.asarray(capitals + np.logaddexp.accumulate(earlier, axis=1)[:, 1:])


@dataclass(eq=False, repr=False)
class CalibrationMonitor(Betting[MonitorResult]):
    """An alarm when predictions become wrong, for as long as they are made: watching begins anew after each alarm.

    Gamblers bet as in ``SequentialCalibrationTest``, but new ones come at every observation, each with capital 1. The
    detector M is the sum of all their capitals, as a weighted mean over kinds of bets k::

        M_t = sum_k w_k S_kt,    S_kt = (1 + S_k,t-1) f_kt

    with the factors f of mean 1 if calibrated. An alarm is raised when M reaches L: calibrated predictions have L
    observations or more before it on average (the average run length), whatever their number. A test is for "were they
    ever wrong", and loses what it has won while predictions were right; the monitor is for "are they wrong now".

    Parameters
    ----------
    average_run_length
        L. With 1000 and one observation a day, calibrated predictions raise an alarm every three years.
    strategy, kernel, classes
        As for ``SequentialCalibrationTest``.

    Raises
    ------
    ValueError
        For other settings; in ``update`` for bad data, or other classes than before.
    TypeError
        As for ``SequentialCalibrationTest``.

    Notes
    -----
    An outcome that was predicted to be impossible is an alarm at once. Assumes observations in the order of time, each
    prediction made before its outcome. The mean is guaranteed, not each run: a run can be short by chance. Cost as
    ``SequentialCalibrationTest``; bets on the kernel keep all observations.

    Source: Shin, Ramdas and Rinaldo 2024 (the e-SR procedure).

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(900)
    >>> true = np.where(np.arange(900) < 600, p, 0.5 + 0.3 * (p - 0.5))
    >>> result = ct.CalibrationMonitor(1000)(p, rng.random(900) < true)
    >>> [one.after for one in result.alarms][0]
    623
    """

    average_run_length: int = 1000
    strategy: Strategy = "both"
    kernel: ProductKernel | None = None
    _: KW_ONLY
    classes: Sequence[Any] | None = None

    citations = MonitorResult.citations

    def _empty(self) -> State:
        return Watching(threshold=log(whole_number("average_run_length", self.average_run_length, 2)))

    def __repr__(self) -> str:
        if not self.n:
            return f"CalibrationMonitor({self.average_run_length}, strategy={self.strategy!r}, kernel={self.kernel!r})"
        return f"<CalibrationMonitor: {_counted(self.alarms)} in {self.n} observations>"

    @property
    def history(self) -> FloatArray:
        """``log M`` after each observation, (n,); infinite at impossible outcomes."""
        return np.concatenate([np.empty(0), *(batch.evidence for batch in self._taken)])

    @property
    def alarms(self) -> tuple[int, ...]:
        """After which observations alarms were raised, counted from 1."""
        assert isinstance(self._state, Watching)
        return self._state.alarms

    def result(self) -> MonitorResult:
        words = self._in_words()
        history, sample = self.history, self._samples()
        history.flags.writeable = False
        return MonitorResult(
            **words,
            average_run_length=self.average_run_length,
            history=history,
            alarms=tuple(
                Alarm(after, _change(sample, start, after))
                for start, after in zip((0, *self.alarms), self.alarms, strict=False)
            ),
            notes=self._state.notes,
        )


def _counted(alarms: Sized) -> str:
    return f"{len(alarms)} alarm{'' if len(alarms) == 1 else 's'}"


def _change(sample: Sample, start: int, after: int) -> Change | None:
    """Since when predictions were wrong, from the observations between two alarms."""
    some = sample.take(slice(start, after))
    found = None if some.impossible.size else change_of(some)
    if found is None:
        return None
    one = found.interval
    assert one.estimate is not None
    moved = replace(one, low=one.low + start, high=one.high + start, estimate=one.estimate + start)
    return replace(found, interval=moved)
