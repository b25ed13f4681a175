"""Murphy diagrams and planes of score parts: what is drawn, against definitions."""

import numpy as np
import pytest
from plots.small_data import NORMAL, P, Y, Z, axes, model

import caltest as ct
from caltest import plots

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_murphy_diagram_by_its_definition():
    """Losses by a loop, and twice the area is the Brier score."""
    places, losses = model(plots.murphy_diagram(P, Y, rng=1, ax=axes())).get_data()
    by_hand = [
        np.mean([(1.0 - t) * (y == 1 and p <= t) + t * (y == 0 and p > t) for p, y in zip(P, Y, strict=True)])
        for t in places
    ]
    assert losses == pytest.approx(by_hand)
    assert 2.0 * np.trapezoid(losses, places) == pytest.approx(np.mean((P - Y) ** 2), rel=0.02)


def test_score_plane():
    models = {"a": P, "b": np.clip(1.3 * P - 0.1, 0.01, 0.99)}
    parts = {
        name: ct.score_decomposition(p, Y, confidence_level=0.9, n_resamples=39, rng=1) for name, p in models.items()
    }
    ax = plots.score_plane(parts, ax=axes())
    points = [line.get_xydata()[0] for line in ax.lines if line.get_gid() == "caltest-model"]
    assert points == [pytest.approx([one.miscalibration, one.discrimination]) for one in parts.values()]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"{k}, {v.score:.3g}" for k, v in parts.items()
    ]
    lines = {text.get_text(): text.xy for text in ax.texts}
    assert len(lines) > 2
    for score, (x, y) in lines.items():
        assert x - y + parts["a"].uncertainty == pytest.approx(float(score), abs=1e-3)
    # A line that leaves the frame at its top or at its right side has its score there.
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    offsets = np.array([y - x for x, y in (line.get_xydata()[0] for line in ax.lines if line.get_zorder() == 1)])
    at_top = (high - offsets > left) & (high - offsets < right)
    at_side = (right + offsets > low) & (right + offsets <= high)
    assert len(ax.texts) == np.count_nonzero(at_top | at_side)


def test_bad_input():
    other = ct.score_decomposition(P[:40], Y[:40])
    with pytest.raises(ValueError, match="wanted the same score of the same outcomes"):
        plots.score_plane({"a": ct.score_decomposition(P, Y), "b": other})
    with pytest.raises(ValueError, match="got none"):
        plots.score_plane({})
    with pytest.raises(TypeError, match="wanted a dict of names"):
        plots.score_plane([other])
    with pytest.raises(TypeError, match="got Normal predictions"):
        plots.murphy_diagram(NORMAL, Z, ax=axes())
    for bad in ({"n_resamples": 3}, {"confidence_level": 1.5}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            plots.murphy_diagram(P, Y, ax=axes(), **bad)
