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


GRADES = np.array([0.0005, 0.002, 0.005, 0.012, 0.03, 0.08, 0.2])


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("draw", [ct.plots.reliability_diagram, ct.plots.reliability_curve])
def test_grades_of_rare_events_are_told_apart(draw, mirrored):
    """Each has a place of its own, also where none of its rows has an event; risks that are even have usual axes."""
    rng = np.random.default_rng(1)
    p = rng.choice(GRADES, 4_000, p=[0.1, 0.2, 0.25, 0.2, 0.15, 0.07, 0.03])
    y = (rng.random(p.size) < p).astype(int)
    assert y[p == GRADES[0]].sum() == 0
    ax = draw(*((1.0 - p, 1 - y) if mirrored else (p, y)), rng=1)
    assert {ax.get_xscale(), ax.get_yscale(), ax.child_axes[0].get_xscale()} == {"logit"}
    places = np.sort(1.0 - GRADES if mirrored else GRADES)
    shown = ax.transAxes.inverted().transform(ax.transData.transform(np.stack([places, places], axis=1)))[:, 0]
    assert (np.diff(shown) > 0.08).all()
    assert (shown[0], shown[-1]) > (0.0, 0.7)
    if draw is ct.plots.reliability_diagram:
        points = np.concatenate([one.get_offsets() for one in ax.collections if one.get_label().startswith("bin")])
        assert sorted(points[:, 0]) == pytest.approx(places)
        assert all(ax.get_ylim()[0] <= one <= ax.get_ylim()[1] for one in points[:, 1])
        bars = np.array([[one.get_x(), one.get_x() + one.get_width()] for one in ax.containers[0]])
        ends = np.diff(np.log(bars / (1.0 - bars)), axis=1)
        assert ends == pytest.approx(np.full(ends.shape, ends[0, 0]))
        assert bars.mean(axis=1) == pytest.approx(places, rel=0.02)
    assert len(ax.get_xticks()) > 2
    even = draw(rng.choice([0.1, 0.3, 0.5, 0.7], 200), rng.integers(2, size=200), n_resamples=39, rng=1)
    assert even.get_xscale() == "linear"
    few = draw(np.repeat([0.01, 0.02], 100), np.arange(200) % 50 == 0, n_resamples=39, rng=1)
    assert few.get_xscale() == "linear"


def test_a_second_model_has_the_axes_of_the_first():
    rng = np.random.default_rng(1)
    p = rng.choice(GRADES, 900)
    y = (rng.random(900) < p).astype(int)
    ax = ct.plots.reliability_diagram(p, y, label="grades", n_resamples=39, rng=1)
    ct.plots.reliability_diagram(
        np.clip(p * rng.uniform(0.1, 2.0, 900), 0.0, 1.0), y, label="raw", n_resamples=39, ax=ax
    )
    assert ax.get_xscale() == "logit"
    assert 0.0 < ax.get_xlim()[0] < 0.0005 * 0.2


def test_rare_events_fill_the_picture_although_some_predictions_are_large():
    """Nearly all are in the first bin of the ECE: bins are tenths then, and the few beyond are in the last bar."""
    rng = np.random.default_rng(1)
    p = np.r_[rng.beta(2.0, 150.0, 4000), rng.uniform(0.1, 0.25, 20)]
    ax = plots.reliability_diagram(p, (rng.random(4020) < p).astype(int), n_resamples=39, rng=1)
    assert ax.get_xlim()[1] < 0.1
    counts = [bar.get_height() for bar in ax.child_axes[0].patches]
    assert sum(counts) == 4020
    assert ax.child_axes[0].get_yticklabels()[0].get_text() == f"{max(counts):.0f} rows"
