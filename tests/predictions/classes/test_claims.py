import numpy as np
import pytest

import caltest as ct


@pytest.mark.parametrize(("n", "k"), [(1500, 3), (1500, 700)])
def test_slightly_wrong_labels_are_right_so_much_less_often(n, k):
    """Of many classes the temperature comes from some rows, and labels are drawn from some at a time."""
    p = np.random.default_rng(2).dirichlet(np.full(k, 3.0 / k), n)
    words, labels, _ = ct.Categorical(p).slightly_wrong(1, 100)
    hits = labels == p.argmax(axis=1)
    assert words == "probabilities 2 points too sure on average"
    assert p.max(axis=1).mean() - hits.mean() == pytest.approx(0.02, abs=0.004)
    half = np.abs(p.max(axis=1)[::2].mean() - hits[:, ::2].mean() - p.max(axis=1)[1::2].mean() + hits[:, 1::2].mean())
    assert half < 0.008
