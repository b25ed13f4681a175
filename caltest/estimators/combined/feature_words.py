"""Errors that depend on features, in words: in which bins of them outcomes differ most from what is claimed."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._validation.columns import Coding
from caltest.estimators.combined.features import CLASSES, Feature, level_of
from caltest.predictions import Predictions
from caltest.predictions.standard_scores import scores_of

BINS, BINS_OF_TWO, FEWEST = 5, 3, 5
"""Bins of one column and of each of two, and rows of a bin that is looked at."""


def words_of(features: Sequence[Feature], with_prediction: bool, predictions: Predictions, targets: Array) -> str:
    """Where the standardised error of the outcomes of some bin of one or two columns is largest, and which error it is.

    It describes what was found and is no test of its own; empty if no bin has five rows.
    """
    columns = [(one.name, one.values) for one in features]
    if with_prediction:
        columns.append(("the prediction", level_of(predictions)))
    codes, names = _bins(columns)
    kept = np.flatnonzero(np.bincount(codes, minlength=len(names)) >= FEWEST)
    best, words = 0.0, ""
    for errors, variances, said, means in _errors(predictions, targets):
        sums, known = (np.bincount(codes, one, len(names))[kept] for one in (errors, variances))
        z = np.divide(np.abs(sums), np.sqrt(known), out=np.zeros_like(sums), where=known > 0.0)
        if z.size and z.max() > best:
            best, place = float(z.max()), int(kept[z.argmax()])
            what, numbers = said(*(float(one[codes == place].mean()) for one in means))
            words = f"{what} where {names[place]} ({numbers})"
    return words


def _bins(columns: list[tuple[str, Array]]) -> tuple[IntArray, list[str]]:
    number = BINS if len(columns) == 1 else BINS_OF_TWO
    codes, names = np.zeros(len(columns[0][1]), dtype=np.intp), [""]
    for name, values in columns:
        coding = Coding.of(name, values, number)
        codes = codes * len(coding.words) + coding.codes(values)
        names = [f"{before} and {own}" if before else own for before in names for own in coding.words]
    return codes, names


def _event(name: str, observed: float, claimed: float) -> tuple[str, str]:
    how = "more" if observed > claimed else "less"
    return f"{name} {how} often than claimed", f"{100 * observed:.3g} %, claimed {100 * claimed:.3g} %"


def _mean(name: str, mean: float) -> tuple[str, str]:
    how = "higher" if mean > 0.0 else "lower"
    return f"outcomes{name} are {how} than predicted", f"by {abs(mean):.2g} standard deviations on average"


def _spread(square: float) -> tuple[str, str]:
    size = float(np.sqrt(square))
    how = "larger" if size > 1.0 else "smaller"
    return f"errors are {how} than predicted", f"{size:.3g} predicted standard deviations"


Error = tuple[FloatArray, FloatArray, Callable[..., tuple[str, str]], list[FloatArray]]
"""Errors (n,), their variances if the predictions are right, what says them, and of which means it does so."""


def _errors(predictions: Predictions, targets: Array) -> Iterator[Error]:
    law = predictions.law
    if law.finite is not None:
        p = law.finite.probabilities
        if p.shape[1] > CLASSES:
            claimed, right = p.max(axis=1), (targets == p.argmax(axis=1)).astype(np.float64)
            said = partial(_event, "the predicted class is right")
            yield right - claimed, claimed * (1.0 - claimed), said, [right, claimed]
            return
        for c in (1,) if p.shape[1] == 2 else range(p.shape[1]):
            occurred, said = (targets == c).astype(np.float64), partial(_event, law.finite.occurrence(c))
            yield occurred - p[:, c], p[:, c] * (1.0 - p[:, c]), said, [occurred, p[:, c]]
        return
    scores = scores_of(law, targets[None])[0]
    each, ones = np.atleast_2d(scores.T), np.ones(len(scores))
    for i, one in enumerate(each):
        yield one, ones, partial(_mean, f" in coordinate {i}" if len(each) > 1 else ""), [one]
    if law.has_spread:
        squares = np.square(each).mean(axis=0)
        yield squares - 1.0, 2.0 * ones / len(each), _spread, [squares]
