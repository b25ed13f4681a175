"""How often tests of cross-validated predictions reject, beside tests of as many new rows: the table of validity.md.

``python -m tests.bridges.fold_sizes [number of sets]``.
"""

import sys

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import caltest as ct
from caltest.bridges.sklearn import cross_validated, predictions_of_classifier

N, FOLDS, RATE = 200, 5, 0.9


class BestFeature(ClassifierMixin, BaseEstimator):
    """The true probability given one of many noisy copies of the label, the one that fits best: always calibrated."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.feature_ = int((y[:, None] == X).mean(axis=0).argmax())
        return self

    def predict_proba(self, X):
        p = np.where(X[:, self.feature_] == 1, RATE, 1.0 - RATE)
        return np.stack([1.0 - p, p], axis=1)


def copies(rng):
    y = rng.integers(0, 2, N)
    return np.where(rng.random((N, 30)) < RATE, y[:, None], 1 - y[:, None]), y


def logistic(d):
    def draw(rng):
        X = rng.normal(size=(N, d))
        return X, (rng.random(N) < 1.0 / (1.0 + np.exp(-X.sum(axis=1) / np.sqrt(d)))).astype(int)

    return draw


SETTINGS = {
    "best of 30 features, calibrated": (BestFeature(), copies),
    "frequencies of the classes": (DummyClassifier(), logistic(1)),
    "logistic regression, 2 features": (LogisticRegression(C=1e6), logistic(2)),
    "logistic regression, 10 features": (LogisticRegression(C=1e6), logistic(10)),
}


def rejected(estimator, draw, seed):
    """Whether the 5 % level is reached by all rows pooled, by folds with Bonferroni, and by folds with new rows."""
    rng = np.random.default_rng([11, seed])
    (X, y), (new, labels) = draw(rng), draw(rng)
    p, y, folds, _ = cross_validated(estimator, X, y, cv=FOLDS)
    fresh = np.empty(N)
    for fold in range(FOLDS):
        model = type(estimator)(**estimator.get_params()).fit(X[folds != fold], y[folds != fold])
        fresh[folds == fold] = predictions_of_classifier(model, new[folds == fold]).probability
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.1), ct.DeltaKernel())
    test = ct.MonteCarloTest(ct.SKCE(kernel), n_resamples=199)
    pooled = test(p, y, rng=seed).pvalue
    other = test(fresh, labels, rng=seed).pvalue
    parts = [test(p.take(np.flatnonzero(folds == k)), y[folds == k], rng=seed).pvalue for k in range(FOLDS)]
    return pooled <= 0.05, FOLDS * min(parts) <= 0.05, other <= 0.05


if __name__ == "__main__":
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"| n = {N}, {FOLDS} folds, {sets} sets, % rejected | all rows pooled | folds, Bonferroni | new rows |")
    print("|---|---|---|---|")
    for name, (estimator, draw) in SETTINGS.items():
        rates = np.mean([rejected(estimator, draw, seed) for seed in range(sets)], axis=0)
        print(f"| {name} | {' | '.join(f'{100 * rate:.1f}' for rate in rates)} |", flush=True)
