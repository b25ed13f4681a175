import ast
import subprocess
import sys
from pathlib import Path

import caltest

PACKAGE = Path(caltest.__file__).parent
BASICS = ["_types", "_warnings", "_chunks", "_arrays", "_files", "_jit", "_numerics", "_progress", "_threads", "_jobs"]
LAYERS = [
    [*BASICS, "_laws"],
    ["_loops"],
    ["_validation", "_groups"],
    ["results"],
    ["kernels"],
    ["predictions"],
    ["hstatistics", "alternatives", "binning", "datasets"],
    ["estimators"],
    ["decompositions"],
    ["nulls", "risk"],
    ["calibration_test", "calibration_accumulator", "named_tests", "default_test", "group_test", "noise_floor"],
    ["generators", "_tables", "intervals", "sequential", "comparisons"],
    ["studies", "recalibration"],
    ["plots"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def modules():
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts != ("__init__",):
            yield parts[0], path


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_imports_go_downward_only():
    for layer, path in modules():
        assert layer in RANK, f"{path} has no layer"
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "caltest" and len(parts) > 1 and parts[1] in RANK and parts[1] != layer:
                assert RANK[parts[1]] <= RANK[layer], f"{path.name} imports {name}"


def test_numba_and_matplotlib_have_one_home():
    for _, path in modules():
        roots = {name.split(".")[0] for name in imports(path)}
        assert "numba" not in roots or path.name == "_jit.py"
        assert "matplotlib" not in roots or path.parent.name == "plots"
        assert "sklearn" not in roots or path.name in ("calibrated_model.py", "make_digits.py")


def test_compiled_loops_depend_on_nothing_that_their_cache_is_not_keyed_by():
    for path in (PACKAGE / "_loops").glob("*.py"):
        for name in imports(path):
            known = "caltest._loops", "caltest._jit", "caltest._types"
            assert name.split(".")[0] in {"numpy", *sys.stdlib_module_names} or name.startswith(known)


def test_import_is_light():
    """Nothing heavy is loaded, nothing is compiled, nothing is printed or warned about."""
    heavy = (
        "scipy.special",
        "scipy.stats",
        "scipy.optimize",
        "scipy.linalg",
        "statsmodels",
        "matplotlib",
        "pandas",
        "sklearn",
    )
    code = (
        "import sys, caltest; from caltest._loops import tiles; "
        f"print([m for m in {heavy} if m in sys.modules], len(tiles.add_products.signatures))"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[] 0"
    assert run.stderr == ""


def test_public_names_are_documented_with_an_example():
    without_example = {"Predictions", "Estimator", "Null", "Binning", "KernelWarning", "ClosedFormMissing"}
    without_example |= {"ErrorFunction", "Generator", "RegressionProblem", "Distortion", "ClassDistortion"}
    without_example |= {"CalibrationMap", "Calibrator", "ProbabilityCalibrator", "ProbabilityMap"}
    for place in (caltest, caltest.generators, caltest.recalibration):
        for name in place.__all__:
            text = getattr(place, name).__doc__
            assert text, name
            assert ">>>" in text or name in without_example, name
