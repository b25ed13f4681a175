"""Classical statistics of calibration: of one number, or of a binary outcome."""
