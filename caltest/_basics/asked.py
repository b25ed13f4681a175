"""How much of the results of tests is read, as most of the time of a test goes into what is not its p-value.

None of it takes random numbers from the p-value.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

PVALUES, COMPONENTS, FINDINGS, ALL = range(4)
"""What is read: p-values; those of components, too; what is wrong and how much; and what tests could have found."""

_read: ContextVar[int] = ContextVar("caltest_read", default=ALL)


@contextmanager
def _at_most(level: int) -> Iterator[None]:
    token = _read.set(min(level, _read.get()))
    try:
        yield
    finally:
        _read.reset(token)


pvalues_only = partial(_at_most, PVALUES)
"""Inside, only p-values of results are read, as in simulations."""

without_findings = partial(_at_most, COMPONENTS)
"""Inside, nobody reads what is wrong and how much, nor what tests could have found."""

without_power = partial(_at_most, FINDINGS)
"""Inside, nobody reads what tests could have found: about half of their time where they find nothing."""


def are_pvalues_enough() -> bool:
    """Whether nobody reads more of a result than its p-value."""
    return _read.get() == PVALUES


def are_findings_read() -> bool:
    """Whether somebody reads what is wrong and how much."""
    return _read.get() >= FINDINGS


def is_power_read() -> bool:
    """Whether somebody reads what a test could have found."""
    return _read.get() == ALL
