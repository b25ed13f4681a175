"""Clinical validation of the data of CalibrationCurves, against the numbers printed in its vignette.

The data are simulated with a seed of R (``help(traindata)``), and drawn here as R draws them: its Mersenne Twister,
``rnorm`` by inversion of 53 bits, ``rbinom`` of size 1 by one uniform number.
"""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.special import expit, ndtri
from statsmodels.api import GLM, add_constant, families

from caltest.estimators import cox_calibration
from caltest.fields import clinical
from caltest.fields.clinical.curves import loess_weights

COEFFICIENTS = [0.1, 0.5, 1.2, -0.75, 0.8]


class DrawsOfR:
    def __init__(self, seed):
        state = seed
        for _ in range(50):
            state = (69069 * state + 1) % 2**32
        words = []
        for _ in range(625):
            state = (69069 * state + 1) % 2**32
            words.append(state)
        self.bits = np.random.MT19937()
        key = np.array(words[1:], dtype=np.uint32)
        self.bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}

    def uniform(self, n):
        return self.bits.random_raw(n) * 2.3283064365386963e-10

    def normal(self, n):
        u = self.uniform(2 * n)
        return ndtri((np.floor(2.0**27 * u[::2]) + u[1::2]) / 2.0**27)

    def events(self, p):
        is_likely = p > 0.5
        return (self.uniform(p.size) >= np.maximum(p, 1.0 - p)) ^ is_likely


def simulated(draws, n):
    x = add_constant(np.column_stack([draws.normal(n) for _ in range(4)]))
    return x, draws.events(expit(x @ COEFFICIENTS)).astype(int)


@pytest.fixture(scope="module")
def validation():
    """Risks of the vignette's regression for its 500 test data, and their events."""
    draws = DrawsOfR(1782)
    (x, y), (x_new, y_new) = simulated(draws, 1000), simulated(draws, 500)
    fitted = GLM(y, x, family=families.Binomial()).fit(tol=1e-12)
    assert x[0, 1:] == pytest.approx([-0.19981624, 0.2982990, 1.0277486, -0.1146414], abs=5e-8)
    assert fitted.params == pytest.approx([0.08915, 0.60585, 1.38035, -0.75109, 0.82757], abs=5e-6)
    return fitted.predict(x_new), y_new


def test_measures(validation):
    found = clinical.validate(*validation, n_resamples=19, rng=1)
    published = {"calibration in the large": 0.22404680, "calibration slope": 0.82278297, "c-statistic": 0.81426731}
    assert {name: found[name].value for name in published} == pytest.approx(published, abs=5e-9)
    # The normal limit there, which is too short for overconfident risks; ends from those of the O:E ratio here.
    low, high = found["calibration in the large"].interval
    assert low < 0.00339 < 0.4447 < high < 0.4447 + 0.3 * 0.4413
    assert tuple(found["calibration slope"].interval) == pytest.approx((0.666, 0.980), abs=5e-4)
    # Pepe's variance there, DeLong's here.
    assert tuple(found["c-statistic"].interval) == pytest.approx((0.774, 0.848), abs=1e-3)


def places_of_loess(x, cell=75):
    """Where R fits ``loess(y ~ x)`` for 500 numbers: the ends, and medians of parts of more than 500 (0.75) (0.2)."""
    x, margin = np.sort(x), 0.005 * np.ptp(x)

    def medians(part):
        if part.size <= cell:
            return []
        half = (part.size + 1) // 2
        return [*medians(part[:half]), part[half - 1 : half + 1].mean(), *medians(part[half:])]

    return np.array([x[0] - margin, *medians(x), x[-1] + margin])


def local_parabola(x, y, place):
    """Value and slope of the parabola fitted to the nearest three quarters of the data with tricube weights."""
    distances = np.abs(x - place)
    roots = np.sqrt((1.0 - np.minimum(distances / np.sort(distances)[int(0.75 * x.size) - 1], 1.0) ** 3) ** 3)
    powers = np.vander(x - place, 3, increasing=True)
    return np.linalg.lstsq(roots[:, None] * powers, roots * y)[0][:2]


def test_errors_of_curves(validation):
    """``Eavg`` is the ICI of loess, there interpolated; ``Emax`` is that of the logistic curve."""
    risk, event = validation
    places = places_of_loess(risk)
    values, slopes = np.transpose([local_parabola(risk, event, place) for place in places])
    interpolated = CubicHermiteSpline(places, values, slopes)(risk)
    assert np.sort(interpolated)[:5] == pytest.approx([0.0504, 0.0514, 0.0520, 0.0572, 0.0578], abs=5e-5)
    assert np.abs(interpolated - risk).mean() == pytest.approx(0.04747448, abs=1e-5)
    assert loess_weights(risk, places) @ event == pytest.approx(values, rel=1e-9)
    found = clinical.validate(risk, event, curve="loess", n_resamples=19, rng=1)
    assert found["ICI"].value == pytest.approx(0.04747448, abs=4e-4)
    line, places = cox_calibration(risk, event), np.arange(1, 2000) / 2000
    logistic = expit(line.intercept + line.slope * np.log(places / (1 - places)))
    assert np.abs(logistic - places).max() == pytest.approx(0.08288689, abs=5e-9)
