"""Watching predictions for as long as they are made, with alarms after which watching begins anew."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import log
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._results.report import counted
from caltest._results.tables import Grid, Page, Part, Table
from caltest._results.values import Entry, Finding, Stored, impossible
from caltest._validation import whole_number
from caltest.estimators.scores import log_mixture
from caltest.kernels import ProductKernel
from caltest.predictions import Sample
from caltest.sequential.bets import Bets
from caltest.sequential.betting import Betting, State, Strategy, carried
from caltest.sequential.change import Change, change_of
from caltest.sequential.sequential_test import ASSUMPTIONS, format_evalue


@dataclass(frozen=True)
class Alarm(Entry):
    """An alarm of a monitor.

    Attributes
    ----------
    after
        The observation after which it was raised, counted from 1.
    change
        Since when predictions were wrong, and how, from the observations since the alarm before; None after an outcome
        that was predicted to be impossible, and where no change explains them clearly better than calibration.
    finding
        That such an outcome occurred, and where; else None, as the change has its own finding.

    Examples
    --------
    >>> from caltest.results import Alarm
    >>> print(Alarm(120))
    after 120 observations
    """

    after: int
    change: Change | None = None
    finding: Finding | None = None

    def __str__(self) -> str:
        if self.change is None:
            return f"after {counted(self.after, 'observation')}" + ("" if self.finding is None else f": {self.finding}")
        return f"after {counted(self.after, 'observation')}, wrong since {self.change.words}"


@dataclass(frozen=True, eq=False, repr=False)
class MonitorResult(Stored):
    """What a monitor saw so far. Printing it gives a line for each alarm.

    Attributes
    ----------
    average_run_length
        How many observations calibrated predictions have on average before an alarm, at least.
    history
        Logarithm of the detector after each observation, (n,); it starts anew after each alarm. With a lag it is minus
        infinity for the observations that do not count after an alarm.
    alarms
        All of them, in their order.
    lag
        After how many observations the outcome of a prediction is known.

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
    lag: int = 1

    picture = "evidence"
    citations = ("shafer2021", "shin2024")

    def curve(self, alpha: float = 0.05) -> tuple[FloatArray, float, str, list[int]]:
        """What ``plots.evidence`` draws: logarithms, where the alarm is, in words too, and when it was raised."""
        line = f"alarm, on average after {self.average_run_length} or more if calibrated"
        least = threshold(self.average_run_length, self.lag)
        return self.history, log(least), line, [one.after for one in self.alarms]

    def verdict(self) -> str:
        """How many alarms there were, beside what calibrated predictions have."""
        found = counted(len(self.alarms), "alarm") if self.alarms else "no alarm"
        most = self.n / self.average_run_length
        usual = f"{most:.0f}" if most >= 9.5 else f"{most:.2g}"
        return f"{found} in {counted(self.n, 'observation')}; calibrated predictions raise at most {usual} on average"

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
        for one, alarm in zip(self.row_entries(), self.alarms, strict=True):
            since = ["", ""]
            if one["since"] is not None:
                since = [f"{one['since']:.0f}", "{low:.0f} to {high:.0f}".format(**one)]
            elif alarm.finding is not None:
                since = [alarm.finding.kind, ""]
            rows.append([str(one["after"]), *since])
        return rows

    def remarks(self) -> list[str]:
        """That dates start anew with each alarm, where there were several."""
        if len(self.alarms) < 2:
            return []
        return ["wrong since: of the rows after the alarm before; an error that lasts is older"]

    def sentence(self) -> str:
        return f"The predictions were watched for errors ({self.bets}): {self.verdict()}."

    def summary(self) -> str:
        last = self.alarms[-1] if self.alarms else Alarm(0)
        why = last.finding if last.change is None else last.change.finding
        lag = "" if self.lag == 1 else f"; the largest of {self.lag} detectors, each of rows {self.lag} apart"
        found = {"Verdict": self.verdict(), "Last alarm": None if why is None else why.words}
        what = {
            "Detector": f"{format_evalue(float(self.history[-1]))} now, {threshold(self.average_run_length, self.lag)} "
            f"for an alarm{lag}",
            "Hypothesis": f"the predictions are calibrated: {self.hypothesis}",
            "Predictions": self.predictions,
            "Bets": self.bets,
            "Assumes": ASSUMPTIONS,
        }
        table: list[Part] = [[""], Grid(self.table()), self.remarks()] if self.alarms else [[], []]
        return Page("CalibrationMonitor", found, *table, [""], what, notes=self.notes)

    def __repr__(self) -> str:
        return f"<CalibrationMonitor: {counted(len(self.alarms), 'alarm')} in {counted(self.n, 'observation')}>"


@dataclass(frozen=True, eq=False)
class Watching(State):
    """The state of a monitor: ``capitals`` are logarithms of the sums of the capitals of all starts."""

    average_run_length: int = 0
    alarms: tuple[int, ...] = ()

    def started(self, bets: tuple[Bets, ...], weights: FloatArray) -> Self:
        return replace(
            super().started(bets, weights),
            capitals=np.full((self.lag, weights.size), -np.inf),
            now=np.full(self.lag, -np.inf),
        )

    def played(self, sample: Sample) -> tuple[FloatArray, FloatArray, Self]:
        """``log M`` after each of the next observations (twice), and the state after them."""
        factors, streams, bets = self._factors(sample)
        evidence, alarms, start = np.full(len(sample), -np.inf), list(self.alarms), self._first(self.alarms)
        logs, now = self.capitals.copy(), self.now
        excluded = np.zeros(len(sample), dtype=np.bool_)
        excluded[sample.impossible] = True
        while start < len(sample):
            rows = [start + np.flatnonzero(streams[start:] == k) for k in range(self.lag)]
            sums = [_sums(one, factors[:, some]) for one, some in zip(logs, rows, strict=True)]
            each = [
                carried(before, log_mixture(one, self.weights), some - start, len(sample) - start)
                for before, one, some in zip(now, sums, rows, strict=True)
            ]
            found = np.where(excluded[start:], np.inf, np.max(each, axis=0))
            reached = np.flatnonzero(found >= log(threshold(self.average_run_length, self.lag)))
            stop = start + (int(reached[0]) + 1 if reached.size else found.size)
            evidence[start:stop] = found[: stop - start]
            if reached.size:
                alarms.append(self.n + stop)
                logs, now, start = np.full_like(logs, -np.inf), np.full(self.lag, -np.inf), self._first(alarms)
                continue
            for k in range(self.lag):
                logs[k] = sums[k][:, -1] if rows[k].size else logs[k]
            now, start = np.stack(each)[:, -1], stop
        later = replace(self, n=self.n + len(sample), bets=bets, capitals=logs, now=now, alarms=tuple(alarms))
        return evidence, evidence, later

    def _first(self, alarms: Sequence[int]) -> int:
        """The next observation that counts: the first whose prediction was made after the last alarm was known."""
        return max(0, alarms[-1] + self.lag - 1 - self.n) if alarms else 0


def threshold(average_run_length: int, lag: int) -> int:
    """What the detector reaches at an alarm."""
    return average_run_length * (1 if lag == 1 else 2)


def _sums(before: FloatArray, factors: FloatArray) -> FloatArray:
    """Logarithms (K, b) of ``S_t = (1 + S_{t-1}) f_t`` from those (K,) of the S before and (K, b) of the factors."""
    capitals = np.cumsum(factors, axis=1)
    earlier = np.column_stack([before, np.zeros(len(before)), -capitals[:, :-1]])
    return np.asarray(capitals + np.logaddexp.accumulate(earlier, axis=1)[:, 1:])


@dataclass(eq=False, repr=False)
class CalibrationMonitor(Betting[MonitorResult]):
    """Raises an alarm whenever predictions become wrong; after each alarm it watches anew.

    Gamblers bet as in ``SequentialCalibrationTest``, but new ones come at every observation, each with capital 1. The
    detector M is the sum of all their capitals, as a weighted mean over kinds of bets k::

        M_t = sum_k w_k S_kt,    S_kt = (1 + S_k,t-1) f_kt

    with the factors f of mean 1 if calibrated. An alarm is raised when M reaches L: calibrated predictions have L
    observations or more before it on average (the average run length), whatever their number. A test is for "were they
    ever wrong", and loses what it has won while predictions were right; the monitor is for "are they wrong now".

    Parameters
    ----------
    average_run_length
        L. With 1000 and one observation a day, calibrated predictions run 2.7 years or more on average before an alarm.
    strategy, kernel, classes, lag
        As for ``SequentialCalibrationTest``: the lag is h for forecasts of h steps ahead, whose outcomes overlap.

    Raises
    ------
    ValueError
        For other settings; in ``update`` for bad data, or other classes than before.
    TypeError
        As for ``SequentialCalibrationTest``.

    Notes
    -----
    With a lag h every h-th row has a detector of its own, as in ``SequentialCalibrationTest``, and an alarm is raised
    when one of them reaches 2 L. Each grows by 1 at its rows on average, so that the probability that it reaches 2 L in
    its first m rows is at most m / (2 L) (Doob), whatever is seen in between; that one of all does so in n rows is at
    most n / (2 L), and the mean is above L for any dependence of the detectors. Their sum or mean has no such bound.
    The h - 1 predictions that were open at an alarm do not count for the next one.

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
    lag: int = 1

    citations = MonitorResult.citations

    def _empty(self) -> State:
        length = whole_number("average_run_length", self.average_run_length, 2)
        return Watching(average_run_length=length, lag=whole_number("lag", self.lag, 1))

    def __repr__(self) -> str:
        if not self.n:
            return f"CalibrationMonitor({self.average_run_length}, {self._made_of()})"
        return f"<CalibrationMonitor: {counted(len(self.alarms), 'alarm')} in {counted(self.n, 'observation')}>"

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
            lag=self.lag,
            history=history,
            alarms=tuple(
                _alarm(sample, start, after, self.lag)
                for start, after in zip((0, *(one + self.lag - 1 for one in self.alarms)), self.alarms, strict=False)
            ),
            notes=(*sample.questions, *self._notes) if self.n else self._notes,
        )


def _alarm(sample: Sample, start: int, after: int, lag: int) -> Alarm:
    """Since when predictions were wrong and how, from the observations between two alarms."""
    some = sample.part(np.arange(start, after))
    if some.exclusion is not None:
        return Alarm(after, None, impossible(some.exclusion))
    found = change_of(some, lag)
    if found is None:
        return Alarm(after)
    one = found.interval
    assert one.estimate is not None
    moved = replace(one, low=one.low + start, high=one.high + start, estimate=one.estimate + start)
    return Alarm(after, replace(found, interval=moved))
