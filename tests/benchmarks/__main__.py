"""Time and peak memory of caltest beside other implementations of the same: ``python -m tests.benchmarks``."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from . import table
from .compare import disagreement
from .measure import Failed, measure
from .rows import ROWS

QUICK_FACTOR = 25
QUICK_REPEATS = 2


def main(arguments=None):
    """Print the table; 1 if results disagree or an implementation broke, whatever the times are."""
    options = parse(arguments)
    rows = chosen(options)
    pythons = json.loads(Path(options.pythons).read_text()) if options.pythons else {}
    repeats = QUICK_REPEATS if options.quick and options.repeats is None else options.repeats or 5
    cells, failures = [], []
    machine = table.machine()
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            print(f"{row.name} ...", file=sys.stderr, flush=True)
            try:
                ours, *others = measure(row, repeats, pythons, folder)
            except Failed as error:
                failures.append(f"{row.name}: {error}")
                continue
            cells += table.lines(row, ours, others)
            differences = [disagreement(ours, other) for other in others if row.compared]
            failures += [f"{row.name}: {difference}" for difference in differences if difference]
    print(table.as_markdown(cells) if options.markdown else table.as_text(cells))
    print(f"\n{table.LEGEND.format(repeats)}\n{machine}.")
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


def parse(arguments):
    names = [row.name for row in ROWS]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, in seconds; limits are not judged")
    parser.add_argument("--rows", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--repeats", type=int, help="repetitions of each measurement (5; 2 if quick)")
    parser.add_argument("--markdown", action="store_true", help="print the table as in a README")
    parser.add_argument("--pythons", metavar="FILE", help='JSON: Python of each peer, {"probcal": "venv/bin/python"}')
    return parser.parse_args(arguments)


def chosen(options):
    rows = [row for row in ROWS if not options.rows or row.name in options.rows]
    return [row.smaller(QUICK_FACTOR) for row in rows if row.in_quick] if options.quick else rows


if __name__ == "__main__":
    sys.exit(main())
