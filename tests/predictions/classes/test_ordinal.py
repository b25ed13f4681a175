import numpy as np
import pandas as pd
import pytest
from scipy import stats
from slow import h_matrix_finite

import caltest as ct
from caltest.hstatistics import tiles as htiles
from caltest.predictions import Sample

RNG = np.random.default_rng(3)
P = RNG.dirichlet(np.full(4, 0.6), 12)
Y = RNG.integers(0, 4, 12)
POSITIONS = np.array([-2.0, 0.0, 0.5, 7.0])


def ordinal(**settings):
    return ct.Ordinal(P, positions=POSITIONS, **settings)


def test_distance_is_the_cost_of_moving_mass():
    distances = ordinal().distance(ct.kernels.Wasserstein1(), ordinal())
    for i in range(5):
        for j in range(5):
            expected = stats.wasserstein_distance(POSITIONS, POSITIONS, P[i], P[j])
            assert distances[i, j] == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_energy_distance():
    distances = ordinal().distance(ct.kernels.EnergyDistance(), ordinal())
    for i in range(5):
        for j in range(5):
            expected = stats.energy_distance(POSITIONS, POSITIONS, P[i], P[j])
            assert distances[i, j] == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_metrics_of_probabilities_are_those_of_unordered_classes():
    categorical = ct.Categorical(P)
    for metric in (ct.TotalVariation(), ct.kernels.Cityblock(), ct.Euclidean(), ct.kernels.SquaredEuclidean()):
        assert np.array_equal(ordinal().distance(metric, ordinal()), categorical.distance(metric, categorical))
    with pytest.raises(TypeError, match=r"metric: got Wasserstein\(\) for Ordinal predictions, wanted one of Wasser"):
        ordinal().distance(ct.Wasserstein(), ordinal())


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "kernel",
    [
        ct.LaplacianKernel(1.5),
        ct.GaussianKernel(bandwidth=2.0),
        ct.kernels.MatrixKernel(np.diag([1.0, 2.0, 3.0, 4.0]) + 1.0),
        ct.DeltaKernel(),
        0.5 * ct.MaternKernel(bandwidth=3.0)
        + ct.kernels.MatrixKernel(np.diag([1.0, 2.0, 3.0, 1.5]))
        + 2.0 * ct.DeltaKernel(),
    ],
    ids=lambda kernel: kernel.describe_for_targets(),
)
def test_kernels_of_targets_see_positions(kernel):
    """Matrices see the classes; everything else the points on the line."""
    gram = np.zeros((4, 4))
    for weight, term in kernel.weighted_terms:
        points = np.arange(4) if isinstance(term, ct.kernels.MatrixKernel) else POSITIONS
        gram += weight * term.target_tile(points, points)
    predictions = ordinal()
    assert predictions.gram(kernel) == pytest.approx(gram, rel=1e-14)
    assert predictions.target_tile(kernel, Y, Y[:5]) == pytest.approx(gram[Y][:, Y[:5]], rel=1e-14)
    assert predictions.expected_kernel(kernel, Y) == pytest.approx((P @ gram)[:, Y], rel=1e-13)
    assert predictions.expected_kernel2(kernel, predictions) == pytest.approx(P @ gram @ P.T, rel=1e-13)

    def k_p(p, q):
        return np.exp(-stats.wasserstein_distance(POSITIONS, POSITIONS, p, q) / 1.3)

    product = ct.ProductKernel(ct.ExponentialKernel(ct.kernels.Wasserstein1(), bandwidth=1.3), kernel)
    h = h_matrix_finite(k_p, gram, P, Y)
    sample = Sample(predictions, Y)
    assert htiles.h_tile(product, sample, sample) == pytest.approx(h, rel=1e-10, abs=1e-13)
    redraws = predictions.sample(1, 5)
    expected = [h_matrix_finite(k_p, gram, P, y)[np.triu_indices(12, 1)].mean() for y in redraws]
    assert ct.SKCE(product).estimates(predictions, redraws) == pytest.approx(expected, rel=1e-9, abs=1e-13)


def test_two_classes_are_binary_predictions():
    """Both kernels are exponential in |p - q|, which is summed along a line."""
    p = RNG.random(40)
    y = RNG.integers(0, 2, 40)
    two = ct.Ordinal(np.stack([1.0 - p, p], axis=1), positions=[1.0, 4.0])
    binary = ct.Bernoulli(p)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.kernels.Wasserstein1(), bandwidth=0.6), ct.DeltaKernel())
    same = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=0.2), ct.DeltaKernel())
    assert ct.SKCE(kernel)(two, y) == pytest.approx(ct.SKCE(same)(binary, y), rel=1e-11)


def test_equal_steps_are_those_of_unordered_labels():
    """At 0..k-1 a kernel of positions is the kernel of labels that unordered classes have."""
    metric_kernel = ct.ExponentialKernel(ct.TotalVariation(), bandwidth=0.3)
    kernel = ct.ProductKernel(metric_kernel, ct.GaussianKernel(bandwidth=2.0))
    assert ct.SKCE(kernel)(ct.Ordinal(P), Y) == ct.SKCE(kernel)(ct.Categorical(P), Y)
    assert ct.Ordinal(P).target_scale() == ct.Categorical(P).target_scale()


def test_scale_is_that_of_positions():
    deviations = [np.sqrt(np.sum(p * (POSITIONS - p @ POSITIONS) ** 2)) for p in P]
    assert ordinal().target_scale() == pytest.approx(np.median(deviations), rel=1e-14)
    moved = ct.Ordinal(P, positions=POSITIONS + 1e6)
    assert moved.target_scale() == pytest.approx(np.median(deviations), rel=1e-9)
    certain = ct.Ordinal(np.eye(4), positions=[0.1, 0.2, 0.3, 0.7])
    with pytest.raises(ValueError, match="certainty"):
        certain.target_scale()


def test_default_kernel_does_not_depend_on_the_unit():
    result = ct.calibration_test(ordinal(), Y, n_resamples=99, rng=1)
    rescaled = ct.calibration_test(ct.Ordinal(P, positions=100.0 * POSITIONS - 3.0), Y, n_resamples=99, rng=1)
    assert rescaled.estimate == pytest.approx(result.estimate, rel=1e-10)
    assert rescaled.pvalue == result.pvalue


def test_names_and_cdf():
    predictions = ordinal(classes=["none", "low", "mid", "high"])
    labels = predictions.check_targets(["high", "none", *["mid"] * 10])
    assert labels.tolist() == [3, 0, *[2] * 10]
    assert predictions.cdf(labels) == pytest.approx([1.0, P[1, 0], *P[2:, :3].sum(axis=1)], rel=1e-14)
    assert predictions.cdf(np.full(12, 3)).tolist() == [1.0] * 12


def test_reductions_keep_working():
    confidence, correct = ct.top_label(ordinal(), Y)
    expected, outcomes = ct.top_label(P, Y)
    assert np.array_equal(confidence.probability, expected.probability)
    assert np.array_equal(correct, outcomes)
    assert len(ct.classwise(ordinal(), Y)) == 4
    assert ct.ECE(ct.binning.UniformBinning(5))(ordinal(), Y) == ct.ECE(ct.binning.UniformBinning(5))(P, Y)
    assert ct.MMCE()(ordinal(), Y) == ct.MMCE()(P, Y)


def test_parts_keep_positions():
    predictions = ordinal(classes=["a", "b", "c", "d"])
    joined = predictions.take(slice(0, 5)).followed_by(predictions.take([7, 8]))
    for one in (predictions.take([[0, 1], [2, 3]]), joined, predictions.at_temperature(2.0)):
        assert type(one) is ct.Ordinal
        assert np.array_equal(one.positions, POSITIONS)
        assert one.classes == ("a", "b", "c", "d")
    assert predictions.describe() == "Ordinal, n = 12, 4 classes"


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([0.0, 1.0, 2.0], "positions: got 3 values, wanted 4, one per class"),
        ([0.0, 2.0, 1.0, 3.0], "positions: got 2 and then 1, wanted increasing numbers; bring the columns"),
        ([0.0, 1.0, 1.0, 3.0], "positions: got 1 and then 1, wanted increasing numbers"),
        ([0.0, 1.0, np.nan, 3.0], "positions: got nan at row 2"),
        ([[0.0, 1.0, 2.0, 3.0]], r"positions: got shape \(1, 4\)"),
        (["a", "b", "c", "d"], "positions: got values of type"),
    ],
)
def test_bad_positions(positions, message):
    with pytest.raises(ValueError, match=message):
        ct.Ordinal(P, positions=positions)


def test_families_are_not_mixed():
    categorical = ct.Categorical(P)
    with pytest.raises(TypeError, match="other: got Categorical predictions, wanted Ordinal predictions"):
        ordinal().distance(ct.TotalVariation(), categorical)
    with pytest.raises(TypeError, match="other: got Ordinal predictions, wanted Categorical predictions"):
        categorical.distance(ct.TotalVariation(), ordinal())
    with pytest.raises(ValueError, match=r"predictions: got classes at \[0.0, 1.0, 2.0, 3.0\], wanted \[-2.0, 0.0"):
        ordinal().followed_by(ct.Ordinal(P))
    with pytest.raises(ValueError, match="got 3 classes, wanted 4"):
        ordinal().distance(ct.kernels.Wasserstein1(), ct.Ordinal(np.full((2, 3), 1 / 3)))


def test_bad_probabilities_and_labels():
    with pytest.raises(ValueError, match="probabilities: got"):
        ct.Ordinal([[0.5, 0.7]])
    with pytest.raises(ValueError, match="targets: got label 7"):
        ordinal().check_targets(np.full(12, 7))


@pytest.mark.filterwarnings("ignore::caltest.kernels.KernelWarning")
def test_gaussian_kernels_of_the_distance_warn():
    with pytest.warns(ct.kernels.KernelWarning, match="1-Wasserstein"):
        ct.GaussianKernel(ct.kernels.Wasserstein1(), 1.0)


@pytest.mark.parametrize("names", [["1", "10", "2"], [3, 1, 2], ["grade 1", "grade 10", "grade 2"]])
def test_numbers_of_classes_that_are_not_in_order_are_refused(names):
    p = np.full((2, 3), 1.0 / 3.0)
    for make in (lambda: ct.Ordinal(p, classes=names), lambda: ct.Ordinal(pd.DataFrame(p, columns=names))):
        with pytest.raises(ValueError, match="wanted columns in the order of the classes"):
            make()
    assert ct.Ordinal(p, classes=[3, 2, 1]).n_classes == 3
