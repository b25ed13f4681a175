"""The table of results, and the machine they come from."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

from .compare import comparison

HEAD = ["what", "caltest", "beside", "ratio", "extra memory", "at least", "reached"]
LEGEND = """Medians of {} repetitions in turn. Extra memory: peak above that before the call. Times of which some
redraws are measured are scaled to all redraws, in the part that grows with them."""


def lines(row, ours, others):
    """Cells of a row: a line for each implementation beside caltest, the limits in the first."""
    if ours.skipped:
        return [[title(row), f"skipped: {ours.skipped.partition(' (')[0]}", "", "", "", limits(row), ""]]
    return [line(row, ours, other, first=not i) for i, other in enumerate(others or [None])]


def line(row, ours, other, first):
    quantities = comparison(ours, other)
    judged = first and row.limits
    reached = all(limit.quantity in quantities and limit.holds(quantities) for limit in row.limits)
    return [
        title(row),
        duration(ours.seconds),
        beside(row, other),
        ratio(row, quantities),
        memory(ours, other),
        limits(row) if judged else "",
        ("yes" if reached else "no") if judged else "",
    ]


def title(row):
    classes = "" if "family" in row.ours.settings else f", k = {row.ours.k}"
    size = f", n = {row.ours.n:,}{classes}" if row.ours.n else ""
    return row.title + size


def limits(row):
    return ", ".join(limit.text for limit in row.limits)


def duration(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def beside(row, other):
    if other is None:
        return ""
    name = other.side.label if row.compared else f"n = {other.side.n:,}"
    if other.answers:
        return f"{duration(other.seconds)} ({name})"
    if other.side.recorded:
        return f"{duration(other.seconds)} ({other.side.name}, recorded elsewhere)"
    return f"skipped: {other.skipped}"


def ratio(row, quantities):
    if "faster" not in quantities:
        return ""
    return f"{number(quantities['faster' if row.compared else 'growth'])}x"


def number(ratio):
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def memory(ours, other):
    mine = f"{ours.megabytes:.1f} MB"
    if other is None or not other.answers:
        return mine
    share = f" ({ours.megabytes / other.megabytes:.2g}x)" if other.megabytes >= 1 else ""
    return f"{mine} / {other.megabytes:.1f} MB{share}"


def as_markdown(cells):
    rule = ["---"] * len(HEAD)
    return "\n".join(f"| {' | '.join(row)} |" for row in [HEAD, rule, *cells])


def as_text(cells):
    widths = [max(len(row[column]) for row in [HEAD, *cells]) for column in range(len(HEAD))]
    rule = ["-" * width for width in widths]
    table = [HEAD, rule, *cells]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)


def machine():
    """Processor, cores, memory, versions and how busy it was before, in one line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [f"{processor()}, {cores} cores"]
    if hasattr(os, "sysconf"):
        parts.append(f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB")
    versions = [f"{name} {version(name)}" for name in ("numpy", "numba", "scipy")]
    busy = [f"load {os.getloadavg()[0]:.1f} at the start"] if hasattr(os, "getloadavg") else []
    return ", ".join([*parts, f"Python {platform.python_version()}", *versions, *busy])


def processor():
    path = Path("/proc/cpuinfo")
    names = [line for line in path.read_text().splitlines() if line.startswith("model name")] if path.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor() or platform.machine()
