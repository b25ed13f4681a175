"""Memory of the engine at n = 20 000, where an array of all pairs would take 3.2 GB."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="this system does not report the memory of processes")

THREADS = "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"
SLACK, NOISE = 1.5, 6.0
"""Times what was measured, and MB more, fail: pages, and what threads happen to hold at the same time."""

# Calls, and the MB they were measured to take above the same call for a few observations, with two threads.
COMPUTATIONS = {
    "SKCE": ("ct.SKCE(TV)(p, y)", 0.8),
    "bootstrap": ("ct.AsymptoticSKCETest(TV, 99)(p, y, rng=1)", 52),
    "Monte Carlo": ("ct.MonteCarloTest(ct.SKCE(TV), 99)(p, y, rng=1)", 11),
    "Monte Carlo, binary": ("ct.MonteCarloTest(ct.SKCE(TV), 99)(p[:, 0], y == 0, rng=1)", 13),
    "small blocks": ("ct.BlockSKCE(TV, 50)(p, y)", 0.3),
    "large blocks": ("ct.BlockSKCE(TV, len(y) // 4)(p, y)", 3),
    "low rank": ("ct.LowRankSKCE(TV)(p, y)", 14),
    "Monte Carlo, low rank": ("ct.MonteCarloTest(ct.LowRankSKCE(TV), 99)(p, y, rng=1)", 18),
    "mean embedding": ("ct.AsymptoticCMETest(ct.UCME(TV, p[:10], y[:10]))(p, y)", 8),
    "known covariance": ("ct.ScoreCMETest(ct.UCME(TV, p[:10], y[:10]), 99)(p, y, rng=1)", 12),
    "median": ("ct.median_bandwidth(p, ct.TotalVariation())", 14),
}

SCRIPT = """
import json, resource, sys
import numpy as np
import caltest as ct

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

TV = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())
rng = np.random.default_rng(1)
everything = rng.dirichlet(np.full(3, 0.5), 20_000)
labels = ct.Categorical(everything).sample(1)

p, y = everything[:60], labels[:60]
{code}
before = peak()
p, y = everything, labels
{code}
print(json.dumps(peak() - before))
"""


@pytest.mark.parametrize(("code", "megabytes"), COMPUTATIONS.values(), ids=COMPUTATIONS)
def test_no_array_of_all_pairs_is_made(code, megabytes):
    command, threads = [sys.executable, "-c", SCRIPT.format(code=code)], dict.fromkeys(THREADS, "2")
    run = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) < 1e6 * (SLACK * megabytes + NOISE)
