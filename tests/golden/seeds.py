"""P-values and redraws for fixed seeds, stored for each version that promises to keep them.

``python -m tests.golden.seeds`` stores those of the version that is installed. Run it for a new version, or for one
that is not released yet; numbers of a released version are not stored again.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

import caltest as ct

FOLDER = Path(__file__).parent / "seeds"
N = 60

# Data without random numbers of ours.
_u = (np.arange(N) * 0.6180339887498949) % 1.0
_v = (np.arange(N) * 0.7548776662466927) % 1.0
_w = (np.arange(N) * 0.5698402909980532) % 1.0

BINARY = 0.05 + 0.9 * _u, (_v < 0.1 + 0.8 * _u).astype(int)
_p = np.stack([0.2 + _u, 0.2 + _v, 0.3 + 0.5 * (1.0 - _u)], axis=1)
_p /= _p.sum(axis=1, keepdims=True)
CLASSES = _p, (_w[:, None] > np.cumsum(_p, axis=1)).sum(axis=1)
NUMBERS = ct.Normal(_u, 0.2 + 0.1 * _v), _u + 0.5 * (_w - 0.5)
COUNTS = ct.Poisson(1.0 + 5.0 * _u), np.floor(2.0 + 4.0 * _u + 2.0 * _w).astype(int)
VECTORS = ct.MvNormal(np.stack([_u, _v], axis=1), 0.05), np.stack([_u + 0.4 * (_w - 0.5), 0.9 * _v], axis=1)
MEMBERS = _u[:, None] + np.sin(np.arange(20.0))[None] * (0.2 + 0.1 * _v[:, None])
WEIGHTS = 0.1 + _w
GROUPS = np.arange(N) % 3
BLOCKS = np.arange(N) // 3


def _test(test: Callable[..., ct.results.CalibrationTestResult], *data: object) -> list[float]:
    """P-value, and mean of the redraws."""
    result = test(*data, rng=1)
    return [result.pvalue] if result.null_distribution is None else [result.pvalue, result.null_distribution.mean()]


KERNEL = ct.Categorical(_p).default_kernel()


def _default(*data: object, rng: int) -> ct.results.CalibrationTestResult:
    return ct.calibration_test(*data, n_resamples=199, rng=rng)


def _weighted(*data: object, rng: int) -> ct.results.CalibrationTestResult:
    return ct.calibration_test(*data, n_resamples=199, rng=rng, weights=WEIGHTS)


CASES: dict[str, Callable[[], list[float]]] = {
    "default, binary": lambda: _test(_default, *BINARY),
    "default, classes": lambda: _test(_default, *CLASSES),
    "default, numbers": lambda: _test(_default, *NUMBERS),
    "default, counts": lambda: _test(_default, *COUNTS),
    "default, vectors": lambda: _test(_default, *VECTORS),
    "default, ensembles": lambda: _test(_default, ct.Ensemble(MEMBERS), NUMBERS[1]),
    "default, weights": lambda: _test(_weighted, *CLASSES),
    "one kernel": lambda: _test(ct.MonteCarloTest(ct.SKCE(KERNEL), 199), *CLASSES),
    "binned error": lambda: _test(ct.MonteCarloTest(ct.ECE(), 199), *BINARY),
    "low rank": lambda: _test(ct.MonteCarloTest(ct.LowRankSKCE(KERNEL, rank=16), 199), *CLASSES),
    "likelihood ratio": lambda: _test(ct.LikelihoodRatioTest(199), *CLASSES),
    "test locations": lambda: _test(ct.ScoreCMETest(ct.UCME(KERNEL, CLASSES[0][:3], [0, 1, 2]), 199), *CLASSES),
    "bootstrap": lambda: _test(ct.AsymptoticSKCETest(KERNEL, 199), *CLASSES),
    "clusters": lambda: _test(ct.ClusterSKCETest(BLOCKS, KERNEL, 199), *CLASSES),
    "consistency resampling": lambda: _test(ct.ConsistencyTest(ct.ECE(), 199), *BINARY),
    "groups": lambda: [
        one.adjusted for one in ct.calibration_by_group(*CLASSES, GROUPS, n_resamples=199, rng=1).groups
    ],
    "models": lambda: [
        row.pvalue
        for row in ct.compare_models({"a": CLASSES[0], "b": _p[:, ::-1]}, CLASSES[1], n_resamples=99, rng=1).rows
    ],
    "noise floor": lambda: [ct.noise_floor(BINARY[0], ct.ECE(), n_resamples=199, rng=1).mean],
    "power": lambda: list(
        ct.power(
            ct.MonteCarloTest(ct.ECE(), 19), ct.generators.class_model("M2", 3), 20, n_simulations=5, rng=1
        ).pvalues
    ),
    "stream": lambda: [ct.SequentialCalibrationTest().update(*BINARY).result().pvalue],
    "chosen estimator": lambda: [ct.estimate_calibration_error(*BINARY, "canonical", rng=1).squared_error],
}


def path_of(version: str) -> Path:
    """Numbers of all versions that differ in the last place only."""
    return FOLDER / f"{'.'.join(version.split('.')[:2])}.json"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    numbers = {name: [float(number) for number in case()] for name, case in CASES.items()}
    path_of(ct.__version__).write_text(json.dumps(numbers, indent=1) + "\n")
