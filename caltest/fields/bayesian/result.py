"""What simulation-based calibration found."""

from dataclasses import dataclass

from caltest._results.report import at_level, format_pvalue, is_smallest, listed, pvalue_phrase
from caltest._results.tables import Page, Table, TabularResult
from caltest._results.values import ConfidenceInterval, Stored
from caltest._validation import fraction


@dataclass(frozen=True)
class ParameterRanks:
    """The ranks of one parameter, or of one test quantity.

    Attributes
    ----------
    finding
        What the ranks look like, in words that mean something if they are rejected.
    mean_rank
        Mean rank of the truth as a share, 0.5 if calibrated.
    pvalue, adjusted
        Alone, and adjusted for all parameters and quantities.
    ranks
        (n,) of the truth among its draws, from 0 on.
    shares
        Share of ranks below each point of the band, which is that of the whole result: there is no ``interval``.

    Examples
    --------
    >>> from caltest.fields import bayesian
    >>> draws = [[[0.1], [0.2], [0.3]], [[1.0], [3.0], [2.0]]]
    >>> bayesian.simulation_based_calibration(draws, [0.25, 4.0], n_resamples=19, rng=1).rows[0].ranks
    (2, 3)
    """

    name: str
    finding: str
    mean_rank: float
    pvalue: float
    adjusted: float
    ranks: tuple[int, ...]
    shares: tuple[float, ...]
    interval: ConfidenceInterval | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SimulationBasedCalibrationResult(TabularResult, Stored):
    """Ranks of all parameters and the test of all of them together. Printing it gives the verdict and a table.

    Attributes
    ----------
    rows
        Parameters, then test quantities.
    n, n_draws, thin
        Simulations, draws of each that remain, and the step between them.
    pvalue
        Of the hypothesis that all posteriors are right, exact: twice the smaller of the two below, or that of ranks
        alone.
    ranks_pvalue
        The smallest adjusted p-value of ``rows``.
    joint_pvalue
        Of the kernel test of all parameters together; None for one parameter.
    points, lowest, highest
        Shares at which distribution functions of ranks are compared, and the ends of their band there.
    confidence_level
        Probability, at least, that all curves of right posteriors are in the band.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.fields import bayesian
    >>> rng = np.random.default_rng(1)
    >>> result = bayesian.simulation_based_calibration(rng.normal(size=(50, 20, 2)), rng.normal(size=(50, 2)), rng=1)
    >>> result
    <simulation-based calibration of 2 parameters: p = 1, n = 50>
    """

    rows: tuple[ParameterRanks, ...]
    n: int
    n_draws: int
    thin: int
    pvalue: float
    ranks_pvalue: float
    joint_pvalue: float | None
    pvalue_kind: str
    points: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    confidence_level: float
    n_resamples: int
    seed: int
    notes: tuple[str, ...] = ()

    picture = "rank_ecdf"
    citations = ("talts2018", "modrak2022", "sailynoja2022", "westfall1993", "widmann2021")

    def __repr__(self) -> str:
        what = f"{len(self.rows)} parameter{'s' if len(self.rows) > 1 else ''}"
        return f"<simulation-based calibration of {what}: {pvalue_phrase(self.pvalue)}, n = {self.n}>"

    def rejected(self, alpha: float = 0.05) -> tuple[ParameterRanks, ...]:
        """Parameters and quantities whose ranks are rejected at a level, the smallest p-value first.

        Their adjusted p-values are at most alpha, or half of that where the kernel test rejects nothing (Holm).
        """
        level = fraction("alpha", alpha)
        level *= 1.0 if self.joint_pvalue is None or 2.0 * self.joint_pvalue <= level else 0.5
        return tuple(sorted((one for one in self.rows if one.adjusted <= level), key=lambda one: one.adjusted))

    def verdict(self, alpha: float = 0.05) -> str:
        """What was found, in words."""
        level = fraction("alpha", alpha)
        said = at_level(level)
        if self.pvalue > level:
            return f"posteriors are not rejected {said}"
        some = [f"{one.name}: {one.finding}" for one in self.rejected(level)[:3]]
        if not some:
            some = ["ranks of each parameter are as they should be, the parameters together are not"]
        return f"posteriors are wrong {said} ({'; '.join(some)})"

    def sentence(self, alpha: float = 0.05) -> str:
        """One sentence for a paper: simulations, draws, p-values, and the parameters that are rejected."""
        names = [f"{one.name} ({one.finding}, {pvalue_phrase(one.adjusted)})" for one in self.rejected(alpha)]
        joint = (
            "" if self.joint_pvalue is None else f", a kernel test of all together {pvalue_phrase(self.joint_pvalue)}"
        )
        return (
            f"Posteriors were tested by simulation-based calibration with {self.n} simulations of {self.n_draws} draws "
            f"({pvalue_phrase(self.pvalue)}); ranks, adjusted for {len(self.rows)} parameters and quantities by the "
            f"step-down maximum over {self.n_resamples} redraws, had {pvalue_phrase(self.ranks_pvalue)}{joint}: "
            f"{listed(names) if names else 'no ranks were rejected'}."
        )

    def table(self) -> Table:
        header = ["parameter", "mean rank", "p-value", "adjusted", "what the ranks say"]
        rows, rejected = [], self.rejected()
        for one in self.rows:
            said = one.finding if one in rejected else ""
            pvalues = [format_pvalue(p) for p in (one.pvalue, one.adjusted)]
            rows.append([one.name, f"{one.mean_rank:.3f}", *pvalues, said])
        if self.joint_pvalue is not None:
            rows.append(["all together", "", format_pvalue(self.joint_pvalue), "", "kernel test of vectors"])
        return [header, *rows]

    def summary(self, alpha: float = 0.05) -> Page:
        smallest = " (the smallest possible)" if is_smallest(self.ranks_pvalue, self.n_resamples) else ""
        of_two = "" if self.joint_pvalue is None else ", twice the smaller of ranks and kernel test"
        found = {
            "Verdict": self.verdict(alpha),
            "p-value": f"{format_pvalue(self.pvalue)}, {self.pvalue_kind}{of_two}{smallest}",
        }
        what = {
            "Simulations": f"{self.n}, each with {self.n_draws} draws"
            + (f", one in {self.thin} of the chain" if self.thin > 1 else ""),
            "Null": f"which of the {self.n_draws + 1} values is the truth redrawn {self.n_resamples} times",
            "Assumes": "simulations independent, parameters drawn from the prior of the model, draws exchangeable",
            "Reproduce": f"rng={self.seed}",
        }
        return self._page("Simulation-based calibration", found, what, notes=self.notes)
