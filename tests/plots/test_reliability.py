import numpy as np
import pytest

import caltest as ct
from caltest import plots

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

from caltest.plots.reliability import _Reliability  # noqa: E402

P, Y = ct.datasets.load_digits_predictions()["random forest"]


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


def test_frequencies_at_the_ends_of_their_bars_are_inside():
    low, high = np.full(5, 0.2), np.full(5, 0.4)
    bins = _Reliability(np.ones(5), np.full(5, 0.3), np.array([0.19, 0.2, 0.3, 0.4, 0.41]), low, high)
    assert bins.outside.tolist() == [True, False, False, False, True]


def test_curves_of_two_named_classes_are_those_of_0_and_1():
    p = np.linspace(0.05, 0.95, 40)
    y = (p > 0.5).astype(int)
    names = ["no", "not yet"]
    plain = plots.reliability_curve(p, y, n_resamples=39, rng=1)
    named = plots.reliability_curve(p, np.array(names)[y], classes=names, rng=1)
    assert np.array_equal(named.lines[0].get_xydata(), plain.lines[0].get_xydata())
    assert named.get_ylabel() == "observed frequency of class 'not yet'"


def test_the_curve_of_very_many_predictions_has_a_value_for_many_neighbours(monkeypatch):
    monkeypatch.setattr(plots.reliability, "MOST_GROUPS", 8)
    rng = np.random.default_rng(1)
    p = np.sort(rng.random(400))
    y = (rng.random(400) < p).astype(int)
    ax = plots.reliability_curve(p, y, n_resamples=39, rng=1)
    line = next(one for one in ax.lines if one.get_gid() == "caltest-model")
    np.testing.assert_allclose(line.get_xdata(), p.reshape(8, 50).mean(axis=1), rtol=1e-12)
    assert (np.diff(line.get_ydata()) >= 0.0).all()
    assert np.mean(line.get_ydata()) == pytest.approx(y.mean(), rel=1e-12)
