"""The generative models of Widmann et al. 2019, of classes, and of Widmann et al. 2021, of vectors."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray, generator_of, normalised
from caltest._validation import number_of_observations, optional, switch, whole, whole_number
from caltest.generators.base import Generator, k_positive_numbers, number_within, probabilities_of_classes
from caltest.generators.distortions import Distorted, Rotation, Tempering, Wave
from caltest.kernels import ProductKernel
from caltest.predictions import Categorical, MvNormal, Normal, Predictions


@dataclass(frozen=True)
class DirichletModel(Generator):
    """Predictions ``P_X ~ Dir(alpha)``; a share of the labels comes from a distribution beta instead.

    ::

        Y | P_X = p  ~  Cat((1 - pi) p + pi beta)

    Calibrated if and only if pi = 0.

    Parameters
    ----------
    n_classes
        k >= 2.
    concentration
        alpha: k positive numbers, or one for all. With 1 the predictions are uniform on the simplex; small ones push
        them to its corners.
    strength
        The share pi, from 0 to 1.
    fixed
        beta: k probabilities; by default 1/k each.

    Notes
    -----
    Source: Widmann et al. 2019, appendix J.2; M1, M2 and M3 are those of section 7, where classes count from 1.

    Examples
    --------
    >>> import caltest as ct
    >>> model = ct.generators.DirichletModel.m2()
    >>> round(model.ece(), 3), round(model.mean_total_variation(), 3)
    (0.45, 0.827)
    >>> ct.calibration_test(*model.sample(100, rng=1), rng=1).pvalue
    0.001
    """

    n_classes: int = 10
    concentration: float | tuple[float, ...] = 0.1
    strength: float = 0.0
    fixed: tuple[float, ...] | None = None

    _checks = {
        "n_classes": whole(2),
        "strength": partial(number_within, low=0.0, high=1.0),
        "fixed": optional(probabilities_of_classes),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        k = self.n_classes
        alpha = k_positive_numbers("concentration", self.concentration, k)
        object.__setattr__(self, "concentration", alpha[0] if len(set(alpha)) == 1 else alpha)
        if self.fixed is not None and len(self.fixed) != k:
            raise ValueError(f"fixed: got {len(self.fixed)} probabilities, wanted {k}, one for each class")

    @classmethod
    def m1(cls, n_classes: int = 10, concentration: float | tuple[float, ...] = 0.1) -> Self:
        """M1: labels drawn from the predictions."""
        return cls(n_classes, concentration)

    @classmethod
    def m2(cls, n_classes: int = 10, concentration: float | tuple[float, ...] = 0.1, strength: float = 0.5) -> Self:
        """M2: half of the labels are class 0."""
        first = (1.0,) + (0.0,) * (whole_number("n_classes", n_classes, 2) - 1)
        return cls(n_classes, concentration, strength, first)

    @classmethod
    def m3(cls, n_classes: int = 10, concentration: float | tuple[float, ...] = 0.1, strength: float = 1.0) -> Self:
        """M3: all labels uniform, whatever the predictions."""
        return cls(n_classes, concentration, strength)

    def with_strength(self, strength: float) -> Self:
        """The same with another share pi."""
        return replace(self, strength=strength)

    @property
    def is_calibrated(self) -> bool:
        return self.strength == 0.0

    @property
    def description(self) -> str:
        labels = "labels from the predictions"
        if self.strength > 0.0:
            labels = f"{100 * self.strength:g} % of the labels {self._fixed_in_words}"
        return f"{self.predictions_in_words}, {labels}"

    @property
    def predictions_in_words(self) -> str:
        a = self.concentration
        shape = f"{a:g}" if isinstance(a, float) else ", ".join(f"{one:g}" for one in a)
        return f"Dir({shape}), {self.n_classes} classes"

    @property
    def _fixed_in_words(self) -> str:
        if self.fixed is None:
            return "uniform"
        if max(self.fixed) == 1.0:
            return f"class {self.fixed.index(1.0)}"
        return f"from ({', '.join(f'{b:.3g}' for b in self.fixed)})"

    @property
    def _alpha(self) -> FloatArray:
        return np.broadcast_to(np.asarray(self.concentration, dtype=np.float64), self.n_classes)

    @property
    def _beta(self) -> FloatArray:
        return np.full(self.n_classes, 1.0 / self.n_classes) if self.fixed is None else np.array(self.fixed)

    def sample(self, n: int, rng: Any = None) -> tuple[Categorical, Array]:
        generator = generator_of(rng)
        shape = (number_of_observations(n), self.n_classes)
        # Gamma variables of small shape a are G U**(1/a), G of shape a + 1; by their logarithms no row is all zeros.
        logs = np.log(generator.gamma(self._alpha + 1.0, size=shape))
        logs -= generator.standard_exponential(shape) / self._alpha
        p = normalised(np.exp(logs - logs.max(axis=1, keepdims=True)))
        laws = (1.0 - self.strength) * p + self.strength * self._beta
        return Categorical(p), Categorical(laws).sample(generator)

    def ece(self) -> float:
        """The expected calibration error with the total variation distance.

        ``pi sum_i (b_i I(b_i; a_i, a_0 - a_i) - a_i / a_0 I(b_i; a_i + 1, a_0 - a_i))`` with the regularised incomplete
        beta function I and a_0 = sum_i a_i (Widmann et al. 2019, appendix J.2.1).
        """
        a, b = self._alpha, self._beta
        total = a.sum()
        terms = b * scipy.special.betainc(a, total - a, b) - a / total * scipy.special.betainc(a + 1.0, total - a, b)
        return float(self.strength * terms.sum())

    def mean_total_variation(self) -> float:
        """``E TV(P_X, P_X')`` for two independent predictions, a bandwidth that does not depend on data.

        ``2 B(a_0, a_0) / a_0 sum_i 1 / (B(a_i, a_i) B(a_0 - a_i, a_0 - a_i))`` with the beta function B (Widmann et al.
        2019, appendix J.2.2).
        """
        a = self._alpha
        total = a.sum()
        betaln = scipy.special.betaln
        logs = betaln(total, total) - betaln(a, a) - betaln(total - a, total - a)
        return float(2.0 / total * np.exp(logs).sum())


_MODELS: dict[str, Callable[[DirichletModel], Generator]] = {
    "M1": lambda m1: m1,
    "M2": lambda m1: DirichletModel.m2(m1.n_classes, m1.concentration),
    "M3": lambda m1: DirichletModel.m3(m1.n_classes, m1.concentration),
    "W2": lambda m1: DirichletModel.m2(m1.n_classes, m1.concentration, strength=0.1),
    "W3": lambda m1: replace(m1, strength=0.1),
    "OC": lambda m1: Distorted(m1, Tempering(-0.4)),
    "UC": lambda m1: Distorted(m1, Tempering(0.6)),
    "ROT": lambda m1: Distorted(m1, Rotation(0.3)),
    "SIN": lambda m1: Distorted(m1, Wave(0.2)),
}


def class_model(name: str, n_classes: int = 10, concentration: float | tuple[float, ...] = 0.1) -> Generator:
    """A model of predictions ``P_X ~ Dir(a)`` for k classes by its name.

    ======  =====================================================================
    M1      calibrated: labels drawn from the predictions
    M2      half of the labels are class 0
    M3      all labels uniform
    W2, W3  a tenth of the labels is class 0, a tenth of the labels is uniform
    OC      overconfident: labels drawn in proportion to p^0.6
    UC      underconfident: labels drawn in proportion to p^1.6
    ROT     30 % of the labels of each class carry the next class
    SIN     two classes, class 1 with probability p + 0.2 sin(4 pi p)
    ======  =====================================================================

    Parameters
    ----------
    name
        One of the above.
    n_classes
        k; 2 for SIN.
    concentration
        a: k positive numbers, or one for all.

    Notes
    -----
    M1 to M3 are those of Widmann et al. 2019, section 7; the others deviate less, or in other directions.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.generators.class_model("OC").description
    'predictions of Dir(0.1), 10 classes; targets from p^0.6'
    """
    if not isinstance(name, str) or name not in _MODELS:
        raise ValueError(f"name: got {name!r}, wanted one of {', '.join(_MODELS)}")
    if name == "SIN" and n_classes != 2:
        raise ValueError(f"n_classes: got {n_classes!r} for SIN, wanted 2")
    return _MODELS[name](DirichletModel.m1(n_classes, concentration))


@dataclass(frozen=True)
class GaussianModel(Generator):
    """Predictions ``N(c 1, 0.1**2 I)`` in d dimensions with c uniform on [0, 1], and normal targets.

    Calibrated: the targets are drawn from the predictions. Uncalibrated: the first coordinate of the targets is drawn
    from N(0.1, 0.1**2) whatever the prediction, the others from the predictions.

    Parameters
    ----------
    dimension
        d >= 1. Predictions are ``Normal`` for d = 1, else ``MvNormal``.
    calibrated
        Which of the two.

    Notes
    -----
    Source: Widmann et al. 2021, appendix A.2.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions, targets = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.calibration_test(predictions, targets, rng=1).pvalue
    0.001
    """

    dimension: int = 1
    calibrated: bool = True
    _checks = {"dimension": whole(1), "calibrated": switch}

    @property
    def is_calibrated(self) -> bool:
        return self.calibrated

    @property
    def description(self) -> str:
        return f"{'calibrated' if self.calibrated else 'uncalibrated'} {self.predictions_in_words}"

    @property
    def predictions_in_words(self) -> str:
        return f"Gaussian model, d = {self.dimension}"

    def sample(self, n: int, rng: Any = None) -> tuple[Predictions, Array]:
        """N predictions, and targets of shape (n,) for d = 1, else (n, d)."""
        generator = generator_of(rng)
        centres = generator.random(number_of_observations(n))
        return self._normal(centres), self._normal(centres, self._first).sample(generator)

    def skce(self, kernel: ProductKernel) -> float:
        """The squared kernel calibration error of the model, by quadrature; 0 if it is calibrated.

        With the law Q of the targets of a prediction P (Widmann et al. 2021, Lemma B.2)::

            E k_P(P, P') [E k_Y(Y, Y') - E k_Y(Z, Y') - E k_Y(Y, Z') + E k_Y(Z, Z')],    Y ~ Q, Z ~ P

        over independent pairs (P, Q), (P', Q'). Gauss-Legendre rule with 48 x 48 points on the triangle c' < c, on
        which exponential and Gaussian kernels of the predictions are smooth: accurate to 1e-12 for bandwidths of at
        least 0.2. ``TypeError`` for kernels without closed forms.
        """
        if self.calibrated:
            return 0.0
        nodes, weights = np.polynomial.legendre.leggauss(48)
        nodes, weights = (nodes + 1.0) / 2.0, weights / 2.0
        large = np.repeat(nodes, nodes.size)[:, None]
        small = large * np.tile(nodes, nodes.size)[:, None]
        p, q, other_p, other_q = (self._normal(c, mean) for c in (large, small) for mean in (None, self._first))
        target_kernel = kernel.target_kernel
        terms = q.expected_kernel2(target_kernel, other_q) + p.expected_kernel2(target_kernel, other_p)
        terms -= p.expected_kernel2(target_kernel, other_q) + q.expected_kernel2(target_kernel, other_p)
        terms *= kernel.prediction_kernel.tile(p, other_p)
        return float(2.0 * np.sum(np.outer(weights * nodes, weights).ravel() * terms.ravel()))

    @property
    def _first(self) -> float | None:
        """Mean of the first coordinate of all targets, None if it is that of the predictions."""
        return None if self.calibrated else 0.1

    def _normal(self, centres: FloatArray, first: float | None = None) -> Predictions:
        """``N(c 1, 0.1**2 I)`` for centres of any shape (..., n), or with another mean of the first coordinate."""
        means = np.repeat(centres[..., None], self.dimension, axis=-1)
        if first is not None:
            means[..., 0] = first
        flat = means.reshape(-1, self.dimension)
        index = np.arange(flat.shape[0]).reshape(means.shape[:-1])
        one: Predictions = Normal(flat[:, 0], 0.1) if self.dimension == 1 else MvNormal(flat, 0.1**2)
        return one.take(index)
