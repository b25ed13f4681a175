"""Predictions of several labels: what is taken, what is refused, and targets in all forms."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import caltest as ct

NAMES = ["dog", "cat", "indoors"]
P = np.array([[0.9, 0.2, 0.7], [0.1, 0.1, 0.3], [0.5, 0.0, 1.0], [0.4, 0.6, 0.2]])
Y = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize(
    "targets",
    [
        Y,
        Y.tolist(),
        Y.astype(bool),
        Y.astype(float),
        sparse.csr_matrix(Y),
        sparse.coo_array(Y),
        pd.DataFrame(Y, columns=NAMES),
        pd.DataFrame(Y, columns=NAMES)[["indoors", "dog", "cat"]],
        [{"dog", "indoors"}, set(), {"indoors", "dog"}, {"cat"}],
        [["dog", "indoors"], [], ("indoors", "dog"), ["cat"]],
        pd.Series([["dog", "indoors"], [], ["dog", "indoors"], ["cat"]]),
    ],
    ids=lambda form: type(form).__name__,
)
def test_targets_in_all_forms(targets):
    _, observed, notes = ct.MultiLabel(P, NAMES).with_targets(targets)
    assert observed.tolist() == Y.tolist()
    assert notes == ()


def test_sets_of_numbers_are_places():
    rows = [{0, 2}, set(), {2, 0}, {1}]
    assert ct.MultiLabel(P).with_targets(rows)[1].tolist() == Y.tolist()


def test_rows_and_columns_are_matched_by_their_names():
    frame, outcomes = (
        pd.DataFrame(P, columns=NAMES, index=list("abcd")),
        pd.DataFrame(Y, columns=NAMES, index=list("abcd")),
    )
    p = ct.MultiLabel(frame)
    assert p.names == tuple(NAMES)
    matched, observed, notes = p.with_targets(outcomes.loc[["d", "b", "a", "c"], ["cat", "dog", "indoors"]])
    assert observed.tolist() == Y[[3, 1, 0, 2]].tolist()
    assert matched.probabilities.tolist() == P[[3, 1, 0, 2]].tolist()
    assert "matched by their index" in notes[0]


def test_predictions_of_one_label():
    p = ct.MultiLabel(P, NAMES)
    assert p.label("cat").probability.tolist() == P[:, 1].tolist()
    assert p.label("cat").occurrence(1) == "label cat occurs"
    assert ct.calibration_test(p.label("cat"), Y[:, 1], n_resamples=9, rng=1).pvalue_kind == "exact"
    with pytest.raises(ValueError, match="name: got 'horse', wanted one of the labels, such as 'dog'"):
        p.label("horse")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (P * 1.5, r"got 1.35 at row 0, column 0, wanted probabilities between 0 and 1"),
        (P * 100, r"divide them by 100"),
        (P * 8 - 4, r"logits: apply scipy.special.expit first"),
        (np.where(P == 0.6, np.nan, P), r"got nan at row 3, column 1"),
        (P[:, 0], r"got shape \(4,\), wanted \(n, L\) with a column for each label"),
        (np.stack([1 - P.T, P.T], axis=2), r"predict_proba of several outputs.* pass numpy.stack"),
        (np.empty((0, 3)), r"got no values"),
        ([[0.1, 0.2], [0.3]], r"rows of different lengths"),
    ],
)
def test_bad_probabilities(given, message):
    with pytest.raises(ValueError, match=message):
        ct.MultiLabel(given)


def test_names_are_all_different_and_as_many():
    with pytest.raises(ValueError, match="got 2 names, wanted 3"):
        ct.MultiLabel(P, ["a", "b"])
    with pytest.raises(ValueError, match="all different"):
        ct.MultiLabel(P, ["a", "b", "a"])
    with pytest.raises(ValueError, match="independent: got 1, wanted True or False"):
        ct.MultiLabel(P, independent=1)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (Y[:, :2], r"got shape \(4, 2\), wanted \(4, 3\), one column of 0 and 1 for each label"),
        (Y[:3], r"got shape \(3, 3\), wanted \(4, 3\)"),
        ([0, 1, 2, 1], r"or a set of names of labels for each row"),
        (Y * 2, r"got 2 at row 0, column 0, wanted 0, 1 or booleans"),
        ([[0, 1, 1], [1, 0], [1, 0, 0], [0, 0, 0]], r"got rows of different lengths, wanted 0 or 1 for each label"),
        ([{"dog"}, {"horse"}, set(), set()], r"got 'horse' at row 1, wanted names of labels: 'dog', 'cat'"),
        ([{"dog"}, set()], r"got 2 values, wanted 4"),
        (np.where(Y, "yes", "no"), r"got text such as 'yes'"),
        (pd.DataFrame(Y, columns=["dog", "cat", "horse"]), r"wanted the names"),
    ],
)
def test_bad_targets(targets, message):
    with pytest.raises(ValueError, match=message):
        ct.MultiLabel(P, NAMES).with_targets(targets)


def test_rows_that_do_not_sum_to_one_are_told_of_labels():
    with pytest.raises(ValueError, match=r"sums to 1.8.*can have several labels, or none, wrap them in ct.MultiLabel"):
        ct.Categorical(P)


@pytest.mark.parametrize("call", [lambda p: ct.ECE()(p, Y), lambda p: ct.audit(p, Y), lambda p: ct.top_label(p, Y)])
def test_other_calls_say_what_they_take(call):
    with pytest.raises(TypeError, match=r"got MultiLabel, n = 4, 3 labels, which .* p.label\('dog'\)"):
        call(ct.MultiLabel(P, NAMES))


def test_rounded_up():
    p = ct.MultiLabel(np.minimum(P * 1.0000001, 1.0000001))
    assert p.probabilities.max() == 1.0
    assert "exceeded 1" in p.notes[0]


def test_rows_of_names_are_matched_by_the_index_too():
    frame = pd.DataFrame(np.minimum(P * 1.0000001, 1.0000001), columns=NAMES, index=list("abcd"))
    rows = pd.Series([{name for name, one in zip(NAMES, row, strict=True) if one} for row in Y], index=list("abcd"))
    turned = ct.MultiLabel(frame)
    found, observed, notes = turned.with_targets(rows.loc[list("dbca")])
    np.testing.assert_array_equal(observed, Y[[3, 1, 2, 0]])
    np.testing.assert_array_equal(found.probabilities, turned.probabilities[[3, 1, 2, 0]])
    assert "matched by their index" in notes[0]
    assert found.notes == turned.notes


def test_names_in_another_order_than_the_columns_are_refused():
    with pytest.raises(ValueError, match=r"names: got .*, wanted them in the order of the columns"):
        ct.MultiLabel(pd.DataFrame(P, columns=NAMES), NAMES[::-1])
