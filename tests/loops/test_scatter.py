import numpy as np
import pytest

from caltest._loops.pair_sums import redraws


@pytest.mark.every(3)
@pytest.mark.parametrize("n", [5, redraws.ROWS + 1, 2 * redraws.ROWS])
@pytest.mark.parametrize(("k", "label_type"), [(2, np.uint8), (3, np.int32), (300, np.int32)])
def test_changes_by_class(n, k, label_type):
    """Against sums of outer products, on both sides of the ranges that are summed together."""
    rng = np.random.default_rng(n)
    features = rng.normal(size=(n, 4))
    base = rng.integers(-1, k, n)
    labels = np.where(rng.random((3, n)) < 0.5, base, rng.integers(0, k, (3, n)))
    labels = np.where(labels < 0, 1, labels).astype(label_type)
    unit = np.vstack([np.eye(k), np.zeros(k)])  # base -1 is the row of zeros
    expected = [(unit[y] - unit[base]).T @ features for y in labels]
    sums = redraws.changes_by_class(features, base, labels, k)
    assert sums == pytest.approx(np.array(expected), rel=1e-12, abs=1e-12)
    single = redraws.changes_by_class(features.astype(np.float32), base, labels, k)
    assert single.dtype == np.float32
    assert single == pytest.approx(sums, abs=1e-3)
