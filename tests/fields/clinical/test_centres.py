"""Validation of risks by centre: laws of counts, p-values and adjustment by enumeration, intervals, bad input."""

from itertools import product

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import special, stats

from caltest._laws import law_of_count
from caltest.fields import clinical

RISKS = np.array([0.1, 0.3, 0.25, 0.6, 0.05, 0.5, 0.45, 0.2])
EVENTS = np.array([1, 1, 1, 1, 0, 0, 1, 0])
CENTRE = np.array(["a", "a", "a", "a", "b", "b", "b", "c"])


@pytest.mark.parametrize("n", [1, 2, 7, 130])
def test_laws_of_counts_are_those_of_scipy(n):
    p = np.random.default_rng(n).beta(1.0, 4.0, n)
    assert law_of_count(p) == pytest.approx(stats.poisson_binom(p).pmf(np.arange(n + 1)), rel=1e-9, abs=1e-15)
    assert law_of_count(np.full(n, 0.3)) == pytest.approx(stats.binom(n, 0.3).pmf(np.arange(n + 1)), rel=1e-9)


def test_laws_of_many_keep_their_tails():
    law, k = law_of_count(np.full(3000, 0.01)), np.arange(3001)
    exact = stats.binom(3000, 0.01).pmf(k)
    assert law[exact > 1e-280] == pytest.approx(exact[exact > 1e-280], rel=1e-9)
    assert law[-1] == 0.0


def by_hand(risks, count):
    """P-value by all outcomes: how probable numbers of events with as small a tail are."""
    law = np.zeros(risks.size + 1)
    for outcome in product([0, 1], repeat=risks.size):
        law[sum(outcome)] += np.prod(np.where(outcome, risks, 1 - risks))
    tails = np.array([min(law[: k + 1].sum(), law[k:].sum()) for k in range(law.size)])
    pvalues = np.array([law[tails <= tails[k] + 1e-12].sum() for k in range(law.size)])
    return pvalues[count], law, pvalues


@pytest.mark.every(3)
@pytest.mark.parametrize("number", range(0, 256, 5))
def test_pvalues_and_adjusted_ones_by_enumeration(number):
    events = np.array([int(bit) for bit in f"{number:08b}"])
    found = clinical.validate_by_group(RISKS, events, CENTRE)
    hands = {one: by_hand(RISKS[one == CENTRE], events[one == CENTRE].sum()) for one in "abc"}
    assert [one.pvalue for one in found.rows] == pytest.approx([hands[one][0] for one in "abc"])
    left, largest = sorted("abc", key=lambda one: hands[one][0]), 0.0
    while left:
        p = hands[left[0]][0]
        largest = max(largest, sum(law[pvalues <= p + 1e-12].sum() for _, law, pvalues in (hands[g] for g in left)))
        assert found[left[0]].adjusted == pytest.approx(min(1.0, largest))
        left = left[1:]
    assert found.pvalue == min(one.adjusted for one in found.rows)


def test_the_sentence_says_in_how_many_groups_calibration_in_the_large_is_rejected():
    found = clinical.validate_by_group(RISKS, np.zeros(8), CENTRE)
    assert "in the large was rejected at the 5 % level in none of them" in found.sentence()


@pytest.mark.every(3)
@pytest.mark.parametrize("number", range(0, 256, 15))
def test_ranges_end_where_numbers_of_events_are_rejected(number):
    """With those of the other groups as they are; adjusted p-values are tested by enumeration."""
    events = np.array([int(bit) for bit in f"{number:08b}"])
    found = clinical.validate_by_group(RISKS, events, CENTRE, confidence_level=0.7)
    assert [bar.stands_out for bar in found.bars()] == [one.adjusted <= 0.3 for one in found.rows]
    for one in (row for row in found.rows if row.adjusted > 0.3):
        kept, other = [], events.copy()
        for count in range(one.n + 1):
            other[one.name == CENTRE] = np.arange(one.n) < count
            if clinical.validate_by_group(RISKS, other, CENTRE)[one.name].adjusted > 0.3:
                kept.append(count / one.expected)
        assert one.usual == pytest.approx((kept[0], kept[-1]))
        assert len(kept) == round((kept[-1] - kept[0]) * one.expected) + 1


def test_lines_say_where_intervals_hold_what_is_rejected():
    """Of risks near 0 and 1 the test of the Poisson-binomial law is sharper than Clopper and Pearson."""
    found = clinical.validate_by_group(np.repeat([0.02, 0.98], 50), np.arange(100) < 54, ["a"] * 100)
    (one,) = found.rows
    assert one.adjusted < 0.05
    assert not one.ratio.excludes(1.0)
    assert one.usual[1] < one.ratio.estimate
    said = "p-values and intervals come from different tests and can disagree"
    assert said in str(found)
    ax = found.plot(ax=Figure().add_subplot())
    assert ax.get_legend().get_title().get_text() == said
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["range if calibrated", "interval"]
    assert ax.collections[0].get_paths()[0].get_extents().intervalx == pytest.approx(one.usual)
    assert said not in str(clinical.validate_by_group(RISKS, np.zeros(8), CENTRE))


def test_certain_cases_are_no_part_of_shifted_odds():
    risks = np.array([1.0, 1.0, 0.0, 0.2, 0.4, 0.3])
    value = clinical.validate_by_group(risks, [1, 1, 0, 1, 0, 1], ["a"] * 6).rows[0].in_the_large.estimate
    assert special.expit(value + special.logit(risks[3:])).sum() == pytest.approx(2.0)


def test_size_of_all_groups_by_enumeration():
    """Of all outcomes of calibrated risks, at most a share alpha has an adjusted p-value up to alpha."""
    risks, centre, pvalues, weights = RISKS[1:], CENTRE[1:], [], []
    for outcome in product([0, 1], repeat=risks.size):
        pvalues.append(clinical.validate_by_group(risks, list(outcome), centre).pvalue)
        weights.append(np.prod(np.where(outcome, risks, 1 - risks)))
    pvalues, weights = np.array(pvalues), np.array(weights)
    for alpha in (0.01, 0.05, 0.1, 0.3):
        assert weights[pvalues <= alpha].sum() <= alpha
    assert weights[pvalues <= 0.3].sum() > 0.15


def test_numbers_of_a_group_are_those_of_its_cases_alone():
    found = clinical.validate_by_group(RISKS, EVENTS, CENTRE)["a"]
    risks, level = RISKS[:4], 1 - 0.05 / 3
    assert (found.n, found.events, found.expected) == (4, 4, pytest.approx(1.25))
    low = stats.binomtest(4, 4).proportion_ci(level).low
    assert found.ratio.estimate == pytest.approx(4 / 1.25)
    assert found.ratio.ends == pytest.approx((low * 4 / 1.25, 4 / 1.25))
    assert found.in_the_large.estimate == found.in_the_large.high == np.inf
    assert special.expit(found.in_the_large.low + special.logit(risks)).mean() == pytest.approx(low)
    assert found.slope is None


def test_groups_with_few_events_and_with_certain_risks_have_what_exists():
    rng = np.random.default_rng(3)
    p, centre = rng.beta(1.0, 4.0, 400), np.repeat(["few", "many"], [100, 300])
    y = np.where(centre == "few", 0, rng.random(400) < p)
    found = clinical.validate_by_group(p, y, centre)
    few = found["few"]
    assert (few.ratio.low, few.in_the_large.estimate, few.in_the_large.low) == (0.0, -np.inf, -np.inf)
    assert few.in_the_large.high < -1.0
    assert few.slope is None
    assert found["many"].slope.low < 1.0 < found["many"].slope.high
    assert "no slope in 1 of 2 groups; few: " in str(found)
    assert found.verdict() == (
        "reject calibration at the 5 % level in 1 of 2 groups: fewer events than predicted in few"
    )
    certain = clinical.validate_by_group([1.0, 1.0, 0.0], [1, 1, 0], ["a", "b", "b"])
    assert [one.in_the_large for one in certain.rows] == [None, None]
    assert certain.pvalue == 1.0


def test_intervals_of_all_groups_hold_together(replications):
    rng, holds, sets = np.random.default_rng(5), 0, replications(25, 200)
    centre = np.repeat(np.arange(5), [10, 30, 50, 100, 200])
    for _ in range(sets):
        p = rng.beta(1.0, 19.0, 390)
        truth = special.expit(special.logit(p) + 0.5)
        found = clinical.validate_by_group(p, rng.random(390) < truth, centre)
        right = [truth[centre == g].sum() / p[centre == g].sum() for g in range(5)]
        inside = [not one.ratio.excludes(value) for one, value in zip(found.rows, right, strict=True)]
        holds += all(inside) and not any(one.in_the_large.excludes(0.5) for one in found.rows)
    assert holds >= stats.binom.ppf(0.001, sets, 0.95)


def test_groups_may_overlap_and_labels_may_be_missing():
    masks = {"all": np.full(8, True), "first": np.arange(8) < 4}
    found = clinical.validate_by_group(RISKS, EVENTS, masks)
    assert [(one.name, one.n) for one in found.rows] == [("all", 8), ("first", 4)]
    assert found["first"].pvalue == clinical.validate_by_group(RISKS, EVENTS, CENTRE)["a"].pvalue
    unlabelled = np.array(["a", "a", None, "a", "b", "b", "b", "c"], dtype=object)
    assert clinical.validate_by_group(RISKS, EVENTS, unlabelled)["missing"].n == 1


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (CENTRE[:5], "8"),
        (np.where(CENTRE == "c", "a", CENTRE), "'b' in which all risks are 0"),
        ({"none": np.zeros(8, dtype=bool)}, "'none' without a case"),
    ],
)
def test_bad_groups(groups, message):
    risks = np.where(CENTRE == "b", 0.0, RISKS)
    with pytest.raises(ValueError, match=message):
        clinical.validate_by_group(risks, np.where(CENTRE == "b", 0, EVENTS), groups)
    many = np.tile(EVENTS, 8)
    with pytest.raises(ValueError, match="groups: got the targets"):
        clinical.validate_by_group(np.tile(RISKS, 8), many, many)
