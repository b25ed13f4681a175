import numpy as np
import pytest

from caltest._loops.formulas.kernels import EXPONENTIAL, FUNCTIONS, IDENTITY, MATERN_3, MATERN_5, RATIONAL, write_kernel

LOWEST = np.exp(-708.0)
FORMULAS = {
    EXPONENTIAL: lambda u, _: np.exp(-u),
    MATERN_3: lambda u, _: (1 + u) * np.exp(-u),
    MATERN_5: lambda u, _: (1 + u + u**2 / 3) * np.exp(-u),
    RATIONAL: lambda u, shape: np.exp(-shape * np.log1p(u / shape)),
    IDENTITY: lambda u, _: u,
}
CASES = [(EXPONENTIAL, False), (EXPONENTIAL, True), (MATERN_3, False), (MATERN_5, False), (RATIONAL, False)]
CASES += [(RATIONAL, True), (IDENTITY, False)]


@pytest.mark.parametrize(("kind", "square"), CASES)
@pytest.mark.parametrize("shape", [0.3, 1.0, 1e9])
def test_formulas(kind, square, shape):
    """Those of the table by themselves and chosen by their number, at distances of every size."""
    x = np.concatenate([[0.0], np.logspace(-12, 2, 40), np.random.default_rng(2).exponential(3.0, 50)])
    u = (0.7 * x).astype(np.longdouble) ** (2 if square else 1)
    expected = np.maximum(FORMULAS[kind](u, shape), 0.0 if kind in (RATIONAL, IDENTITY) else LOWEST).astype(float)
    chosen = x.copy()
    write_kernel(kind, chosen, 0.7, square, shape)
    assert chosen == pytest.approx(expected, rel=1e-13, abs=1e-290)
    if kind != IDENTITY:
        alone = x.copy()
        FUNCTIONS[kind](alone, 0.7, square, shape)
        assert np.array_equal(alone, chosen)


@pytest.mark.parametrize(("kind", "square"), CASES[:-1])
def test_infinite_distances_and_what_is_no_number(kind, square):
    x = np.array([np.inf, 1e300, np.nan])
    write_kernel(kind, x, 1.0, square, 1.5)
    assert (x[:2] < 1e-290).all()
    assert np.isnan(x[2])
