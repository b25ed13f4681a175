"""The printed report of a test."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._types import FloatArray
from caltest.results.questions import QUESTIONS

ASSUMPTIONS = "outcomes independent given the predictions, and not used to fit or recalibrate the model (were they?)"
"""What no test can check."""

KINDS: dict[str, str] = {
    "exact": "exact: size at most alpha for every n",
    "bound": "upper bound of the p-value, for every n and distribution",
    "asymptotic": "from the limit distribution for large n",
    "resampling": "estimated by resampling, for large n",
}


def report_of(result: Any) -> str:
    """The report of a test in fixed blocks."""
    lines = [result.test, "-" * len(result.test)]
    lines += _block(
        {
            "Hypothesis": f"{QUESTIONS[result.question].null}: {result.hypothesis}",
            "Predictions": result.predictions + ("" if result.n_used == result.n else f" ({result.n_used} used)"),
            "Estimator": result.estimator,
            "Null": result.null,
            "Assumes": result.assumes,
        }
    )
    numbers = {"Estimate": f"{result.estimate:.6g}" + (" (SKCE with the kernel k)" if result.components else "")}
    if result.standard_error is not None:
        numbers["Estimate"] += f" (standard error {result.standard_error:.3g})"
    if result.null_distribution is not None and result.statistic == result.estimate:
        numbers["If calibrated"] = _mean_and_sd(result.null_distribution)
    freedom = "" if result.df is None else f", df = {', '.join(f'{value:g}' for value in result.df)}"
    if result.effect_size is not None:
        numbers["Effect size"] = str(result.effect_size)
    numbers["Statistic"] = f"{result.statistic:.6g} ({result.statistic_name}{freedom})"
    numbers["p-value"] = f"{format_pvalue(result.pvalue)} ({KINDS[result.pvalue_kind]})"
    lines += ["", *_block(numbers)]
    if result.components:
        lines += ["", *_table_of(result.components)]
    lines += ["", *_block({"Verdict": result.verdict()})]
    if result.finding is not None and result.pvalue <= 0.05:
        lines += _block({"Why": result.finding})
    if result.seed is not None:
        lines += _block({"Reproduce": f"rng={result.seed}"})
    lines += [f"Note: {note}" for note in result.notes]
    return "\n".join(lines)


def format_pvalue(pvalue: float) -> str:
    """Three significant digits, in scientific notation below 1e-4."""
    if pvalue == 0.0:
        return "0"
    if pvalue < 1e-300:
        return "below 1e-300"
    return f"{pvalue:.3g}" if pvalue >= 1e-4 else f"{pvalue:.2e}"


def _mean_and_sd(draws: FloatArray) -> str:
    deviation = f", standard deviation {draws.std(ddof=1):.3g}" if draws.size > 1 else ""
    return f"mean {draws.mean():.3g}{deviation}, 95 % quantile {np.quantile(draws, 0.95):.3g}"


def _table_of(components: Sequence[Any]) -> list[str]:
    """A line for each component."""
    lines = [f"{'Component':<26}{'statistic':>10}{'p-value':>10}"]
    return lines + [f"  {one.name:<24}{one.statistic:>10.3g}{format_pvalue(one.pvalue):>10}" for one in components]


def _block(entries: dict[str, str]) -> list[str]:
    return [f"{name:<14} {text}" for name, text in entries.items()]
