"""Which components of the omnibus statistic, and which features, carry the evidence against calibration."""

from collections.abc import Callable, Sequence

import numpy as np

from caltest._basics.numerics import FloatArray, resampling_pvalue, step_down
from caltest._results.calibration_test_result import ComponentResult, FeatureResult
from caltest.estimators.combined.components import Column
from caltest.estimators.combined.features import WITH, Basis, Feature, words_of
from caltest.estimators.combined.findings import LEVEL
from caltest.estimators.combined.joint import standardised
from caltest.predictions import Sample

Tails = Sequence[tuple[Column, FloatArray]]
"""Columns with logarithms (B,) of their reciprocal tail probabilities, those of the observed targets first."""


def sum_of_reciprocals(tails: Tails) -> FloatArray:
    """Logarithm of the weighted sum of reciprocal tail probabilities, (B,)."""
    logs = [exponents + np.log(one.weight) for one, exponents in tails]
    return np.asarray(np.logaddexp.reduce(logs, axis=0))


def by_component(tails: Tails, bases: Sequence[Basis], sample: Sample) -> tuple[ComponentResult, ...]:
    """The largest standardised statistic and the p-value of the columns of each name, the most extreme first."""
    given, results = _by_basis(tails, bases, sample), []
    for name in dict.fromkeys(one.name for one, _ in tails):
        some = [one.values for one, _ in tails if one.name == name]
        exponents = np.stack([tail for one, tail in tails if one.name == name])
        largest = exponents.max(axis=0)
        z = standardised(some[int(exponents[:, 0].argmax())][None])[0, 0]
        pvalue = resampling_pvalue(float(largest[0]), largest[1:])
        results.append((float(largest[0]), ComponentResult(name, float(z), pvalue, *given.get(name, ()))))
    return tuple(found for _, found in sorted(results, key=lambda pair: -pair[0]))


def _by_basis(tails: Tails, bases: Sequence[Basis], sample: Sample) -> dict[str, tuple[float, str]]:
    """P-values of components given features, adjusted for all of them, and words for those that are small.

    A component is a function of the outcomes, the predictions and its own features: given these, redraws have its
    distribution whenever predictions are right given these, whatever depends on others. So the maximum over all
    components that are left is large enough for those that are right.
    """
    adjusted = _adjusted([[pair for pair in tails if pair[0].name == basis.name] for basis in bases], tails)
    return {
        basis.name: (float(p), words_of(basis.features, basis.kind == WITH, sample.predictions, sample.targets))
        if p <= LEVEL
        else (float(p), "")
        for basis, p in zip(bases, adjusted, strict=True)
    }


def by_feature(tails: Tails, bases: Sequence[Basis]) -> tuple[FeatureResult, ...]:
    """P-values of what depends on each feature and not on others, and of all but what depends on it."""
    of = {basis.name: basis.features for basis in bases}
    features = dict.fromkeys(one for some in of.values() for one in some)

    def adjusted(kept: Callable[[Feature, tuple[Feature, ...]], bool]) -> FloatArray:
        return _adjusted([[pair for pair in tails if kept(f, of.get(pair[0].name, ()))] for f in features], tails)

    own, rest = adjusted(lambda one, some: some == (one,)), adjusted(lambda one, some: one not in some)
    found = [FeatureResult(f.name, float(p), float(q)) for f, p, q in zip(features, own, rest, strict=True)]
    return tuple(sorted(found, key=lambda one: (one.pvalue, -one.without)))


def _adjusted(some: Sequence[Tails], tails: Tails) -> FloatArray:
    """P-values of groups of the columns, adjusted for all groups by the step-down maximum.

    None is smaller than that of the test, so that none is named where the test rejects nothing.
    """
    if not some:
        return np.empty(0)
    overall = sum_of_reciprocals(tails)
    least = resampling_pvalue(float(overall[0]), overall[1:])
    return np.maximum(step_down(np.stack([sum_of_reciprocals(one) for one in some])), least)
