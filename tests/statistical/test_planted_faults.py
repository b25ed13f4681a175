"""What is found in data with one known fault: kind, place, direction, and an interval that covers the size."""

import numpy as np
import pytest

import caltest as ct
from caltest._results.measures import matters
from caltest.estimators.combined.findings import findings_of
from caltest.estimators.combined.measures import measures_of
from caltest.predictions.inputs.convert import as_sample
from statistical.planted_faults import PAIRS, PLANTED, both_found, found

pytestmark = pytest.mark.statistical

IDS = [f"{one.family}: {one.fault}" for one in PLANTED]


@pytest.mark.every(9)
@pytest.mark.parametrize("planted", PLANTED, ids=IDS)
def test_words_are_right(planted, replications):
    n_seeds, n = replications((1, 1000), (4, 2000))
    results = [found(planted, n, seed) for seed in range(1, n_seeds + 1)]
    assert sum(not right for _, right in results) <= n_seeds // 4, [first for first, _ in results]


HIDDEN = {
    "numbers: 1 % outliers, 100 times as large",
    "ordered: 0.3 sd too low",
    "vectors: coordinate 2 too low by 0.2 sd",
    "vectors: correlation 0.4",
}
"""Faults that claims about all predictions do not show."""


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(one, id=i, marks=() if i in HIDDEN else pytest.mark.full)
        for i, one in zip(IDS, PLANTED, strict=True)
    ],
)
def test_no_fault_is_too_small_to_matter(planted):
    sample = as_sample(*planted.make(np.random.default_rng(5), 20_000))
    measures = measures_of(sample, findings_of(sample)[0])
    assert matters(measures) is not False, measures


def test_intervals_cover_the_sizes(replications):
    covered = []
    for planted in PLANTED[:: replications(7, 1)]:
        for seed in range(replications(1, 20)):
            first, right = found(planted, 1000, 100 + seed)
            if right and planted.size is not None and planted.kind != "shift":
                low, high = first.interval
                covered.append(low <= planted.size <= high)
    assert np.mean(covered) >= 0.9


AMBIGUOUS = "temperature 2, and then odds times 0.6"
"""Two faults that are nearly a share of events that are not seen, and claims that are too low where they are low."""


def test_both_of_two_faults_are_named(replications):
    n_seeds, some = replications((1, PAIRS[1::2]), (20, PAIRS))
    results = [(pair, *both_found(pair, 2000, seed)) for pair in some for seed in range(1, n_seeds + 1)]
    wrong = [(pair.faults, first.words) for pair, first, right, _ in results if not right]
    # Where another law is nearly the same, either is named.
    assert sum(faults != AMBIGUOUS for faults, _ in wrong) <= len(results) // 20, wrong
    assert sum(faults == AMBIGUOUS for faults, _ in wrong) <= 0.9 * n_seeds, wrong
    assert np.mean([one for *_, some in results for one in some]) >= 0.8


def test_one_fault_is_seldom_said_to_be_two(replications):
    some = PLANTED[:: replications(9, 1)]
    second = [found(planted, 1000, 200 + seed)[0].second for planted in some for seed in range(replications(1, 4))]
    assert np.mean([one is not None for one in second]) <= 0.1


def test_words_of_small_samples_are_mostly_right(replications):
    right = [
        found(planted, 500, seed)[1] for planted in PLANTED[:: replications(7, 1)] for seed in range(replications(1, 4))
    ]
    assert np.mean(right) >= 0.6


def test_calibrated_data_have_no_findings(replications):
    gains = []
    for i in range(replications(4, 200)):
        rng = np.random.default_rng([i, 9])
        p = rng.dirichlet(np.ones(4), 200)
        m = rng.normal(size=200)
        laws = ct.Categorical(p), ct.Bernoulli(p[:, 0]), ct.Ordinal(p), ct.Normal(m, 1.0), ct.Poisson(np.exp(m))
        gains += [findings_of(as_sample(one, one.sample(rng)))[0].gain for one in laws]
    assert np.mean(np.array(gains) > 0.0) <= 0.03


@pytest.mark.every(3)
@pytest.mark.parametrize("planted", PLANTED[::9], ids=IDS[::9])
def test_words_depend_on_nothing_but_the_data(planted):
    predictions, targets = planted.make(np.random.default_rng([1, 300]), 300)
    results = [ct.calibration_test(predictions, targets, n_resamples=n, rng=n) for n in (19, 39)]
    words = {result.finding and result.finding.words.removeprefix("perhaps: ") for result in results}
    assert len(words) == 1
