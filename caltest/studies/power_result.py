"""Results of simulations of one test at one sample size."""

from dataclasses import dataclass

import numpy as np

from caltest._basics.types import FloatArray
from caltest._results.confidence_interval import ConfidenceInterval
from caltest._results.stored import Stored
from caltest._validation import fraction


@dataclass(frozen=True, eq=False, repr=False)
class PowerResult(Stored):
    """How often a test rejects simulated data. Printing it gives a report; ``to_dict()`` is ready for JSON.

    Attributes
    ----------
    test, generator
        What was simulated, in words.
    is_calibrated
        Whether the data are calibrated: rates are then sizes, else powers.
    n
        Observations of each data set.
    n_requested
        Data sets that were asked for; ``n_simulations`` of them are finished.
    alphas
        Levels of the test.
    confidence_level
        Of the intervals.
    pvalues
        P-values (n_simulations,) of the data sets, in order; read-only.
    seed
        Integer that reproduces the result as ``rng=seed``.
    notes
        What the reader should know.

    Examples
    --------
    >>> import caltest as ct
    >>> test = ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(5)), n_resamples=19)
    >>> result = ct.power(test, ct.generators.DirichletModel.m3(3), 20, n_simulations=40, rng=1)
    >>> result
    <power 1, n = 20, 40 simulations>
    >>> low, high = result.interval
    >>> round(low, 3), high
    (0.912, 1.0)
    """

    test: str
    generator: str
    is_calibrated: bool
    n: int
    n_requested: int
    alphas: tuple[float, ...]
    confidence_level: float
    pvalues: FloatArray
    seed: int
    notes: tuple[str, ...] = ()

    derived = ("quantity", "n_simulations", "rates", "intervals")

    @property
    def n_simulations(self) -> int:
        """Number of data sets that are finished."""
        return int(self.pvalues.size)

    @property
    def quantity(self) -> str:
        """``"size"`` for calibrated data, else ``"power"``."""
        return "size" if self.is_calibrated else "power"

    def rejections(self, alpha: float | None = None) -> int:
        """Number of p-values of at most alpha, by default the first level."""
        return int(np.count_nonzero(self.pvalues <= self._level(alpha)))

    def rate_at(self, alpha: float | None = None) -> float:
        """Share of the data sets that are rejected at a level, whether it was named before or not."""
        return self.rejections(alpha) / self.n_simulations

    def interval_at(self, alpha: float | None = None) -> ConfidenceInterval:
        """Exact confidence interval for the probability of rejection at a level (Clopper and Pearson 1934)."""
        return binomial_interval(self.rejections(alpha), self.n_simulations, self.confidence_level)

    @property
    def rate(self) -> float:
        """``rate_at`` the first level."""
        return self.rate_at()

    @property
    def interval(self) -> ConfidenceInterval:
        """``interval_at`` the first level."""
        return self.interval_at()

    @property
    def rates(self) -> tuple[float, ...]:
        """``rate_at`` each level."""
        return tuple(self.rate_at(alpha) for alpha in self.alphas)

    @property
    def intervals(self) -> tuple[ConfidenceInterval, ...]:
        """``interval_at`` each level."""
        return tuple(self.interval_at(alpha) for alpha in self.alphas)

    def rate_in_words(self, alpha: float | None = None) -> str:
        """Rate and interval at a level, with three decimals."""
        low, high = self.interval_at(alpha)
        level = f"{100 * self.confidence_level:g} %, exact binomial"
        return f"{self.rate_at(alpha):.3f} [{low:.3f}, {high:.3f}] ({level})"

    def _level(self, alpha: float | None) -> float:
        return self.alphas[0] if alpha is None else fraction("alpha", alpha)

    def verdict(self, alpha: float | None = None) -> str:
        """What the simulations say about the size, in words; empty for powers."""
        if not self.is_calibrated:
            return ""
        level = self._level(alpha)
        if self.interval_at(alpha).low > level:
            return f"the test rejects calibrated data too often for the {100 * level:g} % level"
        return f"no evidence that the size exceeds {100 * level:g} %"

    def __repr__(self) -> str:
        return f"<{self.quantity} {self.rate:.3g}, n = {self.n}, {self.n_simulations} simulations>"

    def __str__(self) -> str:
        title = f"{self.quantity.capitalize()} by simulation"
        lines = [title, "-" * len(title), f"{'Test':<15}{self.test}"]
        lines += [f"{'Data':<15}{self.generator}, n = {self.n}", f"{'Simulations':<15}{self.n_simulations}", ""]
        lines += [
            f"{f'{self.quantity.capitalize()}, {100 * alpha:g} %':<15}{self.rate_in_words(alpha)}"
            for alpha in self.alphas
        ]
        if self.is_calibrated:
            lines += ["", *(f"{'Verdict':<15}{self.verdict(alpha)}" for alpha in self.alphas)]
        lines += ["", f"{'Reproduce':<15}rng={self.seed}", *(f"Note: {note}" for note in self.notes)]
        return "\n".join(lines)


def binomial_interval(count: int, n: int, confidence_level: float) -> ConfidenceInterval:
    """Exact interval for a binomial proportion."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, n, 1.0 - confidence_level, method="beta")
    return ConfidenceInterval(float(low), float(high), confidence_level, "exact binomial")
