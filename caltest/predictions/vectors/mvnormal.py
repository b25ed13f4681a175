"""Predicted normal distributions of vectors."""

import re
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy

from caltest._basics.arrays import in_one_order
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, generator_of, warn
from caltest._loops.formulas import normals
from caltest._loops.pair_sums.gaussian import redrawn_expectation_sums
from caltest._loops.stacks import redraws_last
from caltest._validation import finite_array, positive_number, real_array, real_targets, refuse_rows
from caltest._validation.labels import require_order_of
from caltest.kernels import Euclidean, KernelWarning, Metric, TargetKernel, Wasserstein
from caltest.predictions.alternatives import Alternatives, NormalAlternatives
from caltest.predictions.base import Drawer, Parameter, Predictions, require_family
from caltest.predictions.claims import FAR_OFF, LEVELS, SHIFT, WIDEST, Checks, Claim, of_half, of_moments
from caltest.predictions.numbers.normal import Normal
from caltest.predictions.reductions.standard_scores import LARGEST_SCORE, in_units

NUMBER, DIAGONAL, FULL = 0, 1, 2
"""Dimensions of a covariance: v I, diag(v), or a matrix."""

ROUNDING = 1e-10
"""Eigenvalues of correlation matrices between minus this and this, in units of the largest one, count as zeros."""


class MvNormal(Predictions):
    """n normal distributions of vectors of d numbers, with means m and covariance matrices S.

    With the Gaussian target kernel of bandwidth b (Widmann et al. 2021, appendix D.1)::

        E k(Z, y)  = |I + S / b**2|**-1/2        exp(-(m - y)'  (b**2 I + S)**-1      (m - y)  / 2)
        E k(Z, Z') = |I + (S + S') / b**2|**-1/2 exp(-(m - m')' (b**2 I + S + S')**-1 (m - m') / 2)

    and likewise with diag(b**2) for one bandwidth per dimension.

    Parameters
    ----------
    mean
        (n, d) array-like, in units of the target.
    covariance
        Variances of isotropic distributions S = v I: (n,) array-like or one number; variances of the coordinates:
        (n, d); covariance matrices: (n, d, d). Matrices are symmetric and positive semi-definite up to rounding
        (1e-10 of their size); singular ones are allowed.

    Raises
    ------
    ValueError
        For values that are not finite, negative variances, matrices that are not symmetric or not positive
        semi-definite, other shapes.

    Notes
    -----
    ``Wasserstein()`` is ``sqrt(|m - m'|**2 + tr(S + S' - 2 (S**1/2 S' S**1/2)**1/2))``. For covariance matrices that
    commute (isotropic and diagonal ones do) it is the Euclidean distance of the vectors (m, S**1/2), so functions of
    it are kernels. Otherwise they need not be, and a ``KernelWarning`` says so. ``Euclidean()`` is the distance of
    these vectors in any case, and the default.

    Cost of E k(Z, Z') for a pair: O(d), and O(d**3) with full matrices.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.MvNormal([[0.0, 1.0], [2.0, 1.0]], [[1.0, 0.5], [2.0, 0.1]])
    <MvNormal, n = 2, d = 2, diagonal covariances>
    """

    family = "MvNormal"
    known_metrics = "Wasserstein(), Euclidean(), Cityblock(), MMD(kernel)"
    mean = Parameter(0, "Means (..., n, d).")
    covariance = Parameter(1, "Variances (..., n) or (..., n, d), or covariance matrices (..., n, d, d).")
    _root = Parameter(2, "Roots of the covariances.")
    _row_dimensions = 1

    def __init__(self, mean: ArrayLike, covariance: ArrayLike) -> None:
        means, covariances = in_one_order((mean, covariance), ("mean", "covariance"))
        require_order_of(means.names, covariances.names, "covariance")
        self._coordinates = means.names
        mean = real_array(means, "mean", ndim=2)
        covariance = checked_covariance(covariances.array("covariance"), *mean.shape)
        is_full = covariance.ndim == 3
        self._parameters = mean, covariance, roots_of(covariance) if is_full else np.sqrt(covariance)
        self._commute = not is_full or do_commute(covariance)
        for array in self._parameters:
            array.flags.writeable = False

    @property
    def _kind(self) -> int:
        return self.covariance.ndim - self.mean.ndim + 1

    @property
    def dimension(self) -> int:
        """Dimension d of the targets."""
        return int(self.mean.shape[-1])

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        shape = self.mean.shape if size is None else (size, *self.mean.shape)
        targets = self._times_root(generator_of(rng).standard_normal(shape))
        targets += self.mean
        return targets

    def log_density(self, targets: Array) -> FloatArray:
        """``log p(y)`` for the target y of each prediction, (..., n); ``ValueError`` for singular matrices."""
        z = self.standardised(targets)[1]
        if self._kind == FULL:
            log_determinant = np.linalg.slogdet(self.covariance)[1]
        else:
            log_determinant = np.log(self._as_kind(DIAGONAL).covariance).sum(axis=-1)
        return np.asarray(-0.5 * (np.square(z).sum(axis=-1) + log_determinant + self.dimension * np.log(2.0 * np.pi)))

    def _times_root(self, vectors: FloatArray) -> FloatArray:
        if self._kind == FULL:
            return of_each(self._root, vectors)
        return vectors * (self._root[..., None] if self._kind == NUMBER else self._root)

    def width(self, kernel: TargetKernel) -> int:
        return super().width(kernel) + self.dimension * (1 + (self.dimension if self._kind == FULL else 1))

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        return real_targets(targets, len(self), name, self.dimension)

    def standardised(self, targets: Array) -> tuple[Predictions, Array]:
        """The standard normal distribution, and ``S**-1/2 (y - m)`` with the symmetric root."""
        regular = self._whitening[1]
        if not regular.all():
            raise ValueError(
                f"covariance: got a singular matrix at row {int(np.argmin(regular))}, wanted positive definite ones: "
                "outcomes cannot be measured in units of a scale of 0; leave such rows out, or use calibration_test, "
                "which takes them"
            )
        return MvNormal(np.zeros(self.mean.shape), 1.0), self._whitened(targets)

    def _whitened(self, targets: Array) -> Array:
        """``S**-1/2 (y - m)`` for regular matrices."""
        factors, difference = self._whitening[0], targets - self.mean
        if self._kind != FULL:
            return np.asarray(difference / factors)
        return of_each(factors, in_units(difference, in_standard_deviations(self.covariance)[0]))

    @cached_property
    def _whitening(self) -> tuple[FloatArray, BoolArray]:
        """Standard deviations, or inverse roots in units of them, of regular matrices, and which are regular (n,)."""
        if self._kind != FULL:
            roots = self._as_kind(DIAGONAL)._root
            return roots, np.asarray(roots.min(axis=-1) > 0.0)
        scales, correlations = in_standard_deviations(self.covariance)
        values = np.linalg.eigvalsh(correlations)
        regular = np.asarray(values[..., 0] > ROUNDING * values[..., -1])
        return np.asarray(np.linalg.inv(self._root / scales[..., None]) if regular.all() else self._root), regular

    @property
    def deviations(self) -> FloatArray | None:
        """Standard deviations of the coordinates, (n, d); None with singular matrices."""
        if self.is_singular:
            return None
        return in_standard_deviations(self.covariance)[0] if self._kind == FULL else self._as_kind(DIAGONAL)._root

    @property
    def precision_roots(self) -> FloatArray | None:
        """Matrices F (n, d, d) with scores ``F e`` of errors e in standard deviations; None if e are the scores."""
        return self._whitening[0] if self._kind == FULL and not self.is_singular else None

    @property
    def has_normal_scores(self) -> bool:
        """Unless a covariance matrix is singular."""
        return not self.is_singular

    def standard_scores(self, targets: Array) -> FloatArray:
        """``S**-1/2 (y - m)``; with singular matrices differences to the mean in units of a standard deviation."""
        if self.is_singular:
            return super().standard_scores(targets)
        scores = self._whitened(targets)
        return np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE, out=scores)

    def of_standard_scores(self, scores: FloatArray) -> FloatArray:
        return self.mean + self._times_root(scores)

    def claims(self, targets: Array) -> Checks:
        """Coverage of ellipsoids around the means, by squared lengths of normal residuals."""
        if self.is_singular:
            return [], []
        return [self._inside_region(level, targets) for level in LEVELS], of_moments(self, targets)

    def _inside_region(self, level: float, targets: Array) -> Claim:
        largest = scipy.special.chdtri(self.dimension, 1.0 - level)
        occurred = np.square(self._whitened(targets)).sum(axis=1) <= largest
        return Claim(f"inside the {100 * level:g} % region", np.full(len(self), level), occurred, self.moments()[1])

    def claims_at(self, kind: str, place: str, targets: Array) -> tuple[list[Claim], int]:
        named, d = [] if self.is_singular else self._of_coordinates(place, targets), self.dimension
        if kind in FAR_OFF and not self.is_singular:
            named.append(self._inside_region(WIDEST, targets).rare)
        return named, d * (d + 3) // 2 * (2 * d + 1)

    def _of_coordinates(self, place: str, targets: Array) -> list[Claim]:
        """Median and interval of a coordinate, or signs of errors of two, of all rows or the half that is named."""
        if wave := re.fullmatch(r"predicted means of (coordinate (\d+))", place):
            mean = self.mean[:, int(wave[2])]
            return [replace(one, order=mean) for one in self._of_coordinates(wave[1], targets)]
        if not (found := re.match(r"coordinates? (\d+)(?: and (\d+))?", place)):
            return []
        named, (a, b) = found[0], found.groups()
        if where := re.search(r"predicted means of coordinate (\d+) are (above|at most)", place):
            feature, half = self.mean[:, int(where[1])], f"means of {where[1]}"
            return of_half(feature, where[2], half, lambda rows: self.take(rows)._of_coordinates(named, targets[rows]))
        z, spread = self.standard_scores(targets), self.moments()[1]
        half_of_all, most, name = np.full(len(self), 0.5), np.full(len(self), LEVELS[1]), f"coordinate {a}"
        if b is not None:
            event = f"errors of the same sign in coordinates {a} and {b}"
            same = z[:, int(a)] * z[:, int(b)] > 0.0
            return [Claim(f"same sign in {a} and {b}", half_of_all, same, spread, event=event)]
        own, reach = z[:, int(a)], np.sqrt(scipy.special.chdtri(1.0, 1.0 - LEVELS[1]))
        within = f"{100 * LEVELS[1]:g} %"
        event = f"{name} inside its {within} interval"
        return [
            Claim(f"{name} above median", half_of_all, own > 0.0, spread, SHIFT, f"{name} above its median"),
            Claim(f"{name} inside {within}", most, np.abs(own) <= reach, spread, event=event),
        ]

    def alternatives(self, weights: FloatArray | None = None) -> Alternatives | None:
        return None if self.is_singular else NormalAlternatives(self, weights, (self.dimension,))

    def drawer(self) -> Drawer:
        """With a set of normal numbers for each coordinate."""
        if self.is_singular:
            row = int(np.argmin(self._whitening[1]))
            raise ValueError(f"covariance: got a singular matrix at row {row}, wanted regular ones for data in chunks")
        return lambda uniforms: self.of_standard_scores(
            np.stack([scipy.special.ndtri(uniforms(t)) for t in range(self.dimension)], axis=-1)
        )

    @property
    def is_singular(self) -> bool:
        """Whether some of the covariance matrices are singular."""
        return not self._whitening[1].all()

    def impossible(self, targets: Array) -> BoolArray:
        """Which of the targets lie outside of the subspace of a singular covariance matrix by more than rounding.

        That is nine times the largest standard deviation that counts as 0, or 1e-9 of the numbers themselves.
        """
        difference, size = targets - self.mean, 1e-9 * np.maximum(np.abs(targets), np.abs(self.mean))
        if self._kind != FULL:
            spread = self._root[:, None] if self._kind == NUMBER else self._root
            return np.asarray(((spread == 0.0) & (np.abs(difference) > size.max(axis=-1)[:, None])).any(axis=-1))
        scales, correlations = in_standard_deviations(self.covariance)
        values, vectors = np.linalg.eigh(correlations)
        directions, smallest = vectors.swapaxes(-1, -2), ROUNDING * values[:, -1:]
        components = np.abs(directions @ in_units(difference, scales)[..., None])[..., 0]
        rounding = (np.abs(directions) @ in_units(size, scales)[..., None])[..., 0] + 9.0 * np.sqrt(smallest)
        return np.asarray(((values <= smallest) & (components > rounding)).any(axis=-1))

    def check_compatible(self, other: Predictions, name: str) -> None:
        other = require_family(other, MvNormal, name)
        if other.dimension != self.dimension:
            raise ValueError(
                f"{name}: got vectors of length {other.dimension}, wanted {self.dimension} as in the predictions"
            )

    def transport_vectors(self) -> FloatArray:
        """Vectors (m, S**1/2), with the diagonal of the root for diagonal covariances."""
        if self._kind == NUMBER:
            return np.concatenate([self.mean, np.sqrt(self.dimension) * self._root[..., None]], axis=-1)
        return np.concatenate([self.mean, self._root.reshape(*self.shape, -1)], axis=-1)

    def parameter_vectors(self) -> FloatArray:
        """The same, with a root for each dimension of isotropic covariances too."""
        return self._as_kind(max(self._kind, DIAGONAL)).transport_vectors()

    def distance(self, metric: Metric, other: Any) -> FloatArray:
        self.check_compatible(other, "other")
        return metric.between(*self._of_one_kind(other))

    def transport_distances(self, other: Self) -> FloatArray | None:
        """Those of matrices that do not commute."""
        return None if self._commute and other._commute else self._bures_wasserstein(other)

    def _bures_wasserstein(self, other: Self) -> FloatArray:
        squares = np.square(Euclidean().tile(self.mean, other.mean))
        traces = [np.trace(one.covariance, axis1=-2, axis2=-1) for one in (self, other)]
        squares += traces[0][..., :, None] + traces[1][..., None, :]
        for i in range(squares.shape[-2]):
            # The trace of (S**1/2 S' S**1/2)**1/2 is the sum of the singular values of the product of the roots.
            values = np.linalg.svd(self._root[..., i, None, :, :] @ other._root, compute_uv=False)
            squares[..., i, :] -= 2.0 * values.sum(axis=-1)
        squares[squares < 1e-14 * (traces[0][..., :, None] + traces[1][..., None, :])] = 0.0
        return np.sqrt(squares, out=squares)

    def warn_of_transport(self) -> None:
        if not self._commute:
            warn(
                "the 2-Wasserstein distance of normal distributions whose covariance matrices do not commute is not "
                "that of a Hilbert space: functions of it need not be positive definite, calibration errors can be "
                "negative and miscalibration can go unseen. Use Euclidean(), the distance of the means and roots of "
                "the covariance matrices, or MMD(kernel).",
                KernelWarning,
            )

    def moments(self) -> tuple[FloatArray, FloatArray]:
        if self._kind == FULL:
            return self.mean, np.trace(self.covariance, axis1=-2, axis2=-1)
        return self.mean, self.covariance.sum(axis=-1) if self._kind else self.dimension * self.covariance

    def coordinate(self, t: int) -> Normal:
        place = {FULL: (..., t, t), DIAGONAL: (..., t)}.get(self._kind, ...)
        return Normal(self.mean[:, t], np.sqrt(self.covariance[place]))

    def target_tile(self, kernel: TargetKernel, rows: Array, columns: Array) -> FloatArray:
        return kernel.vector_target_tile(rows, columns)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        certain = self._like(targets, np.zeros(targets.shape[:-1]), np.zeros(targets.shape[:-1]))
        return self._expected_kernel2(kernel, certain)

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        widths = self._widths(kernel)
        left, right = self._of_one_kind(other)
        if left._kind == FULL:
            return normals.full(left._in_units_of(widths), right._in_units_of(widths))
        return normals.diagonal(left._in_units_of(widths), right._in_units_of(widths))

    def _expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        widths = self._widths(kernel)
        means, covariances = self._in_units_of(widths)
        if self._kind == FULL:
            factors = np.linalg.inv(np.linalg.cholesky(np.eye(self.dimension) + covariances))
            heights = np.diagonal(factors, axis1=1, axis2=2).prod(axis=1)
        else:
            factors = 1.0 / np.sqrt(1.0 + covariances)[:, None]
            heights = factors[:, 0].prod(axis=1)
        y = redraws_last(targets / widths)
        return redrawn_expectation_sums(np.ascontiguousarray(weights), means, factors, heights, y)

    def _widths(self, kernel: TargetKernel) -> FloatArray:
        """Bandwidths (d,) of a Gaussian kernel; ``ClosedFormMissing`` for others."""
        if kernel.gaussian is None:
            raise self._no_closed_form(kernel, "GaussianKernel(bandwidth=...) or sums of such kernels")
        return kernel.gaussian.widths(self.dimension)

    def _of_one_kind(self, other: Self) -> tuple[Self, Self]:
        kind = max(self._kind, other._kind)
        return self._as_kind(kind), other._as_kind(kind)

    def _as_kind(self, kind: int) -> Self:
        if kind == self._kind:
            return self
        arrays: list[FloatArray] = [self.covariance, self._root]
        if self._kind == NUMBER:
            arrays = [np.broadcast_to(one[..., None], self.mean.shape) for one in arrays]
        if kind == FULL:
            arrays = [one[..., None] * np.eye(self.dimension) for one in arrays]
        return self._like(self.mean, *arrays)

    def _in_units_of(self, widths: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self._kind == FULL:
            return self.mean / widths, self.covariance / np.outer(widths, widths)
        return self.mean / widths, self._as_kind(DIAGONAL).covariance / widths**2

    def moved(self, shift: FloatArray | float, factor: FloatArray | float) -> Self:
        """As of numbers, for each coordinate; correlations stay."""
        is_full, factors = self._kind == FULL, np.broadcast_to(factor, self.mean.shape[-1:])
        own = self if is_full else self._as_kind(DIAGONAL)
        variances = np.diagonal(own.covariance, axis1=-2, axis2=-1) if is_full else own.covariance
        covariance = own.covariance * (np.outer(factors, factors) if is_full else np.square(factors))
        root = roots_of(covariance) if is_full else np.sqrt(covariance)
        moved = self._like(self.mean + shift * np.sqrt(variances), covariance, root)
        moved._commute = not is_full or do_commute(covariance)
        return moved

    def at_temperature(self, temperature: float) -> Self:
        """The same means and T times the covariance matrices (with respect to the Lebesgue measure)."""
        t = positive_number("temperature", temperature)
        if not np.isfinite(t * self.covariance).all():
            raise ValueError(f"temperature: got {t:.6g}, with which a covariance is infinite, wanted a smaller one")
        return self._like(self.mean, t * self.covariance, np.sqrt(t) * self._root)._labelled(self.index)

    @property
    def _default_metric(self) -> Metric:
        return Wasserstein() if self._commute else Euclidean()

    def describe(self, n: int | None = None) -> str:
        kind = {NUMBER: "isotropic", DIAGONAL: "diagonal", FULL: "full"}[self._kind]
        return f"MvNormal, n = {len(self) if n is None else n}, d = {self.dimension}, {kind} covariances"

    def followed_by(self, other: Self) -> Self:
        self.check_compatible(other, "predictions")
        left, right = self._of_one_kind(other)
        joined = super(MvNormal, left).followed_by(right)
        joined._commute = joined._kind != FULL or do_commute(joined.covariance)
        return joined


def of_each(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Products of matrices (n, d, d) and vectors (..., n, d), for redraws (B, n, d) as products of matrices."""
    if vectors.ndim != 3:
        return np.asarray((matrices @ vectors[..., None])[..., 0])
    out = np.empty(vectors.shape)
    np.matmul(vectors.swapaxes(0, 1), matrices.swapaxes(-1, -2), out=out.swapaxes(0, 1))
    return out


def checked_covariance(array: Array, n: int, d: int) -> FloatArray:
    """Variances (n,) or (n, d), or symmetric matrices (n, d, d)."""
    if array.ndim == 0:
        array = np.full(n, array)
    if array.shape not in ((n,), (n, d), (n, d, d)):
        raise ValueError(
            f"covariance: got shape {array.shape}, wanted ({n},) variances, ({n}, {d}) variances of the coordinates or "
            f"({n}, {d}, {d}) matrices for means of shape ({n}, {d}); one matrix for all: numpy.broadcast_to"
        )
    values = finite_array(array, "covariance")
    if values.ndim < 3:
        least = values.reshape(n, -1).min(axis=1)
        refuse_rows(least < 0.0, least, "covariance", "variances of at least 0")
        return values
    size = np.abs(values).max(axis=(1, 2))
    gaps = np.abs(values - values.swapaxes(1, 2)).max(axis=(1, 2))
    if (wrong := gaps > ROUNDING * size).any():
        i = int(np.argmax(wrong))
        raise ValueError(f"covariance: got a matrix at row {i} that differs from its transpose by {gaps[i]:.3g}")
    return np.asarray(values / 2.0 + values.swapaxes(1, 2) / 2.0)


def in_standard_deviations(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standard deviations (..., d), 1 in place of 0, and the correlation matrices (..., d, d) that are left.

    Rank is judged by the latter: it does not depend on the units of the coordinates.
    """
    variances = np.diagonal(matrices, axis1=-2, axis2=-1)
    scales = np.sqrt(np.where(variances > 0.0, variances, 1.0))
    return scales, matrices / scales[..., :, None] / scales[..., None, :]


def roots_of(matrices: FloatArray) -> FloatArray:
    """Square roots R (n, d, d), ``S = R R'``: the symmetric positive semi-definite ones, to rounding of large entries.

    ``R = F Q'`` with the root F of the correlation matrix, in units of the standard deviations, and the orthogonal
    factor Q of its polar decomposition: R R' has all digits of S, however much the standard deviations differ.
    """
    scales, correlations = in_standard_deviations(matrices)
    values, vectors = np.linalg.eigh(correlations)
    low = values[:, 0] < -ROUNDING * np.abs(values).max(axis=1)
    if low.any():
        i = int(np.argmax(low))
        raise ValueError(
            f"covariance: got a matrix at row {i} with the eigenvalue {np.linalg.eigvalsh(matrices[i])[0]:.3g}, wanted "
            "positive semi-definite matrices"
        )
    factors = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :] @ vectors.swapaxes(1, 2) * scales[..., None]
    left, _, right = np.linalg.svd(factors)
    return np.asarray(factors @ (left @ right).swapaxes(1, 2))


def do_commute(matrices: FloatArray) -> bool:
    """Whether all matrices commute: whether the eigenvectors of a generic weighted sum are those of each of them."""
    weights = 0.5 + np.modf(np.arange(1, len(matrices) + 1) * 0.6180339887498949)[0]
    sizes = np.maximum(np.abs(matrices).max(axis=(1, 2)), np.finfo(float).tiny)
    _, vectors = np.linalg.eigh(np.einsum("i,iab->ab", weights / sizes, matrices))
    rotated = vectors.T @ matrices @ vectors
    d = rotated.shape[1]
    rotated[:, np.arange(d), np.arange(d)] = 0.0
    return bool((np.abs(rotated).max(axis=(1, 2)) <= 1e-9 * sizes).all())
