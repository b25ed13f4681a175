"""An audit: one call that answers whether a model is calibrated, how wrong it is, for whom, and what to do."""
