"""The default test: one call from predictions and targets to a p-value and a finding."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from caltest._basics.arrays import Table, are_chunks, order_of
from caltest._basics.calls import own_errstate, without_findings
from caltest._basics.numerics import ArrayLike, FloatArray, generator_apart, seed_of
from caltest._basics.threads import progress_bars
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._validation import at_least, observation_weights, same_length, switch, whole_number
from caltest._validation.groups import label_columns, rows_of
from caltest.estimators import SKCE, Estimator, WeightedSKCE
from caltest.estimators.combined.components import are_linear
from caltest.estimators.combined.features import Feature, features_of
from caltest.estimators.combined.findings import told
from caltest.estimators.combined.omnibus import THINNED
from caltest.estimators.combined.sums.many_classes import are_read_in_blocks
from caltest.estimators.kernel_errors.cluster_skce import as_clusters
from caltest.estimators.kernel_errors.kernel_estimator import FAMILY_KERNEL, default_kernel
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.hypothesis_test import FEATURES_OF_CHUNKS, CalibrationTest
from caltest.kernels import PairKernel
from caltest.label_test import labels_tested
from caltest.lagged_test import with_lag
from caltest.named_tests import ClusterSKCETest, MonteCarloTest, OmnibusTest
from caltest.nulls.bootstraps import MANY
from caltest.predictions import Categorical, MultiLabel, Sample
from caltest.predictions.censored import Censored, as_times, censored_pit_values, in_order_of_times, note_on_draws
from caltest.predictions.inputs.convert import Missing, as_sample


@own_errstate
def calibration_test(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    clusters: Any = None,
    classes: Sequence[Any] | None = None,
    missing: Missing = "refuse",
    kernel: PairKernel | None = None,
    weights: ArrayLike = None,
    features: Any = None,
    lag: int = 1,
    n_resamples: int = 999,
    rng: Any = None,
    progress: bool = False,
) -> CalibrationTestResult:
    """Test whether predictions are calibrated, with a p-value that is valid for every sample size.

    The test combines kernel errors of several bandwidths, scores, the likelihood ratio of common errors and a list of
    faults, each compared with its values for targets redrawn from the predictions (``OmnibusTest``). The result says
    which fault explains the outcomes best, where, and how large it is (``result.finding``).

    Parameters
    ----------
    predictions
        ``Predictions``, or what is made into some: an array-like of (n, k) probabilities of k classes or (n,)
        probabilities of class 1, a distribution of scipy.stats or torch.distributions with parameters (n,), e.g.
        ``scipy.stats.norm(mean, scale)``, or a list of n of them. Dask arrays and data frames of probabilities of
        classes, and families that are made of dask arrays, ``ct.Normal(mean, scale)``, stay where their chunks are; see
        ``OmnibusTest().accumulator`` for other data that come in chunks. ``MultiLabel`` for labels of which a row can
        have several: the result, a ``MultiLabelTestResult``, has a p-value for each label, and one for all.
    targets
        Outcomes: (n,) or (n, 1) labels 0..k-1, names, 0/1 or booleans, counts or real numbers; (n, d) for predictions
        of vectors; ``ct.Censored(time, event)`` for times of which some are only known to be longer; predictions are
        then continuous, or ``caltest.predictions.SurvivalCurve``. They are matched by position, or by the index where
        predictions and targets are pandas objects with the same labels in another order; the result says so.
    clusters
        Labels of patients, sites, days, within which outcomes may depend on each other in any way, (n,); or two labels
        of each row. The p-value is then that of random signs of clusters (``ClusterBootstrap``), which is right for
        many clusters and not exact, and intervals are those of dependent outcomes. With two labels, more than 32
        classes, a ``kernel``, or clusters that are worth fewer than 50 of equal size, the test is ``ClusterSKCETest``.
        Weights and features cannot be given beside clusters.
    classes
        Names of the classes in the order of the columns, if a data frame has none; targets are these, or 0..k-1.
    missing
        What to do with missing targets (NaN, None, pandas.NA, NaT or masked): ``"refuse"`` them, or ``"drop"`` them
        with their predictions. This assumes that whether an outcome is missing does not depend on the outcome, given
        the prediction. The result says so, and how many were dropped.
    kernel
        Test with the unbiased squared kernel calibration error of this kernel alone (``MonteCarloTest(SKCE(kernel))``).
        By default kernels are that of the family, ``default_kernel()`` of the predictions, and others: with the median
        bandwidth ``exp(-TV / median)`` times ``[y = y']`` for classes, ``exp(-W2 / median)`` times a Gaussian kernel of
        the targets for normal distributions. Where most predictions are identical the median of the positive distances
        is used; where all are, the bandwidth does not matter. The result says so.
    weights
        (n,) numbers of at least 0 that do not depend on the outcomes: of a survey, or ratios of densities of the
        population that is meant and the one that was observed. Rows of weight 0 are left out.
    features
        A data frame, a mapping of columns, or an (n, d) array of what else is known of the rows: numbers, times,
        categories, with missing values; nothing that is made from the outcomes. The hypothesis is then that predictions
        are right given these too, ``P(Y | P_X, X) = P_X``, and 0.3 of the weight is on errors that depend on a feature
        alone, with the prediction, or on two of up to 20 features together (``result.components``). ``result.features``
        says which of them carry the evidence, ``find_slices`` where. With a ``kernel`` the test is
        ``MonteCarloTest(estimators.FeatureSKCE(kernel, features))``.
    lag
        h for forecasts of h steps ahead in the order of time, whose outcomes overlap: rows less than h apart may depend
        on each other. Each of the h sets of rows that are h apart is tested, and the p-value is h times the smallest,
        which is valid for any dependence between the sets, if no forecast is made from outcomes of its own set; where
        one is, take ``SequentialCalibrationTest(lag=h)``. Statistics are of the set with this p-value; the finding and
        the table of claims are of all rows, unless there are weights, with intervals that count h rows as one.
    n_resamples
        Number of redraws; the smallest possible p-value is 1 / (n_resamples + 1), or 0 if an outcome occurred that its
        prediction excludes.
    rng
        Seed or ``numpy.random.Generator``.
    progress
        Show a progress bar on standard error for what takes more than a second.

    Returns
    -------
    CalibrationTestResult
        ``print`` it for a report. ``verdict()`` is the decision, ``pvalue`` the evidence, ``measures`` how large the
        error is, with intervals, and ``finding`` what is wrong.

    Raises
    ------
    ValueError
        For bad data, swapped arrays among them, weights that are negative, missing, all 0 or not as many as the
        targets, weights and features that are made from the outcomes or from the spread of members, or a lag of more
        than half of the rows, or with an index of times of pandas that goes backwards.
    TypeError
        For targets that are ``Predictions``, or an unsuitable kernel.

    Notes
    -----
    Weights enter the statistics (``Omnibus``, or ``WeightedSKCE`` for a kernel), while targets are redrawn as without
    weights, so that the p-value is exact for the hypothesis ``P(Y | P_X, w) = P_X``, which is calibration where weights
    are functions of the predictions. Only their ratios matter. A weight is not a count: a row of weight 2 is one
    outcome that counts twice, and less evidence than two equal rows. A row that stands for several outcomes has to be
    repeated as often.

    Assumes that the targets are independent given the predictions and were not used to fit the model. Time O(n**2) for
    up to 2000 predictions of classes, 10 000 of more than 32, or 500 of real targets, O(n n_resamples) for more and
    for binary predictions; memory O(n n_resamples), up to 1 GB for the redraws that are kept at a time, or
    O(n + k n_resamples) for more than 10 000 predictions of unordered classes, which are not copied if they come in
    single precision. Matrices of scipy.sparse become dense arrays; those of more than 10 000 rows and 32 classes,
    without weights and features, a block at a time. See ``Omnibus`` and ``ConditionalMonteCarlo``.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.calibration_test(predictions, labels, rng=1)
    >>> result.pvalue, result.finding.kind, round(result.finding.estimate, 2)
    (0.001, 'temperature', 0.24)
    """
    if whole_number("lag", lag, 1) > 1 and (are_chunks(predictions) or isinstance(predictions, MultiLabel)):
        raise TypeError(
            "lag: got one with ct.MultiLabel or dask arrays, wanted other predictions in memory, such as one label, "
            "p.label(name)"
        )
    if are_chunks(predictions) or are_chunks(targets):
        _check_for_chunks(kernel, weights, features, clusters, missing)
        return OmnibusTest(n_resamples=n_resamples)(predictions, targets, classes=classes, rng=rng)
    if isinstance(predictions, MultiLabel):
        _check_for_labels(kernel=kernel, weights=weights, features=features, clusters=clusters, classes=classes)
        return labels_tested(predictions, targets, n_resamples, missing, rng, progress)
    targets = as_times(predictions, targets)
    if isinstance(targets, Censored):
        settings = {"kernel": kernel, "n_resamples": n_resamples, "weights": weights, "features": features}
        more = {"clusters": clusters, "lag": lag, "progress": progress}
        return _of_censored(predictions, targets, rng, settings | more)
    if kernel is weights is features is clusters is None and lag == 1 and are_read_in_blocks(predictions):
        predictions, classes = Categorical.of_sparse(predictions, classes=classes), None
    sample = as_sample(predictions, targets, classes, missing=missing)
    at_least(len(sample), 2, "the unbiased SKCE")
    if clusters is not None:
        if not (weights is features is None and lag == 1):
            raise TypeError(
                "clusters: got some with weights, features or a lag, wanted none of these beside them; to use these, "
                "pass one row of each cluster of everything: rows = np.unique(clusters, return_index=True)[1]"
            )
        columns = [one.values for one in label_columns(clusters, order_of(targets, predictions))]
        same_length(len(Table.of(targets, "targets").values), len(columns[0]), "clusters")
        kept = [one if sample.rows is None else one[sample.rows] for one in columns]
        found = as_clusters(kept if len(kept) == 2 else kept[0])
        return cluster_test_for(found, sample, kernel, n_resamples).on(sample, rng=rng, progress=progress)
    if weights is not None:
        weights = rows_of(weights, "weights", order_of(targets, predictions)).array("weights")
    n = len(Table.of(targets, "targets").values)
    sample, weights, left_out = weighted(sample, weights, n)
    given, said = ((), ()) if features is None else features_of(features, sample, n)
    if given and left_out:
        raise ValueError("weights: got some of 0 with features, wanted weights above 0; leave these rows out")
    with progress_bars(switch("progress", progress)):
        test, notes = _test_for(sample, kernel, weights, given, n_resamples)
    # The default test says what is wrong; that of sets of rows does of one of them.
    of_all = weights is None if lag > 1 else kernel is not None
    with without_findings() if of_all and sample.exclusion is None else nullcontext():
        result = test.on(sample, rng=rng, progress=progress) if lag == 1 else with_lag(test, sample, lag, rng, progress)
    if of_all:
        result = replace(result, **_told_of_all(result, sample, weights, lag))
    if lag > 1 and weights is None:
        said = (f"what is wrong, claimed and observed is of all rows; intervals count {lag} of them as one", *said)
    return replace(result, notes=(*result.notes, *left_out, *notes, *said))


def _check_for_labels(**settings: Any) -> None:
    """Raise for what the tests of several labels do not take."""
    if any(value is not None for value in settings.values()):
        raise TypeError(
            f"{', '.join(settings)}: got one of them with ct.MultiLabel, wanted None; names of labels belong to "
            "ct.MultiLabel(p, names), and one label, p.label(name), can be tested with all but classes"
        )


def _test_for(
    sample: Sample, kernel: PairKernel | None, weights: FloatArray | None, given: tuple[Feature, ...], n_resamples: int
) -> tuple[CalibrationTest, tuple[str, ...]]:
    """The exact test of a kernel alone, or of all that the default test has, and what to know of its kernel."""
    if kernel is None:
        chosen, notes = default_kernel(sample.predictions)
        return OmnibusTest(chosen, n_resamples, weights, given), notes
    if given and weights is not None:
        raise TypeError("weights: got some with a kernel and features, wanted at most two of the three")
    estimator: Estimator = SKCE(kernel) if weights is None else WeightedSKCE(kernel, weights)
    return MonteCarloTest(estimator.given_features(given) if given else estimator, n_resamples), ()


def _told_of_all(result: CalibrationTestResult, sample: Sample, weights: FloatArray | None, lag: int) -> dict[str, Any]:
    """What is wrong and how much, in all rows, as fields of a result; impossible outcomes first, if there are some."""
    more = told(sample.pooled(), result.pvalue, weights, lag=lag)
    if not more:
        return {}
    excluded = result.findings if result.pvalue_otherwise is not None or lag == 1 else ()
    return more | {"findings": (*excluded, *more["findings"])}


def cluster_test_for(
    clusters: Clusters, sample: Sample, kernel: PairKernel | None, n_resamples: int = 999
) -> CalibrationTest:
    """The default test with random signs where its numbers and so many clusters allow it, else that of the kernel."""
    if kernel is None and are_tested_together(clusters, sample):
        return OmnibusTest(None, n_resamples, clusters=clusters)
    return ClusterSKCETest(clusters, kernel or FAMILY_KERNEL, n_resamples)


def are_tested_together(clusters: Clusters, sample: Sample) -> bool:
    """Whether random signs of clusters give all numbers of the omnibus test."""
    return clusters.n_effective >= MANY and not clusters.are_crossed and are_linear(sample.predictions)


def _of_censored(predictions: Any, targets: Censored, rng: Any, settings: dict[str, Any]) -> CalibrationTestResult:
    """The test of integral transforms, of which those of censored times are drawn."""
    seed = seed_of(rng)
    laws = in_order_of_times(targets, predictions)
    pair = censored_pit_values(laws, targets, rng=generator_apart(seed))
    result = calibration_test(*pair, **settings, rng=seed)
    return replace(result, notes=(note_on_draws(laws, targets), *result.notes))


def _check_for_chunks(
    kernel: PairKernel | None, weights: ArrayLike, features: Any, clusters: Any, missing: Missing
) -> None:
    """Raise for what the test of dask arrays does not take."""
    if features is not None:
        raise TypeError(FEATURES_OF_CHUNKS)
    if clusters is not None:
        raise TypeError("clusters: got some with dask arrays, wanted none, or arrays in memory")
    if kernel is not None:
        raise TypeError(
            f"kernel: got {kernel!r} with dask arrays, wanted None; MonteCarloTest(LowRankSKCE(kernel)) takes them"
        )
    if weights is not None:
        raise TypeError(f"weights: got some with dask arrays, wanted none; {THINNED}")
    if missing != "refuse":
        raise ValueError(f"missing: got {missing!r} with dask arrays, wanted 'refuse', or arrays in memory")


COUNTS = (
    "weights are whole numbers, and a row of weight 2 is one outcome: do they count equal rows, to be repeated by "
    "np.repeat instead?"
)
"""What to ask about weights that look like frequencies, with which a test finds next to nothing."""

EXPOSURES = (
    "weights were given beside predicted counts: are they exposures, which belong in the means, "
    "ct.Poisson(frequency * exposure), with the counts themselves as outcomes and no weights?"
)
"""What to ask about weights of counts, which say how much a row matters, and not for how long it was observed."""


def weighted(sample: Sample, weights: ArrayLike, n: int) -> tuple[Sample, FloatArray | None, tuple[str, ...]]:
    """The rows of positive weight, their weights unless all are equal, and a note on the others.

    Weights are those of all n targets, also of missing ones that the sample does not have.
    """
    if weights is None:
        return sample, None, ()
    checked = observation_weights(weights)
    same_length(n, len(checked), "weights")
    checked = checked if sample.rows is None else checked[sample.rows]
    left_out = checked == 0.0
    at_least(int(np.count_nonzero(checked)), 2, "the unbiased SKCE with weights above 0")
    kept, some = (sample.without(left_out), checked[~left_out]) if left_out.any() else (sample, checked)
    note = (f"{int(left_out.sum())} of {len(sample)} rows have weight 0 and are left out",) if left_out.any() else ()
    if some.min() == some.max():
        return kept, None, note
    given = np.asarray(weights, dtype=np.float64)
    note = (*note, COUNTS) if (given == np.rint(given)).all() else note
    law = sample.predictions
    return kept, some, (*note, EXPOSURES) if law.discrete and law.finite is None else note
