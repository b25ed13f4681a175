import doctest

import numpy as np
import pytest

import caltest as ct

torch = pytest.importorskip("torch", reason="torch is missing")

from caltest.bridges import torch as bridge

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.3), ct.DeltaKernel())


def data(n=40, k=4, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)), rng.integers(0, k, n)


def test_examples():
    assert doctest.testmod(bridge, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.parametrize("k", [2, 4, 10])
def test_the_loss_is_the_estimator(k):
    logits, y = data(k=k)
    p = torch.tensor(logits).softmax(dim=1)
    value = bridge.skce_loss(p, torch.tensor(y), bandwidth=0.3)
    assert value.item() == pytest.approx(ct.SKCE(KERNEL)(p, y), rel=1e-12)
    single = bridge.skce_loss(p.float(), torch.tensor(y), bandwidth=0.3)
    assert single.dtype == torch.float32
    assert single.item() == pytest.approx(value.item(), abs=1e-6)
    if k == 2:
        binary = bridge.skce_loss(p[:, 1], torch.tensor(y), bandwidth=0.3)
        assert binary.item() == pytest.approx(ct.SKCE(KERNEL)(p[:, 1], y), rel=1e-12)


def test_the_gradient_is_that_of_finite_differences():
    logits, y = data(n=12, k=3)
    labels = torch.tensor(y)

    def loss(z):
        return bridge.skce_loss(z.softmax(dim=1), labels, bandwidth=0.3)

    assert torch.autograd.gradcheck(loss, torch.tensor(logits, requires_grad=True), eps=1e-6, atol=1e-8, rtol=1e-5)
    z = torch.tensor(logits, requires_grad=True)
    loss(z).backward()
    step = np.zeros_like(logits)
    step[5, 1] = 1e-5
    up, down = (ct.SKCE(KERNEL)(torch.tensor(logits + sign * step).softmax(dim=1), y) for sign in (1, -1))
    assert z.grad[5, 1].item() == pytest.approx((up - down) / 2e-5, rel=1e-5)
    same = torch.zeros(6, 3, dtype=torch.float64, requires_grad=True)
    loss_of_same = bridge.skce_loss(same.softmax(dim=1), torch.tensor([0, 1, 2, 0, 1, 2]), bandwidth=0.3)
    loss_of_same.backward()
    assert torch.isfinite(same.grad).all()


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_numbers_of_16_bits(kind):
    """Those of mixed precision: the loss of what they are in single precision, with a gradient."""
    logits, y = data(n=30, k=3)
    z = torch.tensor(logits, dtype=kind, requires_grad=True)
    p = z.softmax(dim=1)
    value = bridge.skce_loss(p, torch.tensor(y), bandwidth=0.3)
    assert value.item() == bridge.skce_loss(p.float(), torch.tensor(y), bandwidth=0.3).item()
    value.backward()
    assert torch.isfinite(z.grad).all()


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (lambda p, y: (p.numpy(), y), TypeError, "probabilities: got ndarray"),
        (lambda p, y: (p, y.double()), ValueError, "targets: got .* wanted whole numbers"),
        (lambda p, y: (p, y[:-1]), ValueError, "targets: got"),
        (lambda p, y: (p, y + 1), ValueError, "targets: got labels outside of 0..3"),
        (lambda p, y: (p[:1], y[:1]), ValueError, "probabilities: got"),
        (lambda p, y: (p[None], y), ValueError, "probabilities: got"),
        (lambda p, y: (p.log(), y), ValueError, "probabilities: got negative numbers .* pass logits.softmax"),
        (lambda p, y: (2.0 * p, y), ValueError, "rows that do not sum to 1"),
        (lambda p, y: (3.0 - p[:, 0], y % 2), ValueError, "probabilities: got negative numbers"),
    ],
)
def test_bad_data(arguments, error, match):
    logits, y = data()
    y[0] = 3
    p = torch.tensor(logits).softmax(dim=1)
    with pytest.raises(error, match=match):
        bridge.skce_loss(*arguments(p, torch.tensor(y)), bandwidth=0.3)
    with pytest.raises(ValueError, match="bandwidth: got 0"):
        bridge.skce_loss(p, torch.tensor(y), bandwidth=0)


def test_single_precision_is_kept_where_numpy_s_is():
    logits, y = data(500, 10)
    p = torch.tensor(logits, dtype=torch.float32).softmax(dim=1)
    array = ct.Categorical(p.numpy())
    assert ct.Categorical(p).probabilities.dtype == array.probabilities.dtype
    large = torch.full((1000, 1000), 0.001, dtype=torch.float32)
    assert ct.Categorical(large).to_array().dtype == ct.Categorical(large.numpy()).to_array().dtype
    wanted = ct.calibration_test(p.numpy(), y, n_resamples=19, rng=1)
    found = ct.calibration_test(p.requires_grad_(), torch.tensor(y), n_resamples=19, rng=1)
    assert found.statistic == wanted.statistic


def test_half_precision_and_other_devices():
    p, y = torch.full((6,), 0.5, dtype=torch.float16), torch.tensor([0, 1, 0, 1, 1, 0])
    assert ct.Bernoulli(p).probability.tolist() == [0.5] * 6
    moved = []

    class OnDevice(torch.Tensor):
        def cpu(self):
            moved.append(1)
            return super().cpu().as_subclass(torch.Tensor)

    ct.calibration_test(p.as_subclass(OnDevice), y, n_resamples=19, rng=1)
    assert moved == [1]
