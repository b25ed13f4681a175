"""Studies of tests by simulation: sizes, powers, and the sample sizes that planned studies need."""

from caltest.studies.power import power
from caltest.studies.power_curve import PowerCurve, power_curve
from caltest.studies.power_result import PowerResult
from caltest.studies.sample_size import SampleSize, sample_size

__all__ = ["PowerCurve", "PowerResult", "SampleSize", "power", "power_curve", "sample_size"]
