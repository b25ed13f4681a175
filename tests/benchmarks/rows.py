"""The benchmarks: what is measured, beside what, and what it should reach."""

from .families import COMPONENTS, DIMENSIONS, LEVELS, MEMBERS, STRIP
from .sides import Row, Side, faster, growth, longer, megabytes, memory, seconds

DRAWS = {"draws": 1000}

SINGLE_PRECISION = 1e-2
"""Tolerance for differences of sums of a million numbers of 24 bits."""


def skce(n, k=10):
    return Side("caltest", "ours", "skce", n, k)


def bootstrap(n, k, **settings):
    return Side("caltest", "ours", "bootstrap_test", n, k, DRAWS | settings)


def block(n):
    return Side("caltest", "ours", "block_skce", n)


def low_rank(n):
    return Side("caltest", "ours", "low_rank_skce", n)


def default_test(n, k=10, **settings):
    return Side("caltest", "ours", "default_test", n, k, {"draws": 999, **settings})


def default_row(name, n, k, most, most_megabytes, **settings):
    what = f"default test, 999 redraws{', float32' if 'single' in settings else ''}"
    return Row(name, what, default_test(n, k, **settings), (), (seconds(most), megabytes(most_megabytes)))


def groups_row(n, k, most):
    side = Side("caltest", "ours", "many_groups", n, k, {"draws": 999})
    return Row(f"groups-{n}-{k}", "174 overlapping groups, 999 redraws", side, (), (seconds(most),))


def default_family_row(family, title, n, most):
    side = Side("caltest", "ours_families", "default_test", n, 2, {"family": family, "draws": 999})
    return Row(f"default-{family}-{n}", f"default test, 999 redraws, {title}", side, (), (seconds(most),))


IN_CHUNKS = Side("caltest", "ours", "default_in_chunks", 1_000_000, 10, {"draws": 999, "chunks": 100})


def gp_row(k, most):
    return Row(f"gp-{k}", "fit of GPcalib", Side("caltest", "ours", "gp_calibration", 1000, k), (), (seconds(most),))


def skce_row(n, k, times, *more):
    name = f"skce-{n}-{k}"
    arrays = Side("NumPy/SciPy", "vectorised", "skce", n, k)
    return Row(name, "SKCE", skce(n, k), (arrays,), (faster(times), *more))


def bootstrap_row(k):
    resampling = Side("index resampling, numba", "reference", "bootstrap_test", 5000, k, {"draws": 50}, of_draws=1000)
    title = "bootstrap test, 1000 redraws, one core each"
    return Row(f"bootstrap-{k}", title, bootstrap(5000, k), (resampling,), (faster(100),), one_core=True)


def monte_carlo_row(n, limit):
    draws = {"draws": 999}
    ours = Side("caltest", "ours", "bandwidths", n, 10, draws | {"bandwidths": [0.5, 0.1, 0.25, 1.0, 2.0]})
    calls = Side("SKCE, one bandwidth", "ours", "skce_of_redraw", n, 10, draws, times=999)
    return Row(f"monte-carlo-{n}", "exact Monte Carlo, 999 redraws, 5 bandwidths", ours, (calls,), (limit,))


def probcal_row(n, draws, recorded):
    settings = {"draws": draws}
    scaled = 0 if draws == 1000 else 1000
    how = {"of_draws": scaled, "peer": "probcal", "recorded": recorded}
    peer = Side("probcal", "peers", "probcal_skce_test", n, 2, settings, **how)
    ours = bootstrap(n, 2, binary=True)
    return Row(f"binary-{n}", "bootstrap test, binary, 1000 redraws", ours, (peer,), (faster(30),))


def growth_row(name, title, side, small, large, low, high):
    limit = growth(low, high)
    return Row(f"growth-{name}", f"growth of {title}", side(large), (side(small),), (limit,), compared=False)


def imports(name, *modules):
    return Side(name, "ours", "imports", settings={"modules": modules}, fresh=True)


def first_test(cold):
    return Side("caltest", "ours", "first_test", 500, 3, fresh=True, cold=cold)


def family_row(family, title, n=2000, strip=False, limit=None):
    settings = {"family": family}
    ours = Side("caltest", "ours_families", "skce", n, 2, settings)
    if strip:
        other = Side("NumPy", "vectorised_families", "strip_of_skce", n, 2, settings, times=n // STRIP)
    else:
        other = Side("NumPy", "vectorised_families", "skce", n, 2, settings)
    name = "family-" + family.replace(" ", "-").replace(",", "")
    return Row(name, f"SKCE, {title}", ours, (other,), limit or (faster(1),))


TOP_LABEL = (
    Side("NumPy", "vectorised", "top_label_ece", 1_000_000),
    Side("torchmetrics", "peers", "torchmetrics_ece", 1_000_000, peer="torchmetrics", tolerance=SINGLE_PRECISION),
    Side("netcal", "peers", "netcal_ece", 1_000_000, peer="netcal"),
)
BLOCKS = Side("NumPy", "vectorised", "block_skce", 1_000_000)
LOW_RANK_TEST = Side("caltest", "ours", "low_rank_test", 1_000_000, settings={"draws": 199})
ECE_TEST = Side("caltest", "ours", "binary_ece_test", 10_000, 2, DRAWS)
ECE_REDRAWS = Side("NumPy", "vectorised", "binary_ece_test", 10_000, 2, DRAWS)
IMPORTS = imports("numpy and numba", "numpy", "numba")

ROWS = [
    skce_row(10_000, 10, 6, memory(1 / 20)),
    skce_row(5000, 2, 6),
    skce_row(5000, 100, 2),
    skce_row(2000, 1000, 1.5),
    bootstrap_row(10),
    bootstrap_row(2),
    Row("default-1000", "default test, 999 redraws", default_test(1000), (), (seconds(2),)),
    default_row("default-100000", 100_000, 10, 6, 2000),
    default_row("default-1000000", 1_000_000, 10, 60, 2000),
    default_row("default-binary", 1_000_000, 2, 8, 2000),
    default_row("default-2000-1000", 2000, 1000, 1, 100),
    default_row("default-10000-1000", 10_000, 1000, 6, 400),
    default_row("default-50000-1000", 50_000, 1000, 25, 500, single=True),
    Row("default-chunks", "default test, 999 redraws, 100 chunks", IN_CHUNKS, (), (megabytes(2000),)),
    groups_row(5000, 2, 0.7),
    groups_row(5000, 10, 2.5),
    default_family_row("normal", "Normal", 500, 0.2),
    default_family_row("normal", "Normal", 10_000, 3),
    default_family_row("normal", "Normal", 100_000, 30),
    default_family_row("full", "MvNormal, d = 10", 1000, 1),
    default_family_row("ensemble", "Ensemble of 50", 1000, 0.3),
    default_family_row("poisson", "Poisson", 100_000, 30),
    gp_row(2, 0.5),
    gp_row(10, 1.5),
    gp_row(100, 8),
    gp_row(1000, 60),
    monte_carlo_row(10_000, faster(10)),
    monte_carlo_row(1000, seconds(1)),
    Row("blocks", "SKCE of blocks of 2", block(1_000_000), (BLOCKS,), (faster(1), memory(1 / 2))),
    Row("low-rank", "low rank Monte Carlo, 199 redraws", LOW_RANK_TEST, (), (seconds(60), megabytes(3000))),
    growth_row("skce", "SKCE", skce, 5000, 40_000, 0, 70),
    growth_row("blocks", "SKCE of blocks of 2", block, 250_000, 1_000_000, 3.2, 4.8),
    growth_row("low-rank", "low rank SKCE", low_rank, 500_000, 2_000_000, 3.2, 4.8),
    probcal_row(1000, 1000, 0.8),
    probcal_row(5000, 100, 18.5),
    probcal_row(10_000, 100, 77.0),
    Row("ece", "ECE, top label, 15 bins", Side("caltest", "ours", "top_label_ece", 1_000_000), TOP_LABEL, (faster(1),)),
    Row("ece-test", "ECE, binary, exact Monte Carlo, 1000 redraws", ECE_TEST, (ECE_REDRAWS,), (seconds(0.1),)),
    family_row("normal", "Normal"),
    family_row("laplace", "Laplace, Laplacian kernel"),
    family_row("diagonal", f"MvNormal, d = {DIMENSIONS}, diagonal"),
    family_row("full", f"MvNormal, d = {DIMENSIONS}, full", n=1000, limit=(seconds(2),)),
    family_row("mixture", f"Mixture of {COMPONENTS} Normal, MMD"),
    family_row("ensemble", f"Ensemble of {MEMBERS}", strip=True),
    family_row("ensemble, Laplacian", f"Ensemble of {MEMBERS}, Laplacian kernel", strip=True),
    family_row("student", "StudentT", strip=True),
    family_row("gamma", "Gamma", strip=True),
    family_row("lognormal", "LogNormal", strip=True),
    family_row("beta", "Beta", strip=True),
    family_row("poisson", "Poisson"),
    family_row("negative binomial", "NegativeBinomial"),
    family_row("ordinal", f"Ordinal, {LEVELS} classes"),
    Row(
        "import",
        "import of all that the default test needs",
        imports("caltest", "numpy", "numba", "caltest.default_test"),
        (IMPORTS,),
        (longer(1),),
    ),
    Row("first-cold", "first test, nothing compiled", first_test(True), (), (seconds(15),), in_quick=False),
    Row("first-warm", "first test, compiled before", first_test(False), (), (seconds(1.5),)),
]
