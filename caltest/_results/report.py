"""P-values as text and adjusted for their number, what a test asks and answers in words, reports and sentences."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isclose
from typing import Any

import numpy as np

from caltest._basics.numerics import never_falling
from caltest._results.measures import HIGH, table_of, widest
from caltest._results.tables import ASKED, Grid, Page, Part, asked_in
from caltest._validation import fraction

EXCLUDED = "an outcome occurred to which probability 0 was given"
"""Why a p-value is 0."""


def format_pvalue(pvalue: float, otherwise: float | None = None) -> str:
    """Three significant digits, in scientific notation below 1e-4; never 0 or 1 by rounding.

    Where an outcome of predicted probability 0 makes it 0, which is said, that of the other rows is ``otherwise``.
    """
    if otherwise is not None:
        return "0 (impossible)"
    if pvalue < 1e-300:
        return "< 1e-300"
    if 0.9995 <= pvalue < 1.0:
        return "> 0.999"
    return f"{pvalue:.3g}" if pvalue >= 1e-4 else f"{pvalue:.2e}"


def pvalue_phrase(pvalue: float, is_bound: bool = False, otherwise: float | None = None) -> str:
    """``p = 0.042``, for bounds ``p <= 0.042``, and ``p < 1e-300``; of impossible outcomes it says so."""
    if otherwise is not None:
        return "p = 0, an impossible outcome"
    text = format_pvalue(pvalue)
    if is_bound and text[0] == ">":
        return "p <= 1"
    return f"p {text}" if text[0] in "<>" else f"p {'<=' if is_bound else '='} {text}"


def is_smallest(pvalue: float, n_resamples: int | None, smallest: float | None = None) -> bool:
    """Whether redraws cannot give a smaller p-value than this, or the one that is said to be the smallest."""
    # Adjusted p-values are products, which are rounded.
    return n_resamples is not None and isclose(pvalue, 1 / (1 + n_resamples) if smallest is None else smallest)


def counted(number: int, word: str) -> str:
    """Such as ``999 redraws``, and ``1 redraw``."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def in_brackets(pvalue: float, n_resamples: int | None, *more: str, smallest: float | None = None) -> str:
    """What to say after a p-value: whether it is the smallest one possible, and what else there is."""
    if n_resamples is not None and is_smallest(pvalue, n_resamples, smallest):
        more = f"the smallest possible with {counted(n_resamples, 'redraw')}", *more
    said = "; ".join(more)
    return f" ({said})" if said else ""


def undecided(
    pvalue: float, n_resamples: int | None, alpha: float, smallest: float | None = None, has_few_rows: bool = False
) -> str | None:
    """What to say where the smallest p-value possible is above the level, so that nothing could be rejected."""
    if pvalue <= alpha or n_resamples is None:
        return None
    if not (is_smallest(pvalue, n_resamples) if smallest is None else smallest > alpha):
        return None
    least = smallest or 1 / (1 + n_resamples)
    enough, many = ceil((1 + n_resamples) * least / alpha - 1 - 1e-9), counted(n_resamples, "redraw")
    if has_few_rows:
        many, advice = "so few rows", "take more rows, or a smaller lag"
    else:
        many, advice = many if smallest is None else "so few redraws", f"take n_resamples={enough} or more"
    more = " or more" if least < 1.0 else ""
    return f"undecided {at_level(alpha)}: p-values of {many} are {format_pvalue(least)}{more}; {advice}"


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
    adjusted = never_falling(np.arange(p.size, 0, -1) * p[order], order)
    return [min(float(one), 1.0) for one in adjusted]


def benjamini_hochberg(pvalues: Sequence[float]) -> list[float]:
    """``min_{j >= i} min(1, m p_(j) / j)`` for the i-th smallest of m p-values (Benjamini and Hochberg 1995)."""
    p = np.asarray(pvalues)
    order = np.argsort(-p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(np.minimum.accumulate(p[order] / (np.arange(p.size, 0, -1) / p.size)), 1.0)
    return [float(one) for one in adjusted]


KIND_WORDS = {
    "exact": "exact Monte Carlo p-value",
    "bound": "upper bound of the p-value for every n",
    "asymptotic": "asymptotic p-value",
    "resampling": "p-value by resampling",
}


def at_level(alpha: float) -> str:
    """``"at the 5 % level"``; ``ValueError`` for levels that are not between 0 and 1."""
    return f"at the {100 * fraction('alpha', alpha):g} % level"


def decision(pvalue: float, alpha: float) -> str:
    """``"rejected at the 5 % level"``, or ``"not rejected at the 5 % level"``."""
    return f"{'' if pvalue <= alpha else 'not '}rejected {at_level(alpha)}"


def with_interval(value: float, interval: Any) -> str:
    """``"0.62 (95 % CI 0.52 to 0.73)"``, of a number without an interval the number alone."""
    if interval is None:
        return f"{value:.3g}"
    return f"{value:.3g} ({100 * interval.confidence_level:g} % CI {interval.low:.3g} to {interval.high:.3g})"


def in_cell(interval: Any, value: float | None = None) -> str:
    """``"0.62 (0.52 to 0.73)"``, for tables whose header has the level; around another value than the estimate."""
    ends = "" if interval is None else f" ({interval.low:.3g} to {interval.high:.3g})"
    return f"{interval.estimate if value is None else value:.3g}{ends}"


def sentence_of(result: Any, alpha: float, meaning: str = "") -> str:
    """One sentence on a test, with its decision at a level, and what that means in practice."""
    used = "" if result.n_used == result.n else f" ({result.n_used} used)"
    kind = KIND_WORDS[result.pvalue_kind]
    if result.pvalue_kind == "exact" and result.n_resamples is None:
        kind = "exact p-value"
    p = result.pvalue if result.pvalue_otherwise is None else result.pvalue_otherwise
    if result.n_resamples is not None and not is_smallest(p, result.n_resamples, result.smallest):
        kind += f" from {result.n_resamples} redraws"
    numbers = f"estimate = {result.estimate:.3g}, statistic = {result.statistic:.3g}, {result.statistic_name}"
    more = kind, f"{result.test}: {result.estimator}", numbers
    found = pvalue_phrase(p, result.pvalue_kind == "bound")
    found += in_brackets(p, result.n_resamples, *more, smallest=result.smallest)
    if result.pvalue_otherwise is not None:
        found = f"p = 0, because {EXCLUDED}; the other rows: {found}"
    level, said = at_level(alpha), "was rejected" if result.pvalue <= alpha else "was not rejected"
    decision = f"{said} {level}"
    if undecided(result.pvalue, result.n_resamples, alpha, result.smallest):
        few = "rows" if result.has_few_rows else "redraws"
        decision, meaning = f"could not have been rejected {level} with so few {few}", ""
    why, asked = _why_and_features(result, alpha), asked_in(result.notes)[0]
    meaning = f"; {meaning[2:]}" if meaning.startswith(": ") else meaning
    return (
        f"The hypothesis that {QUESTIONS[result.question].null} ({result.hypothesis}) {decision} for n = {result.n} "
        f"observations{used}, {found}{'' if why is None else ': ' + why.replace('perhaps: ', 'perhaps ', 1)}"
        f"{meaning}.{'' if asked is None else f' {ASKED}: {asked}'}"
    )


def _why_and_features(result: Any, alpha: float) -> str | None:
    """What is wrong, and given which features errors remain."""
    why, given = result.why(alpha), [one for one in result.given(alpha) if one.words]
    if not given:
        return None if why is None else str(why)
    said = f"errors depend on features: {_features(result, alpha)}"
    return said if why is None or why == f"{given[0].name}: {given[0].words}" else f"{why}; {said}"


def listed(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True)
class Question:
    """A null hypothesis, and what is said if it is rejected and if it is not.

    ``{level}`` stands for a level, ``{practical}`` for what the decision means in practice, ``{better}`` for the model
    of the smaller estimate.
    """

    null: str
    rejected: str
    kept: str


QUESTIONS = {
    "calibration": Question(
        "the predictions are calibrated",
        "reject calibration {level}{practical}",
        "calibration is not rejected {level}{practical}",
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
        "the calibration errors of the models differ, {level}: {better} is better calibrated",
        "no evidence that the calibration errors of the models differ, {level}: which one is better calibrated cannot "
        "be told",
    ),
}


ASSUMPTIONS = (
    "outcomes independent given all predictions, and not used to fit or recalibrate the model, or to predict others "
    "(were they?)"
)
"""What no test can check."""

KINDS: dict[str, str] = {
    "exact": "exact: size at most alpha for every n",
    "bound": "upper bound of the p-value, for every n and distribution",
    "asymptotic": "from the limit distribution for large n",
    "resampling": "approximate, by resampling: for many rows, or clusters",
}

TOO_SMALL = "p-values of dependent rows are too small"
"""What every question about rows that look dependent says."""

SHOWN = 6
"""Components in a report."""


MOST = 3
"""Components given features whose words are shown."""


def kind_of(result: Any) -> str:
    """How the p-value was made, in words; of rows that look dependent it is exact only if they are not."""
    if result.pvalue_kind == "exact" and any(TOO_SMALL in note for note in result.notes):
        return "exact if rows are independent: size at most alpha for every n"
    return KINDS[result.pvalue_kind]


def report_of(result: Any, alpha: float) -> str:
    """The report of a test in fixed blocks: the verdict first, what was tested and how last."""
    found = {"Verdict": result.verdict(alpha), "Why": result.why(alpha), "How much": widest(result.measures)}
    found["Features"] = _features(result, alpha)
    missed = power_phrase(result.detectable, alpha) if result.pvalue > alpha else None
    measures: list[Part] = [[""], Grid(table_of(result.measures))] if result.measures else [[], []]
    what = {
        "Hypothesis": f"{QUESTIONS[result.question].null}: {result.hypothesis}",
        "Predictions": result.predictions + ("" if result.n_used == result.n else f" ({result.n_used} used)"),
        "Assumes": result.assumes,
        "Null": result.null,
        "Estimator": result.estimator,
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
    table: list[Part] = _table_of(result.components, result.pvalue_otherwise is not None) if result.components else []
    given: list[Part] = _table_of_features(result.features) if result.features else []
    seed = {"Reproduce": None if result.seed is None else f"rng={result.seed}"}
    found |= pvalues_of(result, kind_of(result)) | {"Power": missed}
    return Page(result.test, found, *measures, [""], what, numbers | seed, *table, *given, notes=result.notes)


def power_phrase(detectable: Any, alpha: float) -> str | None:
    """What a test of so many observations would have found, in words; None if that is not known."""
    if detectable is None:
        return None
    power = detectable.power(alpha)
    # Rounding is not to lift a power to the one from which on nothing is said to be missed.
    said = power if power >= HIGH else min(power, HIGH - 0.01)
    found = "more than 99 %" if power > 0.99 else f"{100.0 * said:.0f} %" if power >= 0.01 else "less than 1 %"
    return f"{detectable.deviation} would be found in {found} of such data sets"


def _features(result: Any, alpha: float) -> str | None:
    """On which features errors depend, with p-values adjusted for all; None for tests without features."""
    adjusted = [one.adjusted for one in result.components if one.adjusted is not None]
    if not adjusted:
        return None
    found = result.given(alpha)
    if not found:
        return (
            f"no error that depends on one or two of them is clear (smallest adjusted {pvalue_phrase(min(adjusted))})"
        )
    words = [f"{one.name}: {one.words} (adjusted {pvalue_phrase(one.adjusted)})" for one in found if one.words]
    if words:
        return first_of(words, MOST, "; ")
    names = first_of([one.name for one in found], MOST, ", ")
    return (
        f"predictions are wrong {names}, but nowhere clearly more than elsewhere: repair them, then test features again"
    )


LISTED = 10
"""Names that a verdict lists, and labels that a report has a line for."""


def first_of(parts: Sequence[str], most: int, separator: str) -> str:
    """The first of some words, and how many others there are."""
    rest = len(parts) - most
    return separator.join(parts[:most]) + (f"{separator}and {counted(rest, 'other')}" if rest > 0 else "")


def pvalues_of(result: Any, kind: str) -> dict[str, str]:
    """The p-value and its kind; where an outcome of predicted probability 0 makes it 0, that of the other rows too."""
    p = result.pvalue if result.pvalue_otherwise is None else result.pvalue_otherwise
    text = format_pvalue(p) + in_brackets(p, result.n_resamples, kind, smallest=result.smallest)
    if result.pvalue_otherwise is None:
        return {"p-value": text}
    return {"p-value": f"0 ({EXCLUDED})", "Other rows": text}


def _table_of_features(features: Sequence[Any]) -> list[Part]:
    rows = [["feature", "adjusted p-value", "adjusted, without it"]]
    rows += [[one.name, format_pvalue(one.pvalue), format_pvalue(one.without)] for one in features[:SHOWN]]
    return [[""], Grid(rows), others_of(features, SHOWN)]


def _table_of(components: Sequence[Any], of_all: bool) -> list[Part]:
    """A line for each component, which says whether rows of impossible outcomes are among those it is of."""
    rows = [["component (all rows)" if of_all else "component", "statistic", "p-value"]]
    rows += [[one.name, f"{one.statistic:.3g}", format_pvalue(one.pvalue)] for one in components[:SHOWN]]
    if any(one.adjusted is not None for one in components[:SHOWN]):
        adjusted = ("" if one.adjusted is None else format_pvalue(one.adjusted) for one in components[:SHOWN])
        rows = [[*row, more] for row, more in zip(rows, ("adjusted", *adjusted), strict=True)]
    return [[""], Grid(rows), others_of(components, SHOWN)]


def others_of(rows: Sequence[Any], shown: int) -> list[str]:
    """The line below a table of the first rows that says how many others there are."""
    rest = len(rows) - shown
    return [f"  and {counted(rest, 'other')} with larger p-values"] if rest > 0 else []


NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def once(*notes: str) -> tuple[str, ...]:
    """Each of the notes once; of those that differ in a number only, the one with the largest.

    Examples
    --------
    >>> once("off by 2e-06", "rounded", "off by 3e-05")
    ('off by 3e-05', 'rounded')
    """
    found: dict[str, str] = {}
    for note in notes:
        words = NUMBER.sub("#", note)
        found[words] = max(found.get(words, note), note, key=_numbers)
    return tuple(found.values())


def _numbers(note: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(note)]
