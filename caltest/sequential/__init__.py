"""Tests that may be stopped at any time: evidence that is a martingale if the predictions are calibrated."""
