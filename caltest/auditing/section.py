"""What a section of an audit is, and the data that it looks at."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from caltest._basics.numerics import Array, IntArray
from caltest._results.values import Entry
from caltest._validation.groups import Groups, as_texts
from caltest.auditing.pictures import Picture
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.predictions import Predictions, Sample
from caltest.predictions.censored import Censored

LEVEL = 0.05
"""Level of all decisions."""

WHOLE, FIRST, MOST = 20, 12, 1000
"""Rows up to which a table is shown whole, the first ones of longer tables, and rows that any table has at most."""


@dataclass(frozen=True)
class Section(Entry):
    """The answer to a question.

    Attributes
    ----------
    answer
        One sentence; why there is no answer where it could not be computed.
    facts, rows
        Names with texts, and a table, the header first; of more than 20 rows the first 12 are shown, the others folded
        in HTML and left out in text.
    gain
        Of recalibration: by how much the loss of rows falls that the map is not fitted to.
    rejected
        Where calibration is rejected by this section, in words, if the reason of the decision has to say so.
    citations
        Sources of what is used here beside the test of all rows, keys of ``caltest/_results/citations.bib``.
    parts, grave, unclear, helps, mapped, n_maps, left
        Parts of the rows that are tested, and those in which the error is known to be large enough to matter, by their
        names; names of those in which it is larger than the margin, as observed, but may be chance; whether the gain is
        above 0 and clear, by its standard error or by that of the Brier score; all rows
        after recalibration; how many maps that took, one or one for each group; and in which groups one map for all
        leaves an error that matters. Not stored, as decisions are.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> sections = ct.audit(p, y, n_resamples=99, rng=1)["model"].sections
    >>> sections["size"].answer, sections["time"].failed
    ('The error is large enough to matter.', True)
    """

    answer: str
    facts: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[tuple[str, ...], ...] = ()
    failed: bool = False
    gain: float | None = None
    rejected: str = ""
    citations: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = field(default=(), repr=False, compare=False)
    parts: Mapping[str, IntArray] = field(default_factory=dict, repr=False, compare=False)
    grave: Mapping[str, IntArray] = field(default_factory=dict, repr=False, compare=False)
    unclear: tuple[str, ...] = field(default=(), repr=False, compare=False)
    helps: bool = field(default=False, repr=False, compare=False)
    mapped: Sample | None = field(default=None, repr=False, compare=False)
    n_maps: int = field(default=1, repr=False, compare=False)
    left: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def first_rows(self) -> tuple[tuple[str, ...], ...]:
        """The header and the rows that are shown; of many the first."""
        return self.rows if len(self.rows) <= 1 + WHOLE else self.rows[: 1 + FIRST]

    @property
    def other_rows(self) -> tuple[tuple[str, ...], ...]:
        """The header and the others; empty where there are none."""
        others = self.rows[len(self.first_rows) :]
        return (self.rows[0], *others) if others else ()

    not_stored = ("pictures", "parts", "grave", "unclear", "helps", "mapped", "n_maps", "left")


def in_a_row(notes: Iterable[str]) -> str:
    """Notes and questions behind each other."""
    return "; ".join(notes).replace("?; ", "? ")


@dataclass(frozen=True)
class Data:
    """What an audit looks at: rows that are independent of each other, and what is known of them."""

    sample: Sample
    groups: Groups | str | None
    """Or why what is given are none."""
    features: Mapping[Any, Array] | None
    order: IntArray | None
    """Rows in the order of time."""
    clusters: str | None
    """Which rows of clusters are looked at, in words."""
    n: int
    """Rows before that."""
    n_resamples: int
    seed: int
    names: Sequence[str] = ()
    """Of what is known, for the line that reproduces the audit."""
    survival: tuple[Predictions, Censored] | None = None
    """Predictions and times, some of them censored, of which the sample has the integral transforms."""
    dependent: tuple[Sample, Clusters, Groups | str | None] | None = None
    """All rows, their clusters and groups, if the default test takes these; the others are one row of each cluster."""
    kept: IntArray | None = None
    """Which of all rows these are, if there are some."""
    times: Array | None = None
    """Of the rows, as they are given."""
    lag: int = 1
    """How far apart in the order of time rows are independent."""
    overlapping: Sample | None = None
    """All rows in the order of time, if the default test takes these with a lag; the others are every lag-th row."""

    def time_at(self, place: int) -> str:
        """The time at a place in the order of time, in words."""
        assert self.order is not None
        assert self.times is not None
        return as_texts(self.times[self.order[[place]]].tolist())[0]

    @property
    def tested(self) -> Sample:
        """What the default test looks at."""
        return self.of_all[0] if self.overlapping is None else self.overlapping

    @property
    def are_some(self) -> bool:
        """Whether the rows are some of those that the default test looks at."""
        return self.dependent is not None or self.overlapping is not None

    @property
    def of_all(self) -> tuple[Sample, Clusters | None, Groups | str | None]:
        """What the default test looks at, the clusters and the groups; with a lag independent rows."""
        return (self.sample, None, self.groups) if self.dependent is None else self.dependent

    def in_all(self, rows: IntArray) -> IntArray:
        """Rows of the sample among those that the default test looks at."""
        return rows if self.dependent is None or self.kept is None else self.kept[rows]

    @property
    def counted(self) -> tuple[str, str]:
        """What is counted as independent, and how: where all rows are tested, fewer are enough."""
        unit = "rows" if self.clusters is None else "clusters"
        return "at most" if self.are_some else "about", unit if self.lag == 1 else f"rows {self.lag} apart"

    @property
    def pair(self) -> tuple[Predictions, Any]:
        """What calls take."""
        return self.sample.predictions, self.sample.as_given

    @property
    def settings(self) -> dict[str, Any]:
        """Of calls that redraw."""
        return {"n_resamples": self.n_resamples, "rng": self.seed}
