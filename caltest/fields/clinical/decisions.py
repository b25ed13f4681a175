"""Decision curves: the net benefit of treating those whose risk reaches a threshold, and what miscalibration costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray, own_errstate, resampling_pvalue, seed_of
from caltest._results.report import at_level, decision, format_pvalue, pvalue_phrase
from caltest._results.tables import Page, Table
from caltest._results.values import Stored
from caltest._validation import increasing_numbers, whole_number
from caltest.estimators.classical.base import name_of_event, probability_of_event
from caltest.fields.clinical.curves import SplineCurve
from caltest.fields.clinical.validation import redrawn
from caltest.predictions import Bernoulli
from caltest.predictions.convert import as_sample

THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
LEVEL = 0.95
"""Of the range of calibrated models."""


@dataclass(frozen=True)
class NetBenefit:
    """The net benefit at one threshold.

    Attributes
    ----------
    threshold
        Risk from which on patients are treated.
    model, treat_all
        Net benefit of treating those whose predicted risk reaches it, and of treating everyone; that of nobody is 0.
    recalibrated, loss
        That of the risks that the calibration curve gives instead of the predicted ones, and by how much it is more
        than that of the model: what miscalibration costs.
    usual_loss
        Up to which loss 95 % of calibrated models are, for which it is due to the fit of the curve.

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
    treat_all: float
    recalibrated: float
    loss: float
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
    event: str = ""

    picture = "decision_curve"
    citations = ("calster2019", "dwass1957", "vickers2006")

    def __repr__(self) -> str:
        return f"<decision curve: {len(self.rows)} thresholds, {pvalue_phrase(self.pvalue)}, n = {self.n}>"

    @property
    def _n_useful(self) -> int:
        """Thresholds at which the model is better than treating everyone or nobody."""
        return sum(one.model > max(one.treat_all, 0.0) for one in self.rows)

    @property
    def _worst(self) -> NetBenefit:
        return max(self.rows, key=lambda one: one.loss)

    def verdict(self, alpha: float = 0.05) -> str:
        """Whether the model helps, and whether miscalibration costs benefit."""
        level, worst = at_level(alpha), self._worst
        helps = f"treating by predicted risk is best at {self._n_useful} of {len(self.rows)} thresholds"
        if self.pvalue > alpha:
            return f"{helps}; no evidence {level} that miscalibration costs benefit"
        return f"{helps}; miscalibration costs benefit, at {worst.name} {1000 * worst.loss:.3g} net events per 1000"

    def sentence(self, alpha: float = 0.05) -> str:
        """For a paper: where the model helps, what miscalibration costs, and the test of it."""
        worst = self._worst
        return (
            f"With {self.events} events in {self.n} cases, treating by predicted risk had the largest net benefit at "
            f"{self._n_useful} of {len(self.rows)} thresholds; the loss by miscalibration was largest at {worst.name}, "
            f"{1000 * worst.loss:.3g} net events per 1000 cases, and calibration was {decision(self.pvalue, alpha)} "
            f"(exact test by {self.n_resamples} redraws of the outcomes, {pvalue_phrase(self.pvalue)})."
        )

    def table(self) -> Table:
        header = ["treat from a risk of", "model", "treat all", "recalibrated", "loss", "95 % of calibrated models"]
        rows = [header]
        for one in self.rows:
            numbers = one.model, one.treat_all, one.recalibrated, one.loss
            per_1000 = [f"{1000 * value:.1f}" for value in numbers]
            rows.append([one.name, *per_1000, f"up to {1000 * one.usual_loss:.1f}"])
        return rows

    def remarks(self) -> list[str]:
        return [
            "net benefit in treated events per 1000 cases, after cases treated in vain; treating nobody has 0",
            "loss: how much more the recalibrated risks have than those of the model",
        ]

    def summary(self, alpha: float = 0.05) -> Page:
        found = {
            "Verdict": self.verdict(alpha),
            "p-value": f"{format_pvalue(self.pvalue)}, of the largest loss (exact)",
            "Event": self.event or None,
            "Events": f"{self.events} of {self.n}",
        }
        what = {"Null": f"outcomes redrawn from the risks, {self.n_resamples} draws", "Reproduce": f"rng={self.seed}"}
        return self._page("Decision curve", found, what)


@own_errstate
def decision_curve(
    predictions: ArrayLike,
    targets: ArrayLike,
    thresholds: ArrayLike = THRESHOLDS,
    *,
    n_resamples: int = 999,
    classes: Sequence[Any] | None = None,
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

    Sources: Vickers and Elkin 2006; Van Calster et al. 2019.

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
        raise ValueError(f"thresholds: got {places.tolist()}, wanted risks between 0 and 1")
    sample = as_sample(predictions, targets, classes)
    p, y = probability_of_event(sample.predictions, "clinical.decision_curve"), np.asarray(sample.targets)
    events, seed = int(y.sum()), seed_of(rng)
    curve = SplineCurve.of(p, p[:1])
    by_model = [_treated(p[None], t) for t in places]

    def losses(outcomes: Array) -> tuple[FloatArray, FloatArray]:
        values = np.asarray(outcomes, dtype=np.float64)
        risks, _ = curve(p, values)
        recalibrated = [_benefit(_treated(risks, t), values, t) for t in places]
        model = [_benefit(some, values, t) for some, t in zip(by_model, places, strict=True)]
        return np.column_stack(recalibrated) - np.column_stack(model), np.column_stack(recalibrated)

    observed, recalibrated = (one[0] for one in losses(y[None]))
    null, _ = redrawn(Bernoulli(p), losses, number, np.random.default_rng(seed))
    together = np.vstack([observed, null])
    spread = np.maximum(together.std(axis=0), 1e-12)
    largest = ((together - together.mean(axis=0)) / spread).max(axis=1)
    ends = np.quantile(null, LEVEL, axis=0, method="higher")
    everyone = [_benefit(np.ones((1, y.size)), y[None], t)[0] for t in places]
    rows = tuple(
        NetBenefit(
            f"{100 * t:g} %", float(t), float(better - loss), float(all_), float(better), float(loss), float(end)
        )
        for t, better, loss, all_, end in zip(places, recalibrated, observed, everyone, ends, strict=True)
    )
    pvalue = resampling_pvalue(float(largest[0]), largest[1:])
    return DecisionCurve(rows, pvalue, int(y.size), events, number, seed, name_of_event(sample.predictions))


def _treated(risks: FloatArray, threshold: float) -> FloatArray:
    return (risks >= threshold - 1e-12).astype(np.float64)


def _benefit(treated: FloatArray, outcomes: Array, threshold: float) -> FloatArray:
    """Of decisions (1 or B, n) for outcomes (B, n)."""
    return np.asarray((treated * (outcomes - (1.0 - outcomes) * threshold / (1.0 - threshold))).mean(axis=1))
