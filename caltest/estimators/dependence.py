"""Signs that observations depend on each other, on which no p-value of independent ones can be relied."""

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray, ranges
from caltest._results.report import TOO_SMALL
from caltest.binning import QuantileBinning
from caltest.predictions import Predictions, Sample

NUMBERS = 2**22
"""Numbers that are looked at together, at most."""

MOST = 100_000
"""Observations that are looked at, the first ones."""

LEAST, SHARE = 12.0, 0.02
"""Minus the log probability that independent outcomes of equal predictions agree, and the share that may differ."""

LONGEST, GROUPS = 5, 20
"""Repetitions of one prediction that count, and predictions that occur repeatedly: a few of them are no sign."""

CORRELATION, DEVIATIONS = 0.1, 5.0
"""Of residuals of neighbours: both at least are a sign, the second in units of that of independent ones."""

SIMILAR = QuantileBinning(20)
"""Residuals are taken from the mean of those of similar predictions, since miscalibration is no dependence."""

LEAST_TIMES, LEAST_ROWS, ALIKE = 5, 5, 1e-5
"""Times whose errors are compared, rows that they are from on average, and the p-value up to which they are alike."""

LEAST_GROUPS, BY_CHANCE, MORE = 10, 0.05, 4.0
"""Groups that are asked about, the share of right ones that are far off, and how many more are many, in deviations."""

IN_CLUSTERS = "(call calibration_test(p, y, clusters=labels))"
"""What to do with rows of which some belong together."""

ROWS, TINY, ROUNDING = 2**12, 1e-300, 1e-12


def cautions_on(sample: Sample, *, compares: bool = False) -> tuple[str, ...]:
    """A question about what looks like copies, or else like a time series or clusters, and what to call for these.

    Nothing is asked for nearly all independent rows. Where models are compared there is nothing to call, but rows to
    keep.

    Copies are rows with the prediction and the outcome of another one. Independent outcomes of equal predictions differ
    about as often as those of neighbouring predictions do, and as they say themselves; copies do not. Rows that are
    sorted by their outcomes are no time series. Time O(n log n + n k) for at most 100 000 rows.
    """
    if len(sample) < DEVIATIONS**2:  # No correlation is large enough then, and no predictions repeat often enough.
        return ()
    some = sample.take(np.arange(MOST)) if len(sample) > MOST else sample
    copies = _copies(some)
    if copies:
        of_clusters = "(keep one row of each cluster)" if compares else IN_CLUSTERS
        return (
            f"{copies:,} of {len(some):,} rows repeat the prediction and the outcome of another row, and {TOO_SMALL}: "
            f"are these copies (keep one row of each), or measured again {of_clusters}?",
        )
    correlation = _correlation_of_neighbours(some)
    if correlation is None:
        return ()
    of_series = (
        "if forecasts use no outcomes of earlier rows, keep those that are too far apart to depend on each other), or "
        "in clusters (keep one row of each)?"
        if compares
        else "if rows fewer than h apart depend on each other, call calibration_test(p, y, lag=h); if forecasts use "
        f"outcomes of earlier rows, SequentialCalibrationTest), or in clusters {IN_CLUSTERS}?"
    )
    return (
        f"errors of rows that follow each other are alike (correlation {correlation:z.2f}), and {TOO_SMALL}: are these "
        f"a time series ({of_series}",
    )


def caution_on_times(sample: Sample, times: IntArray) -> str | None:
    """A question where errors of rows with the same time, of labels (n,), are alike, and not only of neighbours."""
    found = _errors_of(sample, times)
    if found is None or not _are_alike(*found):
        return None
    return (
        f"errors of rows of the same time are alike, and {TOO_SMALL}: do these depend on each other (call "
        "calibration_test(p, y, clusters=time)), or is the model wrong at some times?"
    )


def caution_on_groups(sample: Sample, groups: IntArray) -> str | None:
    """The same of groups, of labels (n,), where many of them are wrong as a whole.

    A few that are wrong are no sign of dependence: the model is wrong there. So groups count whose mean error is far
    from the median one.
    """
    found = _errors_of(sample, groups)
    if found is None or found[0].size < LEAST_GROUPS or not _are_alike(*found):
        return None
    sums, variances = found
    sizes = np.bincount(groups)
    far = np.square(sums - sizes * np.median(sums / sizes)) > scipy.special.chdtri(1.0, BY_CHANCE) * variances
    if far.mean() < BY_CHANCE + MORE * np.sqrt(BY_CHANCE * (1.0 - BY_CHANCE) / far.size):
        return None
    return (
        f"errors of rows of the same group are alike, in many groups, and {TOO_SMALL}: do these depend on each other "
        "(call calibration_test(p, y, clusters=groups)), or is the model wrong in many groups?"
    )


def _are_alike(sums: FloatArray, variances: FloatArray) -> bool:
    """Whether sums of errors are larger than those of independent rows: the sum of their squares is about chi-squared.

    In their variances.
    """
    squares = float((np.square(sums) / np.where(variances > 0.0, variances, np.inf)).sum())
    return bool(scipy.special.chdtrc(sums.size - 1, squares) <= ALIKE)


def _errors_of(sample: Sample, labels: IntArray) -> tuple[FloatArray, FloatArray] | None:
    """Sums (m,) of errors of rows with the same of m labels, and their variances; None for few labels or rows."""
    found, number = _residuals(sample), int(labels.max()) + 1
    if found is None or number < LEAST_TIMES:
        return None
    errors, similar = _beside_similar(*found)
    squares = np.square(errors)
    # Rare events are as many rows as there are events.
    if squares.sum() ** 2 < LEAST_ROWS * number * (squares @ squares):
        return None
    variances = (np.bincount(similar, squares) / np.maximum(np.bincount(similar), 1))[similar]
    return np.bincount(labels, errors).astype(np.float64), np.bincount(labels, variances).astype(np.float64)


def _copies(sample: Sample) -> int:
    """How many rows look like copies; 0 if independent outcomes could be as equal."""
    keys = _keys(sample.predictions)
    if keys.size - np.unique(keys).size < GROUPS:
        return 0
    ranks, losses, hits = _expected(sample)
    order = np.lexsort((keys, ranks))
    losses, hits, keys = losses[order], hits[order], keys[order]
    y = np.asarray(sample.targets)[order].reshape(keys.size, -1)
    is_new = np.append(True, keys[1:] != keys[:-1])
    starts, group = np.flatnonzero(is_new), np.cumsum(is_new) - 1
    pairs = np.flatnonzero(~is_new & (np.arange(keys.size) - starts[group] <= LONGEST))
    if np.unique(group[pairs]).size < GROUPS:
        return 0
    before, elsewhere = y[pairs - 1], y[np.append(starts, starts[-2])[group[pairs] + 1]]
    agrees, agrees_elsewhere = (y[pairs] == before).all(axis=1), (elsewhere == before).all(axis=1)
    evidence = differing = 0.0
    for some in (hits[pairs - 1], ~hits[pairs - 1]):
        number = np.count_nonzero(some)
        agreeing = (np.count_nonzero(some & agrees_elsewhere) + 1.0) / (number + 2.0)
        evidence, differing = evidence - number * np.log(agreeing), differing + number * (1.0 - agreeing)
    expected = min(evidence, float(losses[pairs][agrees].sum()))
    are_copies = expected >= LEAST and np.count_nonzero(~agrees) <= SHARE * differing
    return int(np.count_nonzero((y[1:] == y[:-1]).all(axis=1) & ~is_new[1:])) if are_copies else 0


def _keys(predictions: Predictions) -> FloatArray:
    """Numbers (n,) that are equal for equal predictions, and for others with probability 0."""
    n, rng = len(predictions), np.random.default_rng(1)
    total = np.zeros(n)
    for one in predictions._parameters:
        if isinstance(one, Predictions):
            total += rng.random() * _keys(one)
        elif np.shape(one)[:1] == (n,):
            # Parameters of ``Unnormalised`` can be text or dates.
            numbers = one if one.dtype.kind in "biuf" else np.unique(one, return_inverse=True)[1]
            rows = numbers if len(one.shape) == 2 else np.asarray(numbers).reshape(n, -1)
            weights = rng.random(rows.shape[1])
            for part in ranges(n, _at_once(rows.shape[1])):
                # A product of matrices may round equal rows differently.
                total[part] += (rows[part] * weights).sum(axis=1)
    return total


def _at_once(width: int) -> int:
    """Rows of so many numbers that are looked at together."""
    return max(1, min(ROWS, NUMBERS // width))


def _expected(sample: Sample) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Numbers (n,) that are close where outcomes should be alike; minus log probabilities of outcomes; top labels.

    The first are numbers of top labels and their probabilities. Numbers and vectors are never alike by chance.
    """
    law, y, n = sample.predictions.finite, np.asarray(sample.targets), len(sample)
    if law is None:
        return np.zeros(n), np.full(n, np.inf), np.ones(n, dtype=np.bool_)
    ranks, losses = np.empty(n), np.empty(n)
    for part in ranges(n, _at_once(law.n_classes)):
        p = law.take(part).probabilities
        ranks[part] = p.argmax(axis=1) + p.max(axis=1) / 2.0
        losses[part] = -np.log(np.maximum(p[np.arange(len(p)), y[part]], TINY))
    return ranks, losses, np.floor(ranks) == y


def _correlation_of_neighbours(sample: Sample) -> float | None:
    """That of the residuals of each row and the next, if it is a sign of dependence."""
    found = _residuals(sample)
    if found is None or _is_sorted(np.asarray(sample.targets)):
        return None
    residuals, _ = _beside_similar(*found)
    square, products = float(residuals @ residuals), residuals[1:] * residuals[:-1]
    if square <= ROUNDING * residuals.size:
        return None
    correlation = float(products.sum()) / square
    # With random signs of the products their sum has this variance, so a few that are large are no sign.
    is_sign = correlation >= CORRELATION and products.sum() >= DEVIATIONS * np.sqrt(products @ products)
    return correlation if is_sign else None


def _beside_similar(residuals: FloatArray, place: FloatArray) -> tuple[FloatArray, IntArray]:
    """Residuals (n,) less the mean of those of similar predictions, and numbers (n,) of what is similar."""
    similar = SIMILAR.assign(place[:, None])
    sizes = np.bincount(similar)
    return np.asarray(residuals - (np.bincount(similar, residuals) / np.maximum(sizes, 1))[similar]), similar


def _residuals(sample: Sample) -> tuple[FloatArray, FloatArray] | None:
    """Of each row, in predicted standard deviations, at most 3, and what the prediction says; of vectors the sums."""
    law, y = sample.predictions.finite, np.asarray(sample.targets)
    if law is not None:
        if law.n_classes == 2:
            return (y == 1) - law.probabilities[:, 1], law.probabilities[:, 1]
        if (on_a_line := law.errors_on_a_line(y)) is not None:
            return on_a_line
        ranks, _, hits = _expected(sample)
        claimed = 2.0 * (ranks - np.floor(ranks))
        return hits - claimed, claimed
    try:
        mean, variance = sample.predictions.moments()
    except TypeError:
        return None
    if not (np.isfinite(variance) & (variance > 0.0)).all():
        return None
    n = len(mean)
    errors = (y - mean).reshape(n, -1) / np.sqrt(variance.reshape(n, -1))
    return np.clip(errors, -3.0, 3.0).sum(axis=1), mean.reshape(n, -1).sum(axis=1)


def _is_sorted(targets: Array) -> bool:
    """Whether rows are in the order of their outcomes, or those of equal outcomes are together."""
    if targets.ndim > 1:
        return False
    steps, n_values = np.diff(targets), np.unique(targets).size
    runs = np.count_nonzero(steps) + 1
    return bool((steps >= 0).all() or (steps <= 0).all() or runs == n_values < targets.size / 2)
