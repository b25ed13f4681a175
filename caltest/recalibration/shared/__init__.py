"""What maps have in common: inputs, logistic fits, storage, rows of the fit."""
