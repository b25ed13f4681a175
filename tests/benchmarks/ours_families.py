"""caltest's SKCE of many families, with the kernels of the formulations beside it."""

from .families import BANDWIDTH, WIDTH, parameters


def skce(predictions, labels, family):
    import caltest as ct

    *arrays, y = parameters(family, len(labels))
    made, target_kernel = FAMILIES[family](*arrays)
    metric = METRICS.get(family, ct.Euclidean)()
    kernel = ct.ProductKernel(ct.ExponentialKernel(metric, BANDWIDTH), target_kernel or _gaussian())
    estimator = ct.SKCE(kernel)
    return lambda: {"estimate": estimator(made, y)}


def default_test(predictions, labels, family, draws):
    import caltest as ct

    *arrays, y = parameters(family, len(labels))
    made, test = FAMILIES[family](*arrays)[0], ct.OmnibusTest(n_resamples=draws)
    return lambda: {"estimate": test(made, y, rng=1).estimate}


def _gaussian():
    import caltest as ct

    return ct.GaussianKernel(bandwidth=WIDTH)


def _made(name, target_kernel=None):
    def make(*arrays):
        import caltest as ct

        return getattr(ct, name)(*arrays), target_kernel and target_kernel()

    return make


def _laplacian():
    import caltest as ct

    return ct.LaplacianKernel(WIDTH)


def _mixture(means, scales):
    import caltest as ct

    return ct.Mixture([ct.Normal(m, s) for m, s in zip(means.T, scales.T, strict=True)]), None


def _mmd():
    import caltest as ct

    return ct.kernels.MMD(_gaussian())


def _metric(name):
    def make():
        import caltest as ct

        return getattr(ct.kernels, name)()

    return make


FAMILIES = {
    "normal": _made("Normal"),
    "laplace": _made("Laplace", _laplacian),
    "diagonal": _made("MvNormal"),
    "full": _made("MvNormal"),
    "mixture": _mixture,
    "ensemble": _made("Ensemble"),
    "ensemble, Laplacian": _made("Ensemble", _laplacian),
    "student": _made("StudentT"),
    "gamma": _made("Gamma"),
    "lognormal": _made("LogNormal"),
    "beta": _made("Beta"),
    "poisson": _made("Poisson"),
    "negative binomial": _made("NegativeBinomial"),
    "ordinal": _made("Ordinal"),
}
BY_QUANTILES = ["ensemble", "ensemble, Laplacian", "student", "gamma", "lognormal", "beta"]
METRICS = {"mixture": _mmd, "ordinal": _metric("Wasserstein1")} | dict.fromkeys(BY_QUANTILES, _metric("Wasserstein"))
