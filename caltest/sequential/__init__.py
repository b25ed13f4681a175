"""Tests that may be stopped at any time: evidence that is a martingale if the predictions are calibrated."""

from caltest.sequential.sequential_result import SequentialTestResult
from caltest.sequential.sequential_test import SequentialCalibrationTest

__all__ = ["SequentialCalibrationTest", "SequentialTestResult"]
