import numpy as np
import pytest

import caltest as ct


def data(n=200, seed=1, decimals=17):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(4, 1, n), decimals)
    return p, (rng.random(n) < p**2).astype(int)


@pytest.mark.parametrize("n_bins", [1, 7, 100])
def test_plug_in_is_the_square_of_the_binned_error(n_bins):
    p, y = data(decimals=2)
    expected = ct.ECE(ct.binning.UniformBinning(n_bins), ct.kernels.SquaredEuclidean())(p, y)
    assert ct.risk.BinnedErrorFunction(n_bins).plug_in(p, y) == pytest.approx(expected, rel=1e-13)


def debiased(p, y, numbers):
    """Kumar et al. 2019: sum_b N_b/n ((conf_b - acc_b)**2 - acc_b (1 - acc_b) / (N_b - 1)) over bins of two or more."""
    total = 0.0
    for b in np.unique(numbers):
        members = numbers == b
        size, accuracy = members.sum(), y[members].mean()
        if size > 1:
            total += size / len(p) * ((p[members].mean() - accuracy) ** 2 - accuracy * (1 - accuracy) / (size - 1))
    return total


@pytest.mark.parametrize("n_bins", [1, 2, 15, 60, 200, 500])
@pytest.mark.parametrize("decimals", [17, 1])
def test_debiased_bins_are_the_formula(n_bins, decimals):
    """Up to one observation a bin and more bins than observations, with and without ties."""
    p, y = data(decimals=decimals)
    expected = debiased(p, y, ct.binning.QuantileBinning(n_bins).assign(p[:, None]))
    assert ct.risk.DebiasedBinnedErrorFunction(n_bins).plug_in(p, y) == pytest.approx(expected, abs=1e-15)


def test_debiased_bins_where_nothing_can_be_said():
    assert ct.risk.DebiasedBinnedErrorFunction(2).plug_in([0.2, 0.8], [1, 0]) == 0.0
    assert ct.risk.DebiasedBinnedErrorFunction(9).plug_in([0.7] * 4, [1, 1, 0, 0]) == pytest.approx(0.2**2 - 0.25 / 3)
    assert ct.risk.DebiasedBinnedErrorFunction(9).plug_in([0.7] * 4, [1] * 4) == pytest.approx(0.3**2)
    assert ct.risk.DebiasedBinnedErrorFunction(1).plug_in([0.0, 1.0], [0, 1]) == pytest.approx(-0.25)


def test_functions_of_new_points():
    """Bins are closed above, the first contains 0, empty ones say nothing; debiased values differ by the variance."""
    p, y = [0.1, 0.25, 0.25, 0.5, 0.9, 1.0], [0, 1, 0, 1, 1, 0]
    fitted = ct.risk.BinnedErrorFunction(4).fit(p, y)
    delta = np.array([0.2 - 1 / 3, 0.2 - 1 / 3, 0.5 - 1, 0.0, 0.95 - 0.5])
    assert fitted.matrix([0.0, 0.25, 0.26, 0.7, 1.0]) == pytest.approx(np.outer(delta, delta))
    debiased = ct.risk.DebiasedBinnedErrorFunction(2).fit(p, y)
    delta, variance = np.array([0.2 - 1 / 3, 0.8 - 2 / 3]), 2 / 9 / 2
    expected = np.outer(delta[[0, 0, 1, 1]], delta[[0, 0, 1, 1]])
    expected[:2, :2] -= variance
    expected[2:, 2:] -= variance
    assert debiased.matrix([0.0, 0.25, 0.3, 1.0]) == pytest.approx(expected)


def test_errors():
    for kind in (ct.risk.BinnedErrorFunction, ct.risk.DebiasedBinnedErrorFunction):
        with pytest.raises(ValueError, match="n_bins: got 0, wanted a whole number of at least 1"):
            kind(0)
        with pytest.raises(ValueError, match="n_bins: got no values"):
            kind([])
        with pytest.raises(ValueError, match="bins: got 20 values, wanted one to fit"):
            kind().fit([0.2, 0.8], [0, 1])
        with pytest.raises(TypeError, match=r"got probabilities of 2 classes.*use ct.top_label"):
            kind(5).fit([[0.2, 0.8], [0.5, 0.5]], [0, 1])
        with pytest.raises(ValueError, match="got 1 observation, wanted at least 2"):
            kind(5).fit([0.2], [0])
