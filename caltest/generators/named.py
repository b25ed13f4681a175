"""Named models of predictions for classes."""

from collections.abc import Callable
from dataclasses import replace

from caltest.generators.base import Generator
from caltest.generators.class_distortions import Rotation, Wave
from caltest.generators.dirichlet import DirichletModel
from caltest.generators.distorted import Distorted
from caltest.generators.real_distortions import Tempering

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

    Raises
    ------
    ValueError
        For another name or other settings.

    Notes
    -----
    M1 to M3 are those of Widmann et al. 2019, section 7; the others deviate less, or in other directions.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.generators.class_model("OC").description
    'predictions of Dir(0.1), 10 classes, labels from the predictions; targets from p^0.6'
    """
    if not isinstance(name, str) or name not in _MODELS:
        raise ValueError(f"name: got {name!r}, wanted one of {', '.join(_MODELS)}")
    if name == "SIN" and n_classes != 2:
        raise ValueError(f"n_classes: got {n_classes!r} for SIN, wanted 2")
    return _MODELS[name](DirichletModel.m1(n_classes, concentration))
