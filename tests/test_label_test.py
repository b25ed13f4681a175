"""Tests of several labels: p-values, adjustments, missing cells, impossible outcomes, sizes."""

from types import SimpleNamespace

import numpy as np
import pytest
from printed import unfolded
from scipy.stats import binom

import caltest as ct
from caltest import label_test
from caltest._results.report import holm
from caltest.label_test import SMALL, Holm
from caltest.predictions.inputs.convert import as_sample


def dependent(n, n_labels, seed, rare=False):
    """Labels of a row that share one uniform number, so that the rarer ones occur only with the others."""
    rng = np.random.default_rng([1, seed])
    p = rng.beta(0.3, 30.0, (n, n_labels)) if rare else rng.beta(1.0, 4.0, (n, n_labels))
    return p, rng.random((n, 1)) < p


def one_bad(n=300, n_labels=20, seed=3):
    rng = np.random.default_rng([2, seed])
    p = rng.beta(1.0, 4.0, (n, n_labels))
    return p, rng.random((n, n_labels)) < p + 0.2 * (np.arange(n_labels) == 7)


def test_the_worst_label_is_named_with_its_rates():
    p, y = one_bad()
    result = ct.calibration_test(ct.MultiLabel(p), y, n_resamples=199, rng=1)
    assert result.rejected() == ("7",)
    assert result.labels[0].name == "7"
    assert (result["7"].claimed, result["7"].observed) == (pytest.approx(p[:, 7].mean()), y[:, 7].mean())
    assert result.why().startswith(
        f"label 7: claimed {100 * p[:, 7].mean():.1f} %, observed {100 * y[:, 7].mean():.1f} %"
    )
    assert "label 7 occurs more often than predicted" in result.finding.words
    assert "1 of 20 labels: 7" in unfolded(result)


@pytest.mark.usefixtures("without_findings")
def test_labels_have_the_pvalues_of_the_default_test_of_their_own():
    """The same null distribution, of other redraws."""
    p, y = one_bad(n_labels=4)
    result = ct.calibration_test(ct.MultiLabel(p), y, n_resamples=1999, rng=1)
    assert result.pvalue == min(holm([one.pvalue for one in result.labels]))
    for one in result.labels:
        alone = ct.calibration_test(p[:, int(one.name)], y[:, int(one.name)], n_resamples=1999, rng=2)
        assert one.pvalue == pytest.approx(alone.pvalue, abs=0.05)


@pytest.mark.usefixtures("without_findings")
def test_small_pvalues_have_more_redraws():
    p, y = one_bad(n_labels=12)
    y[:, 7] = True
    result = ct.calibration_test(ct.MultiLabel(p), y, n_resamples=199, rng=1)
    assert result.labels[0].pvalue == 1 / 600
    assert result.pvalue == pytest.approx(12 / 600)
    assert result.smallest == result.pvalue
    assert ct.calibration_test(ct.MultiLabel(p), y, n_resamples=9, rng=1).pvalue == pytest.approx(12 / 30)
    others = np.array([one.pvalue for one in result.labels[1:]])
    assert (others > SMALL).all()
    assert np.allclose(others * 200, np.round(others * 200))


@pytest.mark.usefixtures("without_findings")
def test_independent_labels_are_compared_with_joint_redraws():
    p, y = one_bad()
    result = ct.calibration_test(ct.MultiLabel(p, independent=True), y, n_resamples=199, rng=1)
    assert result.pvalue == result.smallest == 1 / 200
    assert result.rejected() == ("7",)
    assert "step-down maximum" in result.null
    assert "westfall1993" in result.citations
    assert "so are the labels of a row" in result.assumes


@pytest.mark.usefixtures("without_findings")
def test_pvalues_that_are_adjusted_by_holms_method_are_bounds():
    p, y = one_bad()
    pairs = {
        "bound": ct.MultiLabel(p[:, :2]),
        "exact": ct.MultiLabel(p[:, :2], independent=True),
        "exact of one": ct.MultiLabel(p[:, :1]),
    }
    for name, one in pairs.items():
        result = ct.calibration_test(one, y[:, : one.probabilities.shape[1]], n_resamples=19, rng=1)
        assert result.pvalue_kind == name.removesuffix(" of one")
        assert ("p <= " in result.sentence()) == (name == "bound")


@pytest.mark.parametrize(
    ("n_resamples", "n_labels", "small", "others", "smallest"),
    [(99, 5, 0.01, None, 5 / 100), (99, 6, 0.01, 220, 6 / 200), (9, 10, 0.1, 22, 10 / 20), (9, 11, 0.1, 33, 11 / 30)],
)
def test_redraws_by_the_number_of_labels(n_resamples, n_labels, small, others, smallest):
    method = Holm(n_resamples, n_labels)
    assert (method.small, method.smallest) == (small, smallest)
    said = "" if others is None else f"; {others} others where p <= {small}"
    assert method.words.startswith(f"{said}; adjusted by Holm's method")


@pytest.mark.usefixtures("without_findings")
def test_likelihood_ratios_that_are_clear_save_redraws(monkeypatch):
    p, y = one_bad(n_labels=12)
    y[:, 7] = True
    numbers, tested = [], label_test._tested
    monkeypatch.setattr(label_test, "_tested", lambda *of: numbers.append(of[2].n_resamples) or tested(*of))
    assert ct.calibration_test(ct.MultiLabel(p), y, n_resamples=199, rng=1)["7"].pvalue == 1 / 600
    assert numbers == [199] * 12


@pytest.mark.usefixtures("without_findings")
def test_likelihood_ratios_have_pvalues_below_their_bound(monkeypatch):
    """One of 600 stands for p = 1 / 6600 by Markov's inequality, which draws from alternatives show to be smaller."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.1, 0.9, (200, 12))
    y = rng.random((200, 12)) < p
    y[:, 7] = rng.random(200) < p[:, 7] + 0.1
    ratio = ct.estimators.LogLikelihoodRatio()(p[:, 7], y[:, 7])
    assert np.log(600) < ratio < np.log(6600)
    numbers, tested = [], label_test._tested
    monkeypatch.setattr(label_test, "_tested", lambda *of: numbers.append(of[2].n_resamples) or tested(*of))
    assert ct.calibration_test(ct.MultiLabel(p), y, n_resamples=199, rng=1)["7"].pvalue == 1 / 600
    assert numbers == [199] * 12


@pytest.mark.parametrize(
    ("counts", "pvalue"), [([30], 0.01), ([15], 0.008), ([0, 30], 5e-4), ([0, 4], 2.5e-4), ([0, 0], 5e-5)]
)
def test_redraws_are_twenty_times_as_many_where_pvalues_are_small(counts, pvalue, monkeypatch):
    """2000 and 20 000 of them count; a p-value is at most the one from which on there are so many."""
    left = list(counts)

    def tested(sample, rng, null):
        return SimpleNamespace(pvalue=(1 + left.pop(0)) / (1 + null.n_resamples))

    monkeypatch.setattr(label_test, "_tested", tested)
    p = np.full(20, 0.5)
    sample = as_sample(p, np.arange(20) % 2)
    assert Holm(99, 1000).refined(0.01, sample, None) == pytest.approx(pvalue, rel=1e-12)
    assert not left
    assert Holm(99, 1000).refined(0.02, sample, None) == 0.02
    assert Holm(99, 5).refined(0.01, sample, None) == 0.01
    assert Holm(99, 1000).words.startswith("; 2200 to 22000 others where p <= 0.01;")


def test_labels_have_a_progress_bar(monkeypatch):
    shown = []
    monkeypatch.setattr(label_test, "tracked", lambda items, total, what: shown.append((total, what)) or items)
    p, y = one_bad(n_labels=3)
    ct.calibration_test(ct.MultiLabel(p), y, n_resamples=9, rng=1)
    assert shown == [(3, "labels")]


def test_too_few_redraws_are_no_evidence():
    p, y = one_bad(n_labels=10)
    result = ct.calibration_test(ct.MultiLabel(p), y, n_resamples=9, rng=1)
    assert result.verdict() == (
        "undecided at the 5 % level: p-values of so few redraws are 0.5 or more; take n_resamples=99 or more"
    )
    assert ct.calibration_test(ct.MultiLabel(p), y, n_resamples=99, rng=1).smallest == pytest.approx(0.05)


def test_missing_cells():
    p, y = one_bad(n_labels=3, n=50)
    some = np.where(np.arange(150).reshape(50, 3) % 10 == 4, np.nan, y)
    with pytest.raises(ValueError, match=r"got a missing value at row 1, column 1 \(15 in all\).*missing=\"drop\""):
        ct.calibration_test(ct.MultiLabel(p), some)
    result = ct.calibration_test(ct.MultiLabel(p), some, missing="drop", n_resamples=99, rng=1)
    assert sum(one.n for one in result.labels) == 135
    assert "15 of 150 outcomes of labels were missing and left out" in result.notes[0]
    known = ~np.isnan(some[:, 1])
    assert result["1"].observed == y[known, 1].mean()
    few = np.where((np.arange(50)[:, None] < 1) | (np.arange(3) < 2), y, np.nan)
    with pytest.raises(ValueError, match="got 1 known outcomes of label 2, wanted at least 2; leave the label out"):
        ct.calibration_test(ct.MultiLabel(p), few, missing="drop")


def test_impossible_outcomes():
    p, y = one_bad(n_labels=3, n=50)
    p[:5, 1], y[0, 1], y[1:5, 1] = 0.0, True, False
    result = ct.calibration_test(ct.MultiLabel(p), y, n_resamples=99, rng=1)
    assert (result.pvalue, result.labels[0].name, result.labels[0].pvalue) == (0.0, "1", 0.0)
    assert result.pvalue_otherwise == pytest.approx(3 * min(one.pvalue for one in result.labels[1:]))
    assert "label 1" in result.why()
    assert "p = 0 for label 1, because an outcome occurred to which probability 0 was given" in result.notes


@pytest.mark.usefixtures("without_findings")
def test_certain_predictions_and_labels_that_never_occur():
    p = np.stack([np.zeros(20), np.ones(20), np.full(20, 1e-9)], axis=1)
    result = ct.calibration_test(ct.MultiLabel(p), np.round(p), n_resamples=99, rng=1)
    assert [one.pvalue for one in result.labels] == [1.0, 1.0, 1.0]


@pytest.mark.usefixtures("without_findings")
def test_a_label_whose_outcomes_are_all_impossible_leaves_the_maximum_of_independent_ones():
    p, y = one_bad()
    never = np.hstack([p, np.zeros((len(p), 1))]), np.hstack([y, np.ones((len(p), 1))])
    alone, with_it = (
        ct.calibration_test(ct.MultiLabel(some, independent=True), outcomes, n_resamples=99, rng=1)
        for some, outcomes in ((p, y), never)
    )
    assert with_it.pvalue == 0.0
    assert with_it.pvalue_otherwise == alone.pvalue


@pytest.mark.parametrize("setting", [{"weights": np.ones(300)}, {"kernel": ct.DeltaKernel()}, {"classes": [0, 1]}])
def test_settings_of_one_prediction_are_refused(setting):
    p, y = one_bad()
    with pytest.raises(TypeError, match=r"got one of them with ct.MultiLabel, wanted None"):
        ct.calibration_test(ct.MultiLabel(p), y, **setting)


@pytest.mark.every(2)
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("rare", [False, True])
def test_size_of_dependent_labels(rare, replications):
    """Rejections within the 99 % band of a level that is at most 10 %; 19 redraws leave room for it."""
    sets = replications(25, 60)
    pvalues = [
        ct.calibration_test(ct.MultiLabel(p), y, n_resamples=29, rng=seed).pvalue
        for seed, (p, y) in enumerate(dependent(16, 3, seed, rare) for seed in range(sets))
    ]
    assert np.count_nonzero(np.array(pvalues) <= 0.1) <= binom.ppf(0.995, sets, 0.1)


def test_without_an_impossible_outcome_the_worst_of_the_other_labels_decides():
    p, y = one_bad(n_labels=9)
    p[0, 1], y[0, 1] = 0.0, True
    result = ct.calibration_test(ct.MultiLabel(p), y, n_resamples=99, rng=1)
    assert result.labels[0].name == "1"
    # Of the others, label 7 alone is wrong; its own redraws go on, and Holm counts all labels but the excluded one.
    assert result.labels[1].name == "7"
    assert result.pvalue_otherwise == pytest.approx(9 * result.labels[1].pvalue)
    assert result.pvalue_otherwise < 0.2


@pytest.mark.parametrize(("n_resamples", "is_named"), [(31, False), (39, True)])
def test_labels_are_said_to_be_wrong_up_to_an_adjusted_pvalue_of_5_percent(n_resamples, is_named):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, (200, 2))
    y = rng.random((200, 2)) < p + np.array([0.25, 0.0])
    first = ct.calibration_test(ct.MultiLabel(p), y, n_resamples=n_resamples, rng=1).labels[0]
    assert first.adjusted == 2.0 / (n_resamples + 1)
    assert (first.finding is not None) == is_named
