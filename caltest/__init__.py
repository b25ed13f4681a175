"""Statistical hypothesis tests of calibration: whether predicted probabilities can be taken at face value.

The names here are what most analyses need. The rest is in submodules, each of which says what it offers:
``help(caltest.nulls)``.

Glossary, from the symbols in the papers to the names here:

====================================  ============================= ===================================
P_X, g(X): prediction                 ``Categorical``, ``Normal``   ``caltest.predictions``
Y: target, label                      ``targets``                   ``caltest.predictions.inputs.convert``
Z_X, drawn from P_X                   ``Predictions.sample``        ``caltest.predictions.base``
k_P, k_Y, k = k_P x k_Y               ``ProductKernel``             ``caltest.kernels.product``
sum_i k_i A_i: matrix-valued kernel   ``MatrixKernel``              ``caltest.kernels.matrix``
E k(Z, y), E k(Z, Z')                 ``expected_kernel``           ``caltest.predictions.base``
B_{p;q}: bound of h                   ``h_bound``                   ``caltest.hstatistics.tiles``
W_2: 2-Wasserstein distance           ``Wasserstein``               ``caltest.kernels.metrics.vector_metrics``
MW_2: the same of mixtures            ``MixtureWasserstein``        ``caltest.kernels.metrics.discrepancies``
nu, lambda: bandwidth                 ``bandwidth``                 ``caltest.kernels.radial``
h((p, y), (p', y'))                   ``h_tile``                    ``caltest.hstatistics.tiles``
SKCE, SKCE_b, SKCE_uq                 ``SKCE``                      ``caltest.estimators.kernel_errors.skce``
SKCE_ul, SKCE_{k,B}: blocks           ``BlockSKCE``                 ``caltest.estimators.kernel_errors.skce``
SKCE with landmarks, for large n      ``LowRankSKCE``               ``caltest.estimators.kernel_errors.low_rank``
UCME, test locations T_j              ``UCME``                      ``caltest.estimators.kernel_errors.skce``
ECE                                   ``ECE``                       ``caltest.estimators.binned_errors.ece``
MMCE                                  ``MMCE``                      ``caltest.estimators.kernel_errors.mmce``
D_b, D_uq, D_l: bounds                ``DistributionFreeBound``     ``caltest.nulls.bounds``
A_l: normal limit                     ``NormalNull``                ``caltest.nulls.limit_laws``
A_uq: bootstrap                       ``ArconesGineBootstrap``      ``caltest.nulls.bootstraps``
C: consistency resampling             ``ConsistencyResampling``     ``caltest.nulls.bootstraps``
E: likelihood ratio, e-value          ``LogLikelihoodRatio``        ``caltest.estimators.scores``
Q_n: CME test                         ``HotellingNull``             ``caltest.nulls.limit_laws``
pairs between two halves              ``CrossSKCE``                 ``caltest.estimators.kernel_errors.skce``
h(p, p'), R_CE(h): squared errors     ``ErrorFunction``             ``caltest.risk.base``
h_bin, h_kde, h_kkr, h_ukkr           ``BinnedErrorFunction``, ...  ``caltest.risk``
E_t: martingale, evidence over time   ``SequentialCalibrationTest`` ``caltest.sequential``
k_G: groups, multicalibration         ``GroupSKCE``                 ``caltest.estimators.kernel_errors.groups``
s_p: score, KCCSD                     ``Unnormalised``              ``caltest.predictions.vectors.unnormalised``
====================================  ============================= ===================================
"""

import ast as _ast
import sys as _sys
from importlib import import_module as _import_module
from pkgutil import get_data as _get_data
from typing import Any as _Any

__version__ = "0.2.0"


def _listed() -> dict[str, str]:
    """The module that each public name comes from, as ``__init__.pyi`` has them."""
    nodes = _ast.parse(_get_data(__name__, "__init__.pyi") or b"").body
    imports = [node for node in nodes if isinstance(node, _ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_HOMES = _listed()

__all__ = sorted(_HOMES)


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]


def __getattr__(name: str) -> _Any:
    """Load a name when it is asked for; where one is that is not here, the error says so."""
    if name in _HOMES:
        home = _HOMES[name]
        value = _import_module(f"caltest.{name}") if home == "caltest" else getattr(_import_module(home), name)
        globals()[name] = value
        return value
    parts = [part for part, home in _HOMES.items() if home == "caltest"]
    parts = [] if name[0] == "_" else [*parts, "fields.clinical", "fields.weather", "fields.bayesian"]
    homes = [part for part in parts if name in getattr(_import_module(f"caltest.{part}"), "__all__", ())]
    hint = f"; it is {' or '.join(f'ct.{part}.{name}' for part in homes)}" if homes else ""
    message = f"module 'caltest' has no attribute {name!r}{hint}"
    raise AttributeError(message, name=name, obj=_sys.modules[__name__])
