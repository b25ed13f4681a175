"""How often the tests reject calibrated predictions where that is hardest to get right.

``python -m tests.statistical.worst_sizes`` prints the rate of every test at the 5 % level in every setting of
``settings.HARD``, and the worst of each; nine minutes of one processor. The numbers of
``docs/validity.md``, of notes and docstrings are these.
"""

import sys

import caltest as ct

from .settings import HARD, spawn

SIMULATIONS = 500
LEVEL = 0.05


def kernel_of(p):
    """The default one, with the median bandwidth."""
    return p.default_kernel()


def mean_embedding(p, rng):
    """Five of the predictions, with targets of their own, as test locations."""
    locations = p.take(rng.integers(len(p), size=5))
    return ct.AsymptoticCMETest(ct.UCME(kernel_of(p), locations, locations.sample(rng)))


def pearson(p, rng):
    """For classes: elsewhere its skewness takes redraws, as many as those of the exact test."""
    if not hasattr(p, "n_classes"):
        raise TypeError
    return ct.PearsonSKCETest(kernel_of(p))


TESTS = {
    "PearsonSKCETest": pearson,
    "CertifiedCrossSKCETest": lambda p, rng: ct.named_tests.CertifiedCrossSKCETest(kernel_of(p)),
    "AsymptoticSKCETest": lambda p, rng: ct.AsymptoticSKCETest(kernel_of(p), 199),
    "AsymptoticSKCETest, as published": lambda p, rng: ct.AsymptoticSKCETest(kernel_of(p), 199, known_variance=False),
    "AsymptoticBlockSKCETest, 2": lambda p, rng: ct.AsymptoticBlockSKCETest(kernel_of(p), 2),
    "AsymptoticBlockSKCETest, 3": lambda p, rng: ct.AsymptoticBlockSKCETest(kernel_of(p), 3),
    "AsymptoticBlockSKCETest, 10": lambda p, rng: ct.AsymptoticBlockSKCETest(kernel_of(p), 10),
    "AsymptoticBlockSKCETest, 3, as published": lambda p, rng: ct.AsymptoticBlockSKCETest(
        kernel_of(p), 3, known_variance=False
    ),
    "ToleranceTest": lambda p, rng: ct.ToleranceTest(0.001, kernel_of(p)),
    "DistributionFreeSKCETest": lambda p, rng: ct.DistributionFreeSKCETest(ct.SKCE(kernel_of(p))),
    "AsymptoticCMETest": mean_embedding,
    "ConsistencyTest": lambda p, rng: ct.ConsistencyTest(ct.ECE(), 99),
    "HosmerLemeshowTest": lambda p, rng: ct.HosmerLemeshowTest(),
    "SpiegelhalterTest": lambda p, rng: ct.SpiegelhalterTest(),
    "LogScoreTest": lambda p, rng: ct.LogScoreTest(),
    "CoxTest": lambda p, rng: ct.CoxTest(),
    "ECCETest": lambda p, rng: ct.ECCETest(),
    "PITTest": lambda p, rng: ct.PITTest(),
    "QuantileCalibrationTest": lambda p, rng: ct.QuantileCalibrationTest(),
}

STATED = {
    "PearsonSKCETest": (0.098, "10 of 0.3, 90 of 0.001"),
    "CertifiedCrossSKCETest": (0.014, "Dir(1), k = 3, n = 250"),
    "AsymptoticSKCETest": (0.062, "5 of 0.5, 95 of 0.001"),
    "AsymptoticSKCETest, as published": (0.296, "Beta(0.3, 60), n = 250"),
    "AsymptoticBlockSKCETest, 2": (0.044, "Dir(1), k = 3, n = 250"),
    "AsymptoticBlockSKCETest, 3": (0.036, "Dir(1), k = 3, n = 250"),
    "AsymptoticBlockSKCETest, 10": (0.028, "Dir(1), k = 10, n = 33"),
    "AsymptoticBlockSKCETest, 3, as published": (0.904, "10 of 0.3, 90 of 0.001"),
    "AsymptoticCMETest": (0.954, "Beta(0.3, 60), n = 250"),
    "ToleranceTest": (0.010, "Poisson(Gamma(0.3) / 6), n = 100"),
    "DistributionFreeSKCETest": (0.000, "Beta(0.3, 12), n = 33"),
    "HosmerLemeshowTest": (0.140, "Beta(2, 98), n = 100"),
    "SpiegelhalterTest": (0.106, "5 of 0.5, 95 of 0.001"),
    "LogScoreTest": (0.106, "5 of 0.5, 95 of 0.001"),
    "CoxTest": (0.094, "Dir(0.1), k = 2, n = 33"),
    "ECCETest": (0.038, "Beta(0.3, 12), n = 33"),
}
"""The worst rates that were found, and where."""


def rate(name, setting, simulations):
    """Share of data sets that are rejected; None where the test is not for them.

    What a test refuses counts as not rejected.
    """
    rng = spawn(200, list(HARD).index(setting))
    rejected = 0
    for _ in range(simulations):
        p = HARD[setting](rng)
        y = p.sample(rng)
        try:
            rejected += TESTS[name](p, rng)(p, y, rng=rng).pvalue <= LEVEL
        except TypeError:
            return None
        except ValueError:
            continue
    return rejected / simulations


def main(simulations):
    for name in TESTS:
        rates = {setting: rate(name, setting, simulations) for setting in HARD}
        known = {setting: one for setting, one in rates.items() if one is not None}
        worst = max(known, key=known.get)
        print(f"{name}: {100 * known[worst]:.1f} % ({worst})")
        print("   ", "; ".join(f"{setting}: {100 * one:.1f}" for setting, one in known.items()), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SIMULATIONS)
