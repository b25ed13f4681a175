"""Make ``digits.npz``: three classifiers of handwritten digits, judged on the half of the data they have not seen.

Run ``python -m tests.make_digits`` with scikit-learn installed. The package ships the result.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from caltest import datasets


def main() -> None:
    """Fit, predict, and write the predictions as float32."""
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images, labels, test_size=0.5, stratify=labels, random_state=0)
    train_images, test_images, train_labels, test_labels = split
    models = {
        "naive_bayes": GaussianNB(),
        "random_forest": RandomForestClassifier(200, random_state=0),
        "neural_network": MLPClassifier(max_iter=2000, random_state=0),
    }
    arrays = {
        name: model.fit(train_images, train_labels).predict_proba(test_images).astype(np.float32)
        for name, model in models.items()
    }
    path = Path(datasets.__file__).with_name("digits.npz")
    np.savez_compressed(path, labels=test_labels.astype(np.uint8), **arrays)


if __name__ == "__main__":
    main()
