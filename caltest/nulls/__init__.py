"""Nulls: rules that turn an estimator and a sample into a p-value."""

from caltest.nulls.base import Null, Outcome, SummableNull
from caltest.nulls.binned_margin import BinnedEquivalenceBound
from caltest.nulls.bootstrap import ArconesGineBootstrap
from caltest.nulls.cluster_bootstrap import ClusterBootstrap
from caltest.nulls.consistency import ConsistencyResampling
from caltest.nulls.cross_tail import CrossChernoffBound
from caltest.nulls.distribution_free import DistributionFreeBound
from caltest.nulls.e_value import EValueBound, ImportanceSampling
from caltest.nulls.hotelling import HotellingNull
from caltest.nulls.known_covariance import KnownCovarianceMonteCarlo
from caltest.nulls.margin import EquivalenceNull, ToleranceNull
from caltest.nulls.monte_carlo import ConditionalMonteCarlo
from caltest.nulls.normal import NormalNull
from caltest.nulls.pearson import PearsonNull
from caltest.nulls.textbook_null import TextbookNull

__all__ = [
    "ArconesGineBootstrap",
    "BinnedEquivalenceBound",
    "ClusterBootstrap",
    "ConditionalMonteCarlo",
    "ConsistencyResampling",
    "CrossChernoffBound",
    "DistributionFreeBound",
    "EValueBound",
    "EquivalenceNull",
    "HotellingNull",
    "ImportanceSampling",
    "KnownCovarianceMonteCarlo",
    "NormalNull",
    "Null",
    "Outcome",
    "PearsonNull",
    "SummableNull",
    "TextbookNull",
    "ToleranceNull",
]
