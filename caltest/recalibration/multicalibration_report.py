"""Errors over a family of slices before and after a repair, on data that the repair has not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from caltest._basics.arrays import order_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray, seed_of
from caltest._basics.threads import progress_bars
from caltest._laws import clopper_pearson
from caltest._results.measures import POINTS
from caltest._results.report import counted, format_pvalue
from caltest._results.tables import Bar, Page, Table, in_decimals, sharper
from caltest._results.values import CLOPPER_PEARSON, ConfidenceInterval, Entry, Stored
from caltest._validation import fraction, instance_of, switch, whole_number
from caltest._validation.columns import columns_for, notes_on
from caltest.predictions.inputs.convert import as_predictions
from caltest.recalibration.multicalibration import Multicalibration, MulticalibrationMap, cells
from caltest.recalibration.shared.observed import Observed
from caltest.slices.errors import BinaryErrors
from caltest.slices.search import Judged, Search


@dataclass(frozen=True)
class SliceRepair(Entry):
    """A slice of held-out data, before and after a repair.

    Attributes
    ----------
    n, share
        Rows, and their share of all.
    observed
        Frequency of the event.
    before, after
        Observed minus claimed frequency, of the predictions and of the repaired ones, with intervals that hold for all
        slices together.
    pvalue_before, pvalue_after
        Adjusted for all slices, of the hypothesis that the claims are right in the slice.
    repaired
        Whether the repair corrected this slice itself.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.top_label(*ct.datasets.load_digits_predictions()["random forest"])
    >>> report = ct.recalibration.multicalibration_report(p, y, n_resamples=99, rng=1)
    >>> report.worst_before.before.estimate > report.worst_after.after.estimate
    True
    """

    name: str
    n: int
    share: float
    observed: float
    before: ConfidenceInterval
    after: ConfidenceInterval
    pvalue_before: float
    pvalue_after: float
    repaired: bool


@dataclass(frozen=True, eq=False, repr=False)
class MulticalibrationReport(Stored):
    """Slices before and after a repair, on held-out data. Printing it gives a table.

    Attributes
    ----------
    rows
        Slices that are rejected before or after and not explained by others, the worst ones, and those that the repair
        corrected.
    worst_before, worst_after
        The slice whose interval is farthest from 0, or else that of the largest statistic.
    n, n_fit
        Held-out rows, and those of the fit, None for a map that was fitted before.
    n_slices, n_steps, rejected_before, rejected_after
        Slices that were looked at, steps of the repair, and how many slices are rejected.
    pvalue_before, pvalue_after
        Of the hypothesis that claims are right in all slices.
    log_loss, brier, gain
        Means before and after; the Brier score is ``(y - p)^2``. By how much the log loss falls is the gain, with an
        interval by the normal law of its mean.
    alpha
        Familywise error rate, and one minus the level of intervals.
    event
        What probabilities are of.
    map
        The repair, which has a ``save`` of its own; None in reports that ``from_dict`` read.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.top_label(*ct.datasets.load_digits_predictions()["random forest"])
    >>> report = ct.recalibration.multicalibration_report(p, y, n_resamples=99, rng=1)
    >>> report.n, report.n_fit, report.gain.low > 0.0
    (450, 449, True)
    """

    rows: tuple[SliceRepair, ...]
    worst_before: SliceRepair
    worst_after: SliceRepair
    n: int
    n_fit: int | None
    n_slices: int
    n_steps: int
    rejected_before: int
    rejected_after: int
    pvalue_before: float
    pvalue_after: float
    log_loss: tuple[float, float]
    brier: tuple[float, float]
    gain: ConfidenceInterval
    alpha: float
    event: str
    n_resamples: int
    seed: int
    map: MulticalibrationMap | None = field(repr=False)
    notes: tuple[str, ...] = ()

    not_stored = ("map",)
    picture = "forest"
    citations = ("barnard1963", "dwass1957", "hebertjohnson2018", "phipson2010", "westfall1993")

    def __repr__(self) -> str:
        return f"<multicalibration of {self.n_slices} slices, n = {self.n}: {self.verdict()}>"

    def bars(self) -> list[Bar]:
        """Differences of what is observed and claimed, before and after, for ``plots.forest``."""
        unit = "observed minus claimed"
        return [
            Bar(f"{one.name}, {when}", _estimate(error), error, 0.0, "no difference", unit, pvalue <= self.alpha)
            for one in self.rows
            for when, error, pvalue in (
                ("before", one.before, one.pvalue_before),
                ("after", one.after, one.pvalue_after),
            )
        ]

    def verdict(self) -> str:
        """What the repair did, in words."""
        counts = f"{self.rejected_before or 'none'} of {self.n_slices} slices rejected before"
        counts += f", {self.rejected_after or 'none'} after"
        if self.n_steps == 0:
            return f"the repair leaves the predictions as they are; {counts}"
        what = "helps" if self.gain.low > 0.0 else "harms" if self.gain.high < 0.0 else "makes no clear difference"
        return f"the repair {what}: {counts}"

    def sentence(self) -> str:
        return (
            f"On n = {self.n} held-out observations {self.verdict()}; the log loss changed from "
            f"{self.log_loss[0]:.4g} to {self.log_loss[1]:.4g}."
        )

    def table(self) -> Table:
        header = ["slice", "n", "observed", "error before", "p", "error after", "p", "corrected"]
        return [header, *(_cells(one) for one in self.rows)]

    def remarks(self) -> list[str]:
        return [
            "errors are observed minus claimed, in percentage points, with intervals that hold for all "
            f"{self.n_slices} slices together",
            *sharper(self.bars()),
        ]

    def summary(self) -> Page:
        fit = "" if self.n_fit is None else f", fitted to {self.n_fit} others"
        before, after, falls, low, high = in_decimals([*self.log_loss, _estimate(self.gain), *self.gain.ends])
        found = {
            "Verdict": self.verdict(),
            "Log loss": f"{before} before, {after} after; falls by {falls} ({low} to {high})",
            "Brier score": "{} before, {} after".format(*in_decimals(self.brier)),
            "Worst before": _worst(self.worst_before, self.worst_before.before),
            "Worst after": _worst(self.worst_after, self.worst_after.after),
            "p-values": f"{format_pvalue(self.pvalue_before)} before, {format_pvalue(self.pvalue_after)} after, "
            "of all slices together",
        }
        what = {
            "Repair": f"{counted(self.n_steps, 'step')}; {self.n} rows held out{fit}; event: {self.event}",
            "Null": f"outcomes redrawn from the predictions, {self.n_resamples} redraws; step-down maximum",
            "Assumes": "outcomes independent given predictions and features, which are not made from outcomes",
            "Reproduce": f"rng={self.seed}",
        }
        return self._page("Multicalibration", found, what, notes=self.notes)


def _estimate(interval: ConfidenceInterval) -> float:
    assert interval.estimate is not None
    return interval.estimate


def _points(interval: ConfidenceInterval) -> str:
    low, high = interval.ends
    return f"{100.0 * _estimate(interval):+.3g} ({100.0 * low:+.3g} to {100.0 * high:+.3g})"


def _worst(one: SliceRepair, error: ConfidenceInterval) -> str:
    return f"{one.name}: {_points(error)} {POINTS}, n = {one.n}"


def _cells(one: SliceRepair) -> list[str]:
    before = _points(one.before), format_pvalue(one.pvalue_before)
    after = _points(one.after), format_pvalue(one.pvalue_after)
    return [one.name, str(one.n), f"{100.0 * one.observed:.3g} %", *before, *after, "yes" if one.repaired else "no"]


@own_errstate
def multicalibration_report(
    predictions: ArrayLike,
    targets: ArrayLike,
    features: Any = None,
    method: Multicalibration | MulticalibrationMap | None = None,
    *,
    classes: Sequence[Any] | None = None,
    held_out: float = 0.5,
    n_resamples: int = 999,
    alpha: float = 0.05,
    rng: Any = None,
    progress: bool = False,
) -> MulticalibrationReport:
    """Errors over a family of slices before and after a repair by ``Multicalibration``, on held-out data.

    Parameters
    ----------
    predictions, targets, classes
        As in ``calibration_test``, of an event: (n,) probabilities of class 1; of several classes ``ct.top_label``.
    features
        A data frame, a mapping of columns, or an (n, d) array, as in ``find_slices``. The prediction is one more
        column.
    method
        A method, by default ``Multicalibration()``, which is fitted to a random part of the data, its number of steps
        included, and judged on the rest, which is used once; or a fitted map, which is judged on all of the data: they
        must not be those of its fit.
    held_out
        Share of the data that a method is judged on.
    n_resamples, rng, progress
        As in ``calibration_test``.
    alpha
        Familywise error rate, before and after each, and one minus the level at which all intervals hold together.

    Raises
    ------
    ValueError
        For bad data or settings, or no slice that is large enough in the held-out data.
    TypeError
        For other methods, and for predictions of several classes.

    Notes
    -----
    Slices are bins, categories and pairs of them, which the part of the fit decides, with the ``min_variance`` of the
    method, or 5 for a map. For each the error is the mean of ``y - p`` over held-out rows. P-values are those of the
    step-down maximum over redraws, as in ``find_slices``, exact for every n: the repaired predictions are functions of
    predictions and features that no held-out outcome has changed. Intervals are those of Clopper and Pearson for the
    frequency of the event at the level ``1 - alpha / S`` for S slices, less the mean claims before and after: they hold
    for all S slices together, before and after, so for the worst slice too, whatever the truth is. The interval for the
    gain of the log loss is asymptotic.

    Cost: one fit, and two searches of slices.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p, site = rng.uniform(0.2, 0.7, 4000), rng.choice(["a", "b", "c"], 4000)
    >>> y = rng.random(4000) < p + 0.2 * (site == "b")
    >>> report = ct.recalibration.multicalibration_report(p, y, {"site": site}, rng=1)
    >>> report.worst_before.name, report.rejected_before > 0, report.rejected_after
    ('site = b', True, 0)
    """
    method = Multicalibration() if method is None else method
    wanted = "Multicalibration() or a map that it fitted"
    instance_of((Multicalibration, MulticalibrationMap), wanted)("method", method)
    level, number = fraction("alpha", alpha), whole_number("n_resamples", n_resamples, 1)
    share, with_bar = fraction("held_out", held_out), switch("progress", progress)
    observed = Observed.of(predictions, targets, method.input, classes)
    order = order_of(targets, predictions)
    columns = [] if features is None else columns_for(features, order, len(observed), observed.checked)
    seed = seed_of(rng)
    rows, others = observed.split(method, share, np.random.default_rng(seed))
    rest, part = observed.take(rows), observed.take(others)
    given, features = ({name: values[some] for name, values in columns} for some in (rows, others))
    least = method.min_variance if isinstance(method, Multicalibration) else LEAST
    if isinstance(method, Multicalibration):
        method = method.fit(part.inputs, part.targets, features, classes=part.classes)
    before, after = rest.before(), as_predictions(method(rest.inputs, given, **rest.names))
    y = rest.checked.astype(np.float64)
    errors = [BinaryErrors(one.law.to_array(), y) for one in (before.predictions, after)]
    search = _search(method, given, errors[0], least)
    searches = search, search.with_errors(errors[1])
    with progress_bars(with_bar):
        tested = [one.tested(number, level, seed) for one in searches]
    shown, worst = _judged(searches, tested, errors, set(method.slices), level)
    first, second = (one.losses() for one in errors)
    brier = [float(np.square(one.p - y).mean()) for one in errors]
    return MulticalibrationReport(
        rows=tuple(shown),
        worst_before=worst[0],
        worst_after=worst[1],
        n=y.size,
        n_fit=others.size or None,
        n_slices=int(search.slices.size),
        n_steps=len(method.steps),
        rejected_before=int(np.count_nonzero(tested[0].pvalues <= level)),
        rejected_after=int(np.count_nonzero(tested[1].pvalues <= level)),
        pvalue_before=tested[0].pvalue,
        pvalue_after=tested[1].pvalue,
        log_loss=(float(first.mean()), float(second.mean())),
        brier=(brier[0], brier[1]),
        gain=_gain(first, second, level),
        alpha=level,
        event=before.predictions.law.outcome_in_words(1),
        n_resamples=number,
        seed=seed,
        map=method,
        notes=(*rest.notes(method), *notes_on(columns)),
    )


LEAST = 5.0
"""Variance of the number of events from which on a slice of a fitted map takes part, as in ``find_slices``."""


def _search(method: MulticalibrationMap, columns: Mapping[str, Array], errors: BinaryErrors, least: float) -> Search:
    """The slices of a map in held-out rows; ``ValueError`` if none is large enough."""
    tables = cells(method.codings, method.columns_in(columns), errors.p, method.max_depth)
    search = Search(errors, tables, "both", least)
    if not search.slices.size:
        raise ValueError(
            f"predictions: got {errors.p.size} held-out rows without a slice that is large enough (10 rows, and a "
            f"variance of {least:g} of what occurs in it), wanted more rows, or Multicalibration with a smaller "
            "min_variance"
        )
    return search


def _gain(before: FloatArray, after: FloatArray, alpha: float) -> ConfidenceInterval:
    """How much smaller losses (n,) are on average."""
    # Impossible outcomes stay impossible: no step changes certain predictions.
    gain = np.subtract(before, after, out=np.zeros_like(before), where=before != after)
    mean, reach = float(gain.mean()), float(ndtri(1.0 - alpha / 2.0) * gain.std(ddof=1) / np.sqrt(gain.size))
    return ConfidenceInterval(mean - reach, mean + reach, 1.0 - alpha, "normal law of the mean", mean)


def _judged(
    searches: Sequence[Search],
    tested: Sequence[Judged],
    errors: Sequence[BinaryErrors],
    repaired: set[str],
    alpha: float,
) -> tuple[list[SliceRepair], list[SliceRepair]]:
    """Slices that are shown: rejected ones that are not explained by others, the worst ones, and those of the repair.

    After them the worst one before, and the worst one after.
    """
    tables, slices, n_rows = searches[0].tables, searches[0].slices, errors[0].y.size
    level = 1.0 - alpha / slices.size
    numbers = np.stack([np.ones(n_rows), errors[0].y, *(one.p for one in errors)], axis=1)
    sizes, sums, *claims = tables.sums(numbers)[slices].T
    n, events = sizes.astype(int), np.rint(sums).astype(int)
    ends = np.array([clopper_pearson(k, m, level) for k, m in zip(events, n, strict=True)])
    names = [tables.words_of(int(cell)) for cell in slices]

    def error(i: int, claim: FloatArray) -> ConfidenceInterval:
        low, high = (float(end - claim[i] / sizes[i]) for end in ends[i])
        return ConfidenceInterval(low, high, level, CLOPPER_PEARSON, float((events[i] - claim[i]) / sizes[i]))

    def row(i: int) -> SliceRepair:
        before, after = (error(i, claim) for claim in claims)
        share, observed = int(n[i]) / n_rows, float(events[i] / n[i])
        first, second = (float(one.pvalues[i]) for one in tested)
        return SliceRepair(names[i], int(n[i]), share, observed, before, after, first, second, names[i] in repaired)

    shown, worst = [], []
    for search, found, claim in zip(searches, tested, claims, strict=True):
        low, high = (ends - (claim / sizes)[:, None]).T
        # Of several that are as far from 0 that of the largest statistic.
        z = np.abs(found.z).max(axis=0)
        worst.append(int(np.lexsort((-z, -np.maximum(0.0, np.maximum(low, -high))))[0]))
        shown += [*search.pruned(found.pvalues <= alpha, found.critical)[0], worst[-1]]
    shown += [i for i, name in enumerate(names) if name in repaired]
    return [row(i) for i in dict.fromkeys(shown)], [row(i) for i in worst]
