"""How often calibrated predictions are rejected whose outcomes depend on each other where places are near.

``python -m tests.statistical.spatial_blocks`` prints the table of ``docs/validity.md``; ten minutes.
"""

import numpy as np
from scipy.special import ndtr

import caltest as ct
from caltest._basics.calls import pvalues_only

N, SETS, REDRAWS, WAVES, SHARE = 1000, 300, 99, 400, 0.5
"""Rows, data sets, redraws, waves of a field, and the share of the variance of outcomes that the field has."""

RANGES = 0.01, 0.03, 0.1
"""Distances at which the correlation of the field is 0.6, of places in the unit square."""

CELLS = 3, 5, 8
"""Cells of the grid of blocks in each direction."""


def field(rng, places, length):
    """A stationary field of variance 1 with the correlation ``exp(-(d / length)**2 / 2)``, by random waves."""
    directions, phases = rng.normal(size=(2, WAVES)) / length, rng.uniform(0.0, 2.0 * np.pi, WAVES)
    return np.sqrt(2.0 / WAVES) * np.cos(places @ directions + phases).sum(axis=1)


def rejected(seed, length, shift=0.0):
    """By the default test, and by blocks of a grid as clusters."""
    rng = np.random.default_rng([seed, int(1000 * length)])
    places, p = rng.random((N, 2)), rng.uniform(0.1, 0.9, N)
    latent = np.sqrt(SHARE) * field(rng, places, length) + np.sqrt(1.0 - SHARE) * rng.normal(size=N)
    y = (ndtr(latent) < p + shift).astype(int)
    blocks = [(places * cells).astype(int) @ [1, cells] for cells in CELLS]
    with pvalues_only():
        tests = [ct.OmnibusTest(n_resamples=REDRAWS), *(ct.ClusterSKCETest(one, n_resamples=REDRAWS) for one in blocks)]
        return [test(p, y, rng=1).pvalue <= 0.05 for test in tests]


def main():
    """Print the table."""
    for shift in (0.0, 0.1):
        for length in RANGES:
            rates = 100.0 * np.mean([rejected(seed, length, shift) for seed in range(SETS)], axis=0)
            print(f"| {shift} | {length} | {' | '.join(f'{one:.1f}' for one in rates)} |", flush=True)


if __name__ == "__main__":
    main()
