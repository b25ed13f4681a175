"""Whether two implementations agree, and how they compare."""

from math import inf, isclose, sqrt

STANDARD_ERRORS = 5


def comparison(ours, other):
    """Quantities that limits are about."""
    quantities = {"seconds": ours.seconds, "megabytes": ours.megabytes}
    if other is None or not other.seconds:
        return quantities
    quantities |= {
        "faster": other.seconds / ours.seconds,
        "growth": ours.seconds / other.seconds,
        "longer": ours.seconds - other.seconds,
    }
    if other.answers:
        quantities["memory"] = ours.megabytes / other.megabytes if other.megabytes else inf
    return quantities


def disagreement(ours, other):
    """What differs, or an empty string."""
    one, two = ours.values, other.values
    if not one or not two:
        return ""
    # A degenerate U-statistic has the scale 1/n, and its value may be much closer to 0.
    tolerance = max(ours.side.tolerance, other.side.tolerance)
    if not isclose(one["estimate"], two["estimate"], rel_tol=tolerance, abs_tol=tolerance / ours.side.n):
        return f"estimates {one['estimate']!r} and {two['estimate']!r} of {other.side.name}"
    if "pvalue" in two and abs(one["pvalue"] - two["pvalue"]) > pvalue_tolerance(one, two):
        return f"p-values {one['pvalue']:.4g} and {two['pvalue']:.4g} of {other.side.name}"
    return ""


def pvalue_tolerance(one, two):
    """A few standard errors of the difference of two p-values from independent draws."""
    fewest = 1 / one["draws"] + 1 / two["draws"]
    middle = (one["pvalue"] + two["pvalue"]) / 2
    return STANDARD_ERRORS * sqrt(middle * (1 - middle) * fewest) + fewest
