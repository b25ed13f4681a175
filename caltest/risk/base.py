"""Error functions (calibration estimation functions): how they are fitted, and what can be asked of a fitted one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from caltest._basics.calls import OwnErrstate, kept
from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray, ranges
from caltest._results.values import Entry
from caltest._validation import Settings, at_least, positive_number
from caltest._validation.settings import Check
from caltest.hstatistics.variances.jackknife import jackknife_error
from caltest.predictions import Predictions, Sample
from caltest.predictions.inputs.convert import as_predictions, as_sample

TOLERANCE = 1e-12
"""Error of the kernel below which no more landmarks are taken."""

ROWS = 2048
"""Points whose kernel values are computed together."""


@dataclass(frozen=True, eq=False)
class KernelSpectrum:
    """``K = U diag(l) U'`` of rank r for ``K_ij = exp(-gamma |x_i - x_j|**2)``, and its eigenfunctions anywhere.

    Landmarks are chosen where the kernel is approximated worst (pivoted incomplete Cholesky), until the error of every
    ``k(x_i, x_i) = 1`` is at most the tolerance or there are as many as allowed. With their triangular factor L and
    F = K_{., landmarks} L'**-1, K = F F', and F = U diag(sqrt(l)) V' by singular values: the eigenvalues of F' F would
    lose half of the digits of the small ones.
    """

    landmarks: FloatArray
    gamma: float
    factor: FloatArray
    right: FloatArray
    roots: FloatArray
    residual: float
    """Largest error of a ``k(x_i, x_i)``."""

    @classmethod
    def of(cls, points: FloatArray, gamma: float, max_rank: int) -> tuple[Self, FloatArray]:
        """The spectrum of points (n, d), and U (n, r). Time O(n r (d + r)), memory O(n r)."""
        columns, pivots, residual = pivoted_cholesky(points, gamma, max_rank)
        orthogonal, triangle = np.linalg.qr(columns.T)
        inner, roots, right = np.linalg.svd(triangle)
        factor = np.tril(columns[:, pivots].T)
        return cls(points[pivots], gamma, factor, right.T, roots, residual), orthogonal @ inner

    def vectors(self, points: FloatArray) -> FloatArray:
        """``k(p)' U diag(1 / sqrt(l))`` for points (m, d), (m, r): their scalar products approximate the kernel."""
        vectors = np.empty((len(points), self.roots.size))
        for part in ranges(len(points), ROWS):
            kernel = gaussian_kernel(self.landmarks, points[part], self.gamma)
            solved = scipy.linalg.solve_triangular(self.factor, kernel, lower=True, check_finite=False)
            vectors[part] = solved.T @ self.right
        return vectors


def pivoted_cholesky(points: FloatArray, gamma: float, max_rank: int) -> tuple[FloatArray, IntArray, float]:
    """Columns F' (r, n) with K = F F' up to the largest error on the diagonal, the pivots (r,), and that error."""
    n = len(points)
    columns = np.empty((min(max_rank, n), n))
    pivots = np.empty(len(columns), dtype=np.intp)
    errors = np.ones(n)
    for rank in range(len(columns)):
        pivot = int(np.argmax(errors))
        if errors[pivot] <= TOLERANCE:
            return columns[:rank], pivots[:rank], float(errors[pivot])
        column = gaussian_kernel(points[pivot : pivot + 1], points, gamma)[0]
        column -= columns[:rank, pivot] @ columns[:rank]
        column /= np.sqrt(errors[pivot])
        column[pivots[:rank]] = 0.0
        columns[rank], pivots[rank] = column, pivot
        errors -= column * column
        errors[pivot] = 0.0
    return columns, pivots, float(errors.max())


def gaussian_kernel(rows: FloatArray, columns: FloatArray, gamma: float) -> FloatArray:
    """``exp(-gamma |x - x'|**2)`` for all pairs, (r, c)."""
    squares = np.einsum("id,id->i", rows, rows)[:, None] + np.einsum("id,id->i", columns, columns)
    distances = np.maximum(squares - 2.0 * (rows @ columns.T), 0.0)
    return np.asarray(np.exp(-gamma * distances))


@dataclass(frozen=True, eq=False)
class CalibrationData:
    """Points x_i (n, d), outcomes (n,) and deviations D_i (n, d) of n observations.

    Probability vectors p of k classes: d = k, x = p, D = p - e_y. Probabilities p of the outcome 1: d = 1, x = p,
    D = p - y. Top labels and single classes are of the second kind.
    """

    points: FloatArray
    outcomes: IntArray
    deviations: FloatArray

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """The data of checked predictions and labels."""
        points = points_of(sample.predictions)
        outcomes = np.asarray(sample.targets, dtype=np.intp)
        deviations = points.copy()
        if points.shape[1] == 1:
            deviations[:, 0] -= outcomes
        else:
            deviations[np.arange(outcomes.size), outcomes] -= 1.0
        return cls(points, outcomes, deviations)

    def __len__(self) -> int:
        return int(self.points.shape[0])

    @property
    def dimension(self) -> int:
        """Length d of a point: 1, or the number of classes."""
        return int(self.points.shape[1])

    def take(self, index: Array) -> Self:
        """The observations at an index."""
        return type(self)(self.points[index], self.outcomes[index], self.deviations[index])

    @kept
    def projected(self, gamma: float, max_rank: int) -> tuple[KernelSpectrum, FloatArray]:
        """Spectrum of the Gaussian kernel of the points, and ``U'D`` (r, d), computed once for all that need them."""
        spectrum, left = KernelSpectrum.of(self.points, gamma, max_rank)
        return spectrum, left.T @ self.deviations


def points_of(predictions: Predictions) -> FloatArray:
    """Points (n, d) that predictions are; ``TypeError`` unless they are of classes."""
    return np.array(predictions.to_array(), dtype=np.float64).reshape(len(predictions), -1)


SMALLEST = 3
"""Observations that a standard error needs: it leaves one out, and pairs of the others remain."""


@dataclass(frozen=True, eq=False)
class BilinearForm:
    """``h(x_i, x_j) = E_i' M E_j`` for n points: vectors E (n, r), and M (r, r), its diagonal (r,), or the identity.

    M is symmetric. Every error function here is of this form with r much less than n. Forms with the same vectors
    can share ``products``, which are E'E.
    """

    vectors: FloatArray
    coefficients: FloatArray | None = None
    products: FloatArray | None = None

    def weighted(self) -> FloatArray:
        """``E M``, (n, r)."""
        if self.coefficients is None:
            return self.vectors
        if self.coefficients.ndim == 1:
            return self.vectors * self.coefficients
        return self.vectors @ self.coefficients

    def diagonal(self) -> FloatArray:
        """``h(x_i, x_i)``, (n,). Time O(n r**2)."""
        return np.asarray(np.einsum("ir,ir->i", self.weighted(), self.vectors))

    def matrix(self) -> FloatArray:
        """All values, (n, n). Time O(n**2 r)."""
        return self.weighted() @ self.vectors.T


@dataclass(frozen=True)
class RiskEstimate(Entry):
    """Estimated risk of an error function, and the standard error of the estimate.

    Attributes
    ----------
    value
        ``sum_{i != j} (D_i . D_j - h(x_i, x_j))**2 / (n (n - 1))``, unbiased for the risk of a function h that was
        fitted to other data.
    standard_error
        Jackknife standard error.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> half, rest = slice(0, 450), slice(450, None)
    >>> fitted = ct.risk.TwoStepRidgeErrorFunction(regularisation=0.01).fit(p.take(half), y[half])
    >>> risk = fitted.risk(p.take(rest), y[rest])
    >>> round(risk.value, 4), round(risk.standard_error, 4)
    (0.0019, 0.0003)
    """

    value: float
    standard_error: float


def risk_terms(form: BilinearForm, deviations: FloatArray) -> FloatArray:
    """``r_i = sum_{j != i} (D_i . D_j - h(x_i, x_j))**2 / (n - 1)`` for each observation, (n,); the risk is their mean.

    With the matrices D and E of all rows, the sums over j, i among them, are::

        D_i (D'D) D_i' - 2 (E_i M) (E'D) D_i' + (E_i M) (E'E) (E_i M)'

    Exact up to rounding. Time O(n (d + r)**2), memory O(n (d + r)). Source: Gruber and Bach 2024, eq. 20.
    """
    d, weighted = deviations, form.weighted()
    squares = np.einsum("id,id->i", d @ (d.T @ d), d)
    products = np.einsum("id,id->i", weighted @ (form.vectors.T @ d), d)
    gram = form.vectors.T @ form.vectors if form.products is None else form.products
    values = np.einsum("ir,ir->i", weighted @ gram, weighted)
    own = np.einsum("id,id->i", d, d) - np.einsum("ir,ir->i", weighted, form.vectors)
    # Sums of squares are not negative, but their differences can be by rounding.
    terms = np.maximum(squares - 2.0 * products + values - own**2, 0.0) / (len(d) - 1)
    return np.asarray(terms)


@dataclass(frozen=True, eq=False)
class Fits:
    """Functions fitted to the same data with each of several settings; what they share is computed once.

    ``forms(points, which)`` are the values at pairs of points (m, d) of the functions with these numbers, in order;
    ``notes`` are what the reader of a result should know.
    """

    forms: Callable[[FloatArray, Sequence[int]], Iterator[BilinearForm]]
    notes: tuple[str, ...] = ()


VectorFunction = Callable[[FloatArray], FloatArray | tuple[FloatArray, FloatArray]]
"""Of points (m, d): vectors E (m, r), or these and a matrix M (r, r)."""


def _form(given: FloatArray | tuple[FloatArray, FloatArray], n: int) -> BilinearForm:
    form = BilinearForm(*given) if isinstance(given, tuple) else BilinearForm(given)
    if form.vectors.ndim != 2 or len(form.vectors) != n:
        raise ValueError(f"fit_vectors: got vectors of shape {form.vectors.shape} for {n} points, wanted ({n}, r)")
    return form


class ErrorFunction(Settings, ABC):
    """A way to estimate ``h(x, x') = <x - E(Y | x), x' - E(Y | x')>`` from data, with one setting or several to try.

    The squared calibration error is the mean of h(x, x). With several settings it is a family for
    ``estimate_calibration_error``; with a single one it can be fitted by itself. One of your own is a subclass with
    ``name``, ``parameter``, ``grid`` and ``fit_vectors``.

    Examples
    --------
    The h of Gruber and Bach 2024, section 5.1, from ``softmax(theta log(p) / 0.3)``; it needs no fitting.

    >>> import caltest as ct
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> class Power(ct.risk.ErrorFunction):
    ...     name, parameter = "power of probabilities", "theta"
    ...
    ...     def grid(self, dimension):
    ...         return (0.5, 1.0, 2.0)
    ...
    ...     def fit_vectors(self, points, deviations, setting):
    ...         return lambda p: p - softmax(setting / 0.3 * np.log(p), axis=1)
    >>> p = np.random.default_rng(1).dirichlet([0.5] * 5, 1000)
    >>> y = ct.Categorical(p).sample(2)
    >>> result = ct.estimate_calibration_error(softmax(0.3 * np.log(p), axis=1), y, error_functions=[Power()], rng=3)
    >>> result.selected.describe()
    'power of probabilities, theta 1'
    """

    name: ClassVar[str]
    parameter: ClassVar[str]
    """What the setting is called."""

    def describe(self) -> str:
        """The function in a few words, without the setting."""
        return self.name

    @abstractmethod
    def grid(self, dimension: int) -> tuple[float, ...]:
        """The settings, for points of a dimension; ``TypeError`` if the function does not suit them."""

    def fit_vectors(self, points: FloatArray, deviations: FloatArray, setting: float) -> VectorFunction:
        """Fit to points x_i (n, d) and deviations D_i (n, d) of the outcomes from them, with one setting.

        Points are probability vectors p and D = p - e_y, or, for one outcome, probabilities p (n, 1) and D = p - y.

        Returns
        -------
        function
            Of points (m, d). It returns vectors E (m, r), for ``h(x_i, x_j) = E_i . E_j``, such as estimates of
            ``E(D | x)``; or these and a symmetric M (r, r), for ``E_i' M E_j``. Any h is ``numpy.eye(m)`` and the
            matrix of its values, in time O(m**3).
        """
        raise NotImplementedError(f"{type(self).__name__}: has no fit_vectors, which gives the values of h")

    def fits(self, data: CalibrationData) -> Fits:
        """The functions with all settings of the grid, fitted to data; one that shares work among them overrides it."""
        fitted = [self.fit_vectors(data.points, data.deviations, value) for value in self.grid(data.dimension)]
        return Fits(lambda points, which: (_form(fitted[index](points), len(points)) for index in which))

    def fit(
        self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
    ) -> "FittedErrorFunction":
        """Fit to predictions and targets.

        Parameters
        ----------
        predictions
            (n, k) probabilities or ``Categorical`` for the canonical error; (n,) probabilities or ``Bernoulli``, as
            ``ct.top_label`` and ``ct.classwise`` make them, for that of a binary problem.
        targets, classes
            As in ``calibration_test``.

        Raises
        ------
        ValueError
            For bad data, less than 2 observations, or a function with several settings.
        TypeError
            For predictions that the function does not suit.
        """
        return self._fitted(CalibrationData.of(as_sample(predictions, targets, classes)))

    def plug_in(self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None) -> float:
        """Mean of h(x, x) over the data that h is fitted to, given as in ``fit``: a plug-in estimate."""
        data = CalibrationData.of(as_sample(predictions, targets, classes))
        return float(self._fitted(data).form_at(data.points).diagonal().mean())

    def _fitted(self, data: CalibrationData) -> "FittedErrorFunction":
        at_least(len(data), 2, type(self).__name__)
        values = self.grid(data.dimension)
        if len(values) > 1:
            raise ValueError(
                f"{self.parameter}: got {len(values)} values, wanted one to fit {type(self).__name__}; "
                "estimate_calibration_error chooses among several"
            )
        name = f"{self.describe()}, {self.parameter} {values[0]:g}"
        return FittedErrorFunction(name, self.fits(data), data.dimension)


@dataclass(frozen=True, eq=False, repr=False)
class FittedErrorFunction(OwnErrstate):
    """An error function h that was fitted to data.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.top_label(*ct.datasets.load_digits_predictions()["random forest"])
    >>> fitted = ct.risk.BinnedErrorFunction(10).fit(p, y)
    >>> fitted, round(fitted.squared_error(p), 4)
    (<fitted binning, bins 10>, 0.0764)
    """

    name: str
    _fits: Fits
    _dimension: int

    def squared_error(self, predictions: ArrayLike) -> float:
        """Mean of h(x, x) over predictions; it can be negative, since h is an estimate."""
        return float(self.values(predictions).mean())

    def values(self, predictions: ArrayLike) -> FloatArray:
        """``h(x_i, x_i)`` for each of the predictions, (n,)."""
        return self.form_at(points_of(as_predictions(predictions, copy=False))).diagonal()

    def matrix(self, predictions: ArrayLike) -> FloatArray:
        """``h(x_i, x_j)`` for all pairs of predictions, (n, n)."""
        return self.form_at(points_of(as_predictions(predictions, copy=False))).matrix()

    def risk(self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None) -> RiskEstimate:
        """The risk, from data that h was not fitted to.

        Parameters
        ----------
        predictions, targets, classes
            As in ``fit``: at least 3 observations of the same kind as those h was fitted to.

        Raises
        ------
        ValueError
            For bad data, too few of them, or points of another dimension.

        Notes
        -----
        ``sum_{i != j} (D_i . D_j - h(x_i, x_j))**2 / (n (n - 1))`` in time O(n (d + r)**2) for a function of rank r.
        Its expectation is least for the true function (Gruber and Bach 2024, theorem 1 and eq. 20).
        """
        data = CalibrationData.of(as_sample(predictions, targets, classes))
        at_least(len(data), SMALLEST, "the standard error of a risk")
        terms = risk_terms(self.form_at(data.points), data.deviations)
        return RiskEstimate(float(terms.mean()), jackknife_error(terms))

    def form_at(self, points: FloatArray) -> BilinearForm:
        """The values at pairs of points (m, d)."""
        if points.shape[1] != self._dimension:
            raise ValueError(
                f"predictions: got points of dimension {points.shape[1]}, wanted {self._dimension}, as those that the "
                "function was fitted to"
            )
        return next(self._fits.forms(points, [0]))

    def __repr__(self) -> str:
        return f"<fitted {self.name}>"


EXTREMES = 1e-300, 1e300
"""Bandwidths and the like lie between them, so that their inverses times data are finite."""


def settings(check: Check, what: str) -> Check:
    """A check of one setting or several, which become a tuple."""

    def checked(name: str, values: Any) -> tuple[Any, ...]:
        several = np.atleast_1d(np.asarray(values, dtype=object)).tolist()
        if not several:
            raise ValueError(f"{name}: got no values, wanted at least one {what}")
        return tuple(check(name, value) for value in several)

    return checked


def _moderate(name: str, value: Any) -> float:
    number, (low, high) = positive_number(name, value), EXTREMES
    if not low <= number <= high:
        raise ValueError(f"{name}: got {number:g}, wanted a positive number, from {low:g} to {high:g}")
    return number


positive_settings = settings(_moderate, "positive number")
