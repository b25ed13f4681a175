"""Decision curves: the net benefit of treating those whose risk reaches a threshold, and what miscalibration costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray, resampling_pvalue, seed_of
from caltest._basics.threads import redrawn
from caltest._results.report import at_level, counted, decision, format_pvalue, listed, pvalue_phrase
from caltest._results.tables import Bar, Page, Table, sharper
from caltest._results.values import ConfidenceInterval, Entry, Stored
from caltest._validation import fraction, increasing_numbers, whole_number
from caltest.estimators.classical.base import name_of_event, probability_of_event
from caltest.fields.clinical.curves import SplineCurve
from caltest.fields.clinical.validation import score_limits, too_few
from caltest.predictions import Bernoulli
from caltest.predictions.inputs.convert import as_sample

FEW = 5
"""Thresholds up to which sentences name them."""

THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True)
class NetBenefit(Entry):
    """The net benefit at one threshold.

    Attributes
    ----------
    threshold
        Risk from which on patients are treated.
    model, treat_all
        Net benefit of treating those whose predicted risk reaches it, and of treating everyone; that of nobody is 0.
    interval
        Of the net benefit of the model.
    recalibrated, loss
        That of the risks that the calibration curve gives instead of the predicted ones, and by how much it is more
        than that of the model: what miscalibration costs.
    loss_interval
        Of the loss by the true risks; None for few events.
    usual_loss
        Up to which loss calibrated models are, with the level of intervals; it is due to the fit of the curve there.

    Examples
    --------
    >>> from caltest.fields import clinical
    >>> risks, events = [0.1, 0.4, 0.2, 0.6, 0.3], [0, 1, 0, 0, 1]
    >>> round(clinical.decision_curve(risks, events, [0.25], n_resamples=19, rng=1).rows[0].model, 3)
    0.333
    """

    name: str
    threshold: float
    model: float
    interval: ConfidenceInterval
    treat_all: float
    recalibrated: float
    loss: float
    loss_interval: ConfidenceInterval | None
    usual_loss: float


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(Stored):
    """Net benefits at several thresholds. Printing it gives a table.

    Attributes
    ----------
    event
        The name of its class, if it has one.
    pvalue
        Exact, of the largest standardised loss: whether miscalibration costs more than the fit of a curve does.

    Examples
    --------
    >>> from caltest.fields import clinical
    >>> risks, events = [0.1, 0.4, 0.2, 0.6, 0.3], [0, 1, 0, 0, 1]
    >>> len(clinical.decision_curve(risks, events, [0.1, 0.5], n_resamples=19, rng=1).rows)
    2
    """

    rows: tuple[NetBenefit, ...]
    pvalue: float
    n: int
    events: int
    n_resamples: int
    seed: int
    confidence_level: float
    notes: tuple[str, ...] = ()
    event: str = ""

    picture = "decision_curve"
    citations = ("calster2019", "dwass1957", "tango1998", "vickers2006")

    def __repr__(self) -> str:
        return f"<decision curve: {len(self.rows)} thresholds, {pvalue_phrase(self.pvalue)}, n = {self.n}>"

    @property
    def _useful(self) -> str:
        """At how many thresholds the model is better than treating everyone or nobody."""
        number = sum(one.model > max(one.treat_all, 0.0) for one in self.rows)
        named = f" ({listed([one.name for one in self.rows])})" if len(self.rows) <= FEW else ""
        return f"{number} of {len(self.rows)} thresholds{named}"

    @property
    def _worst(self) -> NetBenefit:
        return max(self.rows, key=lambda one: one.loss)

    def verdict(self, alpha: float = 0.05) -> str:
        """Whether the model helps, and whether miscalibration costs benefit."""
        level, worst, helps = at_level(alpha), self._worst, f"treating by predicted risk is best at {self._useful}"
        if self.pvalue > alpha:
            return f"{helps}; no evidence {level} that miscalibration costs benefit"
        return f"{helps}; miscalibration costs benefit, at {worst.name} {1000 * worst.loss:.3g} net events per 1000"

    def sentence(self, alpha: float = 0.05) -> str:
        worst = self._worst
        return (
            f"With {counted(self.events, 'event')} in {self.n} cases, treating by predicted risk had the largest net "
            f"benefit at {self._useful}; the loss by miscalibration was largest at {worst.name}, "
            f"{1000 * worst.loss:.3g} net events per 1000 cases, and calibration was {decision(self.pvalue, alpha)} "
            f"(exact test by {self.n_resamples} redraws of the outcomes, {pvalue_phrase(self.pvalue)})."
        )

    def table(self) -> Table:
        level = f"{100 * self.confidence_level:g} %"
        header = ["treat from a risk of", f"model ({level} interval)", "treat all", "recalibrated"]
        rows = [[*header, f"loss ({level} interval)", f"{level} of calibrated models"]]
        for one in self.rows:
            model, loss = _per_1000(one.model, one.interval), _per_1000(one.loss, one.loss_interval)
            others = map(_per_1000, (one.treat_all, one.recalibrated))
            rows.append([one.name, model, *others, loss, f"up to {_per_1000(one.usual_loss)}"])
        return rows

    def remarks(self) -> list[str]:
        worst, stands_out = self._worst, self.pvalue <= 1.0 - self.confidence_level
        return [
            "net benefit in treated events per 1000 cases, after cases treated in vain; treating nobody has 0",
            "loss: how much more the recalibrated risks have than those of the model",
            *sharper([Bar(worst.name, worst.loss, worst.loss_interval, 0.0, "", "", stands_out)]),
        ]

    def summary(self, alpha: float = 0.05) -> Page:
        found = {
            "Verdict": self.verdict(alpha),
            "p-value": f"{format_pvalue(self.pvalue)}, of the largest loss (exact)",
            "Event": self.event or None,
            "Events": f"{self.events} of {self.n}",
        }
        what = {"Null": f"outcomes redrawn from the risks, {self.n_resamples} redraws", "Reproduce": f"rng={self.seed}"}
        return self._page("Decision curve", found, what, notes=self.notes)


def _per_1000(value: float, interval: ConfidenceInterval | None = None) -> str:
    ends = "" if interval is None else f" ({1000 * interval.low:.1f} to {1000 * interval.high:.1f})"
    return f"{1000 * value:.1f}{ends}"


@own_errstate
def decision_curve(
    predictions: ArrayLike,
    targets: ArrayLike,
    thresholds: ArrayLike = THRESHOLDS,
    *,
    classes: Sequence[Any] | None = None,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> DecisionCurve:
    """Net benefit of decisions by predicted risk, and the loss that miscalibration causes.

    ``NB(t) = mean(1{p >= t} (y - (1 - y) t / (1 - t)))``: an event that is treated counts 1, a treated case without
    event minus the odds of the threshold.

    Parameters
    ----------
    predictions, targets, classes, n_resamples, rng
        As in ``validate``.
    thresholds
        Increasing risks between 0 and 1.
    confidence_level
        Of intervals, and of the range of calibrated models.

    Raises
    ------
    ValueError
        For bad data or settings.
    TypeError
        For predictions that are not binary.

    Notes
    -----
    The loss is the net benefit of the risks of a calibration curve (restricted cubic splines, as in ``validate``) minus
    that of the predicted risks, in the same data. Fitted to them, it is above 0 on average even for calibrated models:
    compare it with ``usual_loss``. The p-value compares the largest loss, in standard deviations, with redraws of the
    outcomes, and is exact. Time O(n B).

    The interval of a net benefit is the score interval for ``P(treated, event) - P(treated, no event) t / (1 - t)`` in
    cases like these: all b for which ``|NB - b|`` is at most z standard deviations of NB, with those two probabilities
    estimated given b. It is asymptotic, but does not collapse where few are treated. The loss by true risks c_i is the
    mean of ``|c_i - t| / (1 - t)`` over cases that these treat otherwise than the predicted ones. Its interval, for
    these predicted risks, goes from the smallest to the largest loss by curves of the same kind, fitted to B redraws of
    the outcomes from the fitted curve, that a likelihood ratio test does not reject, all coefficients at once: it is
    asymptotic, conservative, and left out for fewer than 5 events, or cases without, seen or expected.

    Sources: Vickers and Elkin 2006; Van Calster et al. 2019; Tango 1998 for score intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.fields import clinical
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.beta(1, 6, 800)
    >>> event = rng.random(800) < np.minimum(2.0 * risk, 1)
    >>> clinical.decision_curve(risk, event, [0.1, 0.2, 0.3], n_resamples=99, rng=1)
    <decision curve: 3 thresholds, p = 0.01, n = 800>
    """
    places = increasing_numbers(thresholds, "thresholds", "them into order, each once")
    number = whole_number("n_resamples", n_resamples, 19)
    if places[0] <= 0.0 or places[-1] >= 1.0:
        advice = "; if these are percentages, divide them by 100" if 1.0 < places[-1] <= 100.0 else ""
        raise ValueError(f"thresholds: got {places.tolist()}, wanted risks between 0 and 1{advice}")
    level, sample = fraction("confidence_level", confidence_level), as_sample(predictions, targets, classes)
    p, y = probability_of_event(sample.predictions, "clinical.decision_curve"), np.asarray(sample.targets)
    seed, curve = seed_of(rng), SplineCurve.of(p, places)

    def losses(outcomes: Array) -> FloatArray:
        values = np.asarray(outcomes, dtype=np.float64)
        recalibrated = _benefits(curve(p, values)[0], values, places)
        return np.hstack([recalibrated - _benefits(p[None], values, places), recalibrated])

    observed, recalibrated = np.split(losses(y[None])[0], 2)
    null = redrawn(Bernoulli(p), losses, number, np.random.default_rng(seed))[:, : places.size]
    together = np.vstack([observed, null])
    spread = np.maximum(together.std(axis=0), 1e-12)
    largest = ((together - together.mean(axis=0)) / spread).max(axis=1)
    ends = np.quantile(null, level, axis=0, method="higher")
    reason = too_few(p, y)
    of_losses: list[ConfidenceInterval | None] = [None] * places.size
    if not reason:
        own = np.random.default_rng(seed).spawn(1)[0]
        of_losses = [*_loss_intervals(curve, p, y, places, observed, number, level, own)]
    everyone = _benefits(np.ones((1, y.size)), y[None], places)[0]
    rows = tuple(
        NetBenefit(
            name=f"{100 * t:g} %",
            threshold=t,
            model=float(recalibrated[i] - observed[i]),
            interval=_interval(_treated(p, t), y, t, level),
            treat_all=float(everyone[i]),
            recalibrated=float(recalibrated[i]),
            loss=float(observed[i]),
            loss_interval=of_losses[i],
            usual_loss=float(ends[i]),
        )
        for i, t in enumerate(places.tolist())
    )
    return DecisionCurve(
        rows=rows,
        pvalue=resampling_pvalue(float(largest[0]), largest[1:]),
        n=int(y.size),
        events=int(y.sum()),
        n_resamples=number,
        seed=seed,
        confidence_level=level,
        notes=(*sample.remarks, *((f"no intervals of losses: {reason}",) if reason else ())),
        event=name_of_event(sample.predictions),
    )


def _treated(risks: FloatArray, threshold: float) -> FloatArray:
    return (risks >= threshold - 1e-12).astype(np.float64)


def _benefits(risks: FloatArray, outcomes: Array, places: FloatArray) -> FloatArray:
    """Net benefits (B, m) of decisions by risks (1 or B, n) at m thresholds for outcomes (B, n)."""
    gains = ((t, outcomes - (1.0 - outcomes) * t / (1.0 - t)) for t in places)
    return np.column_stack([(_treated(risks, t) * gain).mean(axis=1) for t, gain in gains])


def _interval(treated: FloatArray, y: Array, threshold: float, level: float) -> ConfidenceInterval:
    """The score interval of the net benefit, from the cases treated with and without event, and the others."""
    n, odds = y.size, threshold / (1.0 - threshold)
    right, wrong = float(treated @ y), float(treated @ (1.0 - y))
    estimate = (right - odds * wrong) / n
    z = float(scipy.special.ndtri((1.0 + level) / 2.0))

    def excess(b: float) -> float:
        variance = _variance(b, right, wrong, n - right - wrong, odds)
        return (estimate - b) ** 2 - z**2 * variance / n

    low, high = score_limits(excess, -odds, estimate, 1e-9 / n)
    return ConfidenceInterval(low, high, level, "score interval of two probabilities", estimate)


def _variance(b: float, right: float, wrong: float, rest: float, odds: float) -> float:
    """Of ``1{right} - odds 1{wrong}``, by the probabilities of largest likelihood for which its mean is b.

    That of being treated without event, q, solves a quadratic equation; that of being treated with one is
    ``b + odds q``.
    """
    a = odds * (1.0 + odds) * (right + wrong + rest)
    linear = odds * (1.0 - b) * (right + wrong) - b * (1.0 + odds) * (wrong + rest)
    root = np.sqrt(max(linear**2 + 4.0 * a * wrong * b * (1.0 - b), 0.0))
    q = min(max((linear + root) / (2.0 * a), 0.0, -b / odds), (1.0 - b) / (1.0 + odds))
    return float(max(b + odds * q + odds**2 * q - b**2, 0.0))


def _loss_intervals(
    curve: SplineCurve,
    p: FloatArray,
    y: Array,
    places: FloatArray,
    observed: FloatArray,
    number: int,
    level: float,
    rng: np.random.Generator,
) -> list[ConfidenceInterval]:
    """From the smallest to the largest loss by curves that the likelihood does not reject; estimates are inside."""
    fitted, _ = curve(p, y[None].astype(np.float64))

    def of(risks: FloatArray) -> FloatArray:
        """The log likelihood, and the losses if these (B, n) are the true risks: (B, 1 + m)."""
        given = np.clip(np.where(y == 1, risks, 1.0 - risks), 1e-12, 1.0)
        gaps = [np.abs(risks - t) * (_treated(risks, t) != _treated(p, t)) / (1.0 - t) for t in places]
        return np.column_stack([np.log(given).sum(axis=1), *(gap.mean(axis=1) for gap in gaps)])

    def of_outcomes(outcomes: Array) -> FloatArray:
        risks, line = curve(p, np.asarray(outcomes, dtype=np.float64))
        return np.hstack([of(risks), line])

    values, lines = np.hsplit(redrawn(Bernoulli(fitted[0]), of_outcomes, number, rng), [1 + places.size])
    own, calibrated = of(fitted)[0], of(p[None])[0]
    least = own[0] - float(scipy.special.chdtri(curve.design.shape[1], 1.0 - level)) / 2.0
    kept = values[:, 0] >= least
    # Without loss are calibrated risks, and curves that are at the threshold where the predictions are.
    above = lines[kept] >= places
    has_none = (above.any(axis=0) & ~above.all(axis=0)) | (calibrated[0] >= least)
    losses = np.vstack([values[kept], own])[:, 1:]
    low = np.minimum(np.where(has_none, 0.0, losses.min(axis=0)), observed)
    ends = zip(low.tolist(), np.maximum(losses.max(axis=0), observed).tolist(), observed.tolist(), strict=True)
    method = "curves that the likelihood ratio does not reject"
    return [ConfidenceInterval(a, b, level, method, one) for a, b, one in ends]
