"""What columns of numbers are by their names: levels of quantiles, ends of intervals, means, deviations, variances."""

import re
from collections.abc import Sequence
from typing import Any

from caltest._basics.arrays import Table, is_data_array

MEANS = {"mean", "mu", "loc", "expected", "expectation", "average"}
DEVIATIONS = {"sd", "std", "stdev", "stddev", "sigma", "scale", "deviation"}
VARIANCES = {"var", "variance", "variances"}
ENDS = {"lower", "upper", "lo", "hi", "low", "high", "lwr", "upr"}
"""Words in the names, in small letters."""

LEVEL = re.compile(r"(q|quantile)?[ _]?(\d*\.?\d+) ?(%?)", re.IGNORECASE)
"""q0.1, q10, 0.1, 10 %."""

SHOWN = 5
"""Names in an error."""

RENAME = "; or give the columns other names"


def names_of_columns(values: Any) -> list[str]:
    """Those of a data frame, of a table, or of the second dimension of xarray; none of other arrays.

    Columns of several variables have what tells them apart last.
    """
    names = values.names if isinstance(values, Table) else getattr(values, "columns", None)
    if is_data_array(values) and values.ndim == 2:
        names = values.indexes.get(values.dims[1])
    return [str(name[-1] if isinstance(name, tuple) else name) for name in (() if names is None else names)]


def levels_named(names: Sequence[str]) -> list[float] | None:
    """The levels between 0 and 1 that all columns are named after; None if some are not, or there are no names."""
    levels = [_level(name) for name in names]
    return [level for level in levels if level is not None] if levels and None not in levels else None


def _level(name: str) -> float | None:
    found = LEVEL.fullmatch(name)
    if found is None:
        return None
    level, in_percent = float(found[2]), bool(found[3]) or (found[1] is not None and found[2].isdigit())
    if in_percent and not found[3] and len(found[2]) < 2:
        return None  # q1, q2, q3 may be quartiles.
    level = level / 100.0 if in_percent else level
    return level if 0.0 < level < 1.0 else None


def refuse_quantiles(names: Sequence[str], where: str, wanted: str) -> None:
    """Raise ``ValueError`` if all columns are named after levels of quantiles, or ends of intervals."""
    if levels_named(names) is None and not (names and all(_words(name) & ENDS for name in names)):
        return
    advice = "ct.QuantileForecast(levels, values), and intervals for ct.predictions.interval_coverage"
    raise ValueError(f"{_got(names, where)}, wanted {wanted}; quantiles are for {advice}{RENAME}")


def require_mean_and_deviation(names: Sequence[str], where: str) -> None:
    """Raise ``ValueError`` if two columns are named after a deviation and a mean, or the second after variances."""
    first, second = map(_words, names)
    if first & DEVIATIONS - MEANS and second & MEANS and not first & MEANS and not second & DEVIATIONS:
        order = ",".join(reversed(names))
        raise ValueError(f"{_got(names, where)}, wanted mean and then standard deviation: --columns {order}{RENAME}")
    if second & VARIANCES or names[1].lower().endswith(("sigma2", "sigma^2")):
        wanted = "wanted mean and standard deviation; take the square roots of variances"
        raise ValueError(f"{_got(names, where)}, {wanted}{RENAME}")


def _words(name: str) -> set[str]:
    return set(re.findall("[a-z]+", name.lower()))


def _got(names: Sequence[str], where: str) -> str:
    return f"{where}: got the columns {', '.join(names[:SHOWN])}" + ", ..." * (len(names) > SHOWN)
