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

from caltest._basics import offered as _offered
from caltest.generators.base import Distortion as Distortion, Generator as Generator
from caltest.generators.distortions import (
    Bias as Bias,
    ClassDistortion as ClassDistortion,
    Contamination as Contamination,
    Distorted as Distorted,
    LabelNoise as LabelNoise,
    Outliers as Outliers,
    Resampled as Resampled,
    Rotation as Rotation,
    Scaling as Scaling,
    Tempering as Tempering,
    Wave as Wave,
)
from caltest.generators.models import (
    DirichletModel as DirichletModel,
    GaussianModel as GaussianModel,
    class_model as class_model,
)
from caltest.generators.regression import (
    Friedman1 as Friedman1,
    HeteroscedasticSine as HeteroscedasticSine,
    LeastSquares as LeastSquares,
    RegressionProblem as RegressionProblem,
)

__all__ = _offered(globals())
