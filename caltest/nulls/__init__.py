"""Nulls: rules that turn an estimator and a sample into a p-value."""

from caltest.nulls.base import Null, Outcome, SummableNull
from caltest.nulls.bootstrap import ArconesGineBootstrap
from caltest.nulls.consistency import ConsistencyResampling
from caltest.nulls.distribution_free import DistributionFreeBound
from caltest.nulls.e_value import EValueBound, ImportanceSampling
from caltest.nulls.hotelling import HotellingNull
from caltest.nulls.monte_carlo import ConditionalMonteCarlo
from caltest.nulls.normal import NormalNull
from caltest.nulls.pearson import PearsonNull

__all__ = [
    "ArconesGineBootstrap",
    "ConditionalMonteCarlo",
    "ConsistencyResampling",
    "DistributionFreeBound",
    "EValueBound",
    "HotellingNull",
    "ImportanceSampling",
    "NormalNull",
    "Null",
    "Outcome",
    "PearsonNull",
    "SummableNull",
]
