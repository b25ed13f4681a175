"""Models of predictions and targets whose calibration is known, to plan studies, to study tests and to teach with.

A generator is a frozen dataclass with a ``description``, ``is_calibrated`` and a method ``sample(n, rng)`` that returns
n predictions and their targets:

>>> import caltest as ct
>>> generator = ct.generators.GaussianModel(dimension=10, calibrated=False)
>>> generator.sample(50, rng=1)[0]
<MvNormal, n = 50, d = 10, isotropic covariances>

A ``Distortion`` of a given strength says how the targets deviate from predictions; ``Distorted`` applies one to the
predictions of a generator, ``Resampled`` to those of a user.
"""

from caltest.generators.base import Generator
from caltest.generators.class_distortions import (
    ClassDistortion,
    Contamination,
    LabelNoise,
    Rotation,
    Wave,
)
from caltest.generators.dirichlet import DirichletModel
from caltest.generators.distorted import Distorted, Resampled
from caltest.generators.distortion import Distortion
from caltest.generators.gaussian import GaussianModel
from caltest.generators.named import class_model
from caltest.generators.real_distortions import Bias, Outliers, Scaling, Tempering
from caltest.generators.regression import Friedman1, HeteroscedasticSine, LeastSquares, RegressionProblem

__all__ = [
    "Bias",
    "ClassDistortion",
    "Contamination",
    "DirichletModel",
    "Distorted",
    "Distortion",
    "Friedman1",
    "GaussianModel",
    "Generator",
    "HeteroscedasticSine",
    "LabelNoise",
    "LeastSquares",
    "Outliers",
    "RegressionProblem",
    "Resampled",
    "Rotation",
    "Scaling",
    "Tempering",
    "Wave",
    "class_model",
]
