import numpy as np
import pytest
from scipy import special, stats

from caltest.predictions.faults.numbers.noncentral import centred, log_ratio_of_noncentral

R = np.array([-40.0, -3.0, -0.5, 0.0, 0.2, 2.0, 15.0, 60.0])


@pytest.mark.parametrize("df", [3.0, 4.0, 7.0, 19.0, 100.0])
@pytest.mark.parametrize("shift", [-6.0, -0.5, 0.0, 0.1, 3.0, 12.0])
def test_ratios_are_those_of_scipy(df, shift):
    found, wanted = log_ratio_of_noncentral(R, shift, df), stats.nct.logpdf(R, df, shift) - stats.t.logpdf(R, df)
    known = np.isfinite(wanted) & (wanted > -600.0)
    assert found[known] == pytest.approx(wanted[known], abs=1e-3)
    assert np.isfinite(found).all()


def test_means_differ_for_each_number():
    shifts = np.linspace(-1.0, 2.0, R.size)
    alone = [log_ratio_of_noncentral(R[i : i + 1], shifts[i], 5.0)[0] for i in range(R.size)]
    assert log_ratio_of_noncentral(R, shifts, 5.0) == pytest.approx(alone)


def test_means_whose_probabilities_are_unknown_are_not_looked_for(monkeypatch):
    """Of means of 1e8 scipy takes ten seconds each, and finds none: numbers are moved by these."""
    asked, real = [], special.nctdtr
    monkeypatch.setattr(special, "nctdtr", lambda df, c, r: asked.extend(c[np.isfinite(c)]) or real(df, c, r))
    found = centred(np.array([2.0, 5e7, -5e7]), np.array([1.0, 1e8, -1e8]), 2.0)
    assert found[1:].tolist() == [-5e7, 5e7]
    assert found[0] == pytest.approx(stats.t.ppf(stats.nct.cdf(2.0, 2.0, 1.0), 2.0))
    assert np.abs(asked).max() == 1.0


def test_centred_numbers_have_the_central_law():
    assert centred(R[2:6], np.full(4, 1.5), 6.0) == pytest.approx(stats.t.ppf(stats.nct.cdf(R[2:6], 6.0, 1.5), 6.0))
    assert centred(R, np.zeros(R.size), 6.0) == pytest.approx(R)
    assert np.isfinite(centred(np.array([-1e6, 1e6]), np.full(2, 30.0), 6.0)).all()
