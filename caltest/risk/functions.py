"""Error functions: of bins, of kernel densities, and of kernel ridge regression."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from caltest._basics.arrays import read_only
from caltest._basics.numerics import FloatArray, ranges
from caltest._loops.statistics.class_shares import class_shares, shares_on_line
from caltest._validation import optional, positive_number, whole
from caltest.binning import quantile_ranks
from caltest.risk.base import BilinearForm, CalibrationData, ErrorFunction, Fits, positive_settings, settings

N_BINS = tuple(range(5, 101, 5))
"""Numbers of bins tried by Gruber and Bach 2024, appendix B."""


@dataclass(frozen=True)
class BinnedErrorFunction(ErrorFunction):
    """``h(p, p') = delta_b delta_b'`` with delta_b = mean confidence minus accuracy of the bin of p: binning.

    Bins are of equal width, (0, 1/B], (1/B, 2/B], ..., with 0 in the first. Where no probability fell into a bin h is
    0. The mean of h over the data it is fitted to (``plug_in``) is the square of the binned L2 calibration error.

    Parameters
    ----------
    n_bins
        Number B of bins, or several to try; default 5, 10, ..., 100.

    Notes
    -----
    For probabilities of one outcome only (``ct.top_label``, ``ct.classwise``). Time O(n log B) a fit, O(n) for a risk.

    Source: Gruber and Bach 2024, eq. 23.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1]
    >>> round(ct.risk.BinnedErrorFunction(2).plug_in(p, y), 5)  # ((0.15 - 0.5)**2 + (0.8 - 1)**2) / 2
    0.08125
    """

    name: ClassVar[str] = "binning"
    parameter: ClassVar[str] = "bins"
    n_bins: Any = N_BINS
    _checks = {"n_bins": settings(whole(1), "positive whole number")}

    def grid(self, dimension: int) -> tuple[float, ...]:
        """Numbers of bins; ``TypeError`` for probabilities of several classes."""
        if dimension > 1:
            raise TypeError(
                f"predictions: got probabilities of {dimension} classes, wanted those of one outcome for "
                f"{type(self).__name__}, because bins of a whole simplex hold next to no data; use ct.top_label or "
                "ct.classwise, or TwoStepRidgeErrorFunction"
            )
        return tuple(self.n_bins)

    def fits(self, data: CalibrationData) -> Fits:
        bins = [self._bins(data, b) for b in self.n_bins]
        return Fits(lambda points, which: (bins[index].form(points) for index in which))

    def _bins(self, data: CalibrationData, n_bins: int) -> "Bins":
        return Bins.of(np.arange(1, n_bins) / n_bins, data)


@dataclass(frozen=True)
class DebiasedBinnedErrorFunction(BinnedErrorFunction):
    """``h(p, p') = delta_b delta_b' - [same bin] acc_b (1 - acc_b) / (N_b - 1)``: binning without the bias of noise.

    Bins hold equal numbers of the probabilities it is fitted to: their edges are the order statistics ceil(n j / B),
    equal values share a bin. Where a bin holds less than two, h is 0. The mean over the data it is fitted to
    (``plug_in``) is the debiased estimate of Kumar et al. 2019, which can be negative.

    Settings, errors and predictions as for ``BinnedErrorFunction``.

    Notes
    -----
    Time O(n log n) a fit, O(n B**2) for a
    risk. Differs from the software of Kumar et al. in the edges, which there lie between two order statistics.

    Source: Kumar, Liang and Ma 2019, section 5.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1]
    >>> round(ct.risk.DebiasedBinnedErrorFunction(2).plug_in(p, y), 5)  # 0.08125 - 0.25 / 2
    -0.04375
    """

    name: ClassVar[str] = "debiased binning"

    def _bins(self, data: CalibrationData, n_bins: int) -> "Bins":
        ordered = np.sort(data.points[:, 0])
        bins = Bins.of(np.unique(ordered[quantile_ranks(ordered.size, n_bins) - 1]), data)
        many = bins.sizes > 1
        variances = np.where(many, bins.frequencies * (1.0 - bins.frequencies) / np.maximum(bins.sizes - 1, 1), 0.0)
        return Bins(bins.edges, bins.sizes, bins.frequencies, np.where(many, bins.deviations, 0.0), variances)


@dataclass(frozen=True, eq=False)
class Bins:
    """Inner edges of bins, sizes, frequencies of the outcome, mean deviations, and what is taken off their squares."""

    edges: FloatArray
    sizes: FloatArray
    frequencies: FloatArray
    deviations: FloatArray
    variances: FloatArray | None = None

    @classmethod
    def of(cls, edges: FloatArray, data: CalibrationData) -> "Bins":
        """Bins that are closed above; empty ones have the deviation 0."""
        numbers = np.searchsorted(edges, data.points[:, 0], side="left")
        counts = np.bincount(numbers, minlength=edges.size + 1).astype(np.float64)
        sums, outcomes = (
            np.bincount(numbers, values, minlength=counts.size) for values in (data.deviations[:, 0], data.outcomes)
        )
        return cls(edges, counts, outcomes / np.maximum(counts, 1.0), sums / np.maximum(counts, 1.0))

    def form(self, points: FloatArray) -> BilinearForm:
        """``delta_b delta_b'``, less the variance where both points are in the same bin."""
        numbers = np.searchsorted(self.edges, points[:, 0], side="left")
        delta = self.deviations[numbers][:, None]
        if self.variances is None:
            return BilinearForm(delta)
        indicators = np.eye(self.sizes.size)[numbers]
        return BilinearForm(np.concatenate([delta, indicators], axis=1), np.concatenate([[1.0], -self.variances]))


BANDWIDTHS = (*np.logspace(-5, -1, 15).tolist(), 0.2, 0.4, 0.6, 0.8, 1.0)
"""Bandwidths tried by Gruber and Bach 2024 (their software; the exponent printed in appendix B is garbled)."""

SMALLEST = 1e-30
"""Probabilities below it count as this one where their logarithm is taken."""

SCORES = 2**20
"""Scores of pairs computed together, 8 MB."""


@dataclass(frozen=True)
class DirichletErrorFunction(ErrorFunction):
    """``h(p, p') = <d(p), d(p')>``, ``d(p) = p - sum_i w_i(p) e_{y_i}``, from Dirichlet kernel densities.

    The weight w_i is proportional to the density at p of the Dirichlet distribution with parameters x_i / h + 1, for
    the prediction x_i it is fitted to and the bandwidth h. Probabilities c of one outcome are pairs (c, 1 - c).

    Parameters
    ----------
    bandwidth
        Positive h, or several to try; default 15 from 1e-5 to 0.1, then 0.2, 0.4, 0.6, 0.8 and 1.

    Notes
    -----
    Weights are computed from logarithms, less the largest of them, with probabilities of at least 1e-30: they are
    finite for every bandwidth and for predictions of exactly 0 and 1. Time O(n m d) to evaluate at m points, less for
    one outcome, where weights below 3e-20 of the largest are left out; memory 8 MB beside the data. ``plug_in`` has
    observation i among the weights at x_i, as in eq. 26 of Gruber and Bach 2024; Popordanoska et al. 2022 leave it out.

    Source: Popordanoska, Sayer and Blaschko 2022; Gruber and Bach 2024, eq. 25.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.risk.DirichletErrorFunction(0.01).plug_in(*ct.top_label(p, y)), 4)
    0.0775
    """

    name: ClassVar[str] = "Dirichlet density"
    parameter: ClassVar[str] = "bandwidth"
    bandwidth: Any = BANDWIDTHS
    _checks = {"bandwidth": positive_settings}

    def grid(self, dimension: int) -> tuple[float, ...]:
        return tuple(self.bandwidth)

    def fits(self, data: CalibrationData) -> Fits:
        """The predictions, in an order that makes sums of weights short."""
        bandwidths = self.grid(data.dimension)
        if data.dimension == 1:
            return _on_line(bandwidths, data)
        order = np.argsort(data.outcomes, kind="stable")
        centres = data.points[order]
        bounds = np.concatenate([[0], np.cumsum(np.bincount(data.outcomes, minlength=data.dimension))]).astype(np.intp)

        def forms(points: FloatArray, which: Sequence[int]) -> Iterator[BilinearForm]:
            offsets = [scipy.special.gammaln(centres / bandwidths[index] + 1.0).sum(axis=1) for index in which]
            logs = np.log(np.maximum(points, SMALLEST))
            shares = np.empty((len(which), len(points), centres.shape[1]))
            for part in ranges(len(points), SCORES // len(centres)):
                scores = read_only(logs[part] @ centres.T, np.float64)
                for q, index in enumerate(which):
                    class_shares(scores, 1.0 / bandwidths[index], offsets[q], bounds, shares[q, part])
            return (BilinearForm(points - one) for one in shares)

        return Fits(forms)


def _on_line(bandwidths: tuple[float, ...], data: CalibrationData) -> Fits:
    """From the different probabilities of one outcome in order, how often each occurs, and with the outcome.

    The logarithm of a weight is a concave function of its centre c, whose derivative changes its sign where
    ``psi(c / h + 1) - psi((1 - c) / h + 1)`` passes ``log p - log(1 - p)``, with the digamma function psi.
    """
    centres, numbers = np.unique(data.points[:, 0], return_inverse=True)
    counts, ones = np.bincount(numbers).astype(np.float64), np.bincount(numbers, data.outcomes).astype(np.float64)

    def forms(points: FloatArray, which: Sequence[int]) -> Iterator[BilinearForm]:
        p = points[:, 0]
        log_odds = np.log(np.maximum(p, SMALLEST)) - np.log(np.maximum(1.0 - p, SMALLEST))
        for index in which:
            a, b = (side / bandwidths[index] + 1.0 for side in (centres, 1.0 - centres))
            peaks = np.searchsorted(scipy.special.psi(a) - scipy.special.psi(b), log_odds)
            slopes, offsets = log_odds / bandwidths[index], scipy.special.gammaln(a) + scipy.special.gammaln(b)
            frequencies = shares_on_line(slopes, centres, offsets, peaks, counts, ones)
            yield BilinearForm(points - frequencies[:, None])

    return Fits(forms)


SMALL_ERROR = 1e-3
"""Error of the kernel that no note mentions."""

MAX_RANK = 300
"""Landmarks at most. It matters for many classes, where it bounds the time and not the tolerance does."""


@dataclass(frozen=True)
class _RidgeErrorFunction(ErrorFunction):
    """What both ridge regressions share: the kernel ``exp(-gamma |x - x'|**2)`` and its eigenvalues l of the data."""

    parameter: ClassVar[str] = "regularisation"
    of_one: ClassVar[tuple[float, ...]]
    of_many: ClassVar[tuple[float, ...]]
    power: ClassVar[float]
    """Factors c that are tried by default, for one outcome and for several classes; eigenvalues get ``c n**power``."""

    regularisation: Any = None
    gamma: float = 1.0
    max_rank: int = MAX_RANK
    _checks = {"regularisation": optional(positive_settings), "gamma": positive_number, "max_rank": whole(1)}

    def grid(self, dimension: int) -> tuple[float, ...]:
        if self.regularisation is not None:
            return tuple(self.regularisation)
        return self.of_one if dimension == 1 else self.of_many

    def describe(self) -> str:
        return f"{self.name}, gamma {self.gamma:g}"

    def fits(self, data: CalibrationData) -> Fits:
        spectrum, projections = data.projected(self.gamma, self.max_rank)
        added = [c * len(data) ** self.power for c in self.grid(data.dimension)]
        notes: tuple[str, ...] = ()
        if spectrum.residual > SMALL_ERROR:
            bound = 10.0 ** np.ceil(np.log10(spectrum.residual))
            kernel = f"{spectrum.roots.size} landmarks stand for the kernel exp(-{spectrum.gamma:g} |x - x'|**2)"
            notes = (f"ridge regressions: {kernel}, with errors of k(x, x) below {bound:g}",)

        def forms(points: FloatArray, which: Sequence[int]) -> Iterator[BilinearForm]:
            return self._forms(spectrum.vectors(points), spectrum.roots, projections, [added[i] for i in which])

        return Fits(forms, notes)

    @abstractmethod
    def _forms(
        self, vectors: FloatArray, roots: FloatArray, projections: FloatArray, added: Sequence[float]
    ) -> Iterator[BilinearForm]:
        """From ``k(p)' Q diag(1 / sqrt(l))`` (m, r), sqrt(l), ``Q' D`` (r, d), and what is added to eigenvalues."""


@dataclass(frozen=True)
class KroneckerRidgeErrorFunction(_RidgeErrorFunction):
    """Kernel ridge regression of the products ``<D_i, D_j>`` on pairs of points, with the kernel ``k(p, q) k(p', q')``.

    ``h(p, p') = k(p)' Q (A * Q' D D' Q) Q' k(p')`` with ``K = Q diag(l) Q'``, ``A_ij = 1 / (l_i l_j + lambda n**2)``
    and ``lambda = c / sqrt(n)``: the least mean over all pairs of squared errors plus lambda times a squared norm.

    Parameters
    ----------
    regularisation
        Positive c, or several to try; default 10**(1 - 2 i), i = 1..9, for one outcome, 10**(9 - i), i = 1..18, for
        k classes.
    gamma
        Of the kernel ``exp(-gamma |x - x'|**2)``; default 1.
    max_rank
        Landmarks that stand for the kernel, at most.

    Notes
    -----
    h(p, p) can be negative, since A is not positive definite. By pivoted incomplete Cholesky decomposition and singular
    values of its factor it is finite and reproducible for every regularisation. Time O(n r**2) a fit and
    O(n r (d + r) + r**3) a risk, r at most ``max_rank``. Where the kernel needs more landmarks, it is the regression
    with the kernel that they span. For 2000 predictions of 100 classes (CIFAR-100), the two-step error of 300 landmarks
    is 0.7 % from that of all, of 500 landmarks 0.2 %, of 1000 random Fourier features 0.4 to 1.3 %.

    Differs from the paper in gamma, 1/2 in its text and 1 in its software, and in lambda, where text and software
    disagree; this is the software's.

    Source: Gruber and Bach 2024, eq. 27 to 31.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.risk.KroneckerRidgeErrorFunction(1e-3).plug_in(p.take(slice(200)), y[:200]), 4)
    0.055
    """

    name: ClassVar[str] = "Kronecker ridge"
    of_one: ClassVar[tuple[float, ...]] = tuple(10.0 ** (1 - 2 * i) for i in range(1, 10))
    of_many: ClassVar[tuple[float, ...]] = tuple(10.0 ** (9 - i) for i in range(1, 19))

    power: ClassVar[float] = 1.5

    def _forms(
        self, vectors: FloatArray, roots: FloatArray, projections: FloatArray, added: Sequence[float]
    ) -> Iterator[BilinearForm]:
        scaled, gram = roots[:, None] * projections, vectors.T @ vectors
        products, pairs = scaled @ scaled.T, np.multiply.outer(roots**2, roots**2)
        return (BilinearForm(vectors, products / (pairs + one), gram) for one in added)


@dataclass(frozen=True)
class TwoStepRidgeErrorFunction(_RidgeErrorFunction):
    """Kernel ridge regression of the deviations: ``h(p, p') = <d(p), d(p')>``, ``d(p) = D' (K + lambda n I)**-1 k(p)``.

    Here ``lambda = c n**(-1/4)``.

    Parameters
    ----------
    regularisation
        Positive c, or several to try; default 10**-i, i = 1..9, for one outcome, 10**(4.5 - i / 2), i = 1..18, for k
        classes.
    gamma, max_rank
        As for ``KroneckerRidgeErrorFunction``, and errors too.

    Notes
    -----
    h(p, p) is never negative. It is the Kronecker ridge regression with ``(l_i + lambda n) (l_j + lambda n)`` in place
    of ``l_i l_j + lambda n**2``; the note there on landmarks holds here. Time O(n r**2) a fit, O(n d (d + r)) for each
    risk.

    Source: Gruber and Bach 2024, eq. 32, with lambda of their software.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.risk.TwoStepRidgeErrorFunction(1e-3).plug_in(p.take(slice(200)), y[:200]), 4)
    0.0796
    """

    name: ClassVar[str] = "two-step ridge"
    of_one: ClassVar[tuple[float, ...]] = tuple(10.0**-i for i in range(1, 10))
    of_many: ClassVar[tuple[float, ...]] = tuple(10.0 ** (4.5 - i / 2) for i in range(1, 19))
    power: ClassVar[float] = 0.75

    def _forms(
        self, vectors: FloatArray, roots: FloatArray, projections: FloatArray, added: Sequence[float]
    ) -> Iterator[BilinearForm]:
        factors = [(roots / (roots**2 + one))[:, None] for one in added]
        return (BilinearForm(vectors @ (factor * projections)) for factor in factors)
