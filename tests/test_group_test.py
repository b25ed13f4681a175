import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from printed import unfolded
from samples import TV, W2, samples
from scipy import stats

import caltest as ct
from caltest._validation.groups import as_groups
from caltest.group_test import Shares, step_down
from caltest.predictions.inputs.convert import as_sample


@pytest.mark.parametrize("seed", range(8))
def test_step_down_is_the_smallest_level_at_which_a_group_is_rejected(seed):
    """By closed testing: the largest p-value of the maximum over any set of groups with this one."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(4, 60))
    t[:, 0] += [1.5, 0.5, 1.2, 1.3]
    t *= [[1.0], [1.0], [0.5], [2.0]]
    expected = np.zeros(4)
    for size in range(1, 5):
        for some in itertools.combinations(range(4), size):
            largest = t[list(some)].max(axis=0)
            pvalue = (1 + np.count_nonzero(largest[1:] >= largest[0])) / 60
            expected[list(some)] = np.maximum(expected[list(some)], pvalue)
    assert step_down(t) == pytest.approx(expected, rel=1e-14)


@pytest.fixture(scope="module")
def biased():
    """Outcomes of one group of three are too frequent."""
    rng = np.random.default_rng(5)
    p, group = rng.uniform(0.1, 0.9, 600), np.repeat(["x", "y", "z"], 200)
    return p, (rng.random(600) < p + 0.25 * (group == "y")).astype(int), group


def test_the_wrong_group_is_found(biased):
    p, y, group = biased
    result = ct.calibration_by_group(p, y, group, n_resamples=199, rng=1)
    assert result.rejected() == ("y",)
    assert result["y"].adjusted == result.pvalue == 0.005
    assert result["y"].n == 200
    assert "occurs more often than predicted" in result["y"].finding.words
    assert all(one.adjusted >= one.pvalue for one in result.groups)
    assert [one.adjusted for one in result.groups] == sorted(one.adjusted for one in result.groups)
    text = unfolded(result)
    assert "P(Y = 1 | p, G) = p" in text
    assert "calibrated in every group" in text
    assert len([line for line in str(result).splitlines() if line.startswith(("  x ", "  y ", "  z "))]) == 3
    assert [row[-1] == "" for row in result.table()[1:]] == [False, True, True]
    assert json.loads(json.dumps(result.to_dict()))["groups"][0]["name"] == "y"
    assert repr(result) == "<GroupCalibrationTest: p = 0.005 (exact), 3 groups, n = 600>"
    with pytest.raises(KeyError, match="got 'w', wanted one of 'y'"):
        result["w"]


def test_groups_have_claimed_and_observed_shares(biased):
    p, y, group = biased
    result = ct.calibration_by_group(p, y, group, n_resamples=39, rng=1)
    for one in result.groups:
        inside = group == one.name
        assert (one.claimed, one.observed) == pytest.approx((p[inside].mean(), y[inside].mean()))
        ends = stats.binomtest(int(y[inside].sum()), 200).proportion_ci(1.0 - 0.05 / 3, method="exact")
        assert one.interval.ends == pytest.approx((ends.low, ends.high))
    assert result.table()[0] == ["group", "n", "claimed", "observed", "95 % interval", "adjusted p", "what is wrong"]
    assert "claimed, observed: shares of class 1; intervals hold for all groups together" in unfolded(result)
    assert str(ct.results.GroupCalibrationTestResult.from_dict(result.to_dict())) == str(result)
    assert {"claimed", "observed", "low", "high"} <= set(result.to_pandas().columns)
    for bar, one in zip(result.bars(), result.groups, strict=True):
        apart = [100.0 * (share - one.claimed) for share in (one.observed, *one.interval)]
        assert [bar.estimate, *bar.interval, bar.reference] == pytest.approx([*apart, 0.0])
    assert result.bars()[0].unit == "class 1: percentage points above the share claimed"


SHARES = {
    "class": (
        lambda rng: (q := rng.dirichlet(np.ones(4), 60), ct.Categorical(q).sample(rng)),
        "the most probable class",
    ),
    "numbers": (lambda rng: (ct.Normal(np.zeros(60), 1.0), rng.normal(size=60)), "outcomes above the median"),
    "counts": (lambda rng: (ct.Poisson(np.full(60, 0.3)), rng.poisson(0.3, 60)), "counts"),
    "members": (lambda rng: (ct.Ensemble(rng.normal(size=(60, 9))), rng.normal(size=60)), "outcomes above the median"),
    "vectors": (
        lambda rng: (ct.MvNormal(np.zeros((60, 2)), np.ones((60, 2))), rng.normal(size=(60, 2))),
        "outcomes inside the 95 % region",
    ),
    "residuals": (lambda rng: ct.pit_values(ct.Normal(np.zeros(60), 1.0), rng.normal(size=60)), ""),
}


@pytest.mark.parametrize("kind", SHARES)
def test_shares_of_groups_are_of_an_event_of_the_family(kind):
    make, event = SHARES[kind]
    result = ct.calibration_by_group(*make(np.random.default_rng(1)), np.arange(60) % 2, n_resamples=19, rng=1)
    assert result.compared == event
    assert ("estimate" in result.table()[0]) == (event == "")
    assert (result.groups[0].interval is None) == (event == "")


def test_counts_of_groups_are_observed_and_expected():
    """With intervals of Garwood, wider where counts scatter more than those of Poisson."""
    rng = np.random.default_rng(2)
    mean, region = rng.gamma(4.0, 0.1, 2_000), np.repeat(["east", "west"], 1_000)
    risk = np.where(region == "east", 1.5, rng.gamma(0.5, 2.0, 2_000))
    claims = rng.poisson(mean * risk)
    found = ct.calibration_by_group(ct.Poisson(mean), claims, region, n_resamples=39, rng=1)
    assert found.table()[0] == ["group", "n", "observed", "expected", "ratio (95 %)", "adjusted p", "what is wrong"]
    assert "expected, observed: sums of counts; intervals hold for all groups together" in unfolded(found)
    widths = {}
    for one in found.groups:
        inside = region == one.name
        total, expected = claims[inside].sum(), mean[inside].sum()
        assert (one.observed, one.claimed) == pytest.approx((total, expected))
        assert one.ratio.estimate == pytest.approx(total / expected)
        assert one.apart.ends == pytest.approx([end - 1.0 for end in one.ratio])
        low, high = stats.gamma.ppf(0.0125, total), stats.gamma.ppf(0.9875, total + 1)
        widths[one.name] = (one.interval.high - one.interval.low) / (high - low)
    assert widths["east"] == pytest.approx(1.0, abs=0.105)
    assert widths["west"] > 1.25
    bars = {one.name: one for one in found.bars()}
    assert bars["east"].estimate == pytest.approx(100.0 * (found["east"].ratio.estimate - 1.0))
    assert bars["east"].unit == "counts: per cent above the number expected"


def test_times_of_groups_have_events_observed_and_expected():
    """Expected are predicted hazards while rows are observed."""
    rng, stage = np.random.default_rng(1), np.repeat(["I", "II"], 150)
    rate, end = rng.uniform(0.4, 1.2, 300), rng.exponential(2.0, 300)
    time = rng.exponential(1.0 / (np.where(stage == "II", 2.0, 1.0) * rate))
    times = ct.Censored(np.minimum(time, end), time <= end)
    audit = ct.audit(ct.Gamma(np.ones(300), 1.0 / rate), times, groups=stage, n_resamples=39, rng=1)
    head, *rows = audit["model"].sections["groups"].rows
    assert head[2:5] == ("observed", "expected", "ratio (95 %)")
    for name, _, observed, expected, ratio, *_ in rows:
        inside = stage == name
        assert int(observed) == times.event[inside].sum()
        assert float(expected) == pytest.approx((rate * times.time)[inside].sum(), rel=1e-3)
        low, high = (float(one) for one in re.findall(r"[\d.]+", ratio)[1:])
        assert low < (2.0 if name == "II" else 1.0) < high


def test_groups_with_weights_have_shares_of_their_weight(biased):
    p, y, group = biased
    weights = np.tile([1.0, 2.0], 300)
    result = ct.calibration_by_group(p, y, group, weights=weights, n_resamples=19, rng=1)
    assert result.compared == "class 1 by weight"
    first, rows = result.groups[0], np.asarray(group) == result.groups[0].name
    wanted = [np.average(np.asarray(one)[rows], weights=weights[rows]) for one in (p, y)]
    assert (first.claimed, first.observed) == pytest.approx(tuple(wanted))
    alone = ct.calibration_by_group(p, y, group, n_resamples=19, rng=1)[first.name].interval
    ratio = (first.interval.high - first.interval.low) / (alone.high - alone.low)
    assert ratio == pytest.approx(np.sqrt(10 / 9), abs=0.03)


def test_what_could_have_been_missed_in_groups_is_said():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.1, 0.9, 300)
    few = ct.calibration_by_group(p, rng.random(300) < p, np.arange(300) % 2, n_resamples=99, rng=1)
    said = "calibration is not rejected in any group at the 5 % level"
    assert few.verdict() == f"{said}, but errors that matter could have been missed"
    p = rng.uniform(0.1, 0.9, 40_000)
    many = ct.calibration_by_group(p, rng.random(p.size) < p, np.arange(p.size) % 2, n_resamples=99, rng=1)
    assert many.verdict() == said


def test_intervals_of_groups_hold_together():
    sets, missed = 200, 0
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        p, group = rng.beta(0.5, 4, 200), np.arange(200) % 10
        true = np.minimum(1.0, p * np.where(group < 3, 2.0, 1.0))
        groups = as_groups(group)
        found = Shares.of(as_sample(p, rng.random(200) < true), groups).of_groups
        means = [true[rows].mean() for rows in groups.rows]
        inside = (low <= mean <= high for mean, (_, _, (low, high)) in zip(means, found, strict=True))
        missed += not all(inside)
    assert missed <= stats.binom(sets, 0.05).ppf(0.999)


def test_intervals_of_numbers_hold_together_for_both_events_of_which_the_one_that_is_off_is_shown():
    sets, missed, shown = 200, 0, []
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        group, wrong = np.arange(300) % 6, 1.0 + 0.7 * (seed % 2)
        scale, groups = np.where(group == 2, wrong, 1.0), as_groups(group)
        found = Shares.of(as_sample(ct.Normal(np.zeros(300), np.ones(300)), scale * rng.normal(size=300)), groups)
        inside = 2.0 * stats.norm.cdf(stats.norm.ppf(0.9) / np.array([scale[rows][0] for rows in groups.rows])) - 1.0
        true = inside if "80 %" in found.event else np.full(6, 0.5)
        missed += not all(low <= one <= high for one, (_, _, (low, high)) in zip(true, found.of_groups, strict=True))
        shown.append("80 %" in found.event)
    assert missed <= stats.binom(sets, 0.05).ppf(0.999)
    assert sum(shown[::2]) <= 3 < 60 <= sum(shown[1::2])


def test_labels_masks_and_names_agree(biased):
    p, y, group = biased
    test = ct.GroupCalibrationTest(ct.SKCE(ct.Bernoulli(p).default_kernel()), n_resamples=99)
    results = [
        test(p, y, groups, rng=2)
        for groups in (
            group,
            pd.Series(group, dtype="category"),
            group[:, None] == np.array(["x", "y", "z"]),
            {name: group == name for name in "xyz"},
        )
    ]
    numbers = [sorted((one.n, one.estimate, one.pvalue, one.adjusted) for one in result.groups) for result in results]
    assert numbers[0] == numbers[1] == numbers[2] == numbers[3]
    assert {one.name for one in results[2].groups} == {"0", "1", "2"}


def test_overall_pvalue_is_that_of_the_maximum(biased):
    p, y, group = biased
    kernel = ct.Bernoulli(p).default_kernel()
    overall = ct.MonteCarloTest(ct.estimators.GroupMaximum(ct.SKCE(kernel), group), 99)(p, y, rng=3)
    assert ct.GroupCalibrationTest(kernel, 99)(p, y, group, rng=3).pvalue == overall.pvalue
    assert overall.hypothesis == "P(Y = 1 | p, G) = p"
    assert overall.estimate == pytest.approx(ct.SKCE(kernel)(p, y), rel=1e-12)


def test_one_group_of_all_is_the_test_of_all():
    data = samples(60, 3)
    y = ct.Categorical(data.p).sample(3)
    for estimator in (ct.SKCE(TV), ct.estimators.ExcessLogScore()):
        one = ct.GroupCalibrationTest(estimator, 199)(data.p, y, np.zeros(60), rng=4).groups[0]
        alone = ct.MonteCarloTest(estimator, 199)(data.p, y, rng=4)
        assert one.estimate == pytest.approx(alone.estimate, rel=1e-12)
        assert one.adjusted == one.pvalue
        if isinstance(estimator, ct.SKCE):
            assert one.pvalue == alone.pvalue
            draws = alone.null_distribution
            assert one.z == pytest.approx((alone.estimate - draws.mean()) / draws.std(), rel=1e-9)


def test_signs_of_two_sided_estimators():
    rng = np.random.default_rng(6)
    p = rng.uniform(0.05, 0.95, 400)
    sharp = np.repeat([True, False], 200)
    y = np.where(sharp, p > 0.5, rng.random(400) < 0.5).astype(int)
    result = ct.GroupCalibrationTest(ct.estimators.ExcessLogScore(), 99)(p, y, {"sharp": sharp, "blunt": ~sharp}, rng=1)
    assert result["sharp"].z < -5.0
    assert result["blunt"].z > 5.0
    assert result["sharp"].adjusted == result["blunt"].adjusted == 0.01


def test_impossible_outcomes_are_named_by_their_rows():
    p = np.tile([[0.2, 0.3, 0.5]], (60, 1))
    p[41] = [0.0, 0.5, 0.5]
    labels = np.arange(60) % 3
    labels[41] = 0
    result = ct.calibration_by_group(p, labels, np.arange(60) % 2, n_resamples=39, rng=1)
    assert result["1"].finding.kind == "impossible outcome"
    assert "(row 41: class 0)" in result["1"].finding.words
    assert result["0"].finding is None


def test_numbers_have_findings_too():
    data = samples(80, 3)
    y = data.normal.sample(2) + 2.0 * data.normal.scale * (np.arange(80) < 40)
    result = ct.calibration_by_group(data.normal, y, np.arange(80) < 40, kernel=W2, n_resamples=99, rng=1)
    assert result.rejected() == ("True",)
    residuals = ct.GroupCalibrationTest(W2, 19)(*ct.standardised_residuals(data.normal, y), np.arange(80) < 40, rng=1)
    assert residuals.hypothesis == "(Y - m) / s has its standard law given P_X, also given G"
    assert "above what was predicted" in result["True"].finding.words
    ensemble = ct.Ensemble(np.stack([data.normal.sample(i) for i in range(9)], axis=1))
    found = ct.calibration_by_group(ensemble, y, np.arange(80) < 40, n_resamples=49, rng=1)
    assert "above what was predicted" in found["True"].finding.words


def test_illegal_arguments():
    with pytest.raises(TypeError, match="wanted an estimator such as SKCE"):
        ct.GroupCalibrationTest("SKCE")
    with pytest.raises(ValueError, match="n_resamples"):
        ct.GroupCalibrationTest(n_resamples=0)
    with pytest.raises(ValueError, match="fewer than two members"):
        ct.calibration_by_group([0.2, 0.4, 0.5], [0, 1, 1], ["a", "b", "c"])


def test_groups_of_one_row_are_left_out_with_a_note():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, 60)
    y = (rng.random(60) < p).astype(int)
    site = np.where(np.arange(60) < 30, "a", "b")
    site[7], site[50] = "c", "d"
    settings = {"n_resamples": 19, "rng": 1}
    patient = np.arange(60) // 2
    weights = np.where(np.arange(60) == 7, 0.0, 1.0)
    for result, count in (
        (ct.calibration_by_group(p, y, site, **settings), "2 groups of one row, c, d"),
        (ct.GroupCalibrationTest(n_resamples=19)(p, y, site, rng=1), "2 groups of one row, c, d"),
        (ct.calibration_by_group(p, y, site, clusters=patient, **settings), "2 groups of one row, c, d"),
        (ct.calibration_by_group(p, y, site, weights=weights, **settings), "2 groups of fewer than two rows, c, d"),
    ):
        assert sorted(one.name for one in result.groups) == ["a", "b"]
        assert f"left out: {count}" in result.notes
    rest = np.flatnonzero(np.isin(site, ["a", "b"]))
    alone = ct.calibration_by_group(p[rest], y[rest], site[rest], **settings)
    assert alone["a"].n == ct.calibration_by_group(p, y, site, **settings)["a"].n == 29


class TestWeights:
    """Weights of the observations are those of the members of each group."""

    RNG = np.random.default_rng(3)
    P = RNG.dirichlet(np.ones(3), 60)
    Y = ct.Categorical(P).sample(4)
    W = RNG.uniform(0.5, 2.0, 60)
    GROUPS = np.arange(60) % 3

    def test_groups_have_the_weighted_errors(self):
        kernel = ct.Categorical(self.P).default_kernel().resolve(ct.Categorical(self.P))
        settings = {"kernel": kernel, "weights": self.W, "n_resamples": 9, "rng": 1}
        result = ct.calibration_by_group(self.P, self.Y, self.GROUPS, **settings)
        for group in result.groups:
            rows = int(group.name) == self.GROUPS
            expected = ct.estimators.WeightedSKCE(kernel, self.W[rows])(self.P[rows], self.Y[rows])
            assert group.estimate == pytest.approx(expected, rel=1e-12)
        assert result.hypothesis == "P(Y | P_X, w, G) = P_X"
        assert "weighted" in result.estimator

    @pytest.mark.parametrize("kernel", [None, ct.ProductKernel(ct.GaussianKernel(bandwidth=0.3), ct.DeltaKernel())])
    def test_equal_weights_change_nothing_and_zeros_leave_out(self, kernel):
        def test(rows, **weights):
            some = self.P[rows], self.Y[rows], self.GROUPS[rows]
            return ct.calibration_by_group(*some, kernel=kernel, n_resamples=19, rng=1, **weights)

        everything, kept = slice(None), np.arange(7, 60)
        assert test(everything, weights=np.full(60, 3.0)).groups == test(everything).groups
        zeros = np.where(np.arange(60) < 7, 0.0, self.W)
        left_out = test(everything, weights=zeros)
        assert left_out.groups == test(kept, weights=self.W[kept]).groups
        assert left_out.groups != test(kept).groups
        assert "7 of 60 rows have weight 0 and are left out" in left_out.notes

    def test_too_few_groups_are_refused_where_weights_leave_rows_out(self):
        with pytest.raises(ValueError, match="groups: got 2 values, wanted 3, one per prediction"):
            ct.calibration_by_group([0.2, 0.5, 0.7], [0, 1, 1], [0, 0], weights=[0.0, 1.0, 1.0], rng=1)

    def test_findings_are_those_of_the_weights(self):
        """Ones occur too often where weights are large, too seldom where they are small."""
        p, heavy = np.full(400, 0.5), np.arange(400) % 4 < 2
        y = np.where(heavy, np.arange(400) % 20 < 17, np.arange(400) % 20 < 3).astype(int)
        for one, label in ((True, 1), (False, 0)):
            weights = np.where(heavy == one, 1.0, 0.01)
            result = ct.calibration_by_group(p, y, np.arange(400) // 200, weights=weights, n_resamples=19, rng=1)
            words = f"class 1 occurs {'more' if label else 'less'} often than predicted"
            assert all(words in group.finding.words for group in result.groups), result.groups

    def test_rows_are_matched_by_the_index(self):
        index = np.random.default_rng(1).permutation(60)
        weights, y = pd.Series(self.W[index], index=index), pd.Series(self.Y, index=np.arange(60))
        groups = pd.Series(self.GROUPS, index=np.arange(60))
        p = pd.DataFrame(self.P)
        found = ct.calibration_by_group(p, y, groups, weights=weights, n_resamples=9, rng=1)
        expected = ct.calibration_by_group(self.P, self.Y, self.GROUPS, weights=self.W, n_resamples=9, rng=1)
        assert found.groups == expected.groups

    def test_bad_weights(self):
        few = np.where(self.GROUPS < 1, np.arange(60) == 0, self.W)
        some = ct.calibration_by_group(self.P, self.Y, self.GROUPS, weights=few, n_resamples=19, rng=1)
        assert "left out: 1 group of one row, 0" in some.notes
        for weights, message in ((self.W[1:], "got 59 values, wanted 60"), (-self.W, "at least 0")):
            with pytest.raises(ValueError, match=message):
                ct.calibration_by_group(self.P, self.Y, self.GROUPS, weights=weights)


class TestManyGroups:
    """More groups than 32 are tested by sums with known moments."""

    RNG = np.random.default_rng(8)
    N = 6000
    P = RNG.uniform(0.05, 0.95, N)
    GROUP = np.arange(N) % 40
    Y = (RNG.random(N) < P + np.where(GROUP == 7, 0.2 - 0.3 * (P - 0.5), 0.0)).astype(int)

    def test_the_wrong_group_is_found_and_explained(self):
        result = ct.calibration_by_group(self.P, self.Y, self.GROUP, rng=1)
        assert result.rejected() == ("7",)
        assert "sums of y - p" in result.estimator
        assert result.hypothesis == "P(Y = 1 | p, G) = p"
        rows = self.GROUP == 7
        assert result["7"].estimate == pytest.approx((self.Y - self.P)[rows].mean(), rel=1e-12)
        assert result["7"].finding is not None
        assert all(one.finding is None for one in result.groups if one.adjusted > 0.1)
        assert [one.adjusted for one in result.groups] == sorted(one.adjusted for one in result.groups)
        assert all(one.pvalue <= one.adjusted for one in result.groups)

    def test_labels_masks_and_order_of_groups_agree(self):
        masks = {f"g{g}": g == self.GROUP for g in range(39, -1, -1)}
        by_label = ct.calibration_by_group(self.P, self.Y, [f"g{g}" for g in self.GROUP], n_resamples=99, rng=1)
        by_mask = ct.calibration_by_group(self.P, self.Y, masks, n_resamples=99, rng=1)
        assert {one.name: one for one in by_label.groups} == {one.name: one for one in by_mask.groups}

    @pytest.mark.usefixtures("without_findings")
    def test_with_a_kernel_or_weights_every_group_has_its_estimator(self):
        p, y, group = self.P[:200], self.Y[:200], self.GROUP[:200]
        for result in (
            ct.calibration_by_group(p, y, group, weights=np.linspace(1.0, 2.0, 200), n_resamples=9, rng=1),
            ct.calibration_by_group(p, y, group, kernel=ct.Bernoulli(p).default_kernel(), n_resamples=9, rng=1),
        ):
            assert "k = exp(" in result.estimator

    @pytest.mark.usefixtures("without_findings")
    def test_names_of_classes_are_those_of_their_numbers(self):
        p, y = self.RNG.dirichlet(np.ones(3), 200), self.RNG.integers(0, 3, 200)
        settings = {"groups": self.GROUP[:200], "n_resamples": 19, "rng": 1}
        named = ct.calibration_by_group(p, np.array(["a", "b", "c"])[y], classes=["a", "b", "c"], **settings)
        numbers = [
            [(one.name, one.estimate, one.z, one.pvalue, one.adjusted) for one in result.groups]
            for result in (named, ct.calibration_by_group(p, y, **settings))
        ]
        assert numbers[0] == numbers[1]

    def test_bad_groups_are_refused(self):
        p, y = self.P[:200], self.Y[:200]
        for groups, message in (
            (self.GROUP[:199], "groups: got 199 values, wanted 200, one per prediction"),
            (np.arange(200), r"fewer than two members: '0' \(1\)"),
            (np.zeros((200, 40), dtype=bool), r"got 40 with fewer than two members: '0' \(0\)"),
        ):
            with pytest.raises(ValueError, match=message):
                ct.calibration_by_group(p, y, groups)

    @pytest.mark.usefixtures("without_findings")
    def test_vectors_have_the_omnibus_in_each_group(self):
        p = ct.MvNormal(np.zeros((80, 2)), np.ones(80))
        result = ct.calibration_by_group(p, p.sample(1), np.arange(80) // 2, n_resamples=9, rng=1)
        assert result.estimator.startswith("omnibus")

    def test_ten_thousand_groups(self):
        """In a time and memory that grow with members and groups, not with their product."""
        n = 20_000
        rng = np.random.default_rng(1)
        p = rng.beta(0.3, 30.0, n)
        y = (rng.random(n) < p).astype(int)
        y[:2], p[:2] = 1, 1e-4
        result = ct.calibration_by_group(p, y, np.arange(n) // 2, n_resamples=99, rng=1)
        assert len(result.groups) == 10_000
        assert result.rejected() == ("0",)


def test_groups_of_a_mapping_are_those_of_its_masks_and_labels():
    rng = np.random.default_rng(1)
    p, site, old = rng.uniform(0.2, 0.8, 300), rng.choice(["a", "b"], 300), rng.random(300) < 0.3
    y = (rng.random(300) < p).astype(int)
    found = ct.calibration_by_group(p, y, {"old": old, "site": site}, n_resamples=19, rng=1)
    masks = {"old": old, "site = a": site == "a", "site = b": site == "b"}
    expected = ct.calibration_by_group(p, y, masks, n_resamples=19, rng=1)
    assert [(one.name, one.n, one.adjusted) for one in found.groups] == [
        (one.name, one.n, one.adjusted) for one in expected.groups
    ]


def test_rows_in_place_of_masks_are_refused_before_their_number():
    with pytest.raises(ValueError, match=r"groups\['a'\]: got shape \(5,\), wanted \(15,\), a boolean or"):
        ct.calibration_by_group(np.full(20, 0.5), np.arange(20) % 2, {"a": np.arange(5), "b": np.arange(5, 20)})


def test_groups_by_the_spread_of_the_members_have_a_note():
    rng = np.random.default_rng(6)
    centre = rng.normal(10.0, 5.0, 600)
    members, outcomes = centre[:, None] + rng.normal(size=(600, 10)), centre + rng.normal(size=600)
    spread = members.std(axis=1)
    for groups, is_noted in ((spread > np.median(spread), True), (centre > 10.0, False)):
        found = ct.calibration_by_group(ct.Ensemble(members), outcomes, groups.astype(int), n_resamples=9, rng=1)
        assert any("groups differ by the spread of the members" in note for note in found.notes) == is_noted


def test_a_report_of_many_groups_shows_the_first_ones():
    rng = np.random.default_rng(1)
    p, group = rng.uniform(0.3, 0.7, 2_000), np.arange(2_000) % 40
    y = (rng.random(2_000) < p + 0.3 * (group < 30)).astype(int)
    result = ct.calibration_by_group(p, y, group, n_resamples=99, rng=1)
    assert len(result.rejected()) > 20
    assert "and 20 others, whose p-values are not smaller; to_pandas() has all" in str(result)
    assert len(result.to_pandas()) == 40
    lines = str(result).splitlines()
    assert [one.name for one in result.groups if any(line.startswith(f"  {one.name} ") for line in lines)] == [
        one.name for one in result.groups[:20]
    ]
    assert f"of 40 groups: {result.groups[0].name}, " in result.verdict()
    assert result.verdict().endswith(", ...")
    few = ct.calibration_by_group(p, y, group % 21, n_resamples=19, rng=1)
    assert "whose p-values are not smaller" not in str(few)
