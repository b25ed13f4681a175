"""Names of classes: maps match them in any order, or refuse."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import logit

import caltest as ct
from caltest.recalibration import (
    BetaCalibration,
    CalibrationMap,
    GPCalibrator,
    Isotonic,
    OneVsRest,
    Platt,
    TemperatureScaling,
    VectorScaling,
    fit_best,
    report,
)

NAMES, OTHER = ["a", "b", "c"], ["c", "a", "b"]
ORDER = [2, 0, 1]
RNG = np.random.default_rng(3)
P = RNG.dirichlet(np.ones(3), 90)
Y = np.array([RNG.choice(3, p=row) for row in P**2 / (P**2).sum(axis=1, keepdims=True)])
LABELS = np.array(NAMES)[Y]

METHODS = [VectorScaling(), GPCalibrator(n_inducing=3), OneVsRest(Isotonic())]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_maps_match_classes_by_name(method):
    wanted = method.fit(P, Y)(P)
    fitted = method.fit(ct.Categorical(P, classes=NAMES), LABELS)
    assert fitted.classes == tuple(NAMES)
    answer = fitted(ct.Categorical(P[:, ORDER], classes=OTHER))
    assert answer.classes == tuple(OTHER)
    np.testing.assert_allclose(answer.probabilities, wanted[:, ORDER], rtol=1e-12)
    np.testing.assert_allclose(fitted(P[:, ORDER], classes=OTHER), wanted[:, ORDER], rtol=1e-12)
    np.testing.assert_array_equal(fitted(P), wanted)
    for names in (["a", "b", "d"], [0, 1, 2]):
        with pytest.raises(ValueError, match=r"predictions: got classes .*, wanted the names \['a', 'b', 'c'\]"):
            fitted(ct.Categorical(P, classes=names))
    unnamed = method.fit(P, Y)
    np.testing.assert_allclose(unnamed(ct.Categorical(P[:, ORDER], classes=ORDER)).probabilities, wanted[:, ORDER])


@pytest.mark.parametrize("method", [TemperatureScaling(), Platt(), BetaCalibration(), Isotonic()], ids=repr)
@pytest.mark.parametrize("scale", ["probabilities", "logits"])
def test_binary_maps_match_outcomes_by_name(method, scale):
    p, y = P[:, 0], (Y == 0).astype(int)
    scores, turned = (p, 1.0 - p) if scale == "probabilities" else (logit(p), logit(1.0 - p))
    method = type(method)(input=scale)
    wanted = method.fit(scores, y)(scores)
    fitted = method.fit(scores, np.array(["no", "yes"])[y], classes=["no", "yes"])
    np.testing.assert_allclose(fitted(turned, classes=["yes", "no"]), 1.0 - wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("as_kind", [pd.DataFrame, lambda frame: ct.Categorical(frame)], ids=["frame", "Categorical"])
@pytest.mark.parametrize("labels", [Y, LABELS], ids=["places", "names"])
def test_maps_match_columns_by_name(as_kind, labels, tmp_path):
    frame = pd.DataFrame(P, columns=NAMES)
    fitted = VectorScaling().fit(as_kind(frame), labels)
    fitted.save(tmp_path / "map.npz")
    wanted = VectorScaling().fit(P, Y)(P)
    for one in (fitted, CalibrationMap.load(tmp_path / "map.npz")):
        answer = one(as_kind(frame[OTHER]))
        found = answer.probabilities if isinstance(answer, ct.Categorical) else answer.to_numpy()
        np.testing.assert_allclose(found, wanted[:, ORDER], rtol=1e-12)
        # Names that have nothing in common with those of the fit say nothing.
        np.testing.assert_array_equal(one(pd.DataFrame(P, columns=["p", "q", "r"])), wanted)
        with pytest.raises(ValueError, match="predictions: got classes"):
            one(pd.DataFrame(P, columns=["a", "b", "d"]))
        with pytest.raises(ValueError, match="wanted them in the order of the columns"):
            one(frame, classes=OTHER)


def test_maps_match_columns_by_names_that_were_given_to_the_fit():
    frame, wanted = pd.DataFrame(P, columns=NAMES), VectorScaling(input="logits").fit(np.log(P), Y)(np.log(P))
    fitted = VectorScaling(input="logits").fit(np.log(P), LABELS, classes=NAMES)
    np.testing.assert_allclose(fitted(np.log(frame[OTHER])), wanted[:, ORDER], rtol=1e-12)


def test_labels_of_rows_and_columns_stay():
    frame = pd.DataFrame(P, columns=NAMES, index=np.arange(len(P)) + 5)
    fitted = VectorScaling().fit(frame, LABELS)
    answer, outcomes = fitted(frame.iloc[::-1]), pd.Series(LABELS, index=frame.index)
    assert answer.index.equals(frame.index[::-1])
    assert answer.columns.equals(frame.columns)
    found, wanted = (ct.calibration_test(one, outcomes, n_resamples=9, rng=1) for one in (answer, fitted(frame)))
    assert found.estimate == pytest.approx(wanted.estimate, rel=1e-9)
    first = frame["a"]
    binary = Platt().fit(first, LABELS == "a")(first)
    assert (binary.name, binary.index.equals(frame.index)) == ("a", True)


def test_tables_of_polars_stay_tables():
    frame = pl.DataFrame(P, schema=NAMES)
    fitted = VectorScaling().fit(frame, LABELS)
    answer = fitted(frame[OTHER])
    assert (type(answer), answer.columns) == (pl.DataFrame, OTHER)
    np.testing.assert_allclose(answer[NAMES].to_numpy(), fitted(frame).to_numpy(), rtol=1e-12)
    found, wanted = (ct.calibration_test(one, LABELS, n_resamples=9, rng=1) for one in (answer[NAMES], fitted(frame)))
    assert found.pvalue == wanted.pvalue
    first = frame["a"]
    binary = Platt().fit(first, LABELS == "a")(first)
    assert (type(binary), binary.name) == (pl.Series, "a")


def test_reports_and_choices_match_names():
    method = VectorScaling()
    fitted = method.fit(ct.Categorical(P, classes=NAMES), LABELS)
    plain = report(P, Y, method.fit(P, Y), n_resamples=9, rng=1)
    turned = report(ct.Categorical(P[:, ORDER], classes=OTHER), LABELS, fitted, n_resamples=9, rng=1)
    logits = VectorScaling(input="logits").fit(np.log(P), LABELS, classes=NAMES)
    of_logits = report(np.log(P[:, ORDER]), LABELS, logits, classes=OTHER, n_resamples=9, rng=1)
    for found in (turned, of_logits):
        assert found.after.score == pytest.approx(plain.after.score, rel=1e-6)
        assert "100 % of the rows" in found.notes[-1]
    best = fit_best(np.log(P), LABELS, [VectorScaling(input="logits")], classes=NAMES, rng=1)
    assert best.map.classes == tuple(NAMES)
    frame = pd.DataFrame(np.log(P), columns=NAMES)
    best = fit_best(frame, Y, [VectorScaling(input="logits")], rng=1)
    np.testing.assert_allclose(best.map(frame[OTHER]), best.map(frame)[OTHER], rtol=1e-12)


def test_unnamed_data_do_not_make_names_forgotten():
    named, turned = ct.Categorical(P, classes=NAMES), ct.Categorical(P[:, ORDER], classes=OTHER)
    assert named.followed_by(ct.Categorical(P)).classes == ct.Categorical(P).followed_by(named).classes == tuple(NAMES)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
    stream = ct.SequentialCalibrationTest("likelihood").update(named, LABELS).update(P, Y)
    sums = ct.AsymptoticBlockSKCETest(kernel, 2).accumulator().update(named, LABELS).update(P, Y)
    for collected in (stream, sums):
        with pytest.raises(ValueError, match=r"got classes .*, wanted .* in that order"):
            collected.update(turned, LABELS)
    numbered = {"unnamed": P, "named": ct.Categorical(P[:, ORDER], classes=ORDER)}
    for compare in (ct.compare_models, ct.compare_pairs):
        with pytest.raises(ValueError, match=r"got classes \(2, 0, 1\), wanted 0, 1, ... without names"):
            compare(numbered, Y)
    three = {
        "unnamed": P,
        "same": ct.Categorical(P, classes=range(3)),
        "turned": ct.Categorical(P[:, ORDER], classes=ORDER),
    }
    with pytest.raises(ValueError, match=r"models\['turned'\]"):
        ct.compare_models(three, Y)


def test_columns_of_the_same_names_in_another_order_are_refused():
    frame = pd.DataFrame(P, columns=NAMES)
    turned = frame[OTHER]
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
    calls = [
        lambda: ct.compare_models({"one": frame, "other": turned}, Y, rng=1),
        lambda: ct.PairedSKCETest(kernel)(frame, turned, Y),
        lambda: ct.SequentialCalibrationTest("likelihood").update(frame, Y).update(P, Y).update(turned, Y),
        lambda: ct.AsymptoticBlockSKCETest(kernel, 2).accumulator().update(frame, Y).update(turned, Y),
        lambda: ct.Categorical(frame).with_classes(OTHER),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="order"):
            call()
