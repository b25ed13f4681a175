"""What kernels and metrics say of themselves is what they compute."""

import numpy as np
import pytest

import caltest as ct

Y = np.array([-1.3, 0.0, 0.4, 2.0])
P = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.2, 0.2, 0.6]])

KERNELS = [
    ct.GaussianKernel(bandwidth=0.7),
    ct.LaplacianKernel(bandwidth=0.7),
    ct.ExponentialKernel(bandwidth=0.7, exponent=2.0),
    ct.ExponentialKernel(bandwidth=0.7, exponent=1.5),
    ct.MaternKernel(bandwidth=0.7, order=1.5),
    ct.MaternKernel(bandwidth=0.7, order=2.5),
    ct.kernels.RationalQuadraticKernel(bandwidth=0.7),
    ct.DeltaKernel(),
]
METRICS = [ct.TotalVariation(), ct.kernels.Cityblock(), ct.Euclidean(), ct.kernels.SquaredEuclidean()]


def test_which_kernels_are_gaussian():
    gaussians = [kernel.gaussian for kernel in KERNELS]
    assert [gaussian is not None for gaussian in gaussians] == [True, False, True, False, False, False, False, False]
    for kernel, gaussian in zip(KERNELS, gaussians, strict=True):
        if gaussian is not None:
            np.testing.assert_allclose(gaussian.target_tile(Y, Y), kernel.target_tile(Y, Y), rtol=1e-14)
    both = KERNELS[0] + 2.0 * KERNELS[2]
    assert [weight for weight, _ in both.gaussian_terms] == [1.0, 2.0]
    assert both.gaussian is None
    assert (KERNELS[0] + KERNELS[1]).gaussian_terms is None


def test_which_kernels_are_exponential():
    forms = [kernel.exponential for kernel in KERNELS]
    assert [form is not None for form in forms] == [False, True, False, False, True, True, False, False]
    for kernel, form in zip(KERNELS, forms, strict=True):
        if form is not None:
            x = form.rate * np.abs(Y[:, None] - Y)
            wanted = np.exp(-x) * (1.0 + form.linear * x + form.square * x**2)
            np.testing.assert_allclose(kernel.target_tile(Y, Y), wanted, rtol=1e-13)


def test_forms_of_kernels_of_predictions():
    predictions = ct.Categorical(P)
    for metric in METRICS[:3]:
        for kernel, function in (
            (ct.ExponentialKernel(metric, 0.4), lambda x: np.exp(-x)),
            (ct.GaussianKernel(ct.Euclidean(), 0.4), lambda x: np.exp(-np.square(x) / 2.0)),
        ):
            form = kernel.distance_form
            distances = predictions.distance(form.metric, predictions)
            np.testing.assert_allclose(
                kernel.tile(predictions, predictions), function(form.inverse_width * distances), rtol=1e-14
            )
    assert ct.ExponentialKernel(ct.Euclidean(), 0.4, exponent=0.5).distance_form is None
    assert ct.ExponentialKernel(ct.kernels.MMD(ct.DeltaKernel()), 0.4).distance_form is None


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_which_metrics_are_norms(metric):
    """A norm of twice the difference is twice the norm."""
    once, twice = metric.tile(P, P), metric.tile(2.0 * P, 2.0 * P)
    assert metric.is_norm == np.allclose(twice, 2.0 * once)


def test_kernels_without_a_bandwidth_say_so():
    assert ct.GaussianKernel(bandwidth=0.5).scaled(3.0).width == 1.5
    with pytest.raises(TypeError, match="which has no bandwidth"):
        ct.DeltaKernel().scaled(2.0)
    with pytest.raises(TypeError, match="a kernel of a distance"):
        ct.DeltaKernel().with_bandwidth(2.0)
