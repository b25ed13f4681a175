"""The map of slices beside the steps written plainly, and on rows of other data."""

import json

import numpy as np
import pandas as pd
import pytest
from samples import wrong_in_a_slice
from scipy.optimize import minimize
from scipy.special import expit, logit

import caltest as ct
from caltest.recalibration import CalibrationMap, Multicalibration


def test_the_wrong_slice_is_repaired_and_the_others_are_left():
    p, y, frame, _ = wrong_in_a_slice(8000)
    fitted = Multicalibration().fit(p, y, frame)
    assert all("site = b" in one for one in fitted.slices)
    q, truth, others, bad = (wrong_in_a_slice(4000, 2)[i] for i in (0, 0, 2, 3))
    after = fitted(q, others)
    assert np.abs(logit(after[bad]) - logit(truth[bad]) - 1.0).mean() < 0.25
    np.testing.assert_allclose(after[others["site"] != "b"], q[others["site"] != "b"], rtol=1e-12)


def test_a_step_has_the_largest_penalised_likelihood_of_the_slice_with_the_largest_statistic():
    """The first step, which the one slice that is far off decides, by an optimiser and with the prior written out."""
    p, y, frame, _ = wrong_in_a_slice(2000, 3)
    only = {"bad": ((frame["site"] == "b") & (frame["age"] >= 60)).to_numpy()}
    fitted = Multicalibration(max_steps=1, max_depth=1).fit(p, y, only)
    assert fitted.slices == ("bad = True",)
    rows = only["bad"]

    def loss(change):
        q = expit(logit(p[rows]) + change[0])
        return -np.sum(np.log(np.where(y[rows] == 1, q, 1.0 - q))) + 5.0 * change[0] ** 2

    best = minimize(loss, [0.0], method="Nelder-Mead", tol=1e-12).x[0]
    assert fitted.steps[0, 4] == pytest.approx(best, abs=1e-5)
    np.testing.assert_allclose(fitted(p, only), np.where(rows, expit(logit(p) + best), p), rtol=1e-5)


def test_impossible_outcomes_do_not_say_how_many_steps_there_are():
    p, y, frame, _ = wrong_in_a_slice(1000)
    p[:2], y[:2] = (0.0, 1.0), (1, 0)
    fitted = Multicalibration(max_depth=1, max_steps=1, n_folds=2).fit(p, y, frame)
    assert fitted.slices
    assert fitted(p, frame)[:2].tolist() == [0.0, 1.0]


def test_calibrated_predictions_are_mostly_left_as_they_are(replications):
    sets, most = replications((5, 3), (10, 6))
    numbers = [len(Multicalibration().fit(*wrong_in_a_slice(400, seed, 0.0)[:3]).steps) for seed in range(sets)]
    assert sum(number == 0 for number in numbers) >= most


def test_too_sure_predictions_are_repaired_without_features():
    rng = np.random.default_rng(4)
    p = rng.uniform(0.05, 0.95, 2000)
    y = rng.random(2000) < expit(0.5 * logit(p))
    fitted = Multicalibration().fit(p, y)
    assert fitted.slices[0] == "all rows"
    assert 1.0 + fitted.steps[0, 5] == pytest.approx(0.5, abs=0.1)
    assert np.abs(fitted(p) - expit(0.5 * logit(p))).mean() < 0.03 < 0.06 < np.abs(p - expit(0.5 * logit(p))).mean()


def test_claims_are_slices_too():
    rng = np.random.default_rng(4)
    p = rng.uniform(0.05, 0.95, 1500)
    fitted = Multicalibration().fit(p, rng.random(1500) < np.where(p > 0.7, p - 0.25, p))
    assert fitted.slices[0].startswith("prediction >= 0.7")


def test_rows_of_other_data_are_found_whatever_their_types_and_order():
    p, y, frame, _ = wrong_in_a_slice()
    frame["grade"] = np.where(frame["site"] == "b", 1, 2)
    fitted = Multicalibration().fit(p, y, frame[["grade", "age"]])
    expected = fitted(p, frame)
    others = frame[["age", "grade"]].astype({"grade": float, "age": float})
    np.testing.assert_array_equal(fitted(p, others), expected)
    np.testing.assert_array_equal(fitted(p, others.astype({"grade": object})), expected)
    reordered = pd.Series(p[::-1], index=frame.index[::-1])
    with pytest.warns(UserWarning, match="matched by their index, which is in another order"):
        np.testing.assert_array_equal(np.asarray(fitted(reordered, frame)), expected[::-1])
    unknown = others.assign(grade=[np.nan, 7.0, *others["grade"][2:]])
    np.testing.assert_array_equal(fitted(p, unknown)[:2], p[:2])


def test_predictions_stay_what_they_are_and_logits_become_probabilities():
    p, y, frame, _ = wrong_in_a_slice()
    fitted = Multicalibration().fit(ct.Bernoulli(p), y, frame)
    np.testing.assert_array_equal(fitted(ct.Bernoulli(p), frame).probability, fitted(p, frame))
    of_logits = Multicalibration(input="logits").fit(logit(p), y, frame)
    np.testing.assert_allclose(of_logits(logit(p), frame), fitted(p, frame), rtol=1e-9)


def test_names_of_classes_in_another_order_are_matched():
    p, y, frame, _ = wrong_in_a_slice()
    fitted = Multicalibration().fit(p, np.array(["no", "yes"])[y], frame, classes=["no", "yes"])
    np.testing.assert_allclose(
        fitted(1.0 - p, frame, classes=["yes", "no"]), 1.0 - fitted(p, frame, classes=["no", "yes"])
    )


def test_a_map_is_read_back(tmp_path):
    p, y, frame, _ = wrong_in_a_slice()
    frame["day"] = np.datetime64("2026-01-01") + frame["age"].to_numpy().astype("timedelta64[D]")
    fitted = Multicalibration(max_depth=1).fit(p, y, frame)
    fitted.save(tmp_path / "map.npz")
    for again in (
        CalibrationMap.load(tmp_path / "map.npz"),
        CalibrationMap.from_dict(json.loads(json.dumps(fitted.to_dict()))),
    ):
        assert again.slices == fitted.slices
        np.testing.assert_array_equal(again(p, frame), fitted(p, frame))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": "["}, "columns: got '\\['"),
        ({"columns": '[{"name": "x", "edges": ["a"]}]'}, "columns: got"),
        ({"columns": '[{"nam": "x"}]'}, "columns: got"),
        ({"columns": "[]"}, "columns: got"),
        ({"steps": [[9.0, 0.0, -1.0, -1.0, 0.1, 0.0]]}, "steps: got"),
        ({"steps": [1.0, 2.0]}, "six numbers for each step"),
        ({"max_depth": 3}, "max_depth: got 3"),
    ],
)
def test_entries_that_no_map_has_are_refused(changes, message):
    p, y, frame, _ = wrong_in_a_slice(300)
    entries = Multicalibration(max_steps=1).fit(p, y, frame).to_dict()
    with pytest.raises(ValueError, match=message):
        CalibrationMap.from_dict(entries | changes)


def test_what_is_wrong_is_said():
    p, y, frame, _ = wrong_in_a_slice(300)
    fitted = Multicalibration().fit(p, y, frame)
    with pytest.raises(ValueError, match="got no column age, site, wanted the columns of the fit"):
        fitted(p)
    with pytest.raises(ValueError, match="got no column site"):
        fitted(p, {"age": frame["age"]})
    with pytest.raises(ValueError, match="got 'old', wanted numbers as in the fit"):
        fitted(p, {"age": ["old"] * 300, "site": frame["site"]})
    with pytest.raises(ValueError, match=r"features\['age'\]"):
        Multicalibration().fit(p, y, {"age": [1, 2]})
    with pytest.raises(TypeError, match="got 3 columns"):
        Multicalibration().fit(np.full((300, 3), 1 / 3), y, frame)


def test_one_fold_without_slices_does_not_end_the_steps_of_the_others():
    """Variances of 20 rows, which the largest of five folds leaves, are below 5, those of 21 rows are not."""
    fitted = Multicalibration().fit(np.full(26, 0.45), np.arange(26) > 0, None)
    assert fitted.slices
    assert fitted(np.array([0.45]))[0] > 0.5


def test_few_rows_have_no_slice_and_stay():
    p, y, frame, _ = wrong_in_a_slice(16)
    fitted = Multicalibration().fit(p, y, frame)
    assert len(fitted.steps) == 0
    np.testing.assert_array_equal(fitted(p, frame), p)


def test_slices_of_days_in_a_time_zone_are_said_in_it_when_read_back():
    rng = np.random.default_rng(1)
    days = pd.Series(pd.date_range("2024-01-01", periods=2000, tz="Europe/Berlin"))
    p = rng.uniform(0.3, 0.6, 2000)
    fitted = ct.recalibration.Multicalibration(n_bins=2).fit(
        p, rng.random(2000) < p + 0.3 * (np.arange(2000) >= 999), {"day": days}
    )
    assert fitted.slices[0].startswith("day >= 2026-09-2")
    again = type(fitted).from_dict(fitted.to_dict())
    assert again.slices == fitted.slices
    utc = {"day": days.dt.tz_convert("UTC")}
    np.testing.assert_array_equal(again(p, utc), fitted(p, {"day": days}))
