import numpy as np
import pytest

import caltest as ct


def test_mmce_is_half_the_kernel_error_of_the_top_label():
    rng = np.random.default_rng(4)
    p, y = rng.dirichlet(np.ones(4), 40), rng.integers(0, 4, 40)
    c, a = p.max(axis=1), p.argmax(axis=1) == y
    terms = np.outer(a - c, a - c) * np.exp(-np.abs(c[:, None] - c) / 0.2)
    assert ct.MMCE(unbiased=False)(p, y) == pytest.approx(terms.mean(), rel=1e-12)
    assert ct.MMCE()(p, y) == pytest.approx(terms[np.triu_indices(40, 1)].mean(), rel=1e-12)
    assert ct.MMCE()(*ct.top_label(p, y)) == pytest.approx(ct.MMCE()(p, y), rel=1e-12)
