"""The number of observations that a test needs for a wanted power, and the search for it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, sqrt
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import FloatArray
from caltest._basics.threads import progress_bars
from caltest._results.report import at_level
from caltest._results.tables import Bar, Page
from caltest._results.values import ConfidenceInterval, Stored
from caltest._validation import fraction, switch, whole_number
from caltest.studies import simulation
from caltest.studies.power import PowerResult, power_result
from caltest.studies.simulation import Task, Test, simulate


@dataclass(frozen=True, eq=False, repr=False)
class SampleSize(Stored):
    """The number of observations for a wanted power. Printing it gives a report; ``to_dict()`` is ready for JSON.

    Attributes
    ----------
    power, alpha
        What was wanted, and the level of the test.
    n
        The smallest number of observations with that power, as estimated; None if the search was interrupted before
        there was an estimate.
    achieved
        The simulated power at n, or None if the search was interrupted before.
    tried
        What was simulated, in ascending order of n.
    seed
        Integer that reproduces the result as ``rng=seed``.

    Examples
    --------
    >>> import caltest as ct
    >>> test = ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(5)), n_resamples=19)
    >>> ct.sample_size(test, ct.generators.class_model("M3", 3), n_simulations=50, rng=1)
    <SampleSize n = 8 for power 0.8>
    """

    test: str
    generator: str
    power: float
    alpha: float
    n: int | None
    interval: ConfidenceInterval | None
    achieved: PowerResult | None
    tried: tuple[PowerResult, ...]
    seed: int
    notes: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<SampleSize n = {self.n} for power {self.power:g}>"

    picture = "forest"

    def bars(self) -> list[Bar]:
        return [
            Bar(f"n = {one.n}", one.rate, one.interval, self.power, "wanted", "power", one.n == self.n)
            for one in self.tried
        ]

    def sentence(self) -> str:
        wanted, near = f"a power of {self.power:g} {at_level(self.alpha)}", ""
        if self.interval is not None:
            near = " ({:.0f} % CI {:.0f} to {:.0f})".format(100 * self.interval.confidence_level, *self.interval)
        takes = f"has not been found for {wanted}" if self.n is None else f"of {self.n}{near} gives {wanted}"
        return f"A number of observations {takes} ({self.test}; {self.generator})."

    def summary(self) -> str:
        wanted = f"power {self.power:g} at the {100 * self.alpha:g} % level"
        n, there = "not found" if self.n is None else str(self.n), None
        if self.interval is not None:
            low, high = self.interval
            n += f" [{low:.0f}, {high:.0f}] ({100 * self.interval.confidence_level:g} %, probit regression)"
        if self.achieved is not None:
            there = f"{self.achieved.rate_in_words()}, {self.achieved.n_simulations} simulations"
        steps = ", ".join(f"{one.n}: {one.rate:.2f}" for one in self.tried)
        what = {"Test": self.test, "Data": self.generator, "Wanted": wanted}
        found = {"n": n, "Power there": there, "Powers found": steps}
        seed = {"Reproduce": f"rng={self.seed}"}
        return Page("Sample size by simulation", what, [""], found, [""], seed, notes=self.notes)


@own_errstate
def sample_size(
    test: Test,
    generator: Any,
    *,
    n_simulations: int = 1000,
    power: float = 0.8,
    alpha: float = 0.05,
    n_min: int = 8,
    n_max: int = 100_000,
    confidence_level: float = 0.95,
    rng: Any = None,
    progress: bool = False,
    resume: SampleSize | None = None,
) -> SampleSize:
    """The smallest number of observations with which a test has a wanted power, by simulation.

    Doubles n until the power is reached, then simulates powers around the crossing and solves ``Phi(a + b sqrt(n)) =
    power`` with a and b from a probit regression on those near it; finally simulates the power at the answer.

    Parameters
    ----------
    test, generator, confidence_level, rng, progress
        As in ``power``.
    n_simulations
        Data sets at the answer, at least 20 and ``2 / (1 - power)``: powers near 1 cannot be told from 1 by fewer. In
        all there are about four to five times as many.
    power
        Wanted probability of rejection, above alpha.
    alpha
        Level of the test.
    n_min, n_max
        Where to search.
    resume
        An earlier result of the same search, interrupted or with fewer simulations: what was simulated is kept.

    Returns
    -------
    SampleSize
        ``n`` observations, with an ``interval``; ``print`` it for what was tried.

    Raises
    ------
    TypeError, ValueError
        As ``power`` does; also if the generator is calibrated, or the power is not reached at ``n_max`` (the error says
        what is).

    Notes
    -----
    The interval is that of Fieller for the crossing of the fitted curve. It covers what is random in the simulation,
    given that power increases with n and that its probit is linear in sqrt(n) over a factor of about 1.5 around the
    answer; for a test statistic with a normal limit it is linear everywhere.

    Examples
    --------
    >>> import caltest as ct
    >>> test = ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(5)), n_resamples=19)
    >>> result = ct.sample_size(test, ct.generators.class_model("OC", 3), n_simulations=100, rng=1)
    >>> print(result.n, result.interval)
    234 [186, 261] (95 %, probit regression)
    """
    simulation.check_test(test)
    simulation.check_generator(generator)
    level, wanted = fraction("alpha", alpha), fraction("power", power)
    if wanted <= level:
        raise ValueError(f"power: got {power!r}, wanted more than alpha = {level:g}")
    if simulation.is_calibrated(generator):
        words = simulation.describe_generator(generator)
        raise ValueError(f"generator: got a calibrated one ({words}), wanted one with a deviation to find")
    lowest = whole_number("n_min", n_min, 1, inf)
    highest = whole_number("n_max", n_max, lowest, inf)
    m, fewest = whole_number("n_simulations", n_simulations, 20), ceil(round(2.0 / (1.0 - wanted), 6))
    if m < fewest:
        raise ValueError(f"n_simulations: got {m}, wanted at least {fewest} to tell a power of {wanted:g} from 1")
    confidence = fraction("confidence_level", confidence_level)
    shown = switch("progress", progress)
    if resume is not None:
        simulation.check_resumed(resume, SampleSize, **simulation.study_of(test, generator))
    stored = {} if resume is None else {one.n: one for one in resume.tried}
    seed = simulation.checked_seed(rng, resume)
    search = Search(test, generator, wanted, level, confidence, m, lowest, highest, seed, stored)
    with progress_bars(shown):
        return search.run()


PILOT = 10
"""Each step of the doubling takes one in so many of the simulations of the answer."""
FEWEST = 50
"""Simulations that a step takes at least, if the answer takes as many."""
AROUND = (0.8, 1.0, 1.25)
"""Where powers are simulated, in units of the current estimate of n."""
SHARES = (0.25, 0.5)
"""Simulations at each of these places, round by round, in units of those of the answer."""
ROUNDS = 6
"""The most rounds; there are more than two only where the estimate still moves by more than a step."""


class Crossing(NamedTuple):
    """An estimate of n as a real number, and the ends of its confidence interval."""

    n: float
    low: float
    high: float


@dataclass
class Search:
    """Powers that are simulated where they are asked for, with seeds that depend on n alone; m of them at the answer.

    ``stored`` keeps all simulations, also those of an earlier search; ``used`` says how many of them this search has
    asked for, so that it takes the same way whether it was interrupted or not.
    """

    test: Test
    generator: Any
    power: float
    alpha: float
    confidence_level: float
    m: int
    n_min: int
    n_max: int
    seed: int
    stored: dict[int, PowerResult] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)

    def run(self) -> SampleSize:
        """The answer; ``ValueError`` if the power is not reached at ``n_max``."""
        try:
            centre = self._doubled()
            if centre is not None:
                return self._answer(self._refined(centre))
            self.rate(self.n_min, self.m)
        except KeyboardInterrupt:
            return self._unfinished()
        note = f"the power is at least {self.power:g} at the smallest n of the search; lower n_min for a smaller one"
        return self._result(self.n_min, None, self._cell(self.n_min), note)

    def _result(
        self, n: int | None, crossing: Crossing | None, achieved: PowerResult | None, *notes: str
    ) -> SampleSize:
        interval = None
        if crossing is not None:
            low, high = max(np.floor(crossing.low), 1.0), np.ceil(crossing.high)
            interval = ConfidenceInterval(float(low), float(high), self.confidence_level, "probit regression")
        return SampleSize(
            **simulation.study_of(self.test, self.generator),
            power=self.power,
            alpha=self.alpha,
            n=n,
            interval=interval,
            achieved=achieved,
            tried=tuple(self.stored[n] for n in sorted(self.stored)),
            seed=self.seed,
            notes=notes,
            citations=simulation.sources_of(self.test),
        )

    def rate(self, n: int, m: int) -> float:
        """The power at n from the first m simulations."""
        earlier = self.stored[n].pvalues if n in self.stored else np.empty(0)
        task = Task((self.test,), self.generator, n, simulation.child_seed(self.seed, n))
        pvalues = simulate(task, earlier[:, None], m, resumed=n not in self.used)[:, 0]
        if pvalues.size:
            level = self.confidence_level
            self.stored[n] = power_result(task, self.test, pvalues.size, (self.alpha,), level, pvalues)
        if pvalues.size < m:
            raise KeyboardInterrupt
        self.used[n] = max(m, self.used.get(n, 0))
        return self._cell(n).rate

    def _cell(self, n: int) -> PowerResult:
        """The simulations at n that were asked for."""
        cell, m = self.stored[n], self.used[n]
        return replace(cell, n_requested=m, pvalues=cell.pvalues[:m])

    def _doubled(self) -> float | None:
        """A first estimate between two sizes of which the larger one has the power; None if already the least has."""
        pilot, n = max(min(self.m, FEWEST), self.m // PILOT), self.n_min
        if self.rate(n, pilot) >= self.power and self.rate(n, self.m) >= self.power:
            return None
        while self.rate(n, pilot) < self.power:
            if n == self.n_max and self.rate(n, self.m) < self.power:
                raise ValueError(
                    f"n_max: got {n}, where the simulated power is {self._cell(n).rate:.3g} and not {self.power:g}; "
                    "raise it, or take a stronger deviation or a test with more power"
                )
            n = min(2 * n, self.n_max)
        return self._moved(n / sqrt(2.0))

    def _refined(self, centre: float) -> float:
        """The estimate after powers around it are simulated, until it has settled."""
        for step in range(ROUNDS):
            share = SHARES[min(step, len(SHARES) - 1)]
            for n in sorted({self._within(round(factor * centre)) for factor in AROUND}):
                self.rate(n, max(min(self.m, FEWEST), int(share * self.m)))
            before, centre = centre, self._moved(centre)
            if step >= len(SHARES) - 1 and AROUND[0] <= centre / before <= AROUND[-1]:
                break
        return centre

    def _answer(self, centre: float) -> SampleSize:
        """The estimate, after its power is simulated too."""
        self.rate(self._whole(centre), self.m)
        n, crossing = self._whole(self._moved(centre)), self._crossing(centre)
        if crossing is None:
            note = "the simulated powers do not increase with n; the answer is rough"
            return self._result(n, None, self._cell(n), note)
        self.rate(n, self.m)
        cell = self._cell(n)
        rough = f"the power simulated at n = {n} differs from {self.power:g} by more than chance"
        notes = [f"{rough}; the fit is rough there"] if cell.interval.excludes(self.power) else []
        return self._result(n, crossing, cell, *notes)

    def _unfinished(self) -> SampleSize:
        if not self.stored:
            raise KeyboardInterrupt
        self.used = {n: cell.n_simulations for n, cell in self.stored.items()}
        reached = [n for n in sorted(self.stored) if self.stored[n].rate >= self.power]
        crossing = self._crossing(reached[0] / sqrt(2.0)) if reached else None
        n = None if crossing is None else max(1, ceil(crossing.n))
        return self._result(n, crossing, None, "interrupted: the search is not finished; resume=result continues it")

    def _crossing(self, centre: float) -> Crossing | None:
        cells = [self._cell(n) for n in sorted(self.used)]
        points = [(cell.n, cell.rejections(), cell.n_simulations) for cell in cells]
        return fitted_size(points, self.power, centre, self.confidence_level)

    def _moved(self, centre: float) -> float:
        """The estimate, if there is one, but not more than a factor of 2 away from the centre of what was simulated."""
        crossing = self._crossing(centre)
        return centre if crossing is None else min(max(crossing.n, centre / 2.0, self.n_min), 2.0 * centre, self.n_max)

    def _whole(self, estimate: float) -> int:
        return self._within(ceil(estimate))

    def _within(self, n: int) -> int:
        return min(max(n, self.n_min), self.n_max)


Point = tuple[int, int, int]
"""Observations, rejections, simulations."""

WINDOWS = (1.7, 3.0, inf)
"""Powers at n within such a factor of the estimate are fitted, in the narrowest of the first two windows in which they
clearly increase, or of all in which they do."""

ADDED = 0.1
"""Rejections and acceptances that are added to those of each n."""


def fitted_size(points: Sequence[Point], power: float, centre: float, confidence_level: float) -> Crossing | None:
    """Where ``Phi(a + b sqrt(n))`` is the wanted power, from a probit regression; None if powers do not increase.

    Points near ``centre`` are used, three at least. A tenth of a rejection and of an acceptance is added to each, so
    that rates of 0 and 1 have finite probits; halves make sizes for powers of 0.99 too large. The interval holds the n
    for which the line is not significantly above or below the wanted probit (Fieller 1954).
    """
    found: Crossing | None = None
    for factor in WINDOWS:
        used = [point for point in points if centre / factor <= point[0] <= centre * factor]
        if len(used) < 3 or (factor == inf and found is not None):
            continue
        (a, b), covariance = _fit(used)
        if b > 0.0:
            a -= float(scipy.special.ndtri(power))
            low, high = _fieller(a, b, covariance, float(scipy.special.ndtri(0.5 + confidence_level / 2.0)))
            crossing = Crossing(max(-a / b, 0.0) ** 2, max(low, 0.0) ** 2, high**2)
            if high < inf:
                return crossing
            found = found or crossing
    return found


def _fit(points: Sequence[Point]) -> tuple[FloatArray, FloatArray]:
    """Coefficients (2,) of 1 and sqrt(n), and their covariance matrix."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.families.links import Probit
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    sizes, counts, totals = np.array(points, dtype=np.float64).T
    outcomes = np.stack([counts + ADDED, totals - counts + ADDED], axis=1)
    design = np.stack([np.ones_like(sizes), np.sqrt(sizes)], axis=1)
    with catch_warnings():
        # Points on a line fit perfectly; what is added keeps it finite all the same.
        simplefilter("ignore", PerfectSeparationWarning)
        fit = GLM(outcomes, design, family=Binomial(link=Probit())).fit()
    return np.asarray(fit.params), np.asarray(fit.cov_params())


def _fieller(a: float, b: float, covariance: FloatArray, z: float) -> tuple[float, float]:
    """The x with ``(a + b x)**2 <= z**2 Var(a + b x)``, for estimates a and b with this covariance."""
    aa, ab, bb = covariance[0, 0], covariance[0, 1], covariance[1, 1]
    square, linear, constant = b * b - z * z * bb, a * b - z * z * ab, a * a - z * z * aa
    root = linear * linear - square * constant
    if square <= 0.0 or root < 0.0:
        return 0.0, inf
    return (-linear - sqrt(root)) / square, (-linear + sqrt(root)) / square
