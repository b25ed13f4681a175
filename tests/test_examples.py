"""What the contract tests say of a class of one's own that lacks something."""

import subprocess
import sys
from pathlib import Path

import pytest

OWN = {
    "Unfinished": (
        "class Unfinished(Univariate):\n    family = 'Unfinished'",
        "Unfinished: methods are missing: _draw, _quantile, cdf, log_density, moments",
    ),
    "NoExample": (
        "class NoExample(ct.Gamma):\n    '''A family.'''",
        "NoExample: its docstring has no example that makes one",
    ),
    "NoKind": (
        "class NoKind(VectorMetric):\n    symbol = label = 'd'\n    def known_vectors(self, predictions): return None",
        "  kind: What is summed over the coordinates: ``CITYBLOCK`` or ``SQUARED_EUCLIDEAN``.",
    ),
    "NoStatistic": (
        "class NoStatistic(ct.CalibrationTest):\n    '''>>> NoStatistic()'''\n"
        "    def __init__(self): super().__init__(BinaryStatistic(), ct.nulls.TextbookNull())",
        "NoStatistic: TypeError: Can't instantiate abstract class BinaryStatistic",
    ),
    "NoFit": (
        "class NoFit(ct.recalibration.ProbabilityCalibrator):\n    '''>>> NoFit()'''",
        "NoFit: methods are missing: _fit",
    ),
    "Finished": ("class Finished(ct.Gamma):\n    '''>>> Finished([2.0, 5.0], 1.5)'''", ""),
}
HEAD = """import caltest as ct
from caltest.estimators import BinaryStatistic
from caltest.kernels import VectorMetric
from caltest.predictions.numbers.univariate import Univariate
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the test of all classes prints of a file with these."""
    own = tmp_path_factory.mktemp("own") / "own.py"
    own.write_text(HEAD + "\n".join(source for source, _ in OWN.values()))
    tests = Path(__file__).parent / "test_contracts.py"
    chosen = "test_every_class and (" + " or ".join(OWN) + ")"
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-rA", str(tests), "--own", str(own), "-k", chosen]
    return subprocess.run(command, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", OWN)
def test_a_class_of_ones_own_is_told_what_it_lacks(name, printed):
    _, words = OWN[name]
    assert words in printed
    outcome = "FAILED" if words else "PASSED"
    assert f"{outcome} tests/test_contracts.py::test_every_class_says_what_it_has_to_and_is_covered[{name}]" in printed
