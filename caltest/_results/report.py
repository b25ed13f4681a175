"""What a test asks and its answers, in words, and results as sentences of a paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._results.pvalues import EXCLUDED, format_pvalue, in_brackets, is_smallest, pvalue_phrase, undecided

KIND_WORDS = {
    "exact": "exact Monte Carlo p-value",
    "bound": "upper bound of the p-value for every n",
    "asymptotic": "asymptotic p-value",
    "resampling": "p-value by resampling",
}


def sentence_of(result: Any, alpha: float) -> str:
    """One sentence on a test, with its decision at a level."""
    used = "" if result.n_used == result.n else f" ({result.n_used} used)"
    kind = KIND_WORDS[result.pvalue_kind]
    if result.pvalue_kind == "exact" and result.n_resamples is None:
        kind = "exact p-value"
    p = result.pvalue if result.pvalue_otherwise is None else result.pvalue_otherwise
    if result.n_resamples is not None and not is_smallest(p, result.n_resamples):
        kind += f" from {result.n_resamples} draws"
    found = pvalue_phrase(p, result.pvalue_kind == "bound") + in_brackets(p, result.n_resamples, kind)
    if result.pvalue_otherwise is not None:
        found = f"p = 0, because {EXCLUDED}; the other rows: {found}"
    finding = result.finding
    if result.pvalue <= alpha and finding is not None and finding.estimate is not None:
        found += f"; the fault that explains the outcomes best: {finding.words}"
    level, said = f"at the {100 * alpha:g} % level", "rejected" if result.pvalue <= alpha else "not rejected"
    decision = f"{said} {level}"
    if undecided(result.pvalue, result.n_resamples, alpha):
        decision = f"could not have been rejected {level} with so few redraws"
    return (
        f"The hypothesis that {QUESTIONS[result.question].null} ({result.hypothesis}) was tested with {result.test} on "
        f"n = {result.n} observations{used} ({result.estimator}) and {decision}: estimate = "
        f"{result.estimate:.3g}, statistic = {result.statistic:.3g} ({result.statistic_name}), {found}."
    )


def listed(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True)
class Question:
    """A null hypothesis, and what is said if it is rejected and if it is not; levels stand for ``{level}``."""

    null: str
    rejected: str
    kept: str


QUESTIONS = {
    "calibration": Question(
        "the predictions are calibrated",
        "reject calibration {level}: the predictions cannot be taken at face value",
        "no evidence against calibration {level}",
    ),
    "tolerance": Question(
        "the calibration error is at most the margin",
        "the calibration error is above the margin, {level}",
        "no evidence that the calibration error is above the margin, {level}",
    ),
    "equivalence": Question(
        "the calibration error is at least the margin",
        "the calibration error is below the margin, {level}",
        "no evidence that the calibration error is below the margin, {level}",
    ),
    "difference": Question(
        "both models have the same calibration error",
        "the calibration errors of the models differ, {level}",
        "no evidence that the calibration errors of the models differ, {level}",
    ),
}


ASSUMPTIONS = "outcomes independent given the predictions, and not used to fit or recalibrate the model (were they?)"
"""What no test can check."""

KINDS: dict[str, str] = {
    "exact": "exact: size at most alpha for every n",
    "bound": "upper bound of the p-value, for every n and distribution",
    "asymptotic": "from the limit distribution for large n",
    "resampling": "estimated by resampling, for large n",
}

SHOWN = 6
"""Components in a report."""


def report_of(result: Any, alpha: float) -> str:
    """The report of a test in fixed blocks, with its verdict at a level."""
    what = {
        "Hypothesis": f"{QUESTIONS[result.question].null}: {result.hypothesis}",
        "Predictions": result.predictions + ("" if result.n_used == result.n else f" ({result.n_used} used)"),
        "Estimator": result.estimator,
        "Null": result.null,
        "Assumes": result.assumes,
    }
    numbers = {"Estimate": f"{result.estimate:.6g}" + (" (SKCE with the kernel k)" if result.components else "")}
    if result.standard_error is not None:
        numbers["Estimate"] += f" (standard error {result.standard_error:.3g})"
    draws = result.null_distribution
    if draws is not None and result.statistic == result.estimate:
        deviation = f", standard deviation {draws.std(ddof=1):.3g}" if draws.size > 1 else ""
        numbers["If calibrated"] = f"mean {draws.mean():.3g}{deviation}, 95 % quantile {np.quantile(draws, 0.95):.3g}"
    freedom = "" if result.df is None else f", df = {', '.join(f'{value:g}' for value in result.df)}"
    if result.effect_size is not None:
        numbers["Effect size"] = str(result.effect_size)
    numbers["Statistic"] = f"{result.statistic:.6g} ({result.statistic_name}{freedom})"
    table = ["", *_table_of(result.components, result.pvalue_otherwise is not None)] if result.components else []
    seed = None if result.seed is None else f"rng={result.seed}"
    found = {"Verdict": result.verdict(alpha), "Why": result.why(alpha), "Reproduce": seed}
    return page(result.test, what, [""], numbers | _pvalues(result), table, [""], found, notes=result.notes)


def _pvalues(result: Any) -> dict[str, str]:
    """The p-value and its kind; where an outcome of predicted probability 0 makes it 0, that of the other rows too."""
    p = result.pvalue if result.pvalue_otherwise is None else result.pvalue_otherwise
    text = format_pvalue(p) + in_brackets(p, result.n_resamples, KINDS[result.pvalue_kind])
    if result.pvalue_otherwise is None:
        return {"p-value": text}
    return {"p-value": f"0 ({EXCLUDED})", "Other rows": text}


def _table_of(components: Sequence[Any], of_all: bool) -> list[str]:
    """A line for each component, which says whether rows of impossible outcomes are among those it is of."""
    lines = [f"{'Component (all rows)' if of_all else 'Component':<30}{'statistic':>10}{'p-value':>10}"]
    lines += [f"  {one.name:<28}{one.statistic:>10.3g}{format_pvalue(one.pvalue):>10}" for one in components[:SHOWN]]
    rest = components[SHOWN:]
    return [*lines, f"  and {len(rest)} others with larger p-values"] if rest else lines


def page(title: str, *parts: Mapping[str, str | None] | Sequence[str], notes: Sequence[str] = ()) -> str:
    """A report: its title, lines or names with their texts, none where the text is None, and notes."""
    lines = [title, "-" * len(title)]
    for part in parts:
        if isinstance(part, Mapping):
            part = [f"{name:<14} {text}" for name, text in part.items() if text is not None]
        lines += part
    return "\n".join([*lines, *(f"Note: {note}" for note in notes)])
