"""Predictions that are those of other rows, and labels that are random, where some classes are rare."""

import numpy as np
import pytest
from scipy import special

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.inputs.convert import as_sample


def rare(rng, n, mean=-4.0):
    return special.expit(mean + 1.5 * rng.normal(size=n))


def uneven(rng, n):
    return special.softmax(1.5 * rng.normal(size=(n, 3)) + [2.0, 0.0, -1.0], axis=1)


def mixed(rng, p, share):
    some = np.flatnonzero(rng.random(len(p)) < share)
    q = p.copy()
    q[some] = p[rng.permutation(some)]
    return q


def first(predictions, labels):
    return findings_of(as_sample(predictions, labels))[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("make", "law"), [(rare, ct.Bernoulli), (uneven, ct.Categorical)])
def test_predictions_of_other_rows_are_said_to_be_that(make, law, seed):
    """Of rare events 40 % of the labels, and not the few that would be random."""
    rng = np.random.default_rng(seed)
    p = make(rng, 4000)
    found = first(law(mixed(rng, p, 0.4)), law(p).sample(rng))
    assert found.kind == "other rows"
    assert found.estimate == pytest.approx(0.4, abs=0.12)
    assert found.words.startswith("predictions are overconfident, as if about ")
    assert found.words.endswith("of them were those of other rows")


@pytest.mark.parametrize("seed", range(4))
def test_events_that_nobody_sees_coming_are_no_random_labels(seed):
    rng = np.random.default_rng(seed)
    p = rare(rng, 6000, -5.5)
    missed = rng.random(6000) < 0.015
    for claims, label in ((p, 1), (1.0 - p, 0)):
        found = first(ct.Bernoulli(claims), np.where(missed, label, rng.random(6000) < claims).astype(int))
        assert (found.kind, found.place) == ("share", f"class {label}")
        assert found.estimate == pytest.approx(0.015, abs=0.005)


@pytest.mark.parametrize("seed", range(4))
def test_random_labels_of_uneven_classes_keep_their_name(seed):
    rng = np.random.default_rng(seed)
    p = uneven(rng, 2000)
    labels = np.where(rng.random(2000) < 0.2, rng.integers(0, 3, 2000), ct.Categorical(p).sample(rng))
    found = first(ct.Categorical(p), labels)
    assert found.kind == "random labels"
    assert found.interval.low < 0.2 < found.interval.high


def test_claims_that_are_rare_only_before_a_correction_have_the_same_faults():
    p = special.expit(-4.0 + np.random.default_rng(6).normal(size=200))
    faults = ct.Bernoulli(p).faults()
    seen = faults.seen(np.zeros((1, 200), dtype=np.uint8))
    after, _ = faults.after(seen, np.stack([1.0 - 20.0 * p, 20.0 * p], axis=1).clip(0.1, 0.9))
    assert [one.kind for one in after.kinds] == [one.kind for one in faults.kinds]
    assert "other rows" in {one.kind for one in after.kinds}


def test_ratios_have_mean_one_and_are_those_of_the_law():
    rng = np.random.default_rng(1)
    p, w = uneven(rng, 30), np.arange(1.0, 31.0)
    faults = ct.Categorical(p).faults(w)
    (fault,) = [one for one in faults.kinds if one.kind == "other rows"]
    labels = ct.Categorical(p).sample(rng)
    q = fault.law(faults.seen(labels[None]), 0, 0.3)
    assert q == pytest.approx(0.7 * p + 0.3 * (w @ p / w.sum()), rel=1e-12)
    rows = np.arange(30)
    expected = w @ np.log(q[rows, labels] / p[rows, labels])
    assert fault.log_ratio(faults.seen(labels[None]), 0, 0.3) == pytest.approx(expected, rel=1e-12)
