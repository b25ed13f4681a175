"""The number of observations that a test needs for a wanted power."""

from dataclasses import dataclass
from math import inf
from typing import Any

from caltest._basics.numerics import own_errstate
from caltest._basics.threads import progress_bars
from caltest._results.confidence_interval import ConfidenceInterval
from caltest._results.stored import Stored
from caltest._validation import fraction, switch, whole_number
from caltest.studies.power import PowerResult
from caltest.studies.search import Search
from caltest.studies.simulation import (
    Test,
    check_generator,
    check_resumed,
    check_test,
    checked_seed,
    describe_generator,
    describe_test,
    is_calibrated,
)


@dataclass(frozen=True, eq=False, repr=False)
class SampleSize(Stored):
    """The number of observations for a wanted power. Printing it gives a report; ``to_dict()`` is ready for JSON.

    Attributes
    ----------
    test, generator
        What was simulated, in words.
    power, alpha
        What was wanted, and the level of the test.
    n
        The smallest number of observations with that power, as estimated; None if the search was interrupted before
        there was an estimate.
    interval
        Confidence interval for it, or None.
    achieved
        The simulated power at n, or None if the search was interrupted before.
    tried
        What was simulated, in ascending order of n.
    seed
        Integer that reproduces the result as ``rng=seed``.
    notes
        What the reader should know.

    Examples
    --------
    >>> import caltest as ct
    >>> test = ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(5)), n_resamples=19)
    >>> ct.sample_size(test, ct.generators.class_model("OC", 3), n_simulations=50, rng=1)
    <SampleSize n = 241 for power 0.8>
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

    def __repr__(self) -> str:
        return f"<SampleSize n = {self.n} for power {self.power:g}>"

    def __str__(self) -> str:
        title = "Sample size by simulation"
        lines = [title, "-" * len(title), f"{'Test':<15}{self.test}", f"{'Data':<15}{self.generator}"]
        lines += [f"{'Wanted':<15}power {self.power:g} at the {100 * self.alpha:g} % level", ""]
        lines.append(f"{'n':<15}{'not found' if self.n is None else self.n}" + self._interval_in_words())
        if self.achieved is not None:
            words = f"{self.achieved.rate_in_words()}, {self.achieved.n_simulations} simulations"
            lines.append(f"{'Power there':<15}{words}")
        steps = ", ".join(f"{one.n}: {one.rate:.2f}" for one in self.tried)
        lines += [f"{'Powers found':<15}{steps}", "", f"{'Reproduce':<15}rng={self.seed}"]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def _interval_in_words(self) -> str:
        if self.interval is None:
            return ""
        low, high = self.interval
        return f" [{low:.0f}, {high:.0f}] ({100 * self.interval.confidence_level:g} %, probit regression)"


@own_errstate
def sample_size(
    test: Test,
    generator: Any,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    n_simulations: int = 1000,
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
    power
        Wanted probability of rejection, above alpha.
    alpha
        Level of the test.
    n_simulations
        Data sets at the answer, at least 20. In all there are about four to five times as many.
    n_min, n_max
        Where to search.
    resume
        An earlier result of the same search, interrupted or with fewer simulations: nothing is simulated twice.

    Returns
    -------
    SampleSize
        ``print`` it for a report.

    Raises
    ------
    TypeError
        As ``power`` does.
    ValueError
        If the generator is calibrated, the power is not reached at ``n_max`` (the error says what is), or for other
        settings.

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
    243 [221, 271] (95 %, probit regression)
    """
    check_test(test)
    check_generator(generator)
    level, wanted = fraction("alpha", alpha), fraction("power", power)
    if wanted <= level:
        raise ValueError(f"power: got {power!r}, wanted more than alpha = {level:g}")
    if is_calibrated(generator):
        raise ValueError(
            f"generator: got a calibrated one ({describe_generator(generator)}), wanted one with a deviation to find"
        )
    lowest = whole_number("n_min", n_min, 1, inf)
    highest = whole_number("n_max", n_max, lowest, inf)
    m = whole_number("n_simulations", n_simulations, 20)
    confidence = fraction("confidence_level", confidence_level)
    shown = switch("progress", progress)
    if resume is not None:
        check_resumed(resume, SampleSize, test=describe_test(test), generator=describe_generator(generator))
    stored = {} if resume is None else {one.n: one for one in resume.tried}
    search = Search(test, generator, level, confidence, checked_seed(rng, resume), stored)
    with progress_bars(shown):
        answer = search.run(wanted, m, lowest, highest)
    if not search.stored:
        raise KeyboardInterrupt
    return SampleSize(
        test=describe_test(test),
        generator=describe_generator(generator),
        power=wanted,
        alpha=level,
        n=answer.n,
        interval=answer.interval,
        achieved=answer.achieved,
        tried=tuple(search.stored[n] for n in sorted(search.stored)),
        seed=search.seed,
        notes=answer.notes,
    )
