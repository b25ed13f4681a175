"""What D-, A- and one-calibration find: bins or groups with their predicted and observed shares of events."""

from dataclasses import dataclass

from caltest._results.report import at_level, decision, format_pvalue, in_cell, pvalue_phrase, with_interval
from caltest._results.tables import STANDS_OUT, Bar, Page, Table
from caltest._results.values import ConfidenceInterval, Entry, Stored

SOURCES = {"A": ("akritas1988", "simonsen2025"), "D": ("haider2020",), "One": ("demler2015",)}
"""Where calibrations of these kinds are from."""


@dataclass(frozen=True)
class SurvivalGroup(Entry):
    """A bin of integral transforms, or a group of similar predictions.

    Attributes
    ----------
    n, events
        Rows, and events among them: up to the horizon, if there is one.
    predicted, observed
        Share of events that is predicted, and the one that is observed given the censoring.
    interval
        Of the observed share: at a horizon by Greenwood's variance on the scale of log(-log), or of Clopper and Pearson
        where all had the event; of bins that of Garwood for Poisson counts, which vary more than these, for all bins
        together (Bonferroni).

    Examples
    --------
    >>> import caltest as ct
    >>> targets = ct.Censored([1.0, 2.0, 0.5, 3.0], [1, 0, 1, 1])
    >>> [one.name for one in ct.fields.d_calibration([0.6, 0.9, 0.4, 0.95], targets, n_bins=2, rng=1).rows]
    ['0 to 0.5', '0.5 to 1']
    """

    name: str
    n: int
    events: int
    predicted: float
    observed: float
    interval: ConfidenceInterval | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SurvivalCalibration(Stored):
    """D-, A- or one-calibration. Printing it gives a table.

    Attributes
    ----------
    rows
        Bins or groups.
    pvalue
        Exact, but asymptotic for one-calibration of risks instead of distributions.
    approximate
        The chi-squared tail of the published ``statistic`` with its ``degrees`` of freedom.
    ratio
        Observed over expected events up to the horizon; None for the others.

    Examples
    --------
    >>> import caltest as ct
    >>> targets = ct.Censored([1.0, 2.0, 0.5, 3.0], [1, 0, 1, 1])
    >>> ct.fields.d_calibration([0.6, 0.9, 0.4, 0.95], targets, n_bins=2, rng=1)
    <D-calibration: p = 0.65, n = 4>
    """

    method: str
    rows: tuple[SurvivalGroup, ...]
    pvalue: float
    approximate: float
    statistic: float
    degrees: int
    ratio: ConfidenceInterval | None
    n: int
    n_censored: int
    n_resamples: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()

    picture = "forest"

    @property
    def citations(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of the sources of the method, and of exact p-values if it has one."""
        return (*SOURCES[self.method.split("-")[0]], *(("dwass1957",) if self.n_resamples else ()))

    def __repr__(self) -> str:
        return f"<{self.method}: {pvalue_phrase(self.pvalue)}, n = {self.n}>"

    def verdict(self, alpha: float = 0.05) -> str:
        """What the p-value says at a level."""
        level = at_level(alpha)
        if self.pvalue > alpha:
            return f"calibration is not rejected {level}"
        worst = max(self.rows, key=lambda one: abs(one.observed - one.predicted))
        more = "more" if worst.observed > worst.predicted else "fewer"
        place = worst.name if self.ratio is not None else f"F(time) from {worst.name}"
        return f"reject calibration {level}: {more} {self._counted} than predicted for {place}"

    @property
    def _counted(self) -> str:
        # D-calibration has censored rows in the bins in which their events are likely.
        return "times" if self.method == "D-calibration" else "events"

    def sentence(self, alpha: float = 0.05) -> str:
        how = "chi-squared law" if self.n_resamples is None else f"exact test by {self.n_resamples} redraws"
        one = self.ratio
        ratio = "" if one is None or one.estimate is None else f"; the O:E ratio was {with_interval(one.estimate, one)}"
        return (
            f"Calibration was {decision(self.pvalue, alpha)} for {self.n} predictions, "
            f"{self.n_censored} with censored times ({self.method}, {how}, {pvalue_phrase(self.pvalue)}){ratio}."
        )

    def bars(self) -> list[Bar]:
        what = "predicted", f"share of {self._counted}"
        return [
            Bar(one.name, one.observed, own, one.predicted, *what, own is not None and own.excludes(one.predicted))
            for one in self.rows
            for own in [one.interval]
        ]

    def table(self) -> Table:
        return [["", "n", "events", "predicted", "observed"], *(_cells(one) for one in self.rows)]

    def remarks(self) -> list[str]:
        one = self.ratio
        if one is None or one.estimate is None or one.excludes(1.0) == (self.pvalue <= STANDS_OUT):
            return []
        ratio = f"the O:E ratio of all rows, {with_interval(one.estimate, one)}"
        if one.excludes(1.0):
            return [f"{ratio}, is not 1, which the p-value of {len(self.rows)} groups does not show"]
        return [f"errors of groups, of which the p-value is, can cancel in {ratio}"]

    def summary(self, alpha: float = 0.05) -> Page:
        exact, law = self.seed is not None, f"chi-squared {self.statistic:.4g}, {self.degrees} df"
        found = {
            "Verdict": self.verdict(alpha),
            "p-value": f"{format_pvalue(self.pvalue)} ({'exact' if exact else 'asymptotic'})",
            "Approximate": f"{format_pvalue(self.approximate)} ({law})" if exact else None,
            "O:E ratio": None if self.ratio is None else f"{self.ratio.estimate:.3g}, {self.ratio}",
            "Rows": f"{self.n}, of which {self.n_censored} are censored",
        }
        own = [one.interval for one in self.rows if one.interval is not None]
        each = "" if self.ratio is None else ", for each group alone"
        what = {
            "Intervals": f"{100 * own[0].confidence_level:g} %: {own[0].method}{each}" if own else None,
            "Assumes": "censoring is independent of the event given the prediction; rows independent, not used to fit",
            "Reproduce": None if self.seed is None else f"rng={self.seed}",
        }
        return self._page(self.method, found, what, notes=self.notes)


def _cells(one: SurvivalGroup) -> list[str]:
    observed = in_cell(one.interval, round(one.observed, 12))
    return [one.name, str(one.n), str(one.events), f"{one.predicted:.3g}", observed]
