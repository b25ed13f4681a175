"""Nulls: rules that turn an estimator and a sample into a p-value."""

from caltest.nulls.base import Null, Outcome, SummableNull
from caltest.nulls.bootstrap import ArconesGineBootstrap
from caltest.nulls.consistency import ConsistencyResampling
from caltest.nulls.distribution_free import DistributionFreeBound
from caltest.nulls.hotelling import HotellingNull
from caltest.nulls.monte_carlo import ConditionalMonteCarlo
from caltest.nulls.normal import NormalNull

__all__ = [
    "ArconesGineBootstrap",
    "ConditionalMonteCarlo",
    "ConsistencyResampling",
    "DistributionFreeBound",
    "HotellingNull",
    "NormalNull",
    "Null",
    "Outcome",
    "SummableNull",
]
