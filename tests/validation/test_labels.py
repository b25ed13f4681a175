"""Labels and counts at the ends of what is allowed."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import caltest as ct
from caltest._validation.labels import class_labels, class_order, names_in_columns, whole_counts


def test_one_label_is_enough():
    assert class_labels([1], 2, None).tolist() == [1]
    with pytest.raises(ValueError, match=r"targets: got no values"):
        class_labels([], 2, None)


@pytest.mark.parametrize("kind", [int, float, np.uint8])
def test_labels_from_0_to_the_last(kind):
    labels = np.array([0, 1, 2], dtype=kind)
    assert class_labels(labels, 3, None).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"targets: got label 3 at row 1, wanted labels 0\.\.2"):
        class_labels(np.array([0, 3], dtype=kind), 3, None)


def test_labels_that_count_from_1_are_named():
    with pytest.raises(ValueError, match=r"got labels 1\.\.3, wanted labels 0\.\.2; these look 1-based, subtract 1"):
        class_labels([1, 2, 3], 3, None)
    with pytest.raises(ValueError, match=r"got labels -1 and 1"):
        class_labels([-1, 1, 1], 2, None)
    with pytest.raises(ValueError, match=r"got 0.5 at row 2, wanted whole-number labels"):
        class_labels([0.0, 1.0, 0.5], 2, None)


def test_counts_are_whole_and_below_the_largest_whole_float():
    assert whole_counts([0.0, 2.0**53 - 1.0]).tolist() == [0, 2**53 - 1]
    with pytest.raises(ValueError, match=r"row 1, wanted counts below 2\*\*53"):
        whole_counts([0.0, 2.0**53])
    with pytest.raises(ValueError, match=r"targets: got -1 at row 1, wanted whole numbers of at least 0$"):
        whole_counts([0.0, -1.0])
    with pytest.raises(ValueError, match=r"targets: got 0.5 at row 0, .* predict rate times exposure"):
        whole_counts([0.5, 1.0])


def test_places_of_classes_in_another_order():
    assert class_order(("a", "b", "c"), ("c", "a", "b"), "p").tolist() == [2, 0, 1]
    assert class_order(None, (1, 0), "p").tolist() == [1, 0]
    assert class_order(("a", "b"), ("a", "b"), "p") is None
    assert class_order(None, ("a", "b"), "p") is None


@pytest.mark.parametrize("made", [pd.DataFrame, pl.from_pandas, ct.Categorical], ids=["pandas", "polars", "family"])
@pytest.mark.parametrize("columns", [["Fox", "CAT"], ["P(fox)", "P(cat)"], ["p_fox", "p_cat"]])
def test_columns_with_the_names_of_classes_in_them(columns, made):
    """Names in another order would be those of other columns; errors say which are right, and these are taken."""
    p, y = made(pd.DataFrame([[0.2, 0.8], [0.7, 0.3]] * 20, columns=columns)), ["cat", "fox"] * 20
    with pytest.raises(ValueError, match=r"no column of the predictions .* pass classes=\['fox', 'cat'\]"):
        ct.calibration_test(p, y)
    with pytest.raises(ValueError, match=r"got \['cat', 'fox'\], wanted .*; pass classes=\['fox', 'cat'\]"):
        ct.calibration_test(p, y, classes=["cat", "fox"])
    assert ct.calibration_test(p, y, classes=["fox", "cat"], n_resamples=9, rng=1).pvalue > 0.0


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (["male", "female"], ["female", "male"]),
        (["a b", "b"], ["b", "a"]),
        (["class 1", "class 0"], ["0", "1"]),
        (["score", "rest"], ["b", "a"]),
    ],
)
def test_columns_whose_names_say_nothing_of_classes(columns, names):
    found = names_in_columns(columns, names)
    assert found == (["male", "female"] if "male" in names else None)


@pytest.mark.parametrize(("k", "labels"), [(2, ["0", "1"]), (3, ["2", "0", "1"])])
def test_numbers_as_text_are_no_names(k, labels):
    with pytest.raises(ValueError, match=r"got text such as '.', .* these are numbers as text, pass .int\(label\) for"):
        class_labels(labels, k, None)
    with pytest.raises(ValueError, match=r"these are numbers as text, pass .int\(label\) for label in targets."):
        ct.Bernoulli([0.2, 0.4]).check_targets(["0", "1"])


@pytest.mark.parametrize("text", ["0,3", "0.5", "inf"])
def test_other_numbers_as_text_are_no_labels(text):
    with pytest.raises(ValueError, match="got text such as") as error:
        ct.calibration_test([0.2, 0.7], [text, text])
    assert "int(" not in str(error.value)


@pytest.mark.parametrize(
    ("targets", "advice"),
    [
        (np.zeros((1, 9)), "1-D; pass numpy.ravel.targets.$"),
        (np.full((1, 9), -0.5), "1-D; if outcomes are vectors of real numbers, wrap predictions in ct.MvNormal"),
        (np.full((9, 2), -1.5), "1-D; if outcomes are vectors of real numbers, wrap predictions in ct.MvNormal"),
        (np.zeros((9, 2)), "1-D; if they are labels of several annotators, give each annotator.s label a row"),
        (np.zeros((9, 1, 1), dtype=int), "1-D$"),
    ],
)
def test_advice_on_shapes_of_targets(targets, advice):
    with pytest.raises(ValueError, match=rf"targets: got shape \(.*, wanted one label per observation, {advice}"):
        class_labels(targets, 3, None)


@pytest.mark.parametrize("targets", [[-0.5, 0.3, 0.2], [0.5, 0.3, 1.2]])
def test_numbers_that_are_no_shares_are_no_soft_labels(targets):
    with pytest.raises(ValueError, match="if outcomes are real numbers, wrap predictions") as error:
        ct.calibration_test([0.2, 0.3, 0.4], targets)
    assert "soft labels" not in str(error.value)


def test_names_that_begin_with_class_are_not_called_class_twice():
    names = ["class_0", "Class-b"]
    result = ct.calibration_test(np.full((60, 2), 0.5), np.array(names)[[1] * 45 + [0] * 15], classes=names, rng=1)
    assert "Class-b occurs" in result.why() or "class_0 occurs" in result.why()
    assert "class class" not in str(result).lower()


def test_counts_are_told_to_pass_their_law():
    with pytest.raises(ValueError, match=r"got label 4 at row 2, .*; if outcomes are counts, .*ct\.Poisson"):
        ct.calibration_test([0.2, 0.5, 1.0], [0, 1, 4])
