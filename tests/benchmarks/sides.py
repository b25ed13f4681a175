"""What a benchmark is made of: implementations, limits and rows of the table."""

from dataclasses import dataclass, field, replace
from math import inf

SMALLEST = 200


@dataclass(frozen=True)
class Side:
    """One implementation at one size: ``benchmarks.<module>.<function>(predictions, labels, **settings)``."""

    name: str
    module: str
    function: str
    n: int = 0  # 0 for none
    k: int = 10
    settings: dict = field(default_factory=dict)
    times: int = 1  # so many calls stand beside one of the other side; one is measured
    of_draws: int = 0  # the time is scaled to so many draws, the part of it that is linear in them
    peer: str = ""  # a package with a Python of its own
    recorded: float = 0.0  # seconds measured elsewhere, for peers that are not here
    tolerance: float = 1e-10
    fresh: bool = False  # a new process for every repetition, with nothing warm but what is on disk
    cold: bool = False  # without compiled code on disk

    @property
    def label(self):
        """Name with what is calculated from the measured time."""
        calls = f", {self.times} calls (one measured)" if self.times > 1 else ""
        draws = f", {self.settings['draws']} of {self.of_draws} redraws measured" if self.of_draws else ""
        return f"{self.name}{calls}{draws}"

    def smaller(self, factor):
        """The same with fewer observations, of which nothing is recorded."""
        return replace(self, n=min(self.n, max(SMALLEST, self.n // factor)), recorded=0.0)


@dataclass(frozen=True)
class Limit:
    """What a measured quantity should reach."""

    quantity: str
    text: str
    low: float = 0.0
    high: float = inf

    def holds(self, comparison):
        return self.low <= comparison[self.quantity] <= self.high


@dataclass(frozen=True)
class Row:
    """caltest beside others; the limits are about the first of them."""

    name: str
    title: str
    ours: Side
    others: tuple[Side, ...] = ()
    limits: tuple[Limit, ...] = ()
    one_core: bool = False
    compared: bool = True  # the results have to agree
    in_quick: bool = True

    def smaller(self, factor):
        """The same with fewer observations, where limits say nothing."""
        others = tuple(side.smaller(factor) for side in self.others)
        return replace(self, ours=self.ours.smaller(factor), others=others, limits=())


def faster(times):
    return Limit("faster", f"{times:g}x" if times != 1 else "no slower", low=times)


def memory(share):
    return Limit("memory", f"1/{1 / share:.0f} of the memory", high=share)


def seconds(most):
    return Limit("seconds", f"under {most:g} s", high=most)


def megabytes(most):
    return Limit("megabytes", f"under {most / 1000:g} GB", high=most)


def longer(most):
    return Limit("longer", f"under {most:g} s more", low=-inf, high=most)


def growth(low, high):
    return Limit("growth", f"{low:g}x to {high:g}x" if low else f"at most {high:g}x the time", low, high)
