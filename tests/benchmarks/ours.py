"""caltest's side of the benchmarks: each function prepares a call, which returns the numbers to be compared."""

import importlib


def kernel(bandwidth=0.5):
    import caltest as ct

    return ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth), ct.DeltaKernel())


def skce(predictions, labels):
    import caltest as ct

    estimator = ct.SKCE(kernel())
    return lambda: {"estimate": estimator(predictions, labels)}


def block_skce(predictions, labels):
    import caltest as ct

    estimator = ct.BlockSKCE(kernel())
    return lambda: {"estimate": estimator(predictions, labels)}


def low_rank_skce(predictions, labels):
    from caltest import LowRankSKCE

    estimator = LowRankSKCE(kernel(), rank=64)
    return lambda: {"estimate": estimator(predictions, labels)}


def low_rank_test(predictions, labels, draws):
    from caltest import LowRankSKCE, MonteCarloTest

    test = MonteCarloTest(LowRankSKCE(kernel(), rank=64), n_resamples=draws)
    return _tested(test, predictions, labels, draws)


def default_test(predictions, labels, draws, single=False):
    import caltest as ct

    if single:
        predictions = predictions.astype("float32")
    return _tested(ct.OmnibusTest(n_resamples=draws), predictions, labels, draws)


def many_groups(predictions, labels, draws):
    """Of 174 groups that overlap: values of five features, and pairs of values."""
    from itertools import combinations

    import numpy as np

    import caltest as ct

    rng = np.random.default_rng(1)
    columns = [rng.integers(0, m, len(labels))[:, None] == np.arange(m) for m in (2, 3, 4, 5, 6)]
    pairs = [(a[:, :, None] & b[:, None]).reshape(len(labels), -1) for a, b in combinations(columns, 2)]
    groups = np.concatenate([*columns, *pairs], axis=1)[:, :174]

    def call():
        result = ct.calibration_by_group(predictions, labels, groups, n_resamples=draws, rng=1)
        return {"estimate": result.groups[0].estimate, "pvalue": result.pvalue, "draws": draws}

    return call


def default_in_chunks(predictions, labels, draws, chunks):
    import caltest as ct

    def call():
        stream = ct.OmnibusTest(n_resamples=draws).accumulator(predictions=predictions[:10_000], rng=1)
        size = max(2, -(-len(labels) // chunks))
        for start in range(0, len(labels), size):
            stream.update(predictions[start : start + size], labels[start : start + size])
        result = stream.result()
        return {"estimate": result.estimate, "pvalue": result.pvalue, "draws": draws}

    return call


def gp_calibration(predictions, labels):
    import caltest as ct

    method = ct.recalibration.GPCalibrator()
    return lambda: {"estimate": method.fit(predictions, labels).evidence_bound}


def bootstrap_test(predictions, labels, draws, binary=False):
    import caltest as ct

    test = ct.AsymptoticSKCETest(kernel(), draws, known_variance=False)  # As published.
    return _tested(test, predictions[:, 1].copy() if binary else predictions, labels, draws)


def redrawn(predictions, labels, draws):
    """Checked predictions, and the labels followed by redraws of them."""
    import numpy as np

    from caltest import Categorical
    from caltest._basics import threads

    checked = Categorical(predictions)
    return checked, checked.with_redraws(labels, threads.streams(np.random.default_rng(1), draws))


def bandwidths(predictions, labels, draws, bandwidths):
    """Exact Monte Carlo for several bandwidths at once; the first one's estimate for the last redraw is compared."""
    from caltest.hstatistics.redraws import of_all_families as hredraws

    kernels = [kernel(bandwidth) for bandwidth in bandwidths]

    def call():
        means = hredraws.redrawn_means(kernels, *redrawn(predictions, labels, draws), unbiased=True)
        return {"estimate": float(means[0, -1])}

    return call


def skce_of_redraw(predictions, labels, draws):
    """One of the many estimates that Monte Carlo takes: that of the last redraw."""
    return skce(predictions, redrawn(predictions, labels, draws)[1][-1].astype(int))


def top_label_ece(predictions, labels):
    import caltest as ct

    return lambda: {"estimate": ct.ECE()(*ct.top_label(predictions, labels))}


def binary_ece_test(predictions, labels, draws):
    import caltest as ct

    return _tested(ct.MonteCarloTest(ct.ECE(), draws), predictions[:, 1].copy(), labels, draws)


def imports(modules):
    """Start of a program: nothing is prepared."""

    def call():
        for module in modules:
            importlib.import_module(module)
        return {}

    return call


def first_test(predictions, labels):
    from caltest import calibration_test

    def call():
        result = calibration_test(predictions, labels, rng=1)
        return {"estimate": result.estimate, "pvalue": result.pvalue, "draws": 999}

    return call


def _tested(test, predictions, labels, draws):
    def call():
        result = test(predictions, labels, rng=1)
        return {"estimate": result.estimate, "pvalue": result.pvalue, "draws": draws}

    return call
