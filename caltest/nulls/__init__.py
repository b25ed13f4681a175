"""Nulls: what turns an estimate into a p-value. ``ct.CalibrationTest(estimator, null)`` pairs the two.

Exact: ``ConditionalMonteCarlo`` and ``KnownCovarianceMonteCarlo``, which redraw the targets from the predictions, and
``ImportanceSampling`` for tiny p-values. Bounds for every n: ``DistributionFreeBound``, ``CrossChernoffBound``,
``EValueBound``. Limit laws: ``NormalNull``, ``HotellingNull``, ``PearsonNull``, ``TextbookNull``. Resampling:
``ArconesGineBootstrap``, ``ClusterBootstrap``, ``ConsistencyResampling``. Of the hypothesis that an error is small, or
large: ``ToleranceNull``, ``EquivalenceNull``, ``BinnedEquivalenceBound``. A null of your own derives from ``Null`` and
returns an ``Outcome``, or from ``ResamplingNull``.
"""

from caltest._basics import offered as _offered
from caltest.nulls.base import (
    Null as Null,
    Outcome as Outcome,
    ResamplingNull as ResamplingNull,
    SummableNull as SummableNull,
)
from caltest.nulls.bootstraps import (
    ArconesGineBootstrap as ArconesGineBootstrap,
    ClusterBootstrap as ClusterBootstrap,
    ConsistencyResampling as ConsistencyResampling,
)
from caltest.nulls.bounds import (
    CrossChernoffBound as CrossChernoffBound,
    DistributionFreeBound as DistributionFreeBound,
    EValueBound as EValueBound,
    ImportanceSampling as ImportanceSampling,
)
from caltest.nulls.limit_laws import (
    HotellingNull as HotellingNull,
    NormalNull as NormalNull,
    PearsonNull as PearsonNull,
    TextbookNull as TextbookNull,
)
from caltest.nulls.margin import (
    BinnedEquivalenceBound as BinnedEquivalenceBound,
    EquivalenceNull as EquivalenceNull,
    ToleranceNull as ToleranceNull,
)
from caltest.nulls.monte_carlo import (
    ConditionalMonteCarlo as ConditionalMonteCarlo,
    KnownCovarianceMonteCarlo as KnownCovarianceMonteCarlo,
)

__all__ = _offered(globals())
