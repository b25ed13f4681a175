"""Errors of predictions that depend on features of the observations: kernels of features times those of errors.

And in words: in which bins of features outcomes differ most from what is claimed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray, IntArray, ranges
from caltest._basics.threads import threaded
from caltest._validation.columns import (
    NONE_VARIES,
    Coding,
    coded,
    columns_for,
    missing_in,
    named_columns,
    notes_on,
    notes_on_outcomes,
    numbers_in,
    refuse_outcomes,
)
from caltest.estimators.combined.components import Column, Component
from caltest.predictions import Predictions, Sample
from caltest.predictions.ensembles.own_spread import notes_on_columns, refuse_spread
from caltest.predictions.faults.fault import cosines_of_ranks, ranks
from caltest.predictions.own_errors import refuse_errors
from caltest.predictions.reductions.standard_scores import scores_of

COSINES = 6
"""Of the ranks of a number; the j-th counts as 1 / j, like errors that vary slowly."""

IN_PAIRS = 3
"""Cosines, or the most frequent categories, of each of two features that act together."""

CATEGORIES = 50
"""Categories of a feature, the last of which are all rare ones."""

MOST_PAIRED = 20
"""Features of which pairs are looked at."""

CLASSES = 32
"""Classes up to which the errors of all are looked at, beside those of the most probable one."""

CLIPPED = 6.0
"""Scores are at most this large."""

WITH = "with the prediction"

SHARES = {"alone": 0.4, WITH: 0.3, "in pairs": 0.3}
"""Of the weight of all features."""

AT_ONCE = 2**21
"""Numbers of redrawn errors that are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Functions (n, r) of one or two features, of mean 0 over the observations, and what they are of."""

    name: str
    kind: str
    functions: FloatArray
    features: tuple["Feature", ...]


@dataclass(frozen=True, eq=False)
class Feature:
    """A column of values, one for each observation."""

    name: str
    values: Array

    @property
    def varies(self) -> bool:
        """Whether there are two different values, of which one may be missing."""
        return len(coded(self.name, self.values, 2).words) > 1

    def functions(self, number: int) -> FloatArray:
        """Cosines of the ranks of numbers and indicators of categories; one more for missing values."""
        missing = missing_in(self.name, self.values)
        numbers = numbers_in(self.values, missing)
        if numbers is None or np.unique(numbers[~missing]).size < 3:
            codes = coded(self.name, self.values, 2).codes
            sizes = np.bincount(codes)
            frequent = np.argsort(-sizes, kind="stable")[: min(sizes.size, CATEGORIES if number == COSINES else number)]
            return np.asarray(codes[:, None] == frequent, dtype=np.float64)
        functions = np.zeros((missing.size, number + 1))
        decay = 1.0 / np.arange(1.0, number + 1.0)[:, None]
        functions[~missing, :number] = (decay * cosines_of_ranks(ranks(numbers[~missing]), number)).T
        functions[:, number] = missing
        return functions[:, : number + int(missing.any())]


def as_features(features: Any) -> tuple[Feature, ...]:
    """The columns of a data frame, a mapping or an (n, d) array that vary; ``ValueError`` if none does."""
    if features is None or (isinstance(features, tuple) and all(isinstance(one, Feature) for one in features)):
        return features or ()
    columns = [Feature(str(name), values) for name, values in named_columns(features, None)]
    kept = tuple(one for one in columns if one.varies)
    if not kept:
        raise ValueError(NONE_VARIES)
    return kept


def features_of(features: Any, sample: Sample, n: int | None = None) -> tuple[tuple[Feature, ...], tuple[str, ...]]:
    """Columns that vary, of the rows of a sample, and notes on the others; of n rows, some of which it may lack."""
    given = columns_for(features, sample.order, len(sample) if n is None else n)
    if sample.rows is not None:
        given = [(name, values[sample.rows]) for name, values in given]
    return as_features(dict(given)), notes_on(given)


def check_features(features: Sequence[Feature], sample: Sample) -> None:
    """``ValueError`` for columns that are made from the outcomes, from errors, or from the spread of members."""
    columns = [(one.name, one.values) for one in features]
    refuse_outcomes(columns, np.asarray(sample.targets))
    refuse_errors(columns, sample)
    refuse_spread(columns, sample)


def cautions_on_features(features: Sequence[Feature], sample: Sample) -> tuple[str, ...]:
    """Questions about columns that tell the outcomes, and about those that go with the spread of members."""
    columns = [(one.name, one.values) for one in features]
    return *notes_on_outcomes(columns, np.asarray(sample.targets)), *notes_on_columns(columns, sample)


def taken(features: Sequence[Feature], rows: IntArray) -> tuple[Feature, ...]:
    """Some rows of the columns, those that vary there."""
    some = (Feature(one.name, one.values[rows]) for one in features)
    return tuple(one for one in some if one.varies)


def bases_of(features: Sequence[Feature], predictions: Predictions, weights: FloatArray) -> list[Basis]:
    """Each feature alone, with the prediction, and in pairs, centred by weights of the observations."""

    def basis(kind: str, functions: FloatArray, *of: Feature) -> Basis:
        name = " and ".join((*(one.name for one in of), *("the prediction",) * (kind == WITH)))
        return Basis(f"given {name}", kind, _centred(functions, weights), of)

    level = level_of(predictions)
    by_level = cosines_of_ranks(ranks(level), IN_PAIRS).T if np.ptp(level) > 0.0 else None
    few = [_centred(one.functions(IN_PAIRS), weights) for one in features]
    bases = [basis("alone", one.functions(COSINES), one) for one in features]
    if by_level is not None:
        bases += [basis(WITH, _products(some, by_level), one) for one, some in zip(features, few, strict=True)]
    if len(features) <= MOST_PAIRED:
        bases += [
            basis("in pairs", _products(left, right), one, other)
            for (one, left), (other, right) in combinations(zip(features, few, strict=True), 2)
        ]
    return [one for one in bases if np.abs(one.functions).max() > 1e-9]


def factors_of(features: Sequence[Feature], predictions: Predictions) -> FloatArray:
    """Functions (n, R) whose product is 1 and a centred kernel of each feature, of root mean square 1 over pairs."""
    weights = RowErrors(predictions).weights
    kernels = [_centred(one.functions(COSINES), weights) for one in features]
    scaled = [one / np.sqrt(size) for one in kernels if (size := np.linalg.norm(one.T @ one) / len(one)) > 1e-9]
    return np.concatenate([np.ones((len(predictions), 1)), *scaled], axis=1)


def _centred(functions: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(functions - weights @ functions / weights.sum())


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(left), -1))


def level_of(predictions: Predictions) -> FloatArray:
    """The probability of class 1 or of the most probable class, else the mean, of vectors the first of it."""
    law = predictions.law
    if law.finite is not None:
        p = law.finite.probabilities
        return np.asarray(p[:, 1] if law.finite.n_classes == 2 else p.max(axis=1))
    mean = law.moments()[0]
    return np.asarray(mean if mean.ndim == 1 else mean[:, 0])


class RowErrors:
    """Errors (B, n, q) of redrawn targets in two groups: of the place of outcomes, and of how sure predictions are."""

    def __init__(self, predictions: Predictions) -> None:
        self._law = predictions.law
        self.groups: list[Callable[[Array], FloatArray]] = []
        if self._law.finite is not None:
            p = self._law.finite.probabilities
            self._p, self._top = p, p.argmax(axis=1)
            self._claimed = p[np.arange(len(p)), self._top]
            v = self._claimed * (1.0 - self._claimed)
            inside = np.clip(self._claimed, 1e-12, 1.0 - 1e-12)
            logits = np.log(inside) - np.log1p(-inside)
            self._logits = logits - (v @ logits) / max(float(v.sum()), 1e-300)
            self.groups = [self._of_classes if p.shape[1] <= CLASSES else self._of_top, self._of_confidence]
            self.weights = 1.0 - np.square(p).sum(axis=1)
        else:
            self.groups = [self._of_place, self._of_spread] if self._law.has_spread else [self._of_place]
            self.weights = np.ones(len(predictions))

    def _of_classes(self, targets: Array) -> FloatArray:
        k = self._p.shape[1]
        if k == 2:
            return np.asarray((targets == 1) - self._p[:, 1])[..., None]
        return np.asarray((targets[..., None] == np.arange(k)) - self._p)

    def _of_top(self, targets: Array) -> FloatArray:
        return np.asarray((targets == self._top) - self._claimed)[..., None]

    def _of_confidence(self, targets: Array) -> FloatArray:
        return np.asarray(self._of_top(targets) * self._logits[:, None])

    def _of_place(self, targets: Array) -> FloatArray:
        scores = np.clip(scores_of(self._law, targets), -CLIPPED, CLIPPED)
        return scores[..., None] if scores.ndim == 2 else scores

    def _of_spread(self, targets: Array) -> FloatArray:
        return np.asarray(np.square(self._of_place(targets)).mean(axis=2, keepdims=True) - 1.0)


class FeatureErrors:
    """``sum_{i != j} <f_i, f_j> <e_i, e_j>`` with functions f of features and errors e, for each basis and group.

    Time O(n B) times the numbers of functions and of coordinates of the errors; memory for a part of the redraws.
    """

    def __init__(self, features: Sequence[Feature], predictions: Predictions) -> None:
        self._errors = RowErrors(predictions)
        self.bases = bases_of(features, predictions, self._errors.weights)
        ends = np.cumsum([one.functions.shape[1] for one in self.bases])
        self._starts = ends - [one.functions.shape[1] for one in self.bases]
        self._functions = np.concatenate([one.functions for one in self.bases], axis=1)
        self._squares = np.add.reduceat(np.square(self._functions), self._starts, axis=1)
        self.groups = len(self._errors.groups)

    def __call__(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        w = np.ones(len(predictions)) if weights is None else weights

        def values(rows: slice) -> FloatArray:
            some = np.ascontiguousarray(targets[rows])
            return np.concatenate([self._of_group(group(some) * w[:, None]) for group in self._errors.groups])

        parts = list(ranges(len(targets), max(1, AT_ONCE // targets[0].size)))
        work = 10.0 * targets.size * self._functions.shape[1]
        return np.concatenate(list(threaded(values, parts, len(parts), "features", work=work, products=True)), axis=1)

    def _of_group(self, errors: FloatArray) -> FloatArray:
        sums = np.einsum("bnq,nr->rbq", errors, self._functions, optimize=True)
        totals = np.add.reduceat(np.square(sums).sum(axis=2), self._starts, axis=0)
        return np.asarray(totals - (np.square(errors).sum(axis=2) @ self._squares).T)


@dataclass(frozen=True)
class FeaturesComponent(Component):
    """A column for each feature, alone, with the prediction and in pairs, and for each group of errors."""

    numbers: FeatureErrors

    def columns(self, values: FloatArray, null: FloatArray | None = None) -> list[Column]:
        """Those of a basis and of all groups have one name."""
        bases = self.numbers.bases
        kinds = [one.kind for one in bases]
        total = sum(SHARES[kind] for kind in set(kinds))
        names = [(one.name, SHARES[one.kind] / total / kinds.count(one.kind)) for one in bases]
        rows = [(name, share / self.numbers.groups) for _ in range(self.numbers.groups) for name, share in names]
        return [Column(name, share, row) for (name, share), row in zip(rows, values, strict=True)]


BINS, BINS_OF_TWO, FEWEST = 5, 3, 5
"""Bins of one column and of each of two, and rows of a bin that is looked at."""

CHANCE, NEARLY = 0.05, 0.9
"""That some bin looks farther off than the rest although none is; and how near to the farthest another one has to be to
be told if more rows of it err, or if its error is listed before."""

ELSEWHERE = 3.0
"""Standard errors from which on the rest is said to be off, too."""


def words_of(features: Sequence[Feature], with_prediction: bool, predictions: Predictions, targets: Array) -> str:
    """In which bin of one or two columns outcomes err most, and how, if it is clearly farther off than the rest.

    Empty otherwise: where all rows are off, a feature that has nothing to do with it is refuted too, as no prediction
    is right given it. Bins of a feature and the prediction are compared with other rows of similar predictions.
    """
    columns = [(one.name, one.values) for one in features]
    if with_prediction:
        columns.append(("the prediction", level_of(predictions)))
    codes, names, last = _bins(columns)
    among = codes % last if with_prediction else np.zeros_like(codes)
    kept = np.flatnonzero(np.bincount(codes, minlength=len(names)) >= FEWEST)
    kinds = list(_errors(predictions, targets))
    if not kept.size:
        return ""
    far = np.stack([_farther_off(errors, variances, codes, among, len(names))[kept] for errors, variances, *_ in kinds])
    sizes = np.stack([_off(errors, variances, codes, len(names))[kept] for errors, variances, *_ in kinds])
    if far.max() <= -scipy.special.ndtri(CHANCE / 2.0 / far.size):
        return ""
    sizes = np.where(far >= NEARLY * far.max(), sizes, -1.0)
    kind = int((sizes.max(axis=1) >= NEARLY * sizes.max()).argmax())
    at, (errors, variances, said, means) = sizes[kind].argmax(), kinds[kind]
    rows = codes == kept[at]
    others = ~rows & (among == among[rows.argmax()])
    what, numbers = said(*(float(one[rows].mean()) for one in means))
    if abs(errors[others].sum()) > ELSEWHERE * np.sqrt(variances[others].sum()):
        rest = said(*(float(one[others].mean()) for one in means))[1]
        numbers += f"; {'such predictions ' if with_prediction else ''}elsewhere {rest}"
    return f"{what} where {names[kept[at]]} ({numbers})"


def _off(errors: FloatArray, variances: FloatArray, codes: IntArray, n_bins: int) -> FloatArray:
    """How far the sum of the errors of each bin is from 0, in standard errors if predictions are right."""
    sums, known = (np.bincount(codes, one, n_bins) for one in (errors, variances))
    return np.divide(np.abs(sums), np.sqrt(known), out=np.zeros(n_bins), where=known > 0.0)


def _farther_off(
    errors: FloatArray, variances: FloatArray, codes: IntArray, among: IntArray, n_bins: int
) -> FloatArray:
    """How far errors of each bin are from those of the rows it is among, in standard errors.

    All are expected to be in proportion to the variances, as those of odds that are all wrong by a factor. They may
    vary more than predicted.
    """
    totals, known = np.bincount(among, errors), np.bincount(among, variances)
    common = np.divide(totals, known, out=np.zeros_like(known), where=known > 0.0)
    rest = errors - variances * common[among]
    sums, own, squares = (np.bincount(codes, one, n_bins) for one in (rest, variances, np.square(rest)))
    place = np.zeros(n_bins, dtype=np.intp)
    place[codes] = among
    whole, spread = known[place], np.bincount(among, np.square(rest))[place]
    share = np.divide(own, whole, out=np.ones(n_bins), where=whole > 0.0)
    within = np.maximum(squares, share * np.maximum(spread, whole))
    variance = (1.0 - share) ** 2 * within + share**2 * np.maximum(spread - squares, (1.0 - share) * whole)
    return np.asarray(np.divide(np.abs(sums), np.sqrt(variance), out=np.zeros(n_bins), where=variance > 1e-12 * whole))


def _bins(columns: list[tuple[str, Array]]) -> tuple[IntArray, list[str], int]:
    """Bins of rows, their names, and how many the last column has, which vary fastest."""
    number = BINS if len(columns) == 1 else BINS_OF_TWO
    codes, names = np.zeros(len(columns[0][1]), dtype=np.intp), [""]
    for name, values in columns:
        coding = Coding.of(name, values, number)
        codes = codes * len(coding.words) + coding.codes(values)
        names = [f"{before} and {own}" if before else own for before in names for own in coding.words]
    return codes, names, len(coding.words)


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
    """What is said to be wrong, the plainer one first: of two classes that of class 1, of more the predicted class."""
    law = predictions.law
    if law.finite is not None:
        p = law.finite.probabilities
        k, claimed, right = p.shape[1], p.max(axis=1), (targets == p.argmax(axis=1)).astype(np.float64)
        said = partial(_event, "the predicted class is right")
        top: Error = right - claimed, claimed * (1.0 - claimed), said, [right, claimed]
        if k > 2 and law.finite.probabilities_differ:
            yield top
        for c in (1,) if k == 2 else range(k) if k <= CLASSES else ():
            occurred, said = (targets == c).astype(np.float64), partial(_event, law.finite.occurrence(c))
            yield occurred - p[:, c], p[:, c] * (1.0 - p[:, c]), said, [occurred, p[:, c]]
        if k == 2:
            yield top
        return
    scores = scores_of(law, targets[None])[0]
    each, ones = np.atleast_2d(scores.T), np.ones(len(scores))
    for i, one in enumerate(each):
        yield one, ones, partial(_mean, f" in coordinate {i}" if len(each) > 1 else ""), [one]
    if law.has_spread:
        squares = np.square(each).mean(axis=0)
        yield squares - 1.0, 2.0 * ones / len(each), _spread, [squares]
