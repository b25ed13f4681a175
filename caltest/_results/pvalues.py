"""P-values: adjusted for their number, and as text, the same wherever they are printed."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

EXCLUDED = "an outcome occurred to which probability 0 was given"
"""Why a p-value is 0."""


def format_pvalue(pvalue: float, otherwise: float | None = None) -> str:
    """Three significant digits, in scientific notation below 1e-4; never 0 or 1 by rounding.

    ``0 (impossible)`` where an outcome of predicted probability 0 makes it 0 and that of the other rows is
    ``otherwise``.
    """
    if otherwise is not None:
        return "0 (impossible)"
    if pvalue < 1e-300:
        return "< 1e-300"
    if 0.9995 <= pvalue < 1.0:
        return "> 0.999"
    return f"{pvalue:.3g}" if pvalue >= 1e-4 else f"{pvalue:.2e}"


def pvalue_phrase(pvalue: float, is_bound: bool = False, otherwise: float | None = None) -> str:
    """``p = 0.042``, for bounds ``p <= 0.042``, and ``p < 1e-300``."""
    text = format_pvalue(pvalue, otherwise)
    if is_bound and text[0] == ">":
        return "p <= 1"
    return f"p {text}" if text[0] in "<>" else f"p {'<=' if is_bound else '='} {text}"


def is_smallest(pvalue: float, n_resamples: int | None) -> bool:
    """Whether redraws cannot give a smaller p-value."""
    return n_resamples is not None and pvalue == 1 / (1 + n_resamples)


def in_brackets(pvalue: float, n_resamples: int | None, *more: str) -> str:
    """What to say after a p-value: whether it is the smallest one possible, and what else there is."""
    smallest = (f"the smallest possible with {n_resamples} redraws",) if is_smallest(pvalue, n_resamples) else ()
    said = "; ".join((*smallest, *more))
    return f" ({said})" if said else ""


def undecided(pvalue: float, n_resamples: int | None, alpha: float) -> str | None:
    """What to say where the smallest p-value possible is above the level, so that nothing could be rejected."""
    if pvalue <= alpha or not is_smallest(pvalue, n_resamples):
        return None
    return (
        f"undecided at the {100 * alpha:g} % level: p-values of {n_resamples} redraws are {format_pvalue(pvalue)} or "
        f"more; take n_resamples={ceil(1 / alpha - 1 - 1e-9)} or more"
    )


def remarks(rows: Sequence[Any], n_resamples: int | None) -> list[str]:
    """What to say below a table of rows with a name, a p-value, and one of the other rows where one row makes it 0."""
    said = [
        f"{row.name}: p = 0, because {EXCLUDED}; the other rows: {pvalue_phrase(row.pvalue_otherwise)}"
        + in_brackets(row.pvalue_otherwise, n_resamples)
        for row in rows
        if row.pvalue_otherwise is not None
    ]
    smallest = [row.pvalue for row in rows if is_smallest(row.pvalue, n_resamples)]
    return [*said, *(pvalue_phrase(pvalue) + in_brackets(pvalue, n_resamples) for pvalue in smallest[:1])]


def holm(pvalues: Sequence[float]) -> list[float]:
    """``max_{j <= i} min(1, (m - j + 1) p_(j))`` for the i-th smallest of m p-values (Holm 1979)."""
    p = np.asarray(pvalues)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(np.arange(p.size, 0, -1) * p[order]), 1.0)
    return [float(one) for one in adjusted]


def benjamini_hochberg(pvalues: Sequence[float]) -> list[float]:
    """``min_{j >= i} min(1, m p_(j) / j)`` for the i-th smallest of m p-values (Benjamini and Hochberg 1995)."""
    p = np.asarray(pvalues)
    order = np.argsort(-p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(np.minimum.accumulate(p[order] / (np.arange(p.size, 0, -1) / p.size)), 1.0)
    return [float(one) for one in adjusted]
