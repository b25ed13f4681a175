"""Real predictions that come with the package: ``load_digits_predictions``, of three models of handwritten digits."""

from importlib.resources import files

import numpy as np

from caltest._basics.numerics import IntArray
from caltest.predictions import Categorical

__all__ = ["load_digits_predictions"]


def load_digits_predictions() -> dict[str, tuple[Categorical, IntArray]]:
    """Predictions of three classifiers of handwritten digits, and the labels.

    899 images that were held out of the fit, 10 classes. The data are the digits of scikit-learn (Alpaydin and
    Kaynak 1998); ``tests/make_digits.py`` made the predictions.

    Returns
    -------
    dict
        ``{"naive Bayes": (predictions, labels), "random forest": ..., "neural network": ...}``

    Examples
    --------
    >>> import caltest as ct
    >>> predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
    >>> predictions
    <Categorical, n = 899, 10 classes>
    """
    with (files("caltest.datasets") / "digits.npz").open("rb") as file, np.load(file) as arrays:
        labels = arrays["labels"].astype(np.intp)
        names = {"naive Bayes": "naive_bayes", "random forest": "random_forest", "neural network": "neural_network"}
        return {name: (Categorical(arrays[key]), labels) for name, key in names.items()}
