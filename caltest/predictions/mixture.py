"""Predicted mixtures of distributions of one family."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from caltest._basics.arrays import to_array
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray, generator_of
from caltest._loops.formulas import normals
from caltest._results.report import once
from caltest._validation import mixture_weights
from caltest.kernels import MMD, ExponentialKernel, GaussianKernel, ProductKernel, TargetKernel
from caltest.predictions.bandwidth import median_of
from caltest.predictions.base import Drawer, Parameter, Predictions, Uniforms, require_family
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.numbers.normal import Normal

SMALLEST = 1e-300
"""What a distribution function is above a level that it reaches, at least."""

MANY = 2**10
"""Quantiles from which on a method that takes fewer steps, each of which takes longer, is faster than bisection."""


class Mixture(Predictions):
    """n mixtures ``sum_a w_a P_a`` of m distributions each, all of one family: ensembles of normal distributions, say.

    Expectations are sums over the components, all of them::

        E k(Z, y) = sum_a w_a E k(Z_a, y),    E k(Z, Z') = sum_ab w_a w'_b E k(Z_a, Z'_b)

    (Widmann et al. 2021, appendix D.3. The Julia reference skips the pairs a >= 2, b = 1.)

    Parameters
    ----------
    components
        m ``Predictions`` of the same family, of n distributions each: the a-th holds the a-th component of every
        mixture.
    weights
        (n, m) array-like, or (m,) for all, of weights that sum to 1; equal weights if left out.

    Raises
    ------
    ValueError
        For weights that are negative or do not sum to 1, components of different lengths, no components.
    TypeError
        For components of different families.

    Notes
    -----
    The default distance of two mixtures is the maximum mean discrepancy, which makes kernels of them.
    ``MixtureWasserstein()`` of the paper does not; see there.

    Cost of E k(Z, Z') for a pair: m**2 times that of the components.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.Mixture([ct.Normal([0.0, 1.0], 0.5), ct.Normal([1.0, 1.5], 1.0)], weights=[0.3, 0.7])
    <Mixture of 2 Normal, n = 2>
    """

    family = "Mixture"
    known_metrics = "MMD(kernel), MixtureWasserstein()"
    weights = Parameter(-1, "Weights (..., n, m).")

    def __init__(self, components: Sequence[Predictions], weights: ArrayLike | None = None) -> None:
        checked = _checked_components(components)
        n, m = len(checked[0]), len(checked)
        given = np.full((n, m), 1.0 / m) if weights is None else to_array(weights, "weights")
        shares, note = mixture_weights(given, n, m)
        self._parameters = (*checked, shares)
        own = (note_ for component in checked for note_ in component.notes)
        self.notes = once(*own, *[note] * bool(note))

    @property
    def components(self) -> tuple[Predictions, ...]:
        """The m predictions, each of shape (..., n)."""
        return self._parameters[:-1]

    def coordinate(self, t: int) -> "Mixture | None":
        each = [one.coordinate(t) for one in self.components]
        return None if None in each else self._like(*each, self.weights)

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        generator = generator_of(rng)
        drawn, first = self.redraw(generator, size), self.components[0]
        return first.observed(drawn, generator) if isinstance(first, FinitePredictions) else drawn

    def redraw(self, rng: Any = None, size: int | None = None) -> Array:
        generator = generator_of(rng)
        if size is None:
            return self._draw(generator)
        return np.stack([self._draw(generator) for _ in range(size)])

    def _draw(self, generator: np.random.Generator) -> Array:
        ends = np.cumsum(self.weights, axis=-1)
        chosen = (generator.random(self.shape)[..., None] * ends[..., -1:] >= ends[..., :-1]).sum(axis=-1)
        draws = np.stack([one.redraw(generator) for one in self.components])
        return np.asarray(draws[chosen, np.arange(len(self))])

    def drawer(self) -> Drawer:
        """A component is chosen by one number, and inverted at another."""
        draws, rows = [one.drawer() for one in self.components], np.arange(len(self))
        ends = np.cumsum(self.weights, axis=-1)

        def draw(uniforms: Uniforms) -> Array:
            chosen = (uniforms(0)[..., None] * ends[:, -1:] >= ends[:, :-1]).sum(axis=-1)
            made = np.stack([one(lambda number: uniforms(number + 1)) for one in draws])
            return np.asarray(made[chosen, np.arange(len(chosen))[:, None], rows])

        return draw

    @property
    def default_median_of(self) -> int:
        """Fewer, as a pair takes as many steps as there are pairs of components."""
        return median_of(len(self.components))

    def has_formulas(self, kernel: TargetKernel) -> bool:
        return len(self.components) == 1 and self.components[0].has_formulas(kernel)

    def width(self, kernel: TargetKernel) -> int:
        return sum(one.width(kernel) for one in self.components)

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        return self.components[0].check_targets(targets, name)

    def impossible(self, targets: Array) -> BoolArray:
        """Which of the targets every component of positive weight excludes."""
        excluded = np.stack([one.impossible(targets) for one in self.components], axis=-1)
        return np.asarray((excluded | (self.weights == 0.0)).all(axis=-1))

    def check_compatible(self, other: Predictions, name: str) -> None:
        other = require_family(other, Mixture, name)
        self.components[0].check_compatible(other.components[0], name)

    def prepared(self, kernel: TargetKernel) -> Self:
        return self._like(*(one.prepared(kernel) for one in self.components), self.weights)

    def target_tile(self, kernel: TargetKernel, rows: Array, columns: Array) -> FloatArray:
        return self.components[0].target_tile(kernel, rows, columns)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        if (gaussian := self._fused(kernel)) is not None:
            points = (targets / gaussian.width)[..., None]
            certain = points, np.zeros_like(points), np.ones_like(points)
            return normals.mixture(self._in_units_of(gaussian.width), certain)

        tiles = (one.expected_kernel(kernel, targets) for one in self.components)
        return _mean(tiles, np.moveaxis(self.weights, -1, 0)[..., :, None])

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        if (gaussian := self._fused(kernel)) is not None:
            return normals.mixture(self._in_units_of(gaussian.width), other._in_units_of(gaussian.width))

        shares = np.moveaxis(other.weights, -1, 0)[..., None, :]
        rows = (_mean((a.expected_kernel2(kernel, b) for b in other.components), shares) for a in self.components)
        return _mean(rows, np.moveaxis(self.weights, -1, 0)[..., :, None])

    def expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        parts = zip(self.components, np.moveaxis(self.weights, -1, 0), strict=True)
        sums = [one.expectation_sums(kernel, weights * share[:, None], targets) for one, share in parts]
        return np.asarray(np.sum(sums, axis=0))

    def _fused(self, kernel: TargetKernel) -> GaussianKernel | None:
        return kernel.gaussian if self.components[0].normal is not None else None

    def _in_units_of(self, width: float) -> normals.Components:
        parts = [one.in_units_of(width) for one in self.components if isinstance(one, Normal)]
        means, variances = (np.stack(values, axis=-1) for values in zip(*parts, strict=True))
        return means, variances, self.weights

    def cdf(self, targets: Array) -> FloatArray:
        parts = np.stack([one.cdf(targets) for one in self.components], axis=-1)
        return np.asarray((self.weights * parts).sum(axis=-1))

    def survival(self, targets: Array) -> FloatArray:
        parts = np.stack([one.survival(targets) for one in self.components], axis=-1)
        return np.asarray((self.weights * parts).sum(axis=-1))

    def log_density(self, targets: Array) -> FloatArray:
        shares = np.moveaxis(self.weights, -1, 0)
        weighted = list(zip(self.components, shares, strict=True))
        logs = [np.where(share > 0.0, one.log_density(targets), -np.inf) for one, share in weighted]
        largest = np.maximum.reduce(logs)
        level = np.where(np.isfinite(largest), largest, 0.0)
        total = np.zeros_like(level)
        for one, share in zip(logs, shares, strict=True):
            total += share * np.exp(one - level)
        with np.errstate(divide="ignore"):
            return np.asarray(level + np.log(total))

    def affine(self, offset: FloatArray, factor: FloatArray | float) -> Self:
        return self._like(*(one.affine(offset, factor) for one in self.components), self.weights)

    def check_continuous(self) -> None:
        for component in self.components:
            component.check_continuous()

    def _quantile(self, level: FloatArray) -> FloatArray:
        """Between the quantiles of the components by bisection, to the last digit; many first by faster steps."""
        parts = np.stack([one.quantile(level) for one in self.components], axis=-1)
        present = self.weights > 0.0
        low, high = np.where(present, parts, np.inf).min(axis=-1), np.where(present, parts, -np.inf).max(axis=-1)
        high = np.where(self.cdf(low) >= level, low, high)
        low, high = self._bracket(level, low, high) if low.size >= MANY else (low, high)
        middle = low + (high - low) / 2.0
        while ((low < middle) & (middle < high)).any():
            reached = self.cdf(middle) >= level
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
            middle = low + (high - low) / 2.0
        return np.asarray(high)

    def _bracket(self, level: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends a few digits apart around the first numbers at which the level is reached, which is up to the upper."""
        from scipy.optimize.elementwise import find_root

        def excess(targets: FloatArray, rows: IntArray, level: FloatArray) -> FloatArray:
            # A level that is reached counts as exceeded.
            difference = self.take(rows).cdf(targets) - level
            return np.where(difference >= 0.0, np.maximum(difference, SMALLEST), difference)

        found = find_root(excess, (low, high), args=(np.arange(len(self)), level))
        # Without one the ends are equal, or the level is reached at the upper but for rounding.
        below, above = (np.where(found.status == 0, *ends) for ends in zip(found.bracket, (low, high), strict=True))
        return below, above

    def moments(self) -> tuple[FloatArray, FloatArray]:
        if isinstance(self.components[0], FinitePredictions):
            raise TypeError(
                f"predictions: got a {self.family}, which has no means and variances; pass the mean probabilities: "
                "ct.Categorical(sum of each component's probabilities times its weight)"
            )
        moments = [one.moments() for one in self.components]
        means = np.stack([mean for mean, _ in moments], axis=-1)
        is_vector = means.ndim > self.weights.ndim
        weights = self.weights[..., None, :] if is_vector else self.weights
        mean = (weights * means).sum(axis=-1)
        spread = np.square(means - mean[..., None])
        within = np.stack([variance for _, variance in moments], axis=-1)
        within += spread.sum(axis=-2) if is_vector else spread
        return np.asarray(mean), np.asarray((self.weights * within).sum(axis=-1))

    def default_kernel(self) -> ProductKernel:
        """``exp(-MMD / median)`` with the kernel of targets that is the default of the components."""
        target_kernel = self.components[0].default_kernel().target_kernel
        return ProductKernel(ExponentialKernel(MMD(target_kernel), "median"), target_kernel)

    def describe(self, n: int | None = None) -> str:
        family, _, rest = self.components[0].describe(len(self) if n is None else n).partition(",")
        return f"Mixture of {len(self.components)} {family},{rest}"

    def followed_by(self, other: Self) -> Self:
        self.check_compatible(other, "predictions")
        if len(other.components) != len(self.components):
            raise ValueError(
                f"predictions: got mixtures of {len(other.components)} components, wanted {len(self.components)}"
            )
        return super().followed_by(other)


def _mean(tiles: Iterable[FloatArray], weights: FloatArray) -> FloatArray:
    """The sum of tiles times weights that broadcast to them, without keeping all tiles."""
    products = (np.multiply(tile, weight, out=tile) for tile, weight in zip(tiles, weights, strict=True))
    total: FloatArray = next(products)
    for product in products:
        total += product
    return total


def _checked_components(components: Sequence[Predictions]) -> tuple[Predictions, ...]:
    if isinstance(components, Predictions) or not isinstance(components, (list, tuple)):
        raise TypeError(
            f"components: got {components!r}, wanted a list of predictions such as [Normal(m1, s1), Normal(m2, s2)]"
        )
    if not components:
        raise ValueError("components: got none, wanted at least one Predictions object")
    for a, component in enumerate(components):
        name = f"components[{a}]"
        if not isinstance(component, Predictions):
            raise TypeError(f"{name}: got {component!r}, wanted predictions such as Normal(mean, scale)")
        if isinstance(component, Mixture):
            raise TypeError(
                f"{name}: got a Mixture, wanted its components and their weights times those of the mixture"
            )
        if not component.can_be_drawn:
            raise TypeError(
                f"{name}: got {component.family} predictions, from which alone no outcomes can be drawn; wanted "
                "Scenarios(members) for members, or one Ensemble of the members of all models"
            )
        components[0].check_compatible(component, name)
        if len(component) != len(components[0]):
            raise ValueError(f"{name}: got {len(component)} distributions, wanted {len(components[0])} as in the first")
    return tuple(components)
