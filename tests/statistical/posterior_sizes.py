"""How often posteriors are rejected by simulation-based calibration, right and wrong ones.

``python -m tests.statistical.posterior_sizes`` prints the tables of ``docs/validity.md``; five minutes.
"""

import numpy as np

from caltest.fields.bayesian import simulation_based_calibration

N, SETS, SETS_OF_POWER = 100, 500, 100
WRONG = {
    "correlation 0.5, draws uncorrelated": (0.0, 1.0, 0.0),
    "correlation 0.5, draws -0.5": (-0.5, 1.0, 0.0),
    "draws 0.8 times as wide": (0.5, 0.8, 0.0),
    "draws 0.3 standard deviations too high": (0.5, 1.0, 0.3),
}


def correlated(rho, size, rng):
    """Pairs (*size, 2) of standard normal numbers."""
    x = rng.standard_normal((*size, 2))
    return np.stack([x[..., 0], rho * x[..., 0] + np.sqrt(1.0 - rho**2) * x[..., 1]], axis=-1)


def right(kind, m, seed):
    """Draws and truths of two parameters of ``N`` simulations that are exchangeable."""
    rng = np.random.default_rng([12, m, seed])
    values = 3.0 * rng.standard_normal((N, 1, 2)) + correlated(0.7, (N, m + 1), rng)
    if kind == "ties":
        values = np.round(values / 3.0)
    elif kind == "constant":
        # All values of half of the simulations are one number, of the second parameter.
        values[::2, :, 1] = values[::2, :1, 1]
    elif kind == "heavy":
        values = np.sinh(3.0 * values)
    return values[:, 1:], values[:, 0]


def wrong(name, m, seed):
    """Truths with correlation 0.5, and draws of another law."""
    rng = np.random.default_rng([13, m, seed])
    rho, scale, shift = WRONG[name]
    centre = 3.0 * rng.standard_normal((N, 1, 2))
    return centre + scale * correlated(rho, (N, m), rng) + shift, centre[:, 0] + correlated(0.5, (N,), rng)


def pvalues(make, sets, n_resamples):
    """P-values (sets, 3) of all, of ranks, and of the kernel test."""
    found = []
    for seed in range(sets):
        result = simulation_based_calibration(*make(seed), n_resamples=n_resamples, rng=seed)
        found.append((result.pvalue, result.ranks_pvalue, result.joint_pvalue))
    return np.array(found)


def main():
    """Print the tables."""
    for kind in ("continuous", "heavy", "ties", "constant"):
        for m in (9, 99):
            found = pvalues(lambda seed, kind=kind, m=m: right(kind, m, seed), SETS, 99)
            rates = 100.0 * np.array([(found <= level).mean(axis=0) for level in (0.05, 0.1)])
            print(f"| {kind} | {m} |", " | ".join(f"{rate:.1f}" for rate in rates.T.ravel()), "|", flush=True)
    for name in WRONG:
        for m in (9, 99):
            found = pvalues(lambda seed, name=name, m=m: wrong(name, m, seed), SETS_OF_POWER, 199)
            rates = 100.0 * (found <= 0.05).mean(axis=0)
            print(f"| {name} | {m} |", " | ".join(f"{rate:.0f}" for rate in rates), "|", flush=True)


if __name__ == "__main__":
    main()
