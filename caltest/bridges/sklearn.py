"""Classifiers of scikit-learn: a display with bands, scorers, and cross-validated predictions with their folds.

The module imports scikit-learn (``pip install caltest[sklearn]``); import it by name:
``from caltest.bridges.sklearn import CalibrationTestDisplay``. ``ct.recalibration.CalibratedModel`` is a classifier
with recalibrated probabilities.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

try:
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import check_cv
    from sklearn.utils import _safe_indexing, indexable
except ImportError as error:
    raise ImportError("caltest.bridges.sklearn needs scikit-learn: pip install caltest[sklearn]") from error

from caltest._basics.arrays import to_array
from caltest._basics.calls import own_errstate, pvalues_only
from caltest._basics.numerics import Array, ArrayLike, IntArray
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._validation import not_swapped, one_of
from caltest.default_test import calibration_test
from caltest.estimators import DebiasedSquaredECE
from caltest.predictions import Bernoulli, Categorical, Predictions, top_label
from caltest.predictions.inputs.convert import as_predictions

Kind: TypeAlias = Literal["bins", "isotonic", "classwise"]


def predictions_of_classifier(estimator: Any, X: Any) -> Bernoulli | Categorical:
    """``predict_proba`` with the names of the classes; of two classes the probability of the second.

    Raises ``TypeError`` for estimators without ``predict_proba``, and ``ValueError`` for probabilities that are none.
    """
    return _named(_probabilities(estimator, X), np.asarray(estimator.classes_).tolist())


def _probabilities(estimator: Any, X: Any) -> Array:
    if not hasattr(estimator, "predict_proba"):
        makes = ', such as ct.recalibration.CalibratedModel(estimator, ct.recalibration.Platt(input="logits"))'
        advice = makes if is_classifier(estimator) else ""
        raise TypeError(
            f"estimator: got {type(estimator).__name__} without predict_proba, wanted a classifier with it{advice}"
        )
    return np.asarray(estimator.predict_proba(X))


def _named(rows: Array, classes: list[Any]) -> Bernoulli | Categorical:
    return Bernoulli(rows[:, 1], classes=classes) if len(classes) == 2 else Categorical(rows, classes=classes)


class CalibrationTestDisplay:
    """A reliability diagram with exact bands and the test of the same data, as scikit-learn's displays.

    Make it with ``from_estimator`` or ``from_predictions``, which draw it.

    Parameters
    ----------
    result
        Of ``calibration_test`` of the predictions and targets; its p-value and finding are the title.
    estimator_name
        Name of the model in the legend.

    Attributes
    ----------
    ax_, figure_
        After ``plot``: the axes, for ``kind="classwise"`` a list of them, and the figure.

    Notes
    -----
    Bands are those of ``ct.plots.reliability_diagram``, exact for every n; the predictions must be of rows that the
    estimator was not fitted to. Time O(n B) beside that of the test.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from caltest.bridges.sklearn import CalibrationTestDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model, ax = GaussianNB().fit(X[::2], y[::2]), Figure().add_subplot()
    >>> display = CalibrationTestDisplay.from_estimator(model, X[1::2], y[1::2], rng=1, ax=ax)
    >>> display.result.verdict(), display.ax_.get_ylabel()
    ('reject calibration at the 5 % level: the predictions cannot be taken at face value', 'accuracy')
    """

    def __init__(
        self, result: CalibrationTestResult, predictions: Any, targets: ArrayLike, *, estimator_name: str | None = None
    ) -> None:
        self.result, self.predictions, self.targets = result, predictions, targets
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        kind: Kind = "bins",
        name: str | None = None,
        ax: Any = None,
        rng: Any = None,
        **settings: Any,
    ) -> "CalibrationTestDisplay":
        """Draw and test a fitted classifier with ``predict_proba`` on data that it has not seen.

        Parameters are those of ``from_predictions``; raises ``TypeError`` for other estimators.
        """
        predictions = predictions_of_classifier(estimator, X)
        return cls.from_predictions(y, predictions, kind=kind, name=name, ax=ax, rng=rng, **settings)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        kind: Kind = "bins",
        name: str | None = None,
        ax: Any = None,
        rng: Any = None,
        **settings: Any,
    ) -> "CalibrationTestDisplay":
        """Draw and test probabilities (n,) of class 1 or (n, k), in the order of arguments of scikit-learn.

        Parameters
        ----------
        y_true, y_prob, classes
            Labels (n,); probabilities, or predictions of ``ct``; names of the columns.
        kind
            ``"bins"`` or ``"isotonic"``, of several classes for the confidence of the most probable one;
            ``"classwise"`` draws each class against the rest in a figure of its own.
        name, ax
            Of a model in axes that several share.
        rng
            Seed or ``numpy.random.Generator`` of the test and the bands.
        settings
            Others of ``ct.plots.reliability_diagram``, ``reliability_curve`` or ``classwise_reliability``, such as
            ``binning=ct.binning.QuantileBinning(10)`` for ``n_bins=10, strategy="quantile"`` of scikit-learn.
        """
        if not isinstance(y_prob, Predictions):
            not_swapped(to_array(y_prob, "y_prob"), to_array(y_true, "y_true"), "labels")
        predictions = as_predictions(y_prob, classes)
        result = calibration_test(predictions, y_true, rng=rng)
        return cls(result, predictions, y_true, estimator_name=name).plot(kind=kind, ax=ax, **settings)

    def plot(
        self, *, kind: Kind = "bins", name: str | None = None, ax: Any = None, **settings: Any
    ) -> "CalibrationTestDisplay":
        """Draw again, in other axes or another kind; returns the display."""
        from caltest import plots

        one_of("kind", kind, get_args(Kind))
        settings = {"rng": self.result.seed, **settings}
        if kind == "classwise":
            if ax is not None:
                raise ValueError('ax: got axes for kind="classwise", wanted None: it has a figure of its own')
            self.ax_: Any = plots.classwise_reliability(self.predictions, self.targets, **settings)
            self.figure_ = self.ax_[0].figure
            return self
        draw = plots.reliability_diagram if kind == "bins" else plots.reliability_curve
        label = self.estimator_name if name is None else name
        shown = None if label is not None else self.result
        self.ax_ = draw(self.predictions, self.targets, ax=ax, label=label, result=shown, **settings)
        self.figure_ = self.ax_.figure
        return self


@own_errstate
def neg_calibration_error(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Minus the debiased squared ECE of the most probable class, of two classes that of the second: a scorer.

    For ``scoring=`` of ``cross_validate`` and ``GridSearchCV``. The error is ``ct.estimators.DebiasedSquaredECE`` with
    15 quantile bins, from which is subtracted what chance adds for few rows; of calibrated models it is about 0 and can
    be below, and the score above.

    A model that always predicts the frequencies of the classes is calibrated: use the score beside a proper one such as
    ``"neg_log_loss"``, with ``refit="neg_log_loss"``, rather than alone. Raises what ``predictions_of_classifier``
    does. Time O(n log n).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from caltest.bridges.sklearn import neg_calibration_error
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"var_smoothing": [1e-9, 0.1]}
    >>> GridSearchCV(GaussianNB(), grid, scoring=neg_calibration_error).fit(X, y).best_params_
    {'var_smoothing': 0.1}
    """
    predictions = predictions_of_classifier(estimator, X)
    return -DebiasedSquaredECE()(*(top_label(predictions, y) if len(estimator.classes_) > 2 else (predictions, y)))


@own_errstate
def calibration_pvalue(estimator: Any, X: Any, y: ArrayLike) -> float:
    """The p-value of ``calibration_test`` with ``rng=0``, so that a score is the same in every run: a scorer.

    Of each fold the p-value is exact for the model that was fitted without it. P-values of folds depend on each other:
    twice their mean, and their number times the smallest, are p-values for all of them (Vovk and Wang 2020), their mean
    is not. The largest p-value is no way to choose a model: it is that of the least powerful data.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from caltest.bridges.sklearn import calibration_pvalue
    >>> X, y = load_digits(return_X_y=True)
    >>> scores = cross_validate(GaussianNB(), X, y, scoring={"p": calibration_pvalue}, cv=3)
    >>> bool((scores["test_p"] < 0.01).all())
    True
    """
    with pvalues_only():
        return calibration_test(predictions_of_classifier(estimator, X), y, rng=0).pvalue


class CrossValidated(NamedTuple):
    """Predictions for rows that their model has not seen: what tests of folds take.

    Attributes
    ----------
    predictions, targets
        With the names of the classes, and labels (n,).
    folds, rows
        Number of the fold (n,), which is that of the model, and where they are in the data (n,).
    """

    predictions: Bernoulli | Categorical
    targets: Array
    folds: IntArray
    rows: IntArray


@own_errstate
def cross_validated(estimator: Any, X: Any, y: ArrayLike, *, cv: Any = 5, groups: ArrayLike = None) -> CrossValidated:
    """Predictions of cross-validation with the fold of each row, to be tested fold by fold.

    Parameters
    ----------
    estimator, X, y
        A classifier with ``predict_proba``, clones of which are fitted; data, and labels (n,).
    cv, groups
        Folds, or what scikit-learn takes as ``cv``; groups of the rows, for splitters that use them.

    Raises
    ------
    ValueError
        If a row is in several folds, so that its outcome would count as many times, or the data that a model is fitted
        to lack a class.
    TypeError
        For estimators without ``predict_proba``.

    Notes
    -----
    The model of a fold has not seen its outcomes, so the p-value of a test of one fold is exact for that model. Pooled
    rows are another matter: the outcomes of a fold are in the data of all other models, so that given all predictions
    they are not independent draws, which a test of all rows takes them for: it can reject too often, or have less power
    than it says (docs/validity.md). ``ct.calibration_by_group(predictions, targets, folds)`` tests each fold; the
    p-values of the folds are exact, one by one, and as many times the smallest of them is one for all folds, however
    they depend on each other. Its own p-value of all groups together takes the folds as independent.

    What is tested are models that are fitted to a share ``1 - 1/cv`` of the data, not one that is fitted to all.

    Examples
    --------
    >>> import caltest as ct
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from caltest.bridges.sklearn import cross_validated
    >>> X, y = load_iris(return_X_y=True)
    >>> p, labels, folds, rows = cross_validated(LogisticRegression(max_iter=1000), X, y)
    >>> found = ct.calibration_by_group(p, labels, folds, rng=1)
    >>> found.n, [group.n for group in found.groups]
    (150, [30, 30, 30, 30, 30])
    """
    X, y, groups = indexable(X, y, groups)
    y = np.asarray(y)
    classes = np.unique(y)
    parts, places = [], []
    for train, test in check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups):
        model = clone(estimator).fit(_safe_indexing(X, train), y[train])
        parts.append(_probabilities(model, _safe_indexing(X, test)))
        places.append(np.asarray(test))
        lacking = sorted(set(classes.tolist()) - set(model.classes_.tolist()), key=str)
        if lacking:
            raise ValueError(
                f"cv: got class {lacking[0]!r} in no row that the model of fold {len(parts) - 1} is fitted to, wanted "
                "all classes in the data of each; use fewer folds, or StratifiedKFold"
            )
    rows = np.concatenate(places)
    if np.unique(rows).size < rows.size:
        raise ValueError("cv: got rows that are in several folds, wanted each row in one; outcomes would count again")
    folds = np.repeat(np.arange(len(places)), [len(place) for place in places])
    order = np.argsort(rows)
    return CrossValidated(
        _named(np.concatenate(parts)[order], classes.tolist()), y[rows[order]], folds[order], rows[order]
    )
