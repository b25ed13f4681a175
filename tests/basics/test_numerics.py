"""Numbers that are too large for the machine."""

import numpy as np
import pytest
from samples import TV, samples

import caltest as ct
from caltest._basics import numerics

_, P, Y, _, _ = samples(400, 3)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (ct.AsymptoticSKCETest(TV), r"weights of a pass .* 0.000819 GB of 1e-05 GB .* MonteCarloTest\(LowRankSKCE"),
        (ct.MonteCarloTest(ct.SKCE(TV)), r"redrawn targets of a pass .* 1.28e-05 GB .* LowRankSKCE or BlockSKCE"),
        (ct.AsymptoticCMETest(ct.UCME(TV, P[:3], [0, 1, 2])), r"deviations at all locations .* fewer test locations"),
    ],
    ids=["bootstrap", "Monte Carlo", "mean embedding"],
)
def test_what_does_not_fit_into_memory_is_an_error_that_says_how_large_it_is(test, message, monkeypatch):
    monkeypatch.setattr("caltest._basics.numerics._memory", lambda: 10_000.0)
    with pytest.raises(MemoryError, match=message):
        test(P, Y)


def test_sums_of_features_that_do_not_fit_into_memory(monkeypatch):
    accumulator = ct.MonteCarloTest(ct.LowRankSKCE(TV, 9).resolve(ct.Categorical(P))).accumulator(rng=1)
    monkeypatch.setattr("caltest._basics.numerics._memory", lambda: 10_000.0)
    with pytest.raises(MemoryError, match=r"sums of features for all redraws .* lower rank or fewer redraws"):
        accumulator.update(P, Y)


def test_memory_is_unlimited_where_the_system_does_not_tell(monkeypatch):
    def refuse(name):
        raise ValueError(name)

    monkeypatch.setattr("os.sysconf", refuse)
    assert numerics._memory() == float("inf")


def test_seeds_are_whole_numbers_of_63_bits():
    assert numerics.seed_of(0) == 0
    sequences = [np.random.SeedSequence(i) for i in range(20)]
    for rngs in (sequences, map(np.random.default_rng, range(20)), [None] * 20):
        seeds = [numerics.seed_of(rng) for rng in rngs]
        assert 2**61 < max(seeds) < 2**63
        assert min(seeds) >= 0
        assert len(set(seeds)) == 20
    assert [numerics.seed_of(one) for one in sequences] == [numerics.seed_of(one) for one in sequences]
