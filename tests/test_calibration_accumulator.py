"""Data in chunks: any split gives what all data at once give, and errors say what cannot be split."""

import pickle
from functools import cache

import numpy as np
import pytest
from interruption import broken_at
from samples import TV, W2, samples
from scipy.stats import binom

import caltest as ct
from caltest._basics import numerics
from caltest._basics.numerics import seed_from
from caltest._basics.threads import streams
from caltest.estimators.combined.sums import parts
from caltest.estimators.combined.sums.cells import FewClasses

N = 97
RNG, P, Y, NORMAL, TARGETS = samples(N, 3)
MEDIAN = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), ct.DeltaKernel())


@cache
def low_rank(unbiased=True):
    return ct.LowRankSKCE(TV, 9, unbiased).resolve(ct.Categorical(P))


def blocks_of(size, kernel=TV):
    return ct.AsymptoticBlockSKCETest(kernel, size, known_variance=False)


TESTS = {
    "blocks of 2": lambda: blocks_of(2),
    "blocks of 3": lambda: blocks_of(3),
    "blocks of 7": lambda: blocks_of(7),
    "low rank": lambda: ct.MonteCarloTest(low_rank(), 9),
    "biased low rank": lambda: ct.MonteCarloTest(low_rank(unbiased=False), 9),
    "log loss": lambda: ct.MonteCarloTest(ct.estimators.ExcessLogScore(), 9),
    "Brier score": lambda: ct.MonteCarloTest(ct.estimators.ExcessBrierScore(), 9),
    "normal law of the log loss": ct.LogScoreTest,
    "normal law of the Brier score": ct.SpiegelhalterTest,
    "ECE": lambda: ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(3)), 9),
    "class-wise ECE": lambda: ct.MonteCarloTest(ct.ClasswiseECE(order=2.0), 9),
}


@pytest.fixture(name="test", params=TESTS.values(), ids=TESTS)
def some_test(request):
    return request.param()


SPLITS = [[N], [1] * N, [2, 3, 5, 87], [90, 1, 1, 5], [13, 40, 44], [6] * 16 + [1]]


def parts_of(sizes):
    ends = np.cumsum(sizes)
    return [slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True)]


def updated(accumulator, parts, p=P, y=Y):
    for part in parts:
        assert accumulator.update(p[part], y[part]) is accumulator
    return accumulator


def merged(make, sizes, p=P, y=Y):
    """One accumulator a part, merged as a tree of neighbours."""
    level = [updated(make(), [part], p, y) for part in parts_of(sizes)]
    while len(level) > 1:
        level = [level[i].merge(level[i + 1]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return level[0]


def as_multiples(sizes, block_size):
    """The split next to this one whose parts end at multiples of the block size."""
    ends = np.unique([*(np.cumsum(sizes)[:-1] // block_size * block_size), N])
    return np.diff(ends[ends > 0], prepend=0).tolist()


@pytest.mark.every(4)
@pytest.mark.parametrize("sizes", SPLITS, ids=lambda sizes: f"{len(sizes)} parts")
def test_updates_give_the_estimate_of_all_data(test, sizes):
    accumulator = updated(test.accumulator(), parts_of(sizes))
    assert accumulator.n == N
    assert accumulator.result().estimate == pytest.approx(test.estimator(P, Y), rel=1e-12)


@pytest.mark.every(4)
@pytest.mark.parametrize("sizes", SPLITS, ids=lambda sizes: f"{len(sizes)} parts")
def test_merged_accumulators_give_the_estimate_of_all_data(test, sizes):
    sizes = as_multiples(sizes, getattr(test.estimator, "block_size", 1))
    expected = pytest.approx(test.estimator(P, Y), rel=1e-12)
    assert merged(test.accumulator, sizes).result().estimate == expected
    one_by_one = test.accumulator()
    for part in parts_of(sizes):
        one_by_one.merge(updated(test.accumulator(), [part]))
    assert one_by_one.result().estimate == expected


@pytest.mark.parametrize(
    "estimator",
    [
        ct.ECE(),
        ct.MCE(ct.binning.UniformBinning(4)),
        ct.ECE(order=2.5),
        ct.ECE(ct.binning.EdgeBinning([-1.0, 0.0, 0.3, np.nextafter(0.3, 1.0), 2.0])),
        ct.ECE(metric=ct.Euclidean(), order=2.0),
        ct.ECE(metric=ct.kernels.SquaredEuclidean()),
        ct.ClasswiseECE(order=2.0, aggregate="sum"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_binned_errors_of_parts_are_those_of_all_data(estimator, n_classes):
    """Bins that are empty in some parts, and in all, among them; probabilities at the ends of bins too."""
    p, y, parts = np.append(0.0, P[1:, 0]), (Y == 0).astype(int), parts_of([2, 30, 65])
    law = ct.Bernoulli(p)
    if n_classes == 3:
        p, y = np.concatenate([np.eye(3), np.full((4, 3), [0.5, 0.3, 0.2]), P[7:]]), Y
        law = ct.Categorical(p)
    targets = np.stack([y, n_classes - 1 - y, np.roll(y, 1)])
    sums = [estimator.sums(law.take(part), targets[:, part]) for part in parts]
    whole = sums[0] + sums[1] + sums[2]
    assert estimator.of_sums(whole) == pytest.approx(estimator.estimates(law, targets), rel=1e-12)
    assert estimator.of_sums(sums[2] + sums[0] + sums[1]) == pytest.approx(estimator.of_sums(whole), rel=1e-12)
    accumulator = updated(ct.MonteCarloTest(estimator, 9).accumulator(rng=1), parts, p, y)
    assert accumulator.result().estimate == pytest.approx(estimator(p, y), rel=1e-12)


def test_too_many_bins_are_refused(monkeypatch):
    """Of one part, and of two that fit each by itself; the accumulator keeps what it has."""
    monkeypatch.setattr(numerics, "memory_size", lambda: 8.0 * 60 * 3 * 10)
    test = ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(1000)), 9)
    wanted = r"counts of 97 bins and 3 classes would take 2.33e-05 GB.*; 6 of the 10 redraws would fit; else take wider"
    with pytest.raises(MemoryError, match=wanted):
        test.accumulator().update(P, Y)
    accumulator = updated(test.accumulator(), [slice(0, 50)])
    with pytest.raises(MemoryError, match="top_label"):
        updated(accumulator, [slice(50, N)])
    assert accumulator.n == 50


def test_exact_tests_of_chunks_find_errors_on_both_sides():
    """Labels are surer than the claims, so that the log loss is too small."""
    p = RNG.uniform(0.2, 0.8, 400)
    y = (p > 0.5).astype(int)
    for estimator in (ct.ECE(), ct.estimators.ExcessLogScore()):
        test = ct.MonteCarloTest(estimator, 99)
        found = updated(test.accumulator(rng=1), [slice(0, 150), slice(150, 400)], p, y).result()
        assert found.pvalue == 0.01
        right = updated(
            test.accumulator(rng=1), [slice(0, 150), slice(150, 400)], p, ct.Bernoulli(p).sample(3)
        ).result()
        assert right.pvalue > 0.05


def test_low_rank_does_not_depend_on_the_order_of_parts():
    test = ct.MonteCarloTest(low_rank(), 9)
    parts = [updated(test.accumulator(), [part]) for part in parts_of(SPLITS[2])]
    total = test.accumulator()
    for part in reversed(parts):
        total.merge(part)
    assert total.result().estimate == pytest.approx(low_rank()(P, Y), rel=1e-12)


@pytest.mark.parametrize("test", [blocks_of(7), ct.OmnibusTest(n_resamples=2)], ids=repr)
def test_what_is_kept_does_not_grow_with_the_data(test, monkeypatch):
    monkeypatch.setattr(parts, "KEPT", 50)
    monkeypatch.setattr(FewClasses, "kept_until", 1)
    accumulator = test.accumulator(predictions=P, rng=1)
    sizes = [len(pickle.dumps(accumulator.update(P, Y))) for _ in range(8)]
    assert max(sizes) - sizes[0] < P.nbytes / 2


def test_merging_within_a_block_joins_the_rests():
    """The estimate is that of all data in another order: whole blocks of each, then what waited for one."""
    test = blocks_of(7)
    first, second = slice(0, 41), slice(41, 96)
    total = updated(test.accumulator(), [first]).merge(updated(test.accumulator(), [second]))
    order = np.r_[0:35, 41:90, 35:41, 90:96]
    assert total.n == 96
    assert total.result().estimate == pytest.approx(test.estimator(P[order], Y[order]), rel=1e-12)
    assert total.result().estimate != pytest.approx(test.estimator(P[:96], Y[:96]), rel=1e-6)


@pytest.mark.parametrize("size", [1, 3, 6])
def test_chunks_smaller_than_a_block_are_joined_in_their_order(size):
    test = blocks_of(7)
    total = test.accumulator()
    for start in range(0, N, size):
        total.merge(updated(test.accumulator(), [slice(start, start + size)]))
    assert total.result().estimate == pytest.approx(test.estimator(P, Y), rel=1e-12)


def test_normal_predictions():
    for test in (blocks_of(3, W2), ct.MonteCarloTest(ct.LowRankSKCE(W2, 6).resolve(NORMAL), 9)):
        accumulator = test.accumulator()
        for part in parts_of(SPLITS[2]):
            accumulator.update(NORMAL.take(part), TARGETS[part])
        assert accumulator.result().estimate == pytest.approx(test.estimator(NORMAL, TARGETS), rel=1e-12)


def test_what_is_printed_of_an_accumulator_says_what_gives_the_result():
    accumulator = blocks_of(2).accumulator().update(P, Y)
    assert repr(accumulator) == f"<accumulator of AsymptoticBlockSKCETest: n = {N}, call result()>"


def test_results_can_be_asked_for_in_between():
    test = blocks_of(7)
    accumulator = test.accumulator()
    for end, part in zip((15, 50, N), (slice(0, 15), slice(15, 50), slice(50, N)), strict=True):
        accumulator.update(P[part], Y[part])
        assert accumulator.result().estimate == pytest.approx(test.estimator(P[:end], Y[:end]), rel=1e-12)


def with_flaws():
    """Rows to renormalise in two places, and outcomes of probability 0 in rows 3, 20, 21, 50, 70, 80 and 95."""
    p, y = P.copy(), Y.copy()
    rows = [3, 20, 21, 50, 70, 80, 95]
    p[rows] = [0.0, 0.5, 0.5]
    y[rows] = 0
    p[[11, 60]] = [0.333, 0.333, 0.333]
    y[[11, 60]] = 1
    return p, y


@pytest.mark.every(4)
@pytest.mark.parametrize("sizes", SPLITS, ids=lambda sizes: f"{len(sizes)} parts")
@pytest.mark.parametrize(
    ("make", "block_size"),
    [
        (lambda: ct.AsymptoticBlockSKCETest(TV, 2), 2),
        (lambda: ct.AsymptoticBlockSKCETest(TV, 7), 7),
        (ct.LogScoreTest, 1),
        (ct.SpiegelhalterTest, 1),
    ],
    ids=["blocks of 2", "blocks of 7", "log loss", "Brier score"],
)
def test_a_test_of_chunks_is_the_test_of_all_data(make, block_size, sizes):
    p, y = with_flaws()
    test = make()
    expected = test(p, y).to_dict()
    tree = merged(test.accumulator, as_multiples(sizes, block_size), p, y)
    for accumulator in (updated(test.accumulator(), parts_of(sizes), p, y), tree):
        result = accumulator.result().to_dict()
        for name, value in expected.items():
            if isinstance(value, float):
                assert result[name] == pytest.approx(value, rel=1e-10), name
            elif name == "effect_size":
                assert result[name]["value"] == pytest.approx(value["value"], rel=1e-10)
            elif name != "notes":
                assert result[name] == value, name
        assert result["notes"] == expected["notes"]
    assert any(
        "7 of 97 outcomes had predicted probability 0 (row 3, 20, 21, 50, 70, ...)" in n for n in result["notes"]
    )
    assert any("summed to 1 only within 0.001; they were renormalised" in n for n in result["notes"])


def excluded(n):
    """Right predictions of four classes, but for two rows, of which one is in each half."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(4), n)
    y = ct.Categorical(p).sample(rng)
    for row in (7, n - 2):
        p[row] = [0.0, 0.5, 0.25, 0.25]
        y[row] = 0
    return p, y


def test_the_pvalue_of_rows_whose_outcomes_are_possible_is_that_of_their_chunks():
    p, y = excluded(300)
    possible = np.setdiff1d(np.arange(300), [7, 298])
    test = ct.OmnibusTest(n_resamples=99)
    parts = parts_of([100, 150, 50])
    whole, rest = (test.accumulator(predictions=p, rng=1) for _ in range(2))
    for part in parts:
        whole.update(p[part], y[part], start=part.start)
    for first, last in ((0, 7), (8, 298), (299, 300)):
        rest.update(p[first:last], y[first:last], start=first)
    result, expected = whole.result(), rest.result()
    assert result.pvalue == 0.0
    assert result.pvalue_otherwise == expected.pvalue > 0.05
    assert test(p, y, rng=1).findings[0].words == result.findings[0].words
    assert rest.n == possible.size


def test_no_row_is_possible():
    p, y = np.tile([0.0, 0.5, 0.5], (40, 1)), np.zeros(40, dtype=int)
    for test in (ct.OmnibusTest(n_resamples=9), ct.LogScoreTest()):
        expected = test(p, y, rng=1)
        result = updated(test.accumulator(rng=1), parts_of([10, 30]), p, y).result()
        assert (result.pvalue, result.pvalue_otherwise) == (expected.pvalue, expected.pvalue_otherwise) == (0.0, 1.0)
        assert "other rows: 0, too few for the test, so that their p-value is 1" in result.notes


def test_excluded_outcomes_are_named_by_their_rows():
    """In the order of arrival, or as the rows are numbered."""
    p, y = excluded(300)
    words = "2 outcomes occurred to which probability 0 was given (row 7: class 0; row 298: class 0)"
    test = ct.OmnibusTest(n_resamples=9)

    def make(part=0):
        return test.accumulator(predictions=p, rng=1, part=part)

    first, second = slice(0, 100), slice(100, 300)
    numbered = make().update(p[second], y[second], start=100).update(p[first], y[first], start=0)
    one, other = (make().update(p[part], y[part], start=part.start) for part in (second, first))
    next_part = make().update(p[first], y[first]).merge(make(1).update(p[second], y[second]))
    log_loss = ct.LogScoreTest()
    halves = [updated(log_loss.accumulator(), [part], p, y) for part in (first, second)]
    for accumulator in (numbered, one.merge(other), next_part, halves[0].merge(halves[1])):
        result = accumulator.result()
        assert result.findings[0].words.startswith(words)
        assert any("2 of 300 outcomes had predicted probability 0 (row 7, 298)" in note for note in result.notes)


def test_a_flaw_in_the_last_chunk_only_is_noted():
    p, y = with_flaws()
    accumulator = ct.AsymptoticBlockSKCETest(TV).accumulator()
    notes = updated(accumulator, [slice(81, 95)], p, y).result().notes
    assert not any("probability 0" in note for note in notes)
    notes = updated(accumulator, [slice(95, 97)], p, y).result().notes
    assert "1 of 16 outcomes had predicted probability 0 (row 14)" in notes[0]


def test_questions_that_all_chunks_raise_are_asked():
    """Also of merged ones; chunks of few rows raise none, and a question of some chunks is not one of all data."""
    rng = np.random.default_rng(4)
    p = rng.beta(1.0, 2.0, 2_500)
    y = (rng.random(2_500) < p).astype(int)
    asked = "1 - p would fit the outcomes: are these the probabilities of the other class?"
    test = ct.OmnibusTest(n_resamples=19)
    for swapped, notes in ((2_500, True), (1_200, False), (0, False)):
        given = np.where(np.arange(2_500) < swapped, 1.0 - p, p)
        one, other = (test.accumulator(predictions=ct.Bernoulli(given), rng=1, part=part) for part in (0, 1))
        one.update(given[:1_200], y[:1_200]).update(given[1_200:1_210], y[1_200:1_210])
        other.update(given[1_210:], y[1_210:])
        assert (asked in one.merge(other).result().notes) == notes


def test_the_exact_test_of_chunks():
    """The estimate is that of all data; its p-value is its rank among estimates of redraws by chunk."""
    test = ct.MonteCarloTest(low_rank(), 59)
    results = []
    for _ in range(2):
        one, two, three = (updated(test.accumulator(rng=5), [part]) for part in parts_of([40, 30, 27]))
        results.append(one.merge(two.merge(three)).result())
    one, other = results
    assert np.array_equal(one.null_distribution, other.null_distribution)
    assert one.estimate == pytest.approx(low_rank()(P, Y), rel=1e-12)
    assert one.pvalue == (1 + np.count_nonzero(one.null_distribution >= one.estimate)) / 60
    assert (one.n, one.n_resamples, one.seed, one.test) == (N, 59, 5, "MonteCarloTest")
    by_hand = []
    for part in parts_of([40, 30, 27]):
        predictions = ct.Categorical(P[part])
        stream = seed_from(seed_from(5, np.array([0])), Y[part], P[part])
        by_hand.append(predictions.with_redraws(None, streams(np.random.default_rng(stream), 59)))
    expected = low_rank().estimates(ct.Categorical(P), np.hstack(by_hand))
    assert one.null_distribution == pytest.approx(expected, rel=1e-11, abs=1e-15)


def test_chunks_of_one_accumulator_are_redrawn_independently():
    """The same chunk twice: were its redraws equal too, each draw would be that of doubled sums."""
    test = ct.MonteCarloTest(ct.LowRankSKCE(TV, 9, unbiased=False).resolve(ct.Categorical(P)), 199)
    once = test.accumulator(rng=1).update(P, Y).result().null_distribution
    twice = test.accumulator(rng=1).update(P, Y).update(P, Y).result().null_distribution
    assert twice.mean() == pytest.approx(once.mean() / 2, rel=0.3)
    assert np.corrcoef(once, twice)[0, 1] < 0.95


ACCUMULATORS = {
    "AsymptoticBlockSKCETest": lambda: ct.AsymptoticBlockSKCETest(TV, 3).accumulator(),
    "MonteCarloTest": lambda: ct.MonteCarloTest(low_rank(), 19).accumulator(rng=1),
}
each_accumulator = pytest.mark.parametrize("make", ACCUMULATORS.values(), ids=ACCUMULATORS)


def number(accumulator):
    return accumulator.result().estimate


@each_accumulator
def test_a_pickled_accumulator_goes_on(make):
    first, second = slice(0, 40), slice(40, N)
    straight = updated(make(), [first, second])
    copied = pickle.loads(pickle.dumps(updated(make(), [first])))
    assert number(updated(copied, [second])) == number(straight)
    assert number(pickle.loads(pickle.dumps(straight))) == number(straight)


@pytest.mark.parametrize("family", [ct.Categorical, ct.Ordinal, lambda p: ct.Bernoulli(p[:, 0])])
def test_a_pickled_accumulator_of_the_default_test_goes_on(family):
    """As it goes from one process to another."""
    p, first = family(P), slice(0, 40)
    y = Y if p.finite.n_classes > 2 else Y == 0
    started = ct.OmnibusTest(n_resamples=19).accumulator(predictions=p, rng=1).update(p.take(first), y[first])
    copied = pickle.loads(pickle.dumps(started))
    results = [one.update(p.take(slice(40, N)), y[40:]).result() for one in (started, copied)]
    assert results[0].pvalue == results[1].pvalue
    assert results[0].components == results[1].components


@each_accumulator
def test_arrays_can_be_used_again(make):
    """Observations that wait for a block are copied."""
    expected = number(updated(make(), [slice(0, 40), slice(40, N)]))
    accumulator, p, y = make(), P[:40].copy(), Y[:40].copy()
    accumulator.update(p, y)
    p[:], y[:] = [1.0, 0.0, 0.0], 2
    assert number(updated(accumulator, [slice(40, N)])) == expected


@each_accumulator
def test_bad_data_change_nothing(make):
    expected = number(updated(make(), [slice(0, 40), slice(40, N)]))
    accumulator = updated(make(), [slice(0, 40)])
    bad = P[:5].copy()
    bad[2, 1] = np.nan
    for p, y, message in (
        (bad, Y[:5], "got nan at row 2"),
        (P[:5], Y[:5] + 7, "wanted labels 0..2"),
        (P[:5], Y[:4], "got 4 values, wanted 5"),
        (RNG.dirichlet(np.ones(4), 5), Y[:5], "predictions: got 4 classes, wanted 3"),
    ):
        with pytest.raises(ValueError, match=message):
            accumulator.update(p, y)
    with pytest.raises(TypeError, match="got Bernoulli predictions, wanted Categorical"):
        accumulator.update(P[:5, 0], Y[:5] == 0)
    assert accumulator.n == 40
    assert number(updated(accumulator, [slice(40, N)])) == expected


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: blocks_of(2, MEDIAN).accumulator(), ValueError, 'got "median", which depends on all predictions'),
        (lambda: ct.MonteCarloTest(ct.LowRankSKCE(TV)).accumulator(), ValueError, "got no landmarks, which are chosen"),
        (lambda: ct.MonteCarloTest(ct.SKCE(TV)).accumulator(), TypeError, "got SKCE for ConditionalMonteCarlo, wanted"),
        (lambda: ct.AsymptoticSKCETest(TV).accumulator(), TypeError, "null: got ArconesGineBootstrap, which needs all"),
        (
            lambda: ct.DistributionFreeSKCETest(ct.BlockSKCE(TV)).accumulator(),
            TypeError,
            "null: got DistributionFreeBound, which needs all observations at once; wanted NormalNull with BlockSKCE",
        ),
        (
            lambda: ct.MonteCarloTest(ct.BlockSKCE(TV)).accumulator(),
            TypeError,
            "got BlockSKCE for ConditionalMonteCarlo, wanted Omnibus(), LowRankSKCE(kernel), ECE() or an excess score, "
            "for data that come in chunks",
        ),
        (
            lambda: ct.CalibrationTest(low_rank(), ct.nulls.ConditionalMonteCarlo(99, stop_after=5)).accumulator(),
            TypeError,
            "stop_after: got 5 for data in chunks, wanted None",
        ),
        (
            lambda: ct.MonteCarloTest(ct.ECE(ct.binning.QuantileBinning())).accumulator(),
            TypeError,
            "binning: got QuantileBinning(n_bins=15), whose bins depend on all predictions, wanted UniformBinning",
        ),
        (
            lambda: ct.MonteCarloTest(ct.ClasswiseECE(ct.binning.MedianVarianceBinning())).accumulator(),
            TypeError,
            "binning: got MedianVarianceBinning(min_size=10, max_bins=None), whose bins depend on all predictions",
        ),
        (
            lambda: ct.CalibrationTest(ct.estimators.HosmerLemeshow(), ct.nulls.TextbookNull()).accumulator(),
            TypeError,
            "estimator: got HosmerLemeshow for TextbookNull, wanted ExcessLogScore() or ExcessBrierScore(), for data",
        ),
        (lambda: ct.MonteCarloTest(low_rank()).accumulator(rng="one"), ValueError, "rng: got 'one'"),
        (lambda: blocks_of(2).accumulator().result(), ValueError, "got 0 observations, too few for BlockSKCE"),
        (
            lambda: updated(blocks_of(7).accumulator(), [slice(0, 6)]).result(),
            ValueError,
            "predictions: got 6 observations, too few for BlockSKCE",
        ),
        (
            lambda: updated(ct.AsymptoticBlockSKCETest(TV, 7).accumulator(), [slice(0, 13)]).result(),
            ValueError,
            "got 13 observations, which make 1 of the independent blocks",
        ),
        (
            lambda: updated(ct.MonteCarloTest(low_rank(), 9).accumulator(rng=1), [slice(0, 1)]).result(),
            ValueError,
            "got 1 observation, wanted at least 2 for LowRankSKCE",
        ),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


def test_one_observation_is_enough_for_biased_estimates():
    estimator = low_rank(unbiased=False)
    accumulator = updated(ct.MonteCarloTest(estimator, 9).accumulator(), [slice(0, 1)])
    assert accumulator.result().estimate == pytest.approx(
        estimator.resolve(ct.Categorical(P)).estimates(ct.Categorical(P[:1]), Y[None, :1])[0], rel=1e-12
    )


@pytest.mark.parametrize(
    "other",
    [
        lambda: blocks_of(4),
        lambda: blocks_of(3, W2),
        lambda: ct.AsymptoticBlockSKCETest(TV, 3),
        lambda: ct.MonteCarloTest(low_rank(), 9),
    ],
    ids=["size", "kernel", "variance", "estimator"],
)
def test_accumulators_of_other_estimators_are_not_merged(other):
    with pytest.raises(ValueError, match="other: got an accumulator with other settings, wanted one of the same test"):
        blocks_of(3).accumulator().merge(other().accumulator())


def test_accumulators_of_other_tests_are_not_merged():
    one = ct.AsymptoticBlockSKCETest(TV, 3).accumulator()
    with pytest.raises(ValueError, match="other settings"):
        one.merge(ct.AsymptoticBlockSKCETest(TV, 3, population_variance=True).accumulator())
    with pytest.raises(ValueError, match="other settings"):
        ct.MonteCarloTest(low_rank(), 19).accumulator().merge(ct.MonteCarloTest(low_rank(), 29).accumulator())


def test_accumulators_of_other_landmarks_are_not_merged():
    """Equal settings and another choice of landmarks: their sums do not add up to anything."""

    def of(predictions, part):
        return updated(ct.MonteCarloTest(ct.LowRankSKCE(TV, 9).resolve(predictions), 9).accumulator(), [part])

    nearly = ct.Categorical(0.999 * P + 0.001 / 3)
    for predictions in (ct.Categorical(P[:50]), nearly):
        with pytest.raises(ValueError, match="other settings"):
            of(ct.Categorical(P), slice(0, 50)).merge(of(predictions, slice(50, N)))
    total = of(ct.Categorical(P), slice(0, 50)).merge(of(ct.Categorical(P.copy()), slice(50, N)))
    assert total.result().estimate == pytest.approx(low_rank()(P, Y), rel=1e-12)


def test_accumulators_of_other_classes_are_not_merged():
    four = blocks_of(2).accumulator().update(RNG.dirichlet(np.ones(4), 5), Y[:5])
    with pytest.raises(ValueError, match="other: got 4 classes, wanted 3 as in the predictions"):
        updated(blocks_of(2).accumulator(), [slice(0, 5)]).merge(four)


def test_empty_accumulators_add_nothing():
    test = blocks_of(3)
    full = updated(test.accumulator(), [slice(0, N)])
    assert full.merge(test.accumulator()).result().estimate == test.estimator(P, Y)
    assert test.accumulator().merge(full).result().estimate == test.estimator(P, Y)


def restart(make, part=slice(0, 40)):
    return updated(make(), [part])


def test_accumulators_of_one_seed_have_their_own_random_numbers():
    """The same seed and other data: were the draws of both alike, their sums would vary twice as much."""
    test = ct.MonteCarloTest(low_rank(), 999)
    one, other = (updated(test.accumulator(rng=1), [part]) for part in (slice(0, 48), slice(48, 96)))
    draws = [half.result().null_distribution for half in (one, other)]
    assert abs(np.corrcoef(*draws)[0, 1]) < 0.13


def test_power_survives_merging_accumulators_of_one_seed(replications):
    """Of predictions with one outcome too frequent, halves with the same predictions, redrawn independently."""
    simulations, rejected = replications(60, 400), 0
    rng = np.random.default_rng(7)
    p = np.tile([0.3, 0.7], (60, 1))
    estimator = ct.LowRankSKCE(TV, 4).resolve(ct.Categorical(p))
    test = ct.MonteCarloTest(estimator, 99)
    for i in range(simulations):
        one, other = (test.accumulator(rng=i).update(p, rng.random(60) < 0.85) for _ in range(2))
        rejected += one.merge(other).result().pvalue <= 0.05
    assert rejected >= 0.8 * simulations


def test_merged_accumulators_of_one_seed_keep_their_level(replications):
    simulations, pvalues = replications(400, 4000), []
    rng = np.random.default_rng(8)
    p = np.tile([0.3, 0.7], (20, 1))
    test = ct.MonteCarloTest(ct.LowRankSKCE(TV, 4).resolve(ct.Categorical(p)), 19)
    for _ in range(simulations):
        one, other = (test.accumulator(rng=1).update(p, rng.random(20) < 0.7) for _ in range(2))
        pvalues.append(one.merge(other).result().pvalue)
    # 0.05 is the smallest p-value.
    assert np.count_nonzero(np.array(pvalues) <= 0.05) <= binom.ppf(0.995, simulations, 0.05)


def test_equal_chunks_of_one_seed_are_refused_unless_they_are_told_apart():
    test = ct.MonteCarloTest(low_rank(), 99)
    with pytest.raises(ValueError, match=r"same rng and the same first chunk.*accumulator\(rng=rng, part=1\)"):
        restart(lambda: test.accumulator(rng=1)).merge(restart(lambda: test.accumulator(rng=1)))
    one, other = (restart(lambda part=part: test.accumulator(rng=1, part=part)) for part in (0, 1))
    draws = [half.result().null_distribution for half in (one, other)]
    assert abs(np.corrcoef(*draws)[0, 1]) < 0.4
    assert one.merge(other).result().seed == 1


def test_a_chunk_after_merging_has_other_random_numbers_than_the_merged_ones():
    test = ct.MonteCarloTest(low_rank(), 19)
    total = test.accumulator(rng=1).merge(restart(lambda: test.accumulator(rng=1)))
    before = total._state.sums.matrices
    total.update(P[:40], Y[:40])
    assert not np.allclose(total._state.sums.matrices[1:] - before[1:], before[1:])


@each_accumulator
def test_what_was_taken_is_not_merged_again(make):
    one, other = restart(make), restart(make, slice(40, N))
    copy = pickle.loads(pickle.dumps(other))
    again = r"other: got this accumulator, or one that it was copied from or has taken before"
    for same in (one, pickle.loads(pickle.dumps(one))):
        with pytest.raises(ValueError, match=again):
            one.merge(same)
    one.merge(other)
    for taken in (other, copy, pickle.loads(pickle.dumps(one))):
        with pytest.raises(ValueError, match=again):
            one.merge(taken)
    with pytest.raises(ValueError, match=again):
        other.merge(one)
    assert one.n == N
    empty = make()
    with pytest.raises(ValueError, match=again):
        empty.merge(empty)


def test_accumulators_of_several_seeds_name_them_all():
    test = ct.MonteCarloTest(low_rank(), 19)
    one, other = updated(test.accumulator(rng=5), [slice(0, 40)]), updated(test.accumulator(rng=6), [slice(40, N)])
    result = one.merge(other).result()
    assert result.seed is None
    assert result.notes[-1] == "the random numbers are those of merged accumulators, rng=5, 6"


@pytest.mark.every(3)
@each_accumulator
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_update_happens_wholly_or_not_at_all(make, error):
    """An error at any line, then the same again if the chunk was not taken: as if nothing had happened."""
    first, second, third = slice(0, 20), slice(20, 61), slice(61, N)
    expected = updated(make(), [first, second, third]).result()
    line = 1
    while True:
        accumulator = updated(make(), [first])
        happened = broken_at(accumulator.update, line, error, P[second], Y[second])
        assert accumulator.n in (20, 61)
        if accumulator.n == 20:
            updated(accumulator, [second])
        assert_same(updated(accumulator, [third]).result(), expected)
        if not happened:
            break
        line += 1 + line // 16
    assert line > 50


@each_accumulator
def test_merging_happens_wholly_or_not_at_all(make):
    expected = restart(make).merge(restart(make, slice(40, N))).result()
    line = 1
    while True:
        one, other = restart(make), restart(make, slice(40, N))
        happened = broken_at(one.merge, line, KeyboardInterrupt, other)
        assert other.n == N - 40
        if one.n == 40:
            one.merge(other)
        assert_same(one.result(), expected)
        if not happened:
            break
        line += 1


def assert_same(result, expected):
    assert result.to_dict() == expected.to_dict()
