"""Results as sentences of a paper."""

from collections.abc import Sequence
from typing import Any

from caltest.results.questions import QUESTIONS

KIND_WORDS = {
    "exact": "exact Monte Carlo p-value",
    "bound": "upper bound of the p-value for every n",
    "asymptotic": "asymptotic p-value",
    "resampling": "p-value by resampling",
}


def pvalue_phrase(pvalue: float, is_bound: bool = False) -> str:
    """``p = 0.042``: three decimals, ``p < 0.001`` below that, ``p > 0.999`` for what would round to 1.

    Bounds are ``p <= 0.042``.
    """
    if pvalue < 0.001:
        return "p < 0.001"
    if is_bound:
        return f"p <= {pvalue:.3f}"
    return "p > 0.999" if pvalue > 0.9995 else f"p = {pvalue:.3f}"


def sentence_of(result: Any) -> str:
    """One sentence on a test."""
    p = pvalue_phrase(result.pvalue, result.pvalue_kind == "bound")
    used = "" if result.n_used == result.n else f" ({result.n_used} used)"
    kind = KIND_WORDS[result.pvalue_kind]
    if result.pvalue_kind == "exact" and result.n_resamples is None:
        kind = "exact p-value"
    draws = "" if result.n_resamples is None else f" from {result.n_resamples} draws"
    return (
        f"The hypothesis that {QUESTIONS[result.question].null} ({result.hypothesis}) was tested with {result.test} on "
        f"n = {result.n} observations{used} ({result.estimator}): estimate = {result.estimate:.3g}, statistic = "
        f"{result.statistic:.3g} ({result.statistic_name}), {p} ({kind}{draws})."
    )


def listed(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
