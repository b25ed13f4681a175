import numpy as np
import pytest

from caltest._loops.sampling import FEW_CLASSES, VERY_FEW_CLASSES, classes_from_uniforms

N, B = 40, 200


def labels_of(cumulative, uniforms):
    out = np.empty(uniforms.shape, dtype=np.int32)
    classes_from_uniforms(cumulative, uniforms, out)
    return out


@pytest.mark.parametrize(
    "k", [2, 3, VERY_FEW_CLASSES, VERY_FEW_CLASSES + 1, FEW_CLASSES - 1, FEW_CLASSES, FEW_CLASSES + 1, 100, 300]
)
def test_all_ways_are_a_binary_search(k):
    """Comparison with all cumulative probabilities, and halving: sparse rows with runs of zeros at every place."""
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.full(k, 0.3), N) * (rng.random((N, k)) < 0.6)
    p[:, rng.integers(k)] += 0.1
    cumulative = np.cumsum(p, axis=1)
    uniforms = rng.random((B, N))
    edges = cumulative[:, rng.integers(0, k, B)].T / cumulative[:, -1]
    uniforms = np.concatenate([uniforms, np.minimum(edges, np.nextafter(1.0, 0.0)), np.zeros((1, N))])
    # 1 is what a product that rounds up to the total amounts to.
    uniforms = np.concatenate([uniforms, np.full((1, N), np.nextafter(1.0, 0.0)), np.ones((1, N))])
    labels = labels_of(cumulative, uniforms)
    last = p.shape[1] - 1 - (p[:, ::-1] > 0).argmax(axis=1)
    for i in range(N):
        found = np.searchsorted(cumulative[i], uniforms[:, i] * cumulative[i, -1], side="right")
        assert labels[:, i].tolist() == np.minimum(found, last[i]).tolist()
        assert (p[i, labels[:, i]] > 0).all()


@pytest.mark.parametrize("k", [VERY_FEW_CLASSES, FEW_CLASSES])
def test_the_number_of_classes_compared_does_not_change_the_labels(k):
    """Classes of probability 0 at the end move a row to the other way without changing its draws."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(k, 0.2), N)
    longer = np.hstack([p, np.zeros((N, 1))])
    uniforms = rng.random((B, N))
    assert np.array_equal(labels_of(np.cumsum(p, axis=1), uniforms), labels_of(np.cumsum(longer, axis=1), uniforms))
