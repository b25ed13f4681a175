"""Size and power of a test by simulation, at one sample size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.numerics import own_errstate
from caltest._basics.threads import progress_bars
from caltest._basics.types import FloatArray
from caltest._results.confidence_interval import ConfidenceInterval
from caltest._results.stored import Stored
from caltest._validation import fraction, number_of_observations, switch, whole_number
from caltest.studies.simulation import (
    Task,
    Test,
    check_generator,
    check_resumed,
    check_test,
    checked_alphas,
    checked_seed,
    describe_generator,
    describe_test,
    is_calibrated,
    simulate,
)


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
    confidence_level
        Of the intervals.
    resume
        An earlier result for the same test, generator and n: its simulations are kept and those up to ``n_simulations``
        are added.
    rng, progress
        As in ``calibration_test``.

    Returns
    -------
    PowerResult
        ``print`` it for a report.

    Raises
    ------
    TypeError
        For a test that cannot be called or returns no ``pvalue``, or a generator without ``sample``.
    ValueError
        For other settings, or an earlier result of another study. Errors of the test are passed on, with a note that
        says in which simulation.

    Notes
    -----
    Runs on the workers of ``joblib.parallel_config(n_jobs=...)``, each on one thread. Every data set and every test has
    a random stream of its own, so results do not depend on the workers. Ctrl-C ends the study: the result then has
    the simulations that were finished and says so; pass it as ``resume`` to go on.

    Resampling tests with B draws have p-values j / (B + 1), so a level below 1 / (B + 1) never rejects.

    The standard error of a rate r is ``sqrt(r (1 - r) / m)``, at most 1.6 points for 1000 simulations.

    Examples
    --------
    >>> import caltest as ct
    >>> from functools import partial
    >>> test = partial(ct.calibration_test, n_resamples=99)
    >>> overconfident = ct.generators.class_model("OC", n_classes=3)
    >>> print(ct.power(test, overconfident, 50, n_simulations=100, rng=1))
    Power by simulation
    -------------------
    Test           calibration_test(n_resamples=99)
    Data           predictions of Dir(0.1), 3 classes, labels from the predictions; targets from p^0.6, n = 50
    Simulations    100
    <BLANKLINE>
    Power, 5 %     0.490 [0.389, 0.592] (95 %, exact binomial)
    <BLANKLINE>
    Reproduce      rng=1
    """
    check_test(test)
    check_generator(generator)
    n = number_of_observations(n)
    wanted = whole_number("n_simulations", n_simulations, 1)
    alphas, level = checked_alphas(alpha), fraction("confidence_level", confidence_level)
    shown = switch("progress", progress)
    if resume is not None:
        check_same_study(resume, test, generator, n, wanted)
    task = Task((test,), generator, n, checked_seed(rng, resume))
    earlier = np.empty(0) if resume is None else resume.pvalues
    with progress_bars(shown):
        pvalues = simulate(task, earlier[:, None], wanted).pvalues[:, 0]
    if pvalues.size == 0:
        raise KeyboardInterrupt
    return power_result(test, generator, n, wanted, alphas, level, pvalues, task.seed)


def power_result(
    test: Test,
    generator: Any,
    n: int,
    n_requested: int,
    alphas: tuple[float, ...],
    confidence_level: float,
    pvalues: FloatArray,
    seed: int,
) -> PowerResult:
    """The result for the p-values that were simulated."""
    pvalues = np.array(pvalues)
    pvalues.flags.writeable = False
    notes = []
    if pvalues.size < n_requested:
        notes.append(
            f"interrupted: {pvalues.size} of {n_requested} simulations are finished; resume=result continues them"
        )
    notes += _unreachable_levels(pvalues, alphas)
    return PowerResult(
        test=describe_test(test),
        generator=describe_generator(generator),
        is_calibrated=is_calibrated(generator),
        n=n,
        n_requested=n_requested,
        alphas=alphas,
        confidence_level=confidence_level,
        pvalues=pvalues,
        seed=seed,
        notes=tuple(notes),
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
    check_resumed(resume, PowerResult, test=describe_test(test), generator=describe_generator(generator), n=n)
    if resume.n_simulations > wanted:
        raise ValueError(
            f"n_simulations: got {wanted}, wanted at least {resume.n_simulations}, which are finished already"
        )
