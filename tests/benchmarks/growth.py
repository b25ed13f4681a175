"""How the time of the default test grows with n and k: ``python -m tests.benchmarks.growth``, about ten minutes."""

import sys
import time

import numpy as np

import caltest as ct

ROWS = 1_000, 10_000, 100_000, 1_000_000
CLASSES = 2, 10, 100, 1_000
MANY = 2, 10, 100, 1_000, 10_000
LARGEST = 10**8
"""Probabilities of single precision that fit into a few hundred megabytes."""


def seconds(n, k):
    """Of the faster of two calls on calibrated predictions, or None where these are too many."""
    if n * k > LARGEST:
        return None
    print(f"n = {n}, k = {k}", file=sys.stderr, flush=True)
    rng, p, y = np.random.default_rng(1), np.empty((n, k), dtype=np.float32), np.empty(n, dtype=np.int64)
    for start in range(0, n, 10_000):
        rows = slice(start, min(n, start + 10_000))
        law = ct.Categorical(rng.dirichlet(np.full(k, 0.1), rows.stop - start))
        p[rows], y[rows] = law.to_array(), law.sample(rng)
    times = []
    for seed in range(2):
        began = time.perf_counter()
        ct.calibration_test(p, y, rng=seed)
        times.append(time.perf_counter() - began)
    return min(times)


def slope(sizes, times):
    """Of the logarithm of the time, by least squares."""
    known = [(np.log(size), np.log(one)) for size, one in zip(sizes, times, strict=True) if one is not None]
    return np.polyfit(*zip(*known, strict=True), 1)[0]


def line(name, sizes, times):
    """A line of the table in Markdown."""
    cells = ["" if one is None else f"{one:.2f} s" for one in times]
    return f"| {name} | {' | '.join(cells)} | {slope(sizes, times):.2f} |"


def main():
    """Print both tables."""
    print(f"| | {' | '.join(f'n = {n:,}' for n in ROWS)} | slope |\n|{' --- |' * (len(ROWS) + 2)}")
    for k in CLASSES:
        print(line(f"k = {k:,}", ROWS, [seconds(n, k) for n in ROWS]), flush=True)
    print(f"\n| | {' | '.join(f'k = {k:,}' for k in MANY)} | slope |\n|{' --- |' * (len(MANY) + 2)}")
    print(line("n = 2,000", MANY, [seconds(2_000, k) for k in MANY]))


if __name__ == "__main__":
    main()
