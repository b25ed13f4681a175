import ast
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from public import CLASSES, MODULES, PUBLIC

import caltest
from caltest._results.values import Stored

PACKAGE = Path(caltest.__file__).parent
TESTS = Path(__file__).parent
LAYERS = [
    ["_basics", "_laws"],
    ["_loops"],
    ["_validation"],
    ["_results"],
    ["kernels"],
    ["predictions"],
    ["hstatistics", "binning", "datasets"],
    ["estimators"],
    ["decompositions"],
    ["nulls", "risk"],
    ["hypothesis_test", "calibration_accumulator", "named_tests"],
    ["default_test", "group_test", "label_test", "lagged_test", "slices", "fields"],
    ["generators", "intervals", "sequential", "comparisons"],
    ["studies", "recalibration"],
    ["plots"],
    ["auditing", "bridges"],
    ["results"],
    ["cli"],
    ["__main__"],
]
FAMILIES_ASKED = 0
"""Questions for the family of predictions outside of their folder."""
KERNELS_ASKED = 5
"""Questions for the class of a kernel or metric outside of their folder."""
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def modules():
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts != ("__init__",):
            yield parts[0], path


@cache
def tree(path):
    return ast.parse(path.read_text())


@cache
def nodes(path):
    return list(ast.walk(tree(path)))


def imports(path):
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_module_hides_a_name_of_the_front_door():
    """A name is looked up when it is asked for, unless a module of that name was loaded before."""
    offered = {
        alias.name: node.module for node in tree(PACKAGE / "__init__.pyi").body for alias in getattr(node, "names", ())
    }
    assert sorted(offered) == caltest.__all__
    for name, home in offered.items():
        is_module = (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists()
        assert is_module == (home == "caltest"), name


def test_a_name_that_is_not_there_is_looked_for():
    """In submodules, whose place the error says; and Python suggests one that is spelt alike."""
    with pytest.raises(AttributeError, match=r"; it is ct\.nulls\.HotellingNull$"):
        caltest.HotellingNull  # noqa: B018
    with pytest.raises(AttributeError) as raised:
        caltest.calibratoin_test  # noqa: B018
    assert (raised.value.name, raised.value.obj) == ("calibratoin_test", caltest)


def test_imports_go_downward_only():
    for layer, path in modules():
        assert layer in RANK, f"{path} has no layer"
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "caltest" and len(parts) > 1 and parts[1] in RANK and parts[1] != layer:
                assert RANK[parts[1]] <= RANK[layer], f"{path.name} imports {name}"


def classes_below(folder, *roots):
    """Names of the classes of a folder that derive from some roots, which are not among them."""
    below = [node for path in (PACKAGE / folder).rglob("*.py") for node in nodes(path)]
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for node in below
        if isinstance(node, ast.ClassDef)
    }
    found, known = set(), set()
    while found != known or not known:
        known, found = found, {name for name, parents in bases.items() if parents & (found | set(roots))}
    return found - set(roots)


def names_in(node):
    """Names and attributes in an expression."""
    for one in ast.walk(node):
        if isinstance(one, (ast.Name, ast.Attribute)):
            yield one.id if isinstance(one, ast.Name) else one.attr


def questions(path, classes):
    """Lines that ask whether something is of one of some classes."""
    for node in nodes(path):
        asked = []
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("isinstance", "issubclass"):
            asked = list(names_in(node.args[1]))
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            if getattr(node.left.func, "id", None) == "type":
                asked = [name for side in node.comparators for name in names_in(side)]
        elif isinstance(node, ast.MatchClass):
            asked = list(names_in(node.cls))
        yield from (node.lineno for name in asked if name in classes)


def asked_outside(home, classes):
    """How many of these questions each file outside of a folder asks."""
    counts = {}
    for _, path in modules():
        place = path.relative_to(PACKAGE).as_posix()
        number = len(list(questions(path, classes)))
        if number and not place.startswith(home + "/"):
            counts[place] = number
    return counts


def test_families_answer_questions_themselves():
    """Outside of their folder nobody asks which family predictions are of, only what they know."""
    families = classes_below("predictions", "Predictions")
    assert {"Normal", "FinitePredictions", "Pool", "Poisson"} <= families
    assert sum(asked_outside("predictions", families).values()) <= FAMILIES_ASKED


def test_kernels_and_metrics_answer_questions_themselves():
    """Outside of their folder nobody asks which kernel or metric it is, only what it knows."""
    kernels = classes_below("kernels", "Kernel", "PredictionKernel", "TargetKernel", "PairKernel", "Metric")
    assert {"GaussianKernel", "RadialKernel", "ProductKernel", "TotalVariation"} <= kernels
    asked = asked_outside("kernels", kernels)
    assert sum(asked.values()) <= KERNELS_ASKED


def test_numba_and_matplotlib_have_one_home():
    for _, path in modules():
        roots = {name.split(".")[0] for name in imports(path)}
        assert "numba" not in roots or path == PACKAGE / "_basics" / "jit.py"
        assert "matplotlib" not in roots or path.parent.name == "plots"
        assert "sklearn" not in roots or path.name in ("calibrated_model.py", "sklearn.py")


def test_compiled_loops_depend_on_nothing_that_their_cache_is_not_keyed_by():
    for path in (PACKAGE / "_loops").rglob("*.py"):
        for name in imports(path):
            known = "caltest._loops", "caltest._basics.jit", "caltest._basics.numerics"
            assert name.split(".")[0] in {"numpy", *sys.stdlib_module_names} or name.startswith(known)
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module == "caltest._basics.numerics":
                assert {one.name for one in node.names} <= {"Array", "ArrayLike", "BoolArray", "FloatArray", "IntArray"}


LATER = [
    "auditing",
    "bridges",
    "comparisons",
    "fields",
    "generators",
    "plots",
    "risk",
    "sequential",
    "slices",
    "studies",
]


def test_import_is_light():
    """Nothing heavy is loaded, by predictions neither; nothing is compiled, nothing is printed or warned about."""
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
    code = f"""
import sys, caltest
print([m for m in ("numpy", "numba") if m in sys.modules])
from caltest import calibration_test
from caltest._loops.pair_sums import tiles
print([m for m in sys.modules if m.split(".")[:2] in (["caltest", one] for one in {LATER})])
print([m for m in {heavy} if m in sys.modules], len(tiles.add_products.signatures))
import caltest.plots
from caltest.predictions.inputs.convert import as_predictions
as_predictions([0.2, 0.3]), as_predictions([[0.2, 0.8]])
print([m for m in ("scipy.stats", "matplotlib", "torch") if m in sys.modules])
print(all(eval(f"caltest.{{name}}").__all__ for name in {list(MODULES)}))
"""
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    at_once, unused, loaded, by_predictions, attributes = run.stdout.splitlines()
    assert at_once == "[]", "the front door loads a name when it is asked for"
    assert unused == "[]", "the default test loads what it does not need"
    assert loaded == "[] 0", "a module imports what it should where it is used, such as scipy.special"
    assert by_predictions == "[]"
    assert attributes == "True", "a submodule is no attribute after ``import caltest``"
    assert run.stderr == ""


WHOLE = {"benchmarks", "fuzz", "golden", "statistical"}
"""Folders with tests of the whole package, beside those in ``tests`` itself."""
TOGETHER = {
    "basics": ["progress"],
    "bridges": ["paths"],
    "estimators": ["omnibus_weights", "scores"],
    "kernels": ["questions"],
    "loops": ["bounds", "scatter"],
    "plots": ["pictures"],
    "predictions": ["log_density", "pools", "quantile", "saddle_point", "sampling", "temperature_of_classes"],
    "recalibration": ["binary", "degenerate", "names"],
    "risk": ["cifar"],
}
"""Tests of what several files of a folder do together, by their folder."""
ELSEWHERE = {"datasets", "redraws", "bootstraps", "statistics"}
"""Folders of the package that the tests of others reach."""


def mirrored(path):
    """Where the tests of a file or folder of the package are: those of ``a/_b`` in ``a/b``."""
    return "/".join(part.removeprefix("_") for part in path.relative_to(PACKAGE).with_suffix("").parts)


def test_tests_lie_as_what_they_test():
    """The tests of ``a/b.py`` are in ``tests/a/test_b.py``, those of a folder ``a/c`` in it or in ``test_c.py``."""
    paths = [path for path in PACKAGE.rglob("*") if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))]
    tested = {mirrored(path) for path in paths}
    for test in TESTS.glob("*/**/test_*.py"):
        folder, name = test.relative_to(TESTS).parent.as_posix(), test.stem.removeprefix("test_")
        if folder.split("/")[0] in WHOLE or name in TOGETHER.get(folder, []):
            continue
        assert f"{folder}/{name}" in tested or folder.split("/")[-1] == name, f"{test} tests nothing of its name"
    for path in paths:
        place = TESTS / mirrored(path)
        if path.is_dir() and path != PACKAGE and path.name not in ELSEWHERE:
            assert any(place.glob("**/test_*.py")) or place.with_name(f"test_{place.name}.py").exists(), path


def test_folders_can_be_kept_in_mind():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    files = {folder.name: len(list(folder.glob("[!_]*.py"))) for folder in folders}
    assert max(files.values()) <= 12, files


def test_nothing_is_compiled_while_tests_are_collected(request):
    """Every worker collects all tests, at the same time. Checks of data, of a few lines each, do not count."""
    assert set(request.config.compiled_at_collection) <= {"maxima"}


WITHOUT_EXAMPLE = {
    *("Predictions", "Estimator", "Null", "Binning", "ErrorFunction", "Sample", "Outcome", "TextbookTail"),
    *("Univariate", "CountPredictions", "BinaryStatistic", "ResamplingNull"),
    *("Metric", "VectorMetric", "PairKernel", "PredictionKernel", "RadialKernel", "TargetKernel"),
    "HasTextbookLaw",
    *("Generator", "RegressionProblem", "Distortion", "ClassDistortion", "SummableNull"),
    *("CalibrationMap", "Calibrator", "ProbabilityCalibrator", "ProbabilityMap"),
    *("KernelWarning", "ClosedFormMissing"),
}
"""Bases, protocols, warnings and errors."""


def test_public_names_are_documented_with_an_example():
    for name, thing in PUBLIC.items():
        assert thing.__doc__, name
        assert ">>>" in thing.__doc__ or thing.__name__ in WITHOUT_EXAMPLE, name


def test_the_front_door_can_be_kept_in_mind():
    """Names with the submodules; 100 is the bound to keep: what comes takes the place of another."""
    assert len(caltest.__all__) <= 100
    assert dir(caltest) == sorted(dir(caltest)) == sorted([*caltest.__all__, "__version__"])
    assert all(getattr(caltest, name) is not None for name in dir(caltest))


def test_submodules_say_what_they_offer():
    """None names what it does not offer."""
    for part, module in MODULES.items():
        assert list(module.__all__) == sorted(set(module.__all__)), part
        named = set(re.findall(r"``([A-Z]\w+)``", module.__doc__)) - {"CalibratedModel"}
        assert named <= set(module.__all__), (part, named - set(module.__all__))


def test_every_public_name_is_in_the_reference_once(monkeypatch):
    monkeypatch.syspath_prepend(PACKAGE.parent / "docs")
    reference = importlib.import_module("reference")
    public = sorted(f"caltest.{name}" for name in PUBLIC)
    assert public == sorted(name for _, names in reference.pages().values() for name in names)


INSIDE = {"DrawnEnsemble", "Pool", "StandardUniform"}
"""Families that the package makes from others."""


def made_below(base):
    """Classes that derive from one and can be made, of modules and with names without a leading underscore."""
    for one in base.__subclasses__():
        is_ours = one.__module__.startswith("caltest.") and "._" not in f"{one.__module__}.{one.__name__}"
        if is_ours and not inspect.isabstract(one):
            yield one
        yield from made_below(one)


def test_public_classes_can_be_reached():
    """But for maps, which ``fit`` and ``CalibrationMap.load`` make."""
    found = {one for base in [*CLASSES.values(), Stored] for one in made_below(base)}
    found = {one.__name__ for one in found if not issubclass(one, caltest.recalibration.CalibrationMap)}
    hidden = sorted(found - set(CLASSES) - INSIDE)
    assert not hidden, (
        f"{hidden}: in no __all__, wanted an import in the __init__.py of the folder, or a place above it"
    )
    assert found >= INSIDE


def test_a_name_that_is_elsewhere_is_found():
    homes = {"UniformBinning": "binning", "validate": "fields.clinical", "rank_histogram": "fields.weather"}
    for name, home in homes.items():
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'; it is ct.{home}.{name}"):
            getattr(caltest, name)


def lacks_library(name):
    """Whether a bridge leads to a library that is missing: such files have the name of the library."""
    library = name.removeprefix("caltest.bridges.")
    return library in ("sklearn", "torch", "torchmetrics") and importlib.util.find_spec(library) is None


def test_public_methods_are_documented_where_they_first_appear():
    """``help`` shows the text of the base class for methods that do what it says; others have their own."""
    for info in pkgutil.walk_packages(caltest.__path__, "caltest."):
        if info.name.endswith("__main__") or lacks_library(info.name):
            continue
        module = importlib.import_module(info.name)
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__ == info.name and kind.__name__[0] != "_":
                for name, value in vars(kind).items():
                    is_method = inspect.isroutine(value) or isinstance(value, (classmethod, staticmethod, property))
                    if name[0] != "_" and is_method:
                        shown = value if isinstance(value, property) else getattr(kind, name)
                        words = f"{info.name}: {kind.__name__}.{name} has no docstring, nor is there one in its bases"
                        assert inspect.getdoc(shown), words
