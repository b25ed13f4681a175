"""A project that uses the package, for type checkers; ``tests/test_release.py`` has one look at it."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import caltest as ct

rng = np.random.default_rng(1)
p: npt.NDArray[np.float64] = rng.dirichlet(np.ones(3), 200)
y: npt.NDArray[np.int64] = rng.integers(0, 3, 200)
x = rng.random(200)

result = ct.calibration_test(p, y, rng=1)
assert_type(result, ct.results.CalibrationTestResult)
value: float = result.pvalue
words: str = result.verdict()
text: str = result.summary()
why = result.why()
as_dict: dict[str, Any] = result.to_dict()
interval = ct.skce_interval(p, y)
assert_type(interval, ct.results.ConfidenceInterval)
low: float = interval.low
binary = ct.calibration_test(p[:, 1], (y == 1).astype(int), rng=1, features={"x": x})
normal = ct.Normal(x, 1.0)
numbers = ct.calibration_test(normal, x, rng=1)
lists = ct.calibration_test([0.2, 0.8], [0, 1], rng=1)
confidence, correct = ct.top_label(p, y)
assert_type(confidence, ct.Bernoulli)
ece = ct.ECE()(confidence, correct)
error: float = ece
test = ct.MonteCarloTest(ct.ECE(), n_resamples=99)
r2 = test(confidence, correct, rng=1)
assert_type(r2, ct.results.CalibrationTestResult)
kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
skce: float = ct.SKCE(kernel)(p, y)
block = ct.AsymptoticBlockSKCETest(kernel, 2)(p, y)
groups = ct.calibration_by_group(p, y, np.arange(200) % 3, rng=1, n_resamples=99)
names = groups.rejected()
models = ct.compare_models({"a": p, "b": p}, y, rng=1, n_resamples=99)
pairs = ct.compare_pairs({"a": p, "b": p[::-1]}, y)
slices = ct.find_slices(p, y, {"x": x}, rng=1, n_resamples=99)
stream = ct.SequentialCalibrationTest().update(p, y)
monitor = ct.CalibrationMonitor().update(p, y)
audit = ct.audit(p, y, rng=1)
page: str = audit.to_html()
scaled = ct.recalibration.TemperatureScaling().fit(p, y)
better = scaled(p)
better_rows: npt.NDArray[np.float64] = np.asarray(better, dtype=np.float64)
ensemble = ct.Ensemble(rng.normal(size=(200, 10)))
q = ct.QuantileForecast([0.1, 0.9], np.sort(rng.normal(size=(200, 2)), axis=1))
pit = ct.pit_values(normal, x)
floor = ct.noise_floor(confidence, ct.ECE(), n_resamples=99, rng=1)
parts = ct.score_decomposition(p[:, 1], (y == 1).astype(int))
power = ct.power(test, ct.generators.Resampled(confidence, ct.generators.Tempering(2.0)), 50, n_simulations=5, rng=1)
data = ct.datasets.load_digits_predictions()
pred, labels = data["neural network"]
asserted = ct.assert_calibrated(pred, labels, margin=0.05, rng=1)
foreign = ct.bridges.predictions_of([0.1, 0.5])
cov, out = ct.predictions.interval_coverage(np.array([[0.0, 1.0]]), np.array([0.5]), confidence_level=0.9)
acc = ct.OmnibusTest().accumulator(predictions=p, rng=1)
acc.update(p, y)
final = acc.result()
equal = ct.EquivalenceTest(0.1, kernel)(p, y)
lr = ct.LikelihoodRatioTest()(p, y, rng=1)
taken = ct.Categorical(p).take(slice(0, 5))
weighted = ct.calibration_test(p, y, weights=np.ones(200), rng=1, n_resamples=99)
cens = ct.Censored(np.ones(5), np.ones(5, dtype=bool))
