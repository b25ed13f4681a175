"""Size and power of a test by simulation, at one sample size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import FloatArray
from caltest._basics.threads import progress_bars
from caltest._laws import clopper_pearson
from caltest._results.report import at_level, listed
from caltest._results.tables import Bar, Page
from caltest._results.values import ConfidenceInterval, Stored
from caltest._validation import fraction, number_of_observations, switch, whole_number
from caltest.studies import simulation
from caltest.studies.simulation import Task, Test, simulate


@dataclass(frozen=True, eq=False, repr=False)
class PowerResult(Stored):
    """How often a test rejects simulated data. Printing it gives a report; ``to_dict()`` is ready for JSON.

    Attributes
    ----------
    test, generator
        What was simulated, in words.
    is_calibrated
        Whether the data are calibrated: rates are then sizes, else powers.
    n_requested
        Data sets that were asked for; ``n_simulations`` of them are finished.
    alphas, confidence_level
        Levels of the test and of the intervals.
    pvalues
        P-values (n_simulations,) of the data sets, in order; read-only.
    seed
        Integer that reproduces the result as ``rng=seed``.

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
    citations: tuple[str, ...] = ()

    derived = ("quantity", "n_simulations", "rates", "intervals")

    picture = "forest"

    def bars(self) -> list[Bar]:
        rates = zip(self.alphas, self.rates, self.intervals, strict=True)
        return [Bar(f"{100 * a:g} % level", rate, one, a, "level", self.quantity, False) for a, rate, one in rates]

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
        level, n = self.confidence_level, self.n_simulations
        return ConfidenceInterval(*clopper_pearson(self.rejections(alpha), n, level), level, "exact binomial")

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

    def sentence(self) -> str:
        rates = [f"{self.rate_in_words(alpha)} {at_level(alpha)}" for alpha in self.alphas]
        return (
            f"The {self.quantity} of {self.test} for n = {self.n} observations ({self.generator}) was {listed(rates)}, "
            f"from {self.n_simulations} simulated data sets."
        )

    def summary(self) -> str:
        quantity, n = self.quantity.capitalize(), str(self.n_simulations)
        what = {"Test": self.test, "Data": f"{self.generator}, n = {self.n}", "Simulations": n}
        rates = {f"{quantity}, {100 * alpha:g} %": self.rate_in_words(alpha) for alpha in self.alphas}
        verdicts = (f"{'Verdict':<15}{self.verdict(alpha)}" for alpha in self.alphas)
        found = ["", *verdicts] if self.is_calibrated else []
        seed = {"Reproduce": f"rng={self.seed}"}
        return Page(f"{quantity} by simulation", what, [""], rates, found, [""], seed, notes=self.notes)


@own_errstate
def power(
    test: Test,
    generator: Any,
    n: int,
    *,
    n_simulations: int = 1000,
    alpha: float | Sequence[float] = 0.05,
    confidence_level: float = 0.95,
    rng: Any = None,
    progress: bool = False,
    resume: PowerResult | None = None,
) -> PowerResult:
    """How often a test rejects data of a generator: its power, or its size if the data are calibrated.

    The rate is ``#{p <= alpha} / m`` for m independent data sets, with the exact binomial interval.

    Parameters
    ----------
    test
        A function ``test(predictions, targets, rng=...)`` whose result has a ``pvalue``: a ``CalibrationTest``,
        ``ct.calibration_test``, or ``functools.partial`` of it with other settings.
    generator
        One of ``ct.generators``, or anything with ``sample(n, rng)``. Rates are sizes if its ``is_calibrated`` is true.
    n
        Observations of each data set.
    n_simulations
        Number m of data sets.
    alpha
        Level of the test, or several.
    resume
        An earlier result for the same test, generator and n: its simulations are kept and those up to ``n_simulations``
        are added.
    rng, progress
        As in ``calibration_test``.
    confidence_level
        Of the intervals.

    Returns
    -------
    PowerResult
        ``print`` it for a report; ``rate_at(alpha)`` is the share of data sets that are rejected at a level.

    Raises
    ------
    TypeError
        For a test that cannot be called or returns no ``pvalue``, or a generator without ``sample``.
    ValueError
        For bad settings, or an earlier result of another study: with another description, or another p-value for the
        first data set, which is tested again. Errors of the test are passed on, with a note that says in which
        simulation.

    Notes
    -----
    Runs on the workers of ``joblib.parallel_config(n_jobs=...)``, each on one thread. Every data set and every test has
    a random stream of its own, so results do not depend on the workers. Ctrl-C ends the study: the result then has
    the simulations that were finished and says so; pass it as ``resume`` to go on.

    Resampling tests with B redraws have p-values j / (B + 1), so a level below 1 / (B + 1) never rejects. The standard
    error of a rate r is ``sqrt(r (1 - r) / m)``, at most 1.6 points for 1000 simulations.

    Examples
    --------
    >>> import caltest as ct
    >>> from functools import partial
    >>> test = partial(ct.calibration_test, n_resamples=99)
    >>> overconfident = ct.generators.class_model("OC", n_classes=3)
    >>> print(ct.power(test, overconfident, 50, n_simulations=50, rng=1))
    Power by simulation
    -------------------
    Test           calibration_test(n_resamples=99)
    Data           predictions of Dir(0.1), 3 classes; targets from p^0.6, n = 50
    Simulations    50
    <BLANKLINE>
    Power, 5 %     0.420 [0.282, 0.568] (95 %, exact binomial)
    <BLANKLINE>
    Reproduce      rng=1
    """
    simulation.check_test(test)
    simulation.check_generator(generator)
    n = number_of_observations(n)
    wanted = whole_number("n_simulations", n_simulations, 1)
    alphas, level = simulation.checked_alphas(alpha), fraction("confidence_level", confidence_level)
    shown = switch("progress", progress)
    if resume is not None:
        check_same_study(resume, test, generator, n, wanted)
    task = Task((test,), generator, n, simulation.checked_seed(rng, resume))
    earlier = np.empty(0) if resume is None else resume.pvalues
    with progress_bars(shown):
        pvalues = simulate(task, earlier[:, None], wanted)[:, 0]
    if pvalues.size == 0:
        raise KeyboardInterrupt
    return power_result(task, test, wanted, alphas, level, pvalues)


def power_result(
    task: Task, test: Test, n_requested: int, alphas: tuple[float, ...], confidence_level: float, pvalues: FloatArray
) -> PowerResult:
    """The result for the p-values that were simulated for one of the tests of a task."""
    pvalues = np.array(pvalues)
    pvalues.flags.writeable = False
    finished = f"{pvalues.size} of {n_requested} simulations are finished"
    notes = [f"interrupted: {finished}; resume=result continues them"] if pvalues.size < n_requested else []
    notes += _unreachable_levels(pvalues, alphas)
    return PowerResult(
        **simulation.study_of(test, task.generator),
        is_calibrated=simulation.is_calibrated(task.generator),
        n=task.n,
        n_requested=n_requested,
        alphas=alphas,
        confidence_level=confidence_level,
        pvalues=pvalues,
        seed=task.seed,
        notes=tuple(notes),
        citations=simulation.sources_of(test),
    )


def _unreachable_levels(pvalues: FloatArray, alphas: tuple[float, ...]) -> list[str]:
    """A note on levels below the smallest p-value, where this is one that many data sets share."""
    least = float(pvalues.min())
    if least == 1.0 or np.count_nonzero(pvalues == least) < 2:
        return []
    return [
        f"no p-value is below {least:.3g}, so nothing is rejected at the {100 * alpha:g} % level; with B redraws "
        "p-values are at least 1 / (B + 1)"
        for alpha in alphas
        if alpha < least
    ]


def check_same_study(resume: Any, test: Test, generator: Any, n: int, wanted: int) -> None:
    """Raise unless an earlier result is that of the same study."""
    simulation.check_resumed(resume, PowerResult, **simulation.study_of(test, generator), n=n)
    if resume.n_simulations > wanted:
        raise ValueError(
            f"n_simulations: got {wanted}, wanted at least {resume.n_simulations}, which are finished already"
        )
