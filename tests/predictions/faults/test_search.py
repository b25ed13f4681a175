"""Siblings of a fault that are named beside it, and which of several faults is named first."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special
from statistical.planted_faults import PLANTED

import caltest as ct
from caltest._results.values import Finding
from caltest.estimators.combined.findings import findings_of, named
from caltest.predictions.faults.search import candidates_of, fit_of, in_order, refined
from caltest.predictions.inputs.convert import as_sample


def test_each_class_turns_out_as_one_other():
    """What is predicted as the last class turns out as the last but one, whatever else would explain a part of that."""
    rng = np.random.default_rng(7)
    cumulative = special.expit(np.array([-1.5, -0.5, 0.5, 1.5]) - 1.2 * rng.normal(size=(1200, 1)))
    p = np.diff(cumulative, axis=1, prepend=0.0, append=1.0)
    labels = (rng.random((1200, 1)) > cumulative).sum(axis=1)
    why = ct.calibration_test(ct.Ordinal(p), np.clip(labels, 1, 3), n_resamples=19, rng=1).why()
    assert "predicted as class 0 turns out as class 1" in why
    assert "predicted as class 4 turns out as class 3" in why
    assert why.count("predicted as class") == 2


@pytest.mark.parametrize(
    ("law", "outcomes", "local", "plain"),
    [
        (
            lambda m: ct.Normal(m, 1.0),
            lambda m, rng: m + np.where(m > 0.0, 1.08, 1.25) * rng.normal(size=m.size),
            "local scale",
            "scale",
        ),
        (
            lambda m: ct.Poisson(np.exp(1.0 + m / 2.0)),
            lambda m, rng: rng.poisson(np.exp(1.0 + m / 2.0) * np.where(m > 0.0, 1.08, 1.3)),
            "local factor",
            "added",
        ),
    ],
    ids=["numbers", "counts"],
)
def test_what_all_predictions_share_is_named_before_a_half_of_them(law, outcomes, local, plain):
    """All are off, one half of them more: that half alone is a bit more likely."""
    rng = np.random.default_rng(2)
    m = rng.normal(size=1000)
    first, *others = findings_of(as_sample(law(m), outcomes(m, rng)))
    assert first.kind == plain
    assert first.gain < max(one.gain for one in others if one.kind == local)


def test_what_all_predictions_share_is_named_second_before_a_window():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(4), 4000)
    q = np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True)
    q[:, 2] *= np.where(p[:, 2] > 0.2, 2.5, 1.4)
    y = (q.cumsum(axis=1) < rng.random((4000, 1)) * q.sum(axis=1, keepdims=True)).sum(axis=1)
    first = findings_of(as_sample(p, y))[0]
    assert (first.kind, first.second.kind) == ("temperature", "frequency")


@pytest.mark.parametrize("seed", [2, 23, 44])
def test_a_fault_of_all_predictions_whose_size_can_be_0_is_not_named_for_one_in_places(seed):
    """Too narrow where means are high, too wide elsewhere: words were that errors are 1 (0.9 to 1.1) times as large."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=220)
    outcomes = mean + np.where(mean > 0.0, 1.2, 0.82) * rng.normal(size=220)
    assert findings_of(as_sample(ct.Normal(mean, 1.0), outcomes), None, 0.01)[0].kind != "scale"


def test_what_explains_little_is_not_named_first():
    """Heavy tails, and means that are 0.07 too low in one half, which is little beside them."""
    rng = np.random.default_rng(1)
    m = rng.normal(size=10000)
    y = m + 0.07 * (m > 0.0) + rng.standard_t(2.5, size=m.size) / np.sqrt(5.0)
    first = findings_of(as_sample(ct.Normal(m, 1.0), y))[0]
    assert (first.kind, first.second.kind) == ("heavy tails", "local shift")


@pytest.mark.every(3)
@pytest.mark.parametrize("n", [60, 1000])
@pytest.mark.parametrize("family", sorted({one.family for one in PLANTED}))
def test_sizes_are_the_most_likely_ones(family, n):
    """However many are asked for, none is more likely, and intervals end where likelihoods have lost their share."""
    planted = [one for one in PLANTED if one.family == family][-1]
    sample = as_sample(*planted.make(np.random.default_rng(3), n))
    faults, seen = sample.predictions.faults_seen(np.asarray(sample.targets), None)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for one in candidates_of(faults, seen):
            found, fit = refined(one), fit_of(refined(one))
            most = max(found.log_ratio(float(t)) for t in np.linspace(*one.ends, 101))
            assert found.log_ratio(found.t) == pytest.approx(found.gain + found.penalty)
            assert found.gain + found.penalty >= most - 1e-3, (one.kind, one.place)
            lost = [found.profile(found.t) - found.profile(t) for t in (fit.low, fit.high)]
            for loss, is_end in zip(lost, (fit.is_open_below, fit.is_open_above), strict=True):
                assert loss <= 1.93 if is_end else loss == pytest.approx(1.9207, abs=0.01)


def test_what_two_descriptions_begin_with_is_said_once():
    overconfident, too_low = "predictions are overconfident, as if by chance", "outcomes are too low"
    first = Finding(overconfident, "random labels", "", 0.2, None, 9.0)
    second = Finding("predictions are overconfident: outcomes follow 2", "temperature", "", 2.0, None, 8.5)
    assert named((first, second), 0.01)[0].words == f"{overconfident}; or outcomes follow 2"
    other = Finding(f"{too_low}: by 2", "shift", "", 2.0, None, 8.5)
    assert named((first, other), 0.01)[0].words == f"{overconfident}; or {too_low}: by 2"
    assert named((other, first), 0.01)[0].words == f"{too_low}: by 2"


def test_places_are_named_beside_how_often_a_rare_event_happens():
    often = Finding("class 1 occurs more often", "frequency", "", 2.0, None, 9.0, scope="level")
    places = Finding("claims from 0 to 0.1 are too low", "window", "", 2.0, None, 8.5, scope="places")
    assert named((often, places), 0.01)[0].words == f"{often.words}; or {places.words}"
    assert named((often, replace(places, scope="all")), 0.01)[0].words == often.words


def test_faults_of_a_family_differ_in_class_or_kind():
    """Faults are found again by these when predictions are corrected."""
    rng = np.random.default_rng(8)
    n, m = 400, rng.normal(size=400)
    p = rng.dirichlet(np.ones(4), n)
    levels = np.array([0.1, 0.5, 0.9])
    members = m[:, None] + rng.normal(size=(n, 30))
    for law in (
        ct.Categorical(p),
        ct.Categorical(rng.dirichlet(np.ones(40), n)),
        ct.Bernoulli(p[:, 0]),
        ct.Ordinal(p),
        ct.QuantileForecast(levels, m[:, None] + np.exp(m)[:, None] * special.ndtri(levels)),
        ct.Normal(m, np.exp(m)),
        ct.Gamma(np.exp(m), 1.0),
        ct.Poisson(np.exp(m)),
        ct.NegativeBinomial.from_mean(np.exp(m), 0.5),
        ct.MvNormal(np.column_stack([m, p[:, 0]]), np.ones((n, 2))),
        ct.Ensemble(members),
        ct.Ensemble(members.reshape(n, 10, 3)),
    ):
        if isinstance(law, ct.Ensemble):
            sample = as_sample(law, m if law.members.ndim == 2 else members[:, :3])
        else:
            sample = as_sample(law, law.sample(1))
        faults = sample.predictions.faults().to_name(np.asarray(sample.targets))
        kinds = [(type(fault), fault.kind) for fault in faults.kinds]
        assert len(kinds) == len(set(kinds)), kinds


def test_slopes_of_ordered_outcomes_are_corrected_as_what_they_are():
    """Classes have slopes too; once the outcomes rise as they should nothing else is wrong."""
    rng = np.random.default_rng(9)
    m, cuts = rng.normal(size=(3000, 1)), np.array([-1.2, -0.4, 0.4, 1.2])
    p = np.diff(special.ndtr(cuts - 1.5 * m), axis=1, prepend=0.0, append=1.0)
    labels = (rng.random((3000, 1)) > special.ndtr(cuts - 0.9 * m)).sum(axis=1)
    first = findings_of(as_sample(ct.Ordinal(p), labels))[0]
    assert first.kind == "slope"
    assert first.words.startswith("outcomes are too low where expected classes are largest, ")
    assert first.second is None


@pytest.mark.parametrize(
    ("gains", "first"),
    [
        ({"wave": 100.0, "places": 81.0, "all": 79.0}, "places"),
        ({"wave": 100.0, "places": 79.0, "all": 81.0}, "all"),
        ({"wave": 100.0, "places": 79.0, "all": 79.0}, "wave"),
        ({"places": 100.0, "wave": 99.0, "all": 79.0}, "places"),
        ({"shape": 100.0, "places": 99.0, "all": 99.0}, "shape"),
        ({"wave": -5.0, "places": -5.5, "all": -6.0}, "wave"),
        ({"all": 100.0, "level": 98.0}, "level"),
        ({"all": 100.0, "level": 96.0}, "all"),
        ({"places": 101.0, "all": 100.0, "level": 98.0}, "level"),
        ({"shape": 100.0, "level": 99.0}, "shape"),
        ({"all": 1.0, "level": -1.0}, "all"),
        ({"all": -1.0, "level": -2.0}, "level"),
        ({"all": -1.0, "level": -5.0}, "all"),
    ],
)
def test_plainer_faults_are_named_first_where_they_explain_nearly_as_much(gains, first, monkeypatch):
    monkeypatch.setattr("caltest.predictions.faults.search.refined", lambda one: one)
    kinds = [SimpleNamespace(kind=one, scope=one) for one in gains]
    likely = [SimpleNamespace(fault=fault, gain=gains[fault.kind], penalty=5.0) for fault in kinds]
    assert in_order(kinds, likely)[0].fault.kind == first


def test_all_places_are_looked_at_that_promise_the_same():
    """Halves of predicted means and variances are six places, of which the last is as likely as others."""
    rng = np.random.default_rng(3)
    m, s = rng.normal(size=1000), np.exp(0.3 * rng.normal(size=1000))
    y = m + s * (rng.normal(size=1000) + 0.6 * (s < np.median(s)))
    found = findings_of(as_sample(ct.Normal(m, s), y))[0]
    assert found.kind.startswith("local shift")
    assert found.place.startswith("where predicted variances are at most")
    assert found.second is None
