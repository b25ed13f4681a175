import json
from functools import cache

import numpy as np
import pytest
from scipy.special import ndtr

import caltest as ct
from caltest.cli.main import main
from caltest.group_test import LEAST

RNG = np.random.default_rng(5)
C = np.arange(640) // 4
GROUP = np.where(C < 54, "first", np.where(C < 108, "second", "third"))
P = RNG.uniform(0.2, 0.8, C.size)


def outcomes(p, c, rng, correlation=0.4):
    """Calibrated ones, alike within clusters."""
    effects, own = rng.normal(size=c.max() + 1)[c], rng.normal(size=c.size)
    u = ndtr(np.sqrt(correlation) * effects + np.sqrt(1.0 - correlation) * own)
    return (u < p).astype(int)


Y = outcomes(np.where(GROUP == "second", P + 0.25, P), C, RNG)


@cache
def of_groups():
    return ct.calibration_by_group(P, Y, GROUP, clusters=C, n_resamples=99, rng=3)


@cache
def alone(g, name):
    rows = name == GROUP
    rng = np.random.default_rng([3, g])
    return ct.calibration_test(P[rows], Y[rows], clusters=C[rows], n_resamples=99, rng=rng)


def test_each_group_has_the_test_of_its_clusters():
    found = of_groups()
    assert found.rejected() == ("second",)
    assert found.pvalue_kind == "resampling"
    assert "between clusters" in str(found)
    assert "p-value by resampling" in found.sentence()
    for g, name in enumerate(np.unique(GROUP)):
        wanted, one = alone(g, name), found[name]
        assert (one.n, one.estimate, one.pvalue) == (np.sum(name == GROUP), wanted.estimate, wanted.pvalue)
        draws = wanted.null_distribution
        assert one.z == pytest.approx((wanted.statistic - draws.mean()) / draws.std(), rel=1e-6)
    assert "class 1 occurs more often than predicted" in found["second"].finding.words


def test_adjusted_pvalues_are_those_of_the_maximum_over_independent_draws():
    found, draws = of_groups(), []
    for g, name in enumerate(np.unique(GROUP)):
        one = alone(g, name)
        values = np.append(one.statistic, one.null_distribution)
        others = (values.sum() - values) / (values.size - 1)
        squares = (np.square(values).sum() - values**2) / (values.size - 1)
        draws.append((values - others) / np.sqrt(squares - others**2))
    scores = np.array(draws)
    order = np.argsort(-scores[:, 0])
    last = 0.0
    for i, g in enumerate(order):
        largest = scores[order[i:], 1:].max(axis=0)
        last = max(last, (1 + np.sum(largest >= scores[g, 0])) / 100)
        assert found[np.unique(GROUP)[g]].adjusted == pytest.approx(last)


def test_few_clusters_of_a_group_are_one_row_each():
    group = np.where(C < 3, "small", GROUP)
    found = ct.calibration_by_group(P, Y, group, clusters=C, n_resamples=19, rng=1)
    assert found["small"].n == 12
    assert f"groups of fewer than {LEAST} clusters are tested by one row of each: small" in found.notes
    enough = ct.calibration_by_group(P, Y, np.where(C < LEAST, "small", GROUP), clusters=C, n_resamples=19, rng=1)
    assert (enough.notes, "conditional Monte Carlo" in enough.null) == ((), False)


def test_groups_of_one_cluster_are_left_out():
    found = ct.calibration_by_group(P, Y, np.where(C < 1, "alone", GROUP), clusters=C, n_resamples=99, rng=3)
    assert "left out: 1 group of one cluster, alone" in found.notes
    assert found.rejected() == ("second",)
    assert len(found.groups) == 3


@pytest.mark.usefixtures("without_findings")
def test_a_row_that_shares_clusters_with_all_others_is_not_the_one_that_is_kept():
    group, c = np.repeat(["rest", "three"], [240, 3]), C[:240]
    clusters = np.append(c, [900, 900, 901]), np.append(c, [900, 901, 900])
    p, y = np.append(P[:240], [0.5] * 3), np.append(Y[:240], [0, 1, 0])
    for seed in range(9):
        found = ct.calibration_by_group(p, y, group, clusters=clusters, n_resamples=3, rng=seed)
        assert len(found.groups) == 2


@pytest.mark.usefixtures("without_findings")
def test_more_groups_have_more_draws():
    group = np.char.add("g", (np.arange(640) // 16).astype(str))
    found = ct.calibration_by_group(P, Y, group, clusters=C, n_resamples=19, rng=1)
    assert found.n_resamples == 38


def test_excluded_outcomes_reject_their_group():
    p = P.copy()
    p[300], y = 0.0, Y.copy()
    y[300] = 1
    found = ct.calibration_by_group(p, y, GROUP, clusters=C, n_resamples=19, rng=1)
    assert found.groups[0].name == GROUP[300]
    assert found.groups[0].adjusted == 0.0
    assert "probability 0" in found.groups[0].finding.words


@pytest.mark.parametrize(
    ("group", "more", "error", "message"),
    [
        (C, {}, ValueError, "groups: got 160 with fewer than two clusters"),
        (GROUP, {"weights": np.ones(C.size)}, TypeError, "got some with weights, wanted one of the two"),
        (GROUP[:9], {}, ValueError, "groups"),
        (GROUP, {"clusters": C[:9]}, ValueError, "clusters: got 9"),
        (GROUP, {"clusters": Y}, ValueError, "clusters"),
        (GROUP, {"n_resamples": 0}, ValueError, "n_resamples"),
    ],
)
def test_bad_data(group, more, error, message):
    with pytest.raises(error, match=message):
        ct.calibration_by_group(P, Y, group, **{"clusters": C, "rng": 1} | more)


def test_the_command_line_takes_groups_and_clusters(tmp_path, capsys):
    path = tmp_path / "a.csv"
    rows = [f"{p},{y},{g},{c}" for p, y, g, c in zip(P, Y, GROUP, C, strict=True)]
    path.write_text("\n".join(["risk,event,centre,patient", *rows]))
    columns = ["--columns", "risk", "--outcome-column", "event", "--groups", "centre", "--clusters", "patient"]
    status = main(["test", str(path), *columns, "--n-resamples", "99", "--seed", "3", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert status == 0
    assert [one["adjusted"] for one in found["groups"]] == [one.adjusted for one in of_groups().groups]


@pytest.mark.every(4)
@pytest.mark.usefixtures("without_findings")
def test_size(replications):
    """Groups that share clusters, some with few of them."""
    (sets, n, correlation), rejected = replications((6, 240, 0.9), (400, 600, 0.4)), 0
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        c = np.arange(n) // 4
        p = rng.uniform(0.05, 0.95, n // 4)[c]
        groups = {"odd": np.arange(n) % 2 == 1, "even": np.arange(n) % 2 == 0, "few": c < 20}
        found = ct.calibration_by_group(
            p, outcomes(p, c, rng, correlation), groups, clusters=c, n_resamples=99, rng=seed
        )
        rejected += found.pvalue <= 0.05
    assert rejected <= {6: 3, 400: 32}[sets]


def test_copies_of_rows_do_not_shorten_the_intervals_of_groups():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.2, 0.8, 300)
    y, groups, patient = rng.random(300) < p, np.arange(300) % 3, np.arange(300)
    once = ct.calibration_by_group(p, y, groups, n_resamples=19, rng=1)
    copied = [np.repeat(one, 4) for one in (p, y, groups)]
    four = ct.calibration_by_group(*copied, clusters=np.repeat(patient, 4), n_resamples=19, rng=1)
    for name in "012":
        own, other = once[name], four[name]
        assert (other.claimed, other.observed) == pytest.approx((own.claimed, own.observed))
        # Student's law of 99 degrees of freedom makes them a little longer.
        length, copies = np.diff(tuple(own.interval))[0], np.diff(tuple(other.interval))[0]
        assert length < copies < 1.1 * length
        assert other.interval.method == "Korn and Graubard"
    assert four.table()[0][2:5] == ["claimed", "observed", "95 % interval"]
