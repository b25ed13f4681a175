"""Survival times, of which some are known only to be longer than what was seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
import scipy

from caltest._basics.arrays import Table, column, in_one_order, order_of
from caltest._basics.calls import OwnErrstate, own_errstate
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, evenly_spaced, generator_apart
from caltest._validation.arrays import real_array, refuse_rows, same_length
from caltest._validation.labels import said_to_occur
from caltest._validation.probabilities import not_a_pair
from caltest.predictions import Predictions
from caltest.predictions.classes.survival_curve import SurvivalCurve
from caltest.predictions.faults.fault import ranks
from caltest.predictions.inputs.convert import Sample, as_predictions, as_sample, brought_into_order
from caltest.predictions.levels import Levels, between
from caltest.predictions.questions.misread import ROUNDING, SOME
from caltest.predictions.questions.units import IN_UNITS, OF_TIMES, converted
from caltest.predictions.reductions.residuals import Residuals, StandardUniform, pit_values
from caltest.predictions.reductions.standard_scores import FARTHEST

MISPLACED, FITTING = 1.5, 0.5
"""Normal quantile of the median level of events, 7 or 93 %, from which on their unit is asked for, and how far the
median and the middle half may be in another one, together, from those of uniform levels."""

UNFIT, FIT, FEWEST = 1e-3, 0.05, 5.0
"""P-values of times below which they do not fit, and above which they do when read in another way, by which at least so
many events are expected."""

EXCHANGED = "times would fit the predictions if events were taken as censored: is event 1 where the event was seen?"
"""What to ask where they would, with censored times as events."""

UNSEEN = "no event was seen: if some were, event is coded in another way"
"""What to ask where all times are censored."""

BENT = 0.1
"""Distance of a straight line from F of a constant hazard, in standard deviations of a share, that is noted."""

MANY, SHARE, FINER = 20, 0.5, 1.25
"""Times of events, the share of different ones up to which they seem rounded, and times of curves in a step."""


@dataclass(frozen=True, eq=False, repr=False)
class Censored(OwnErrstate):
    """Times to an event, some of which are right-censored: known only to be longer than ``time``.

    Parameters
    ----------
    time
        (n,) array-like of positive times, in the unit of the predictions: when the event happened, or until when the
        row was seen without it.
    event
        (n,) array-like of booleans, of 0 and 1, or of words such as yes and no: whether the event was seen. One kind of
        event; competing risks are not covered, as a competing event does not censor independently.

    Raises
    ------
    ValueError
        For times that are not positive, other events than 0 and 1, or other lengths.

    Examples
    --------
    >>> import caltest as ct
    >>> times = ct.Censored([2.0, 3.5, 1.0], [True, False, True])
    >>> len(times), times.n_censored
    (3, 1)
    >>> ct.calibration_test(ct.LogNormal([0.0, 1.0, 0.5], 1.0), times, n_resamples=99, rng=1).pvalue
    0.32
    """

    time: ArrayLike
    event: ArrayLike

    def __post_init__(self) -> None:
        times, events = in_one_order((self.time, self.event), ("time", "event"))
        time = real_array(times, "time", 1)
        event = column(events.array("event"))
        if np.isin(time, (0, 1)).all() and event.dtype.kind in "iuf" and not np.isin(event, (0, 1, 2)).all():
            raise ValueError("time: got 0 and 1 only, as events are; the arguments are swapped, pass the times first")
        refuse_rows(time < 0, time, "time", "positive times")
        refuse_rows(time == 0, time, "time", "positive times; in whole units, 0 is within the first: pass 0.5")
        wanted = "1 where the event was seen, 0 where it was not; competing risks are not covered"
        if event.dtype.kind in "US":
            first, said = str(event.flat[0]), said_to_occur(event.ravel().tolist())
            if said is None:
                advice = f"if {first!r} is the event, pass event == {first!r}"
                raise ValueError(f"event: got text such as {first!r}, wanted {wanted}; {advice}")
            event = np.reshape(said, event.shape)
        event = real_array(event, "event", 1)
        if set(np.unique(event)) == {1.0, 2.0}:
            raise ValueError(f"event: got 1 and 2, wanted {wanted}; if 2 is the event, as in R, pass event == 2")
        refuse_rows((event != 0) & (event != 1), event, "event", wanted)
        if len(time) != len(event):
            raise ValueError(f"time has {len(time)} rows but event has {len(event)}; give one of each per subject")
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "event", event.astype(bool))
        object.__setattr__(self, "_index", events.index if times.index is None else times.index)

    def __repr__(self) -> str:
        return f"<Censored, n = {len(self)}, {self.n_censored} censored>"

    @property
    def index(self) -> Any:
        """Labels of the rows, if they were made of pandas objects, else None."""
        return vars(self)["_index"]

    def __len__(self) -> int:
        return len(np.asarray(self.time))

    def __array__(self, *_: Any, **__: Any) -> Array:
        """None: what takes arrays of outcomes does not know that some are censored."""
        raise TypeError(
            "targets: got ct.Censored, which calibration_test, calibration_by_group, find_slices and audit take, and "
            "compare_models, compare_pairs and PairedSKCETest; other functions take the pair "
            "caltest.fields.censored_pit_values(predictions, targets)"
        )

    def take(self, rows: Array) -> "Censored":
        """Those of some rows."""
        return Censored(np.asarray(self.time)[rows], np.asarray(self.event)[rows])

    @property
    def n_censored(self) -> int:
        """How many times are censored."""
        return len(self) - int(np.count_nonzero(self.event))


def as_times(predictions: Any, targets: Any) -> Any:
    """Targets; those of survival curves as times of events, so that the curve is what is tested, not its intervals."""
    if isinstance(targets, Censored) or not isinstance(predictions, Predictions) or predictions.longest == inf:
        return targets
    times = Table.of(targets, "targets").values
    not_a_pair(times, len(predictions))
    return Censored(targets, np.ones(len(times)))


@own_errstate
def censored_pit_values(predictions: ArrayLike, targets: Censored, *, rng: Any = None) -> tuple[Residuals, Array]:
    """Reduce censored survival times to ``(Residuals, u)`` as ``pit_values``, uniform u if predictions are calibrated.

    ``u = F(time)`` where the event was seen; where it was censored, u is drawn uniformly from ``(F(time), 1)``. If the
    time of the event is independent of that of censoring given the prediction, u is exactly uniform given the
    prediction for calibrated predictions, for any share of censored rows, so that tests of u stay exact. Curves say
    what F is at their times only, so that u is drawn from the interval that the event is in. So is the rank of the
    event among the members of an ensemble, where u is uniform but for a small error. Rounded times are not known like
    this: a note says so where at most half of the times of 20 events or more are different.

    Parameters
    ----------
    predictions
        n continuous predictions, such as ``LogNormal`` or ``Gamma``, or ``SurvivalCurve`` ones; or (n,) predicted
        probabilities ``F_i(time_i)`` of an event up to the time of the row. As these are known with the times only,
        tests of the pair then look at the distribution of u alone, not given the predictions.
    targets, rng
        n censored times, and random numbers for the draws, as in ``calibration_test``.

    Raises
    ------
    ValueError
        For other numbers of rows, and times that the predictions do not take.
    TypeError
        For families that are not continuous.

    Notes
    -----
    Cost O(n). The draws add noise: the more rows are censored, the less a test finds.

    Examples
    --------
    >>> import caltest as ct
    >>> from caltest.fields import Censored, censored_pit_values
    >>> predictions = ct.LogNormal([0.0, 1.0, 0.5], [1.0, 1.0, 1.0])
    >>> _, u = censored_pit_values(predictions, Censored([1.0, 2.0, 3.0], [1, 1, 0]), rng=1)
    >>> u.round(3)
    array([0.5  , 0.379, 0.765])
    """
    laws, levels = levels_of(predictions, targets)
    notes, u = notes_on_times(laws, targets, levels), levels.drawn(rng)
    times = () if laws is None else (np.asarray(targets.time, dtype=np.float64),)
    law, hypothesis = StandardUniform((len(u),), (*levels.ends, *times)), "F(Y) is uniform given P_X"
    if laws is None:
        # F(time) is known with the time only, so it is nothing to condition on.
        laws, hypothesis = as_predictions(np.full(len(u), 0.5)), "F(Y) is uniform"
    residuals = Residuals(laws, law, hypothesis)
    residuals.notes = (*laws.notes, *notes)
    residuals.called = "levels F(time)" if hypothesis == "F(Y) is uniform" else ""
    residuals._indices = () if targets.index is None else (targets.index,)
    return residuals, u


def note_on_draws(laws: Predictions, targets: Censored) -> str:
    """What is tested of the times, and what it assumes."""
    note = "no time is censored, and what is tested is F(time)"
    if targets.n_censored:
        note = (
            f"{targets.n_censored} of {len(targets)} times are censored, which is taken to be independent of the event "
            "given the prediction; what is tested is F(time), for a censored time a random number between F(time) and 1"
        )
    if laws.longest < inf:
        note += ", for an event one between F at the times of the curves before and after it"
    elif laws.finite is not None:
        note += "; predictions are taken as F at the time of each row, and risks at one time are for one_calibration"
    if targets.n_censored == len(targets):
        note += f"; {UNSEEN}"
    beyond = int(np.count_nonzero(np.asarray(targets.time) > laws.longest))
    if beyond:
        note += f"; for times after {laws.longest:g}, the last one of the curves, one above F there ({beyond} of them)"
    return note


def notes_on_times(laws: Predictions | None, targets: Censored, levels: Levels) -> tuple[str, ...]:
    """What to ask about times: their unit, whether they are rounded, and whether curves have too few."""
    asked = _misread(laws, targets) or _notes_on_units(laws, targets, levels)
    return (*asked, *_coarse(laws, targets), *_fine(laws, targets)) if isinstance(laws, SurvivalCurve) else asked


def _coarse(laws: SurvivalCurve, targets: Censored) -> tuple[str, ...]:
    """A note if curves have so few times that what is between them matters for so many censored rows."""
    if laws.bend(np.asarray(targets.time), np.asarray(targets.event)) * sqrt(len(targets)) <= BENT:
        return ()
    return (
        "curves have so few times that it matters what they are where rows are censored between them, and right ones "
        "that bend there can be rejected: are they straight lines there, or can you give them at more times (or risks "
        "at one time to one_calibration)?",
    )


def _fine(laws: SurvivalCurve, targets: Censored) -> tuple[str, ...]:
    """A note if times of events are whole steps, and curves have times between these, where no event can be."""
    times = np.asarray(targets.time)[np.asarray(targets.event)]
    times = times[times <= laws.longest]
    values = np.unique(times)
    if times.size < MANY or not 1 < values.size <= SHARE * times.size:
        return ()
    step, (first, *_, last) = float(np.diff(values).min()), values.tolist()
    steps, within = np.diff(values) / step, int(np.count_nonzero((laws.times > first) & (laws.times <= last)))
    if np.abs(steps - np.rint(steps)).max() > ROUNDING or within <= FINER * steps.sum():
        return ()
    return (
        f"times of events are in steps of {step:.6g}, as if rounded, and curves have times between these, at which no "
        "event can be then, so that right curves are rejected: were times rounded, and can you give curves at the ends "
        'of the steps, with between="steps"?',
    )


def _notes_on_units(laws: Predictions | None, targets: Censored, levels: Levels) -> tuple[str, ...]:
    rows, seen, (low, high, *_) = evenly_spaced(len(targets), SOME), np.asarray(targets.event), levels
    if laws is None or not seen.any() or abs(float(np.median(_scores((low + high)[seen] / 2.0)))) <= MISPLACED:
        return rounding(targets, levels)
    some, subjects = laws.take(rows), targets.take(rows)

    def scores(times: FloatArray) -> FloatArray:
        return _scores(_placed(levels_of(some, Censored(times, subjects.event))[1]))

    units = converted(scores, np.asarray(subjects.time), "times", OF_TIMES, far=0.0, within=FITTING)
    return (*units, *rounding(targets, levels))


def _placed(levels: Levels) -> FloatArray:
    """As if drawn between the levels that a censored time leaves, evenly."""
    places = np.arange(1.0, levels.low.size + 1.0) * 0.6180339887498949 % 1.0
    return np.asarray(levels.low + places * (levels.high - levels.low))


def _misread(laws: Predictions | None, targets: Censored) -> tuple[str, ...]:
    """Whether times would fit if events were censored times and these events; or in another unit, if most are too late.

    Of times after all those of curves only this is known: they do not look late.
    """
    rows = evenly_spaced(len(targets), SOME)
    if laws is None:
        return ()
    some, subjects = laws.take(rows), targets.take(rows)
    time, seen = np.asarray(subjects.time), np.asarray(subjects.event)
    if _fit(some, time, seen)[0] >= UNFIT:
        return ()
    asked = {EXCHANGED: (time, ~seen)}
    if np.median(time) > laws.longest:
        asked |= {IN_UNITS.format("times", words): (factor * time, seen) for words, (factor, _) in OF_TIMES.items()}
    found = {words: _fit(some, *one) for words, one in asked.items()}
    fits = [(pvalue, words) for words, (pvalue, expected) in found.items() if pvalue > FIT and expected >= FEWEST]
    # Where all risks are off by a factor there can be as many censored times as events were expected.
    fits = [one for one in fits if _follow_risks(some, *asked[one[1]])]
    return (max(fits)[1],) if fits else ()


def _follow_risks(laws: Predictions, time: FloatArray, seen: BoolArray) -> bool:
    """Whether events may come in proportion to predicted hazards where risks are high and where they are low."""
    hazards = -np.log1p(-np.minimum(levels_of(laws, Censored(time, seen))[1].low, 1.0 - FARTHEST))
    risk = ranks(levels_of(laws, Censored(np.full(time.size, np.median(time)), seen))[1].low)
    risk -= hazards @ risk / hazards.sum()
    variance = seen.sum() * float(hazards @ np.square(risk)) / hazards.sum()
    return 2.0 * float(scipy.special.ndtr(-abs(float(seen @ risk)) / sqrt(max(variance, 1e-300)))) > UNFIT


def _fit(laws: Predictions, time: FloatArray, seen: BoolArray) -> tuple[float, float]:
    """P-value of Kolmogorov's test of times, and how many events were to be expected while rows were observed."""
    levels = levels_of(laws, Censored(time, seen))[1]
    u = np.sort(_placed(levels))
    steps = np.arange(u.size + 1.0) / u.size
    distance = max(float((steps[1:] - u).max()), float((u - steps[:-1]).max()))
    expected = float(-np.log1p(-np.minimum(levels.low, 1.0 - FARTHEST)).sum())
    return float(scipy.special.kolmogorov(sqrt(u.size) * distance)), expected


def _scores(levels: FloatArray) -> FloatArray:
    return np.asarray(scipy.special.ndtri(np.clip(levels, FARTHEST, 1.0 - FARTHEST)))


def rounding(targets: Censored, levels: Levels) -> tuple[str, ...]:
    """A note if times of events are so few that they seem rounded, where F(time) (n,) is taken as known."""
    low, high = levels.ends
    times = np.asarray(targets.time)[np.asarray(targets.event) & (high <= low)]
    values = np.unique(times).size
    if times.size < MANY or values > SHARE * times.size:
        return ()
    return (
        f"{times.size} times of events have {values} values, as if rounded: F(time) is discrete then, and calibrated "
        "predictions are rejected too often where many fall into one step; SurvivalCurve at the bounds of the steps, "
        'with between="steps", is exact',
    )


def in_order_of_times(targets: Censored, predictions: ArrayLike) -> Predictions:
    """Predictions with their rows in the order of the times, where both have the same labels of pandas objects."""
    if not isinstance(targets, Censored):
        raise TypeError(f"targets: got {type(targets).__name__}, wanted ct.Censored(time, event)")
    laws: Predictions
    shape: Any = getattr(predictions, "shape", ())
    if not isinstance(predictions, Predictions) and len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"predictions: got a table of shape {tuple(shape)} for censored times, wanted distributions of times; wrap "
            "survival probabilities in ct.predictions.SurvivalCurve(times, curves), curves of shape (n, m) at m times"
        )
    if isinstance(predictions, (Sequence, np.ndarray)) and len(shape) < 2 and any(map(callable, predictions[:1])):
        raise TypeError(
            "predictions: got functions, wanted distributions of times; wrap step functions in ct.predictions."
            "SurvivalCurve(times, [one(times) for one in functions]) at times that they all have"
        )
    laws, notes = brought_into_order(order_of(targets, None), as_predictions(predictions))
    if notes:
        laws.notes = (*laws.notes, *notes)
    return laws


def sample_of(predictions: ArrayLike, targets: ArrayLike, classes: Sequence[Any] | None, seed: int) -> Sample:
    """Of times, some of them censored, that of ``F(time)``, drawn alike for all models; else that of the targets."""
    times = as_times(predictions, targets)
    if not isinstance(times, Censored):
        return as_sample(predictions, targets, classes)
    laws = in_order_of_times(times, predictions)
    residuals, u = censored_pit_values(laws, times, rng=generator_apart(seed))
    residuals.notes = (note_on_draws(laws, times), *residuals.notes)
    return as_sample(residuals, u)


def levels_of(predictions: ArrayLike, targets: Censored) -> tuple[Predictions | None, Levels]:
    """Distributions, None if only probabilities are given, and what ``F(T)`` can be."""
    laws = in_order_of_times(targets, predictions)
    same_length(len(laws), len(targets))
    time, seen = np.asarray(targets.time), np.asarray(targets.event)
    found = laws.transforms(time, seen)
    if found is not None:
        return laws, found
    if laws.has_jumps or (laws.finite is not None and laws.finite.n_classes > 2):
        raise TypeError(
            f"predictions: got {laws.family} predictions, wanted a continuous family or caltest.predictions."
            "SurvivalCurve for censored times"
        )
    if laws.finite is None:
        u = pit_values(laws, time)[1]
        return laws, between(u, np.where(seen, u, 1.0))
    u = np.asarray(laws.finite.probabilities[:, 1])
    return None, between(u, np.where(seen, u, 1.0))
