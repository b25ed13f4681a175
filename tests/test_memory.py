"""Memory of the engine at n = 6000, where an array of all pairs takes 290 MB; with ``--full`` 20 000 and 3.2 GB."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="this system does not report the memory of processes")

THREADS = "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"
SLACK, NOISE = 1.5, 6.0
"""Times what was measured, and MB more, fail: pages, and what threads happen to hold at the same time."""

# Calls, and the MB they were measured to take at n = 20 000 above the same call for a few observations, with two
# threads.
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
    "pairs between halves": ("ct.named_tests.CertifiedCrossSKCETest(TV)(p, y)", 15),
    "known covariance": ("ct.ScoreCMETest(ct.UCME(TV, p[:10], y[:10]), 99)(p, y, rng=1)", 12),
    "median": ("ct.median_bandwidth(p, ct.TotalVariation())", 19),
}

SCRIPT = """
import json, os, resource, sys
import numpy as np
import caltest as ct

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

def growth(code):
    # Peaks are those of a process, so every call has one of its own.
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        names = {"ct": ct, "TV": TV}
        exec(code, names | {"p": everything[:60], "y": labels[:60]})
        before = peak()
        exec(code, names | {"p": everything, "y": labels})
        os.write(writing, str(peak() - before).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = float(pipe.read())
    os.waitpid(child, 0)
    return found

TV = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())
rng = np.random.default_rng(1)
everything = rng.dirichlet(np.full(3, 0.5), int(sys.argv[1]))
labels = ct.Categorical(everything).sample(1)
# The compiler is loaded for calls that are large enough for a compiled loop.
ct.named_tests.CertifiedCrossSKCETest(TV)(everything, labels)
found = {}
for name, (code, limit) in json.loads(sys.argv[2]).items():
    found[name] = growth(code)
    if found[name] >= limit:
        # Compilers take memory; by now the machine code is on disk.
        found[name] = growth(code)
print(json.dumps(found))
"""


def test_no_array_of_all_pairs_is_made(replications):
    n = replications(6000, 20_000)
    limits = {name: 1e6 * (SLACK * megabytes + NOISE) for name, (_, megabytes) in COMPUTATIONS.items()}
    assert max(limits.values()) < 8.0 * n**2 / 3.0
    calls = json.dumps({name: (code, limits[name]) for name, (code, _) in COMPUTATIONS.items()})
    command, threads = [sys.executable, "-c", SCRIPT, str(n), calls], dict.fromkeys(THREADS, "2")
    run = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not {name: found for name, found in json.loads(run.stdout).items() if found >= limits[name]}
