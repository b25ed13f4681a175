"""A classifier of scikit-learn with recalibrated probabilities."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, column_or_1d

from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._validation import instance_of
from caltest.predictions import Categorical
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.classes.one_vs_rest import OneVsRest
from caltest.recalibration.classes.temperature import TemperatureScaling
from caltest.recalibration.shared.seen import digest, seen_note, share_seen

ANSWERS = {"logits": "decision_function", "probabilities": "predict_proba"}
"""Methods of classifiers."""


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are recalibrated, with the conventions of scikit-learn.

    ``fit`` fits the map to predictions of cross-validation, each by a clone that has not seen the observation, and then
    the classifier to all data. A classifier that is fitted already is passed as ``FrozenEstimator(model)``, of
    ``sklearn.frozen``; its map is then fitted to the data of ``fit``, which should not be those of the classifier.

    Parameters
    ----------
    estimator
        A classifier with ``predict_proba``, or with ``decision_function`` for methods with ``input="logits"``.
    method
        A method of ``ct.recalibration``; binary ones are applied to each class against the rest if there are more than
        two. Default: ``TemperatureScaling()``.
    cv
        Folds, or what scikit-learn takes as ``cv``.

    Attributes
    ----------
    classes_
        Labels in the order of the columns of ``predict_proba``: those of ``y``, or of a classifier that was fitted
        before, which can have more.
    estimator_, calibration_map_
        The classifier fitted to all data, and the fitted map.

    Raises
    ------
    ImportError
        Without scikit-learn: ``pip install caltest[sklearn]``.
    ValueError
        When fitting, for bad data, labels of one class only, fewer observations of a class than folds, or labels that
        a classifier that was fitted before does not know.
    TypeError
        When fitting, for anything other than a method, or a classifier without what the method takes.

    Notes
    -----
    Rows have no weights, as no method takes some. Cost: that of ``cv + 1`` fits of the classifier. The map is fitted to
    predictions of classifiers with a share ``1 - 1/cv`` of the data, which are slightly worse than that of all data.

    Examples
    --------
    >>> import caltest as ct
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ct.recalibration.CalibratedModel(RandomForestClassifier(50, random_state=1)).fit(X[::2], y[::2])
    >>> model.calibration_map_.temperature < 1.0, model.predict_proba(X[1::2]).shape
    (True, (898, 10))
    """

    def __init__(self, estimator: Any, method: ProbabilityCalibrator | None = None, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(self, X: ArrayLike, y: ArrayLike) -> "CalibratedModel":
        """Fit the map to predictions of cross-validation, and the classifier to all data."""
        method = TemperatureScaling() if self.method is None else self.method
        instance_of(ProbabilityCalibrator, "a method such as ct.recalibration.TemperatureScaling()")("method", method)
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_ = unique_labels(y) if y.size else y
        if self.classes_.size == 0:
            raise ValueError("y: got no observations, wanted at least one of each class")
        if self.classes_.size == 1:
            raise ValueError(f"y: got one class, {self.classes_.tolist()[0]!r}, wanted at least two classes")
        wanted = ANSWERS[method.input]
        if not hasattr(self.estimator, wanted):
            other = next(name for name in ANSWERS if name != method.input)
            raise TypeError(
                f"estimator: got {type(self.estimator).__name__} without {wanted}, wanted a classifier with it, or a "
                f"method with input={other!r}, which takes {ANSWERS[other]}, such as "
                f"ct.recalibration.Platt(input={other!r})"
            )
        folds = check_cv(self.cv, y, classifier=True)
        frozen = isinstance(self.estimator, FrozenEstimator)
        if frozen:
            known = np.asarray(self.estimator.classes_)
            others = set(self.classes_.tolist()) - set(known.tolist())
            if others:
                raise ValueError(
                    f"y: got {min(others, key=str)!r}, wanted labels that the classifier knows: {known.tolist()!r}"
                )
            self.classes_ = known
        else:
            counts, n_folds = np.unique(y, return_counts=True)[1], folds.get_n_splits(X, y)
            if counts.min() < n_folds and isinstance(self.cv, int):
                found = f"{counts.min()} observations of class {self.classes_.tolist()[counts.argmin()]!r}"
                shape = zip(("n_samples", "n_features"), np.shape(X), strict=False)
                found += f" ({', '.join(f'{name}={n}' for name, n in shape)})"
                raise ValueError(f"y: got {found}, wanted at least {n_folds}, or a cv of fewer folds")
        if method.binary and self.classes_.size > 2:
            method = OneVsRest(method)
        if frozen:
            scores = getattr(self.estimator, wanted)(X)
        else:
            scores = cross_val_predict(clone(self.estimator), X, y, cv=folds, method=wanted)
        names = self.classes_.tolist()
        self.calibration_map_: ProbabilityMap = method.fit(_numbers(scores, method.binary), y, classes=names)
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.fitted_rows_ = digest(_rows(X))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Recalibrated probabilities (n, k), in the order of ``classes_``."""
        check_is_fitted(self)
        fitted = self.calibration_map_
        scores = getattr(self.estimator_, ANSWERS[fitted.input])(X)
        answer = np.asarray(fitted(_numbers(scores, fitted.binary)), dtype=np.float64)
        return np.stack([1.0 - answer, answer], axis=1) if answer.ndim == 1 else answer

    def predictions(self, X: ArrayLike) -> Categorical:
        """Recalibrated probabilities with the names of the classes, for tests; a note says if ``fit`` has seen ``X``.

        Rows are recognised if they are numbers that repeat rarely.
        """
        answer = Categorical(self.predict_proba(X), classes=self.classes_.tolist())
        answer.notes = (*answer.notes, *seen_note(share_seen(self.fitted_rows_, _rows(X)), "model"))
        return answer

    def predict(self, X: ArrayLike) -> Array:
        """The most probable class of each row, the first one among equals."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


def _rows(X: ArrayLike) -> FloatArray:
    """Features that are numbers (n, c); none of others."""
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty((0, 1))
    return rows if rows.ndim == 2 else np.empty((0, 1))


def _numbers(scores: Array, binary: bool) -> Array:
    """Columns (n, k), or those of class 1 (n,) for binary methods; log-odds (n,) stay."""
    return scores[:, 1] if binary and scores.ndim == 2 else scores
