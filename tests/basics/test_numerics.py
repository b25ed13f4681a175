"""Numbers that are too large for the machine."""

from itertools import pairwise

import numpy as np
import pytest
from samples import TV, samples

import caltest as ct
from caltest._basics import numerics

_, P, Y, _, _ = samples(400, 3)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (
            ct.AsymptoticSKCETest(TV),
            r"weights .* 0.000819 GB of 1e-05 GB .*; 4 of the 400 rows .* MonteCarloTest\(LowRankSKCE",
        ),
        (
            ct.MonteCarloTest(ct.SKCE(TV)),
            r"redrawn targets .* 1.28e-05 GB .* 312 of the 400 rows .* LowRankSKCE or BlockSKCE",
        ),
        (ct.AsymptoticCMETest(ct.UCME(TV, P[:3], [0, 1, 2])), r"deviations at .* 1 of the 3 test locations would fit$"),
    ],
    ids=["bootstrap", "Monte Carlo", "mean embedding"],
)
def test_what_does_not_fit_into_memory_is_an_error_that_says_how_large_it_is(test, message, monkeypatch):
    monkeypatch.setattr("caltest._basics.numerics.memory_size", lambda: 10_000.0)
    with pytest.raises(MemoryError, match=message):
        test(P, Y)


def test_sums_of_features_that_do_not_fit_into_memory(monkeypatch):
    accumulator = ct.MonteCarloTest(ct.LowRankSKCE(TV, 9).resolve(ct.Categorical(P))).accumulator(rng=1)
    monkeypatch.setattr("caltest._basics.numerics.memory_size", lambda: 10_000.0)
    with pytest.raises(
        MemoryError,
        match=r"sums of features for all redraws .* [0-9]+ of the 1,000 redraws would fit; else take a lower rank",
    ):
        accumulator.update(P, Y)


@pytest.fixture
def asked_anew():
    """The size of the memory, which is asked for once a process."""
    numerics.memory_size.cache_clear()
    yield
    numerics.memory_size.cache_clear()


@pytest.mark.usefixtures("asked_anew")
def test_memory_is_unlimited_where_the_system_does_not_tell(monkeypatch):
    def refuse(name):
        raise ValueError(name)

    monkeypatch.setattr("os.sysconf", refuse)
    monkeypatch.setattr(numerics, "LIMITS", ())
    assert numerics.memory_size() == float("inf")


@pytest.mark.usefixtures("asked_anew")
def test_what_fits_is_as_large_as_the_memory_of_the_container(monkeypatch, tmp_path):
    (tmp_path / "unlimited").write_text("max\n")
    (tmp_path / "limit").write_text("80000\n")
    monkeypatch.setattr(numerics, "LIMITS", (str(tmp_path / "unlimited"), str(tmp_path / "limit"), "nowhere"))
    numerics.check_memory(8 * 100**2, "pairs", (100, "rows"), power=2)
    with pytest.raises(MemoryError, match=r"0.000131 GB of 8e-05 GB of memory; 100 of the 128 rows would fit$"):
        numerics.check_memory(8 * 128**2, "pairs", (128, "rows"), power=2)
    with pytest.raises(MemoryError, match="not even one of the rows would fit"):
        numerics.check_memory(10**6, "pairs", (2, "rows"), power=1)


def test_seeds_are_whole_numbers_of_63_bits():
    assert numerics.seed_of(0) == 0
    sequences = [np.random.SeedSequence(i) for i in range(20)]
    for rngs in (sequences, map(np.random.default_rng, range(20)), [None] * 20):
        seeds = [numerics.seed_of(rng) for rng in rngs]
        assert 2**61 < max(seeds) < 2**63
        assert min(seeds) >= 0
        assert len(set(seeds)) == 20
    assert [numerics.seed_of(one) for one in sequences] == [numerics.seed_of(one) for one in sequences]


def test_ranges_have_a_row_at_least():
    assert [part.stop for part in numerics.ranges(5, 2)] == [2, 4, 5]
    assert [part.stop for part in numerics.ranges(3, 0)] == [1, 2, 3]


def test_draws_that_are_as_large_up_to_rounding_count():
    draws = np.array([1.0, 2.0 * (1.0 - 1e-12), 2.0, 2.0 * (1.0 - 1e-8), 3.0])
    assert numerics.resampling_pvalue(2.0, draws) == 4 / 6
    assert numerics.resampling_pvalues(np.array([2.0, 3.5, -9.0]), draws).tolist() == [4 / 6, 1 / 6, 1.0]
    counts, several = np.array([2.0, 1.0, 3.0, 1.0, 2.0]), np.repeat(draws, [2, 1, 3, 1, 2])
    among = numerics.resampling_pvalues(np.array([2.0, 3.5, -9.0]), draws, counts)
    assert among.tolist() == numerics.resampling_pvalues(np.array([2.0, 3.5, -9.0]), several).tolist()
    assert numerics.resampling_pvalue(0.0, np.array([-1e-12, 2.0])) == 1.0


def test_sums_of_weights():
    weights = np.array([1.0, 1.0, 2.0])
    assert numerics.effective_number(weights) == 16 / 6
    assert numerics.weight_of_pairs(weights) == 5.0


def test_the_last_axis_is_that_of_rows_that_are_normalised():
    rows = np.arange(1.0, 25.0).reshape(2, 3, 4)
    assert numerics.normalised(rows).sum(axis=2) == pytest.approx(1.0)
    assert numerics.normalised(rows)[1, 2] == pytest.approx(rows[1, 2] / rows[1, 2].sum())


def test_rows_by_size_are_of_equal_numbers_and_equal_values_together():
    def sizes(values, number):
        parts = numerics.rows_by_size(np.asarray(values, dtype=float), number)
        assert sorted(np.concatenate(parts)) == list(range(len(values)))
        assert all(np.max(np.take(values, a)) < np.min(np.take(values, b)) for a, b in pairwise(parts))
        return [one.size for one in parts]

    assert sizes([9, 3, 7, 1, 0, 2, 8, 5, 4, 6], 4) == [2, 3, 2, 3]
    assert sizes([1, 3, 1, 2, 1, 1], 3) == [4, 2]
    assert sizes([2, 1, 0], 3) == [1, 1, 1]
    assert sizes([1, 1, 1], 3) == sizes([2, 1, 3], 1) == [3]
