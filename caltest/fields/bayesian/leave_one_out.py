"""Leave-one-out transforms as something to test."""

import numpy as np

from caltest._basics.arrays import index_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike
from caltest._validation import at_least
from caltest._validation.arrays import finite_array, real_array, refuse_rows
from caltest.predictions.inputs.convert import as_predictions
from caltest.predictions.reductions.residuals import Residuals, StandardUniform


@own_errstate
def loo_pit(values: ArrayLike) -> tuple[Residuals, Array]:
    """Leave-one-out integral transforms as a pair that ``PITTest`` takes.

    Parameters
    ----------
    values
        (n,) array-like of ``P(Y_i <= y_i | all other observations)`` in [0, 1], such as ``arviz_stats.loo_pit`` or
        ``loo::pit`` give; of counts, drawn between ``P(Y_i < y_i)`` and ``P(Y_i <= y_i)``.

    Raises
    ------
    ValueError
        For numbers outside of [0, 1], missing ones, or fewer than 2.

    Notes
    -----
    If the model is right, each is uniform, but they depend on each other: what is left out for one is in the data of
    all others. The tests of Kolmogorov and Smirnov, Anderson and Darling and the default test are for independent ones;
    with many parameters they hardly find anything. ``ct.PITTest("POT")`` combines p-values of single order statistics
    by the law of Cauchy, and is the default of Tesso and Vehtari; ``"PIET"`` looks at tails, ``"PRIT"`` at ranks.
    P-values are approximate, also those of redraws, as how transforms depend on each other is a matter of the model: an
    exact one would take data redrawn from the model, and its fit to each of them. Of right linear regressions with 2 to
    25 coefficients for 20 to 50 observations POT rejected at most 0.5 % at the 5 % level, PIET 4 %.

    Shares of draws can be 0 or 1, which a uniform number is not: tests of the tails reject for one of them. A note of
    the result says so.

    Source: Tesso and Vehtari 2026.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> transforms = np.random.default_rng(1).beta(0.5, 0.5, 100)  # predictions are too narrow
    >>> ct.PITTest("POT")(*ct.fields.bayesian.loo_pit(transforms)).pvalue < 0.01
    True
    """
    u = finite_array(real_array(values, "values", 1), "values")
    at_least(len(u), 2, "a test of leave-one-out transforms")
    refuse_rows((u < 0.0) | (u > 1.0), u, "values", "probabilities in [0, 1]")
    # Predictions are not known, so there is nothing to compare transforms by.
    laws = as_predictions(np.full(len(u), 0.5))._labelled(index_of(values))
    residuals = Residuals(laws, StandardUniform((len(u),)), "F(Y) is uniform")
    residuals.called = "leave-one-out transforms"
    residuals.depends = (
        "transforms independent, which leave-one-out ones are not: p-values of any kind are approximate, mostly too "
        "large, as exact ones would take data that are redrawn from the model, and fits to each of them"
    )
    if count := int(np.count_nonzero((u == 0.0) | (u == 1.0))):
        residuals.notes = (
            f"{count} of the transforms {'are' if count > 1 else 'is'} 0 or 1, as a share of draws can be and a "
            "uniform number cannot, which alone makes tests of the tails reject: of an outcome above r of m equally "
            "weighted draws take (r + v) / (m + 1), with v drawn from (0, 1)",
        )
    return residuals, u
