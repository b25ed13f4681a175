"""Slices before and after a repair, beside plain sums over held-out rows."""

from dataclasses import replace

import numpy as np
import pytest
from printed import unfolded
from samples import wrong_in_a_slice

import caltest as ct
from caltest._laws import clopper_pearson
from caltest.recalibration import Multicalibration, MulticalibrationReport, multicalibration_report


@pytest.fixture(scope="module")
def found() -> MulticalibrationReport:
    return multicalibration_report(*wrong_in_a_slice(4000)[:3], n_resamples=99, rng=1)


def test_rows_are_plain_sums_over_held_out_rows(found):
    p, y, frame, _ = wrong_in_a_slice(4000)
    order = np.random.default_rng(1).permutation(4000)
    rest, others = np.sort(order[:2000]), np.sort(order[2000:])
    q = found.map(p[rest], frame.iloc[rest])
    again = Multicalibration().fit(p[others], y[others], frame.iloc[others])
    np.testing.assert_array_equal(q, again(p[rest], frame.iloc[rest]))
    first = next(one for one in found.rows if one.repaired)
    rows = np.array([True] * 2000)
    ages = dict(zip(found.map.codings[1].words, range(9), strict=False))
    for word in first.name.split(" and "):
        codes = found.map.codings[1].codes(frame["age"].to_numpy()[rest])
        rows &= frame["site"].to_numpy()[rest] == "b" if word == "site = b" else codes == ages[word]
    assert first.n == rows.sum()
    assert first.before.estimate == pytest.approx((y[rest][rows] - p[rest][rows]).mean(), rel=1e-12)
    assert first.after.estimate == pytest.approx((y[rest][rows] - q[rows]).mean(), rel=1e-12)
    low, high = clopper_pearson(int(y[rest][rows].sum()), int(rows.sum()), 1.0 - 0.05 / found.n_slices)
    assert first.before.ends == pytest.approx((low - p[rest][rows].mean(), high - p[rest][rows].mean()))
    assert first.after.ends == pytest.approx((low - q[rows].mean(), high - q[rows].mean()))
    losses = [-np.log(np.where(y[rest] == 1, one, 1.0 - one)) for one in (p[rest], q)]
    assert found.log_loss == pytest.approx([one.mean() for one in losses])
    assert found.brier == pytest.approx([np.mean((y[rest] - one) ** 2) for one in (p[rest], q)])
    half = 1.959964 * (losses[0] - losses[1]).std(ddof=1) / np.sqrt(2000)
    assert found.gain.estimate - found.gain.low == pytest.approx(half, rel=1e-6)


def test_pvalues_are_those_of_a_search_of_the_same_slices(found):
    """Before the repair: columns whose slices do not depend on the part that decides them."""
    p, y, _, wrong = wrong_in_a_slice(1000, 5)
    map_ = Multicalibration(max_steps=0, max_depth=1).fit(p, y, {"bad": wrong})
    judged = multicalibration_report(p, y, {"bad": wrong}, map_, n_resamples=99, rng=3)
    edges = map_.codings[0].codes(p)
    search = ct.find_slices(p, y, {"p": edges, "bad": wrong}, max_depth=1, n_resamples=99, rng=3)
    assert judged.n_slices == search.n_slices
    assert judged.pvalue_before == judged.pvalue_after == pytest.approx(search.pvalue, abs=0.03)
    assert judged.verdict().startswith("the repair leaves the predictions as they are")


def test_the_report_says_what_the_repair_did(found):
    text = unfolded(found)
    assert "Verdict        the repair helps: " in text
    assert f"of {found.n_slices} slices rejected before, none after" in text
    assert "site = b" in found.worst_before.name
    assert found.worst_before.before.low > 0.0 >= found.worst_after.after.low
    assert found.gain.low > 0.0
    assert "none after" in repr(found)
    assert found.rejected_after == 0 < found.rejected_before


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.2, "helps"),
        (-0.2, -0.1, "harms"),
        (0.0, 0.1, "makes no"),
        (-0.1, 0.0, "makes no"),
        (-0.1, 0.1, "makes no"),
    ],
)
def test_a_repair_helps_or_harms_if_its_interval_says_so(found, low, high, words):
    gain = replace(found.gain, low=low, high=high)
    assert replace(found, gain=gain).verdict().startswith(f"the repair {words}")


def test_a_fitted_map_says_that_it_has_seen_the_rows():
    p, y, frame, _ = wrong_in_a_slice(600)
    fitted = Multicalibration().fit(p, y, frame)
    judged = multicalibration_report(p, y, frame, fitted, n_resamples=9, rng=1)
    assert (judged.n, judged.n_fit) == (600, None)
    assert "fitted to" in judged.notes[0]
    assert not multicalibration_report(*wrong_in_a_slice(600, 9)[:3], fitted, n_resamples=9, rng=1).notes


def test_what_is_wrong_is_said():
    p, y, frame, _ = wrong_in_a_slice(16)
    with pytest.raises(ValueError, match="held-out rows without a slice that is large enough"):
        multicalibration_report(p, y, frame, rng=1)
    with pytest.raises(TypeError, match="method: got Platt"):
        multicalibration_report(p, y, frame, ct.recalibration.Platt())


def test_rows_are_exported_with_the_ends_of_both_intervals(found):
    first, entries = found.rows[0], found.row_entries()[0]
    assert entries["before"] == first.before.estimate
    assert (entries["after_low"], entries["after_high"]) == first.after.ends


def test_columns_that_say_nothing_are_noted():
    rng = np.random.default_rng(7)
    p = rng.uniform(0.2, 0.8, 600)
    y = (rng.random(600) < p).astype(int)
    features = {"site": rng.integers(0, 3, 600), "one": np.ones(600)}
    notes = ct.recalibration.multicalibration_report(p, y, features, n_resamples=9, rng=1).notes
    assert "columns with one value are left out: one" in notes


def test_impossible_outcomes_gain_nothing():
    rng = np.random.default_rng(0)
    p, groups = rng.random(1000), rng.integers(0, 3, 1000)
    y = (rng.random(1000) < np.clip(p + 0.2 * (groups == 1), 0.0, 1.0)).astype(int)
    p[:100] = 0.0
    found = multicalibration_report(p, y, {"group": groups}, n_resamples=19, rng=1)
    assert found.log_loss == (np.inf, np.inf)
    assert 0.0 < found.gain.low < found.gain.high < 0.1


def test_small_slices_of_the_method_are_judged_too():
    rng = np.random.default_rng(12)
    p, site = rng.uniform(0.98, 0.999, 800), rng.choice(list("abc"), 800)
    y = (rng.random(800) < p - 0.15 * (site == "b")).astype(int)
    with pytest.raises(ValueError, match="wanted more rows, or Multicalibration with a smaller min_variance"):
        ct.recalibration.multicalibration_report(p, y, {"site": site}, n_resamples=19, rng=1)
    method = ct.recalibration.Multicalibration(min_variance=0.5)
    found = ct.recalibration.multicalibration_report(p, y, {"site": site}, method, n_resamples=19, rng=1)
    assert found.worst_before.name == "site = b"
