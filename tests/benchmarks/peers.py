"""Other packages, each in a virtual environment of its own: imported where they are used."""

BINS = 15


def probcal_skce_test(predictions, labels, draws):
    from probcal.metrics import skce_test

    probability = predictions[:, 1].copy()

    def call():
        result = skce_test(labels, probability, n_boot=draws, bandwidth=0.5)
        return {"estimate": float(result.statistic), "pvalue": float(result.p_value), "draws": draws}

    return call


def torchmetrics_ece(predictions, labels):
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    p, y = torch.tensor(predictions), torch.tensor(labels)
    k = predictions.shape[1]
    return lambda: {"estimate": float(multiclass_calibration_error(p, y, num_classes=k, n_bins=BINS))}


def netcal_ece(predictions, labels):
    from netcal.metrics import ECE

    return lambda: {"estimate": float(ECE(BINS).measure(predictions, labels))}
