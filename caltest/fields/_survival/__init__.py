"""Calibration of survival times as survival analysis has it."""
