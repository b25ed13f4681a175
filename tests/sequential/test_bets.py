"""Factors of bets, compared with slow versions, and their mean."""

import numpy as np
import pytest
from samples import TV, W2, samples

import caltest as ct
from caltest.estimators.scores import log_mixture
from caltest.predictions import Sample
from caltest.sequential.bets import FIRST, FRACTIONS, KernelBets, Witness


def slow_witness(h, t):
    return sum(h(s, t) for s in range(t))


def test_witness_of_classes_sums_h():
    """With every possible outcome, of which the least is the bound."""
    data = samples(12, 3)
    p = ct.Categorical(data.p)
    kernel = ct.ProductKernel(
        TV.prediction_kernel, ct.kernels.MatrixKernel([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0, 0.2, 1]])
    )
    past, new = Sample(p, data.y).take(slice(0, 7)), Sample(p, data.y).take(slice(7, 12))
    values, least, near, _ = Witness(kernel, past).values(new)
    k_p = kernel.prediction_kernel.tile(p, p)
    for i, t in enumerate(range(7, 12)):
        by_outcome = []
        for outcome in range(3):
            y = data.y.copy()
            y[t] = outcome
            terms = [
                k_p[s, t] * (np.eye(3)[y[s]] - data.p[s]) @ kernel.target_kernel.matrix @ (np.eye(3)[y[t]] - data.p[t])
                for s in range(t)
            ]
            by_outcome.append(sum(terms))
        assert values[i] == pytest.approx(by_outcome[data.y[t]], rel=1e-12)
        assert least[i] == pytest.approx(min(by_outcome), rel=1e-12)
        assert np.dot(data.p[t], by_outcome) == pytest.approx(0.0, abs=1e-13)
        assert near[i] == pytest.approx(k_p[:t, t].sum(), rel=1e-13)


def test_witness_of_numbers_sums_h_and_has_a_lower_bound():
    data = samples(40, 3)
    sample = Sample(data.normal, data.targets)
    past, new = sample.take(slice(0, 30)), sample.take(slice(30, 40))
    values, least, _, _ = Witness(W2, past).values(new)
    law, target_kernel = data.normal, W2.target_kernel
    h = W2.prediction_kernel.tile(law, law) * law.centred_kernel(target_kernel, data.targets, law, data.targets)
    # The 30 landmarks represent the kernel nearly exactly within their range.
    assert values == pytest.approx([h[:t, t].sum() for t in range(30, 40)], abs=5e-3)
    grid = np.linspace(-8.0, 8.0, 33)
    for i, t in enumerate(range(30, 40)):
        outcomes = [Sample(law.take([t]), np.array([y])) for y in grid]
        lowest = min(Witness(W2, sample.take(slice(0, t))).values(one)[0][0] for one in outcomes)
        assert least[i] <= lowest


def test_the_lower_bound_of_numbers_is_reached():
    """Past certainties at 0 that became 9, and a certainty at 9 that becomes 0: no outcome is farther from expected."""
    past = Sample(ct.Normal([0.0, 0.0], 0.0), np.array([9.0, 0.0]))
    values, least, near, _ = Witness(W2, past).values(Sample(ct.Normal([9.0], 0.0), np.array([0.0])))
    assert values[0] == pytest.approx(-near[0], rel=1e-6)
    assert least[0] == pytest.approx(-near[0], rel=1e-6)
    assert least[0] <= values[0] * (1.0 - 1e-12)


def test_witness_of_numbers_has_mean_zero():
    data = samples(40, 3)
    sample = Sample(data.normal, data.targets)
    one = data.normal.take([35])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    y = one.mean[0] + one.scale[0] * nodes
    values = [Witness(W2, sample.take(slice(0, 30))).values(Sample(one, np.array([v])))[0][0] for v in y]
    assert np.dot(weights / weights.sum(), values) == pytest.approx(0.0, abs=1e-12)
    assert max(np.abs(values)) > 0.1


def test_bets_begin_after_the_first_observations_and_never_lose_everything():
    data = samples(FIRST + 30, 4)
    factors = KernelBets(None, ct.Categorical(data.p)).log_factors(Sample(ct.Categorical(data.p), data.y))[0]
    assert factors.shape == (len(FRACTIONS), FIRST + 30)
    assert (factors[:, :FIRST] == 0.0).all()
    assert (factors[:, FIRST:] != 0.0).all()
    assert (np.exp(factors) >= 1.0 - np.array(FRACTIONS)[:, None] - 1e-12).all()
    # Factors are linear in the part that is staked.
    gains = (np.exp(factors) - 1.0) / np.array(FRACTIONS)[:, None]
    assert gains == pytest.approx(np.broadcast_to(gains[0], gains.shape), rel=1e-9, abs=1e-12)


def test_the_largest_stake_is_everything():
    """Of the outcomes of a class the worst leaves 1 - lambda."""
    data = samples(FIRST + 1, 4)
    factors = []
    for outcome in range(4):
        y = np.append(data.y[:FIRST], outcome)
        factors.append(
            KernelBets(None, ct.Categorical(data.p)).log_factors(Sample(ct.Categorical(data.p), y))[0][:, -1]
        )
    assert np.exp(np.min(factors, axis=0)) == pytest.approx(1.0 - np.array(FRACTIONS), rel=1e-12)
    assert data.p[-1] @ np.exp(factors) == pytest.approx(np.ones(len(FRACTIONS)), rel=1e-12)


def test_bets_wait_until_predictions_differ():
    p = np.concatenate([np.full(FIRST + 10, 0.3), np.linspace(0.1, 0.9, 100)])
    sample = Sample(ct.Bernoulli(p), np.zeros(len(p), dtype=int))
    factors = KernelBets(None, sample.predictions).log_factors(sample)[0]
    assert (factors[:, : 2 * FIRST] == 0.0).all()
    assert (factors[:, 2 * FIRST :] != 0.0).all()


def test_parts_of_a_stream_change_nothing(monkeypatch):
    """Also if no part begins with the first observation."""
    p = np.concatenate([np.full(FIRST + 10, 0.3), np.linspace(0.1, 0.9, 100)])
    sample = Sample(ct.Bernoulli(p), (np.arange(len(p)) % 3 == 0).astype(int))
    whole = KernelBets(None, sample.predictions).log_factors(sample)[0]
    monkeypatch.setattr("caltest.sequential.bets.ROWS", 16)
    parts = KernelBets(None, sample.predictions).log_factors(sample)[0]
    assert (parts[:, -60:] != 0.0).all()
    np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=1e-12)


def test_draws_of_predictions_are_refused():
    with pytest.raises(TypeError, match="wanted the distributions themselves for bets on a kernel"):
        ct.SequentialCalibrationTest().update(ct.Normal([0.0, 1.0], 1.0).to_ensemble(5, rng=1), [0.0, 1.0])


def test_capital_is_a_weighted_mean():
    logs = np.log([[1.0, 2.0], [4.0, 0.5]])
    assert np.exp(log_mixture(logs, np.array([0.25, 0.75]))) == pytest.approx([3.25, 0.875], rel=1e-14)
    assert log_mixture(logs + 1e4, np.array([0.25, 0.75]))[0] == pytest.approx(1e4 + np.log(3.25), rel=1e-14)
