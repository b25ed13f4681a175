"""Probabilities of other classes, percentages and what is made from outcomes are asked about, and nothing else is."""

import numpy as np
import pytest
from predictions.questions.test_misread import N
from printed import unfolded
from scipy import special, stats

import caltest as ct
from caltest._results.tables import asked_in
from caltest.predictions.inputs.convert import as_sample
from caltest.predictions.questions.classes import _following, _of_two_classes, followed_columns, of_labels


@pytest.mark.parametrize("centre", [0.01, 0.5])
def test_probabilities_of_the_other_class(centre):
    rng = np.random.default_rng(6)
    p = rng.beta(2.0 * centre, 2.0 * (1.0 - centre), 2000)
    y = (rng.random(2000) < p).astype(int)
    words = "1 - p would fit the outcomes: are these the probabilities of the other class?"
    assert as_sample(p, y).remarks == ()
    assert as_sample(1.0 - p, y).remarks == (words,)
    assert as_sample(np.column_stack([p, 1.0 - p]), y).remarks == (words,)
    worse = "1 - p would fit the outcomes better: are these the probabilities of the other class?"
    assert as_sample(0.6 - 0.5 * p, y).remarks == (worse,)
    overconfident = special.expit(3.0 * special.logit(p))
    assert as_sample(overconfident, y).remarks == ()
    assert as_sample(1.0 - overconfident, y).remarks == (worse,)
    assert as_sample((overconfident < 0.5).astype(float), y).remarks == (worse,)


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (1, 2, 0, 3)])
def test_columns_in_another_order(order):
    rng = np.random.default_rng(9)
    p = rng.dirichlet([0.5] * 4, 600)
    y = ct.Categorical(p).sample(rng)
    assert as_sample(p, y).remarks == ()
    places = ", ".join(f"class {c}: column {order.index(c)}" for c in range(4) if order.index(c) != c)
    words = f"columns in another order would fit the outcomes ({places}): is theirs that of the classes?"
    assert as_sample(p[:, list(order)], y).remarks == (words,)
    for others in (0.5 * p + 0.125, special.softmax(3.0 * np.log(p), axis=1), np.round(p)):
        rows = others / others.sum(axis=1, keepdims=True) if others.min() > 0.0 else np.eye(4)[p.argmax(axis=1)]
        assert as_sample(rows, y).remarks == ()
        assert as_sample(rows[:, list(order)], y).remarks == (words.replace("outcomes (", "outcomes better ("),)


def test_percentages_divided_twice():
    rng = np.random.default_rng(1)
    p = rng.beta(1.0, 2.0, N)
    y = (rng.random(N) < p).astype(int)
    assert as_sample(p, y).remarks == ()
    assert as_sample(p / 100.0, y).remarks == ("100 p would fit the outcomes: were percentages divided by 100 twice?",)


OF_TWO = {
    "other class": "1 - p would fit the outcomes: are these the probabilities of the other class?",
    "better": "1 - p would fit the outcomes better: are these the probabilities of the other class?",
    "percentages": "p / 100 would fit the outcomes: are these percentages?",
    "divided": "100 p would fit the outcomes: were percentages divided by 100 twice?",
}


@pytest.mark.parametrize(
    ("p", "n", "asked", "unasked", "words"),
    [
        (0.42, 400, 228, 226, "other class"),  # events at 6.08 and 5.88 standard deviations from p,
        (0.3, 400, 302, 304, "other class"),  # at 2.40 and 2.62 from 1 - p,
        (0.6, 2000, 20, 21, "percentages"),  # at 2.32 and 2.61 from p / 100,
        (0.003, 400, 142, 144, "divided"),  # at 2.40 and 2.62 from 100 p,
        (0.5, 1000, 5, 4, "percentages"),  # and of too few events.
    ],
)
def test_how_far_outcomes_are_from_what_is_asked_about(p, n, asked, unasked, words):
    assert _of_two_classes(np.full(n, p), np.arange(n) < asked) == (OF_TWO[words],)
    assert _of_two_classes(np.full(n, p), np.arange(n) < unasked) == ()


@pytest.mark.parametrize(("n", "words"), [(20, ("other class",)), (19, ())])
def test_how_many_outcomes_of_two_classes_are_asked_about(n, words):
    assert _of_two_classes(np.full(n, 0.9), np.arange(n) < 2) == tuple(OF_TWO[one] for one in words)


@pytest.mark.parametrize(("below", "words"), [(131, ("better",)), (130, ())])
def test_how_clearly_outcomes_follow_the_other_class(below, words):
    """Of 201 rows of either probability 70 with the larger one are events: 6.07 or 5.98 standard deviations."""
    p, y = np.repeat([0.05, 0.1], 201), np.concatenate([np.arange(201) < below, np.arange(201) < 70])
    assert _of_two_classes(p, y) == tuple(OF_TWO[one] for one in words)


def test_ranks_against_scipy():
    """Of what occurred, in columns with ties: the statistic of Mann and Whitney in its standard deviations."""
    rng = np.random.default_rng(10)
    p, occurred = rng.integers(0, 9, (50, 3)) / 8.0, rng.random((50, 2)) < 0.4
    p[:, 2] = 0.5
    found = _following(p, occurred)
    for c in range(2):
        for j in range(2):
            chosen = occurred[:, c]
            pvalue = stats.mannwhitneyu(p[chosen, j], p[~chosen, j], method="asymptotic", use_continuity=False).pvalue
            assert stats.norm.sf(abs(found[c, j])) * 2.0 == pytest.approx(pvalue)
        assert found[c, 2] == 0.0
    assert _following(p[:, 0], occurred[:, 0]) == pytest.approx(found[0, 0])


def test_models_that_know_nothing_are_not_asked_about_their_columns():
    rng = np.random.default_rng(11)
    for k in (2, 3, 30):
        p, y = rng.dirichlet([0.5] * k, 1000), rng.integers(0, k, 1000)
        assert not [one for one in as_sample(p, y).remarks if "column" in one or "1 - p" in one]


def test_percentages_below_one():
    rng = np.random.default_rng(7)
    rates = rng.uniform(0.0005, 0.009, 3000)
    y = (rng.random(3000) < rates).astype(int)
    words = "p / 100 would fit the outcomes: are these percentages?"
    assert words in ct.calibration_test(100.0 * rates, y, n_resamples=19, rng=1).notes
    (other,) = as_sample(100.0 * rates[:500], np.zeros(500, dtype=int)).remarks
    assert other == "all outcomes are class 0: were they read from the right column?"
    assert as_sample(30.0 * rates, y).remarks == ()


def test_quantiles_have_no_other_class():
    rng = np.random.default_rng(8)
    assert (
        as_sample(ct.QuantileForecast([0.9], np.zeros((300, 1))), np.where(rng.random(300) < 0.1, -1.0, 1.0)).remarks
        == ()
    )


@pytest.mark.parametrize("k", [2, 3])
def test_predictions_that_are_made_from_outcomes(k):
    labels = np.random.default_rng(1).integers(0, k, 60)
    rows = np.full((k, k), 0.1 / (k - 1)) + (0.9 - 0.1 / (k - 1)) * np.eye(k)
    asked = "are the predictions made from the outcomes?"
    assert [one for one in as_sample(rows[labels], labels).notes if asked in one]
    others = np.where(np.arange(60) == 7, (labels + 1) % k, labels)
    for predictions, targets in ((rows[others], labels), (rows[labels[:10]], labels[:10]), (rows[0 * labels], labels)):
        assert not [one for one in as_sample(predictions, targets).notes if asked in one]


def test_an_audit_asks_before_it_says_that_such_predictions_can_be_used():
    outcomes = np.random.default_rng(2).integers(0, 2, 300)
    model = ct.audit(outcomes.astype(float), outcomes, n_resamples=19, rng=1).models[0]
    assert model.decision == "not enough data to tell"
    assert "look at the data first: all rows of an outcome have the same prediction" in model.reason


@pytest.mark.parametrize("k", [2, 3])
def test_outcomes_of_one_class(k):
    p = np.random.default_rng(1).dirichlet(np.ones(k), 50)
    found = ct.calibration_test(p, np.ones(50, dtype=int), n_resamples=99, rng=1)
    assert found.notes == ("all outcomes are class 1: were they read from the right column?",)
    assert as_sample(p[:8], np.ones(8, dtype=int)).remarks == ()
    rare = np.repeat([[0.001, 0.999]], 50, axis=0) if k == 2 else np.repeat([[0.001, 0.998, 0.001]], 50, axis=0)
    assert as_sample(rare, np.ones(50, dtype=int)).remarks == ()
    audit = ct.audit(p, np.ones(50, dtype=int), n_resamples=99, rng=1)
    assert audit.models[0].decision == "do not use as it is"
    assert "look at how the data were read: all outcomes are class 1" in unfolded(str(audit))


def test_one_class_is_no_reason_to_recalibrate():
    audit = ct.audit(np.full(50, 0.9), np.ones(50, dtype=int), n_resamples=99, rng=1)
    assert audit.models[0].decision == "not enough data to tell"
    answer = audit.models[0].sections["recalibration"].answer
    assert answer == "Not computed: all outcomes are class 1, which every map would make certain; wait for others."


RNG = np.random.default_rng(1)
LABELS = RNG.beta(0.6, 1.5, size=(600, 4))
OCCURRED = (RNG.random(LABELS.shape) < LABELS).astype(float)


def asked_of_labels(outcomes, p=LABELS):
    result = ct.calibration_test(
        ct.MultiLabel(p, ["a", "b", "c", "d"]), outcomes, missing="drop", n_resamples=19, rng=1
    )
    return asked_in(result.notes)[0]


def test_calibrated_and_overconfident_labels():
    assert asked_of_labels(OCCURRED) is None
    odds = (LABELS / (1.0 - LABELS)) ** 2
    assert asked_of_labels(OCCURRED, odds / (1.0 + odds)) is None


@pytest.mark.parametrize("lacking", [False, True])
def test_columns_of_labels_in_another_order(lacking):
    outcomes = np.where(lacking & (np.random.default_rng(2).random(OCCURRED.shape) < 0.05), np.nan, OCCURRED)
    assert asked_of_labels(outcomes[:, [1, 0, 2, 3]]) == (
        "columns in another order would fit the outcomes better (label a: column 1, label b: column 0): is theirs that "
        "of the labels?"
    )


def test_rows_and_single_labels():
    order = "outcomes 1 row below would fit the predictions: are both in the same order?"
    assert asked_of_labels(np.roll(OCCURRED, 1, axis=0)) == f"all labels: {order}"
    reverse = "1 - p would fit the outcomes: are these the probabilities of the other class?"
    assert asked_of_labels(np.column_stack([1.0 - OCCURRED[:, 0], OCCURRED[:, 1:]])) == f"label a: {reverse}"
    several = asked_of_labels(1.0 - OCCURRED)
    assert "columns" not in several
    assert several.count("are these the probabilities of the other class?") == 2 - (several == f"all labels: {reverse}")


@pytest.mark.parametrize(("n_asked", "who"), [(1, "label a"), (2, "labels a, b"), (4, "all labels")])
def test_labels_of_one_question_are_named_together(n_asked, who):
    asked = [("is it?",)] * n_asked + [()] * (4 - n_asked)
    assert of_labels(LABELS, OCCURRED, "abcd", asked) == [f"{who}: is it?"]


@pytest.mark.parametrize("n", [19, 20])
def test_questions_are_asked_from_twenty_rows_on(n):
    y = np.arange(n) % 3
    made, rare = 0.1 + 0.7 * np.eye(3)[y], np.full((n, 3), [0.02, 0.49, 0.49])
    for p, outcomes, words in (
        (made, y, "are the predictions made from the outcomes?"),
        (rare, np.zeros(n, dtype=int), "all outcomes are class 0: were they read from the right column?"),
        (np.full(n, 0.02), np.ones(n, dtype=int), "are these the probabilities of the other class?"),
    ):
        asked = as_sample(p, outcomes).remarks
        assert len(asked) == (n == 20)
        assert all(one.endswith(words) for one in asked)


@pytest.mark.parametrize("sharper", [1.0, 1.5])
def test_ordered_classes_in_reverse(sharper):
    """Whatever the rare classes at the ends, which have too few outcomes to be told by themselves."""
    rng = np.random.default_rng(20)
    ends = stats.norm.cdf(np.array([-3.0, -1.0, 1.0, 3.0]) - 0.5 * rng.normal(size=(2000, 1)))
    p = np.diff(ends, prepend=0.0, append=1.0, axis=1)
    y = (p.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    predicted = p**sharper / (p**sharper).sum(axis=1, keepdims=True)
    better = "" if sharper == 1.0 else " better"
    (asked,) = as_sample(ct.Ordinal(predicted[:, ::-1]), y).remarks
    places = "class 0: column 4, class 1: column 3, class 3: column 1, class 4: column 0"
    assert asked.startswith(f"columns in another order would fit the outcomes{better} ({places})")
    assert as_sample(ct.Ordinal(predicted), y).remarks == ()


def test_no_column_is_that_of_two_classes():
    rng = np.random.default_rng(21)
    ends = stats.norm.cdf(np.array([-3.0, -1.0, 1.0, 3.0]) - 0.5 * rng.normal(size=(2000, 1)))
    p = np.diff(ends, prepend=0.0, append=1.0, axis=1)
    y = (p.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    occurred = y[:, None] == np.arange(5)
    assert sorted(followed_columns(p[:, ::-1], occurred)) == [0, 1, 2, 3, 4]
