"""Predictions and labels of the benchmarks, stored as files: every implementation reads the same numbers.

They are made in a process of their own, so that the memory it needs does not hide that of a measured call.
"""

import subprocess
import sys
from pathlib import Path

CONCENTRATION = 0.1
SEED = 1


def stored(folder, n, k):
    """Files of probabilities (n, k) and of n labels drawn from them."""
    paths = [str(Path(folder) / f"{name}-{n}-{k}.npy") for name in ("predictions", "labels")]
    if not Path(paths[1]).exists():
        subprocess.run([sys.executable, __file__, str(n), str(k), *paths], check=True)
    return paths


def write(n, k, predictions_path, labels_path):
    import numpy as np  # Not needed by the process that only starts others.

    rng = np.random.default_rng(SEED)
    predictions = rng.dirichlet(np.full(k, CONCENTRATION), n)
    below = rng.random((n, 1)) > np.cumsum(predictions, axis=1)
    np.save(predictions_path, predictions)
    np.save(labels_path, np.minimum(below.sum(axis=1), k - 1))


if __name__ == "__main__":
    write(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
