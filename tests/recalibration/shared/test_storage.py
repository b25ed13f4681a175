"""Files of maps: what is damaged, foreign or out of range is refused with what was got and wanted."""

import io
import re
from functools import cache

import numpy as np
import pytest

import caltest as ct
from caltest.recalibration import (
    BBQ,
    BetaCalibration,
    CalibrationMap,
    DirichletCalibration,
    FamilyTemperatureScaling,
    GPCalibrator,
    Identity,
    Isotonic,
    OneVsRest,
    Platt,
    QuantileRecalibration,
    ShiftAndScale,
    TemperatureScaling,
    VectorScaling,
)
from caltest.recalibration.shared.storage import as_kind, nested, require_increasing, require_range

NAMES = ("a", "b", "c")
RNG = np.random.default_rng(1)
P = RNG.dirichlet(np.ones(3), 80)
Y = np.array([RNG.choice(3, p=row) for row in P])
NORMAL, NUMBERS = ct.Normal(RNG.normal(size=80), 1.0), RNG.normal(size=80)


def of_classes(method):
    return method.fit(ct.Categorical(P, classes=NAMES), np.array(NAMES)[Y]), P


def of_one(method):
    return method.fit(P[:, 1], Y == 1), P[:, 1]


MAPS = {
    "identity": lambda: of_classes(Identity()),
    "temperature": lambda: of_classes(TemperatureScaling()),
    "vector": lambda: of_classes(VectorScaling()),
    "dirichlet": lambda: of_classes(DirichletCalibration()),
    "gp": lambda: of_classes(GPCalibrator(n_inducing=3, max_iterations=9)),
    "gp of logits": lambda: (GPCalibrator(input="logits", n_inducing=3, max_iterations=9).fit(np.log(P), Y), np.log(P)),
    "one against rest": lambda: of_classes(OneVsRest(Isotonic(interpolate=True))),
    "platt": lambda: of_one(Platt()),
    "beta": lambda: of_one(BetaCalibration()),
    "isotonic": lambda: of_one(Isotonic()),
    "interpolated": lambda: of_one(Isotonic(interpolate=True)),
    "bbq": lambda: of_one(BBQ()),
    "family": lambda: (FamilyTemperatureScaling().fit(NORMAL, NUMBERS), NORMAL),
    "shift": lambda: (ShiftAndScale().fit(NORMAL, NUMBERS), NORMAL),
    "quantiles": lambda: (QuantileRecalibration([0.1, 0.5, 0.9]).fit(NORMAL, NUMBERS), NORMAL),
}


@cache
def fitted_map(name):
    """A map and what it can be applied to."""
    return MAPS[name]()


RUINS = (
    lambda array: np.where(np.ones_like(array, dtype=bool), np.nan, 0.0),
    lambda array: np.full(array.shape, np.inf),
    lambda array: np.full(array.shape, -1e200),
    lambda array: array.astype(complex) + 1j,
    lambda array: array.astype(str),
    lambda array: array[None],
    lambda array: array[..., :1] if array.ndim else np.array([array, array]),
    lambda array: -1.0 - array,
    lambda array: np.zeros(0),
    lambda array: np.append(array.ravel()[:-1].astype(float), 1.0).reshape(array.shape),
)


def answer_of(fitted, given):
    answer = fitted(given)
    if isinstance(answer, ct.Normal):
        return np.stack([answer.mean, answer.scale])
    return answer.values if isinstance(answer, ct.QuantileForecast) else answer


def arrays_of(fitted, path):
    fitted.save(path)
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def check_load(path, given):
    """The answer of a map that can be loaded, None where it is refused in words of ours."""
    try:
        fitted = CalibrationMap.load(path)
    except ValueError as error:
        return None if re.search("got.*wanted", str(error), re.DOTALL) else pytest.fail(str(error))
    answer = answer_of(fitted, given)
    assert answer.dtype == np.float64
    assert np.isfinite(answer).all()
    return answer


def test_names_are_of_settings_of_maps_in_maps():
    assert nested({"maps/0/slope": 1, "kind": 2}) == {"maps": {"0": {"slope": 1}}, "kind": 2}
    for names in (["a/b/c/d"], ["a", "a/b"], ["a/b", "a"], ["a/b", "a/b/c/d"]):
        with pytest.raises(ValueError, match=f"got the name '{names[-1]}', wanted"):
            nested(dict.fromkeys(names, 1))


@pytest.mark.parametrize("check", [require_increasing, require_range])
def test_ends_of_ranges_are_inside(check):
    check("x", np.array([-1.0, -1.0, 2.0, 2.0]), -1.0, 2.0)
    for far in (np.nextafter(-1.0, -2.0), np.nextafter(2.0, 3.0)):
        with pytest.raises(ValueError, match=r"x: got .*, wanted numbers from -1 to 2"):
            check("x", np.array([far]), -1.0, 2.0)


def test_numbers_are_finite():
    largest = np.finfo(np.float64).max
    assert [as_kind("x", value, float) for value in (largest, -largest)] == [largest, -largest]
    for value in (np.inf, -np.inf, np.nan):
        with pytest.raises(ValueError, match=r"x: got -?(inf|nan), wanted a finite number"):
            as_kind("x", value, float)


@pytest.mark.parametrize("name", MAPS)
def test_a_map_is_read_as_it_was_saved(name, tmp_path):
    fitted, given = fitted_map(name)
    fitted.save(tmp_path / "map.npz")
    loaded = CalibrationMap.load(tmp_path / "map.npz")
    assert loaded.to_dict() == fitted.to_dict()
    assert getattr(loaded, "classes", None) == getattr(fitted, "classes", None)
    np.testing.assert_array_equal(answer_of(loaded, given), answer_of(fitted, given))


@pytest.mark.every(7)
@pytest.mark.parametrize("name", MAPS)
def test_changed_arrays_are_refused_or_harmless(name, tmp_path):
    fitted, given = fitted_map(name)
    arrays, path = arrays_of(fitted, tmp_path / "map.npz"), tmp_path / "changed.npz"
    for key, array in arrays.items():
        for i, ruin in enumerate(RUINS):
            try:
                changed = ruin(array)
            except (TypeError, ValueError, np.exceptions.DTypePromotionError):
                continue
            np.savez(path, **{**arrays, key: changed})
            # Numbers that no map has: NaN, infinite, complex, text.
            refused = check_load(path, given) is None
            assert refused or i not in (0, 1, 3, 4) or array.dtype.kind == "U" or array.size == 0, (key, i)
        np.savez(path, **{other: value for other, value in arrays.items() if other != key})
        if key not in ("fitted_rows", "classes"):
            assert check_load(path, given) is None, key
    others = {key: array for key, array in arrays.items() if array.dtype.kind == "U" or array.ndim == 0}
    np.savez(path, **{key: np.zeros((0, *array.shape[1:])) for key, array in arrays.items() if array.ndim} | others)
    check_load(path, given)
    for extra in ("weight", "map/a", "input/b", "a/b/c/d/e"):
        np.savez(path, **{**arrays, extra: np.zeros(2)})
        assert check_load(path, given) is None


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["gp", "one against rest", "quantiles"])
def test_changed_bytes_are_refused_or_harmless(name, tmp_path):
    fitted, given = fitted_map(name)
    fitted.save(tmp_path / "map.npz")
    content, wanted, rng = (tmp_path / "map.npz").read_bytes(), answer_of(fitted, given), np.random.default_rng(2)
    path = tmp_path / "changed.npz"
    for _ in range(150):
        changed = bytearray(content)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            changed[place] = rng.integers(0, 256)
        path.write_bytes(changed)
        answer = check_load(path, given)
        if answer is not None:
            np.testing.assert_array_equal(answer, wanted)
    for length in (0, 1, 30, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        assert check_load(path, given) is None


def test_foreign_files_are_refused_and_nothing_is_executed(tmp_path):
    path = tmp_path / "other.npz"
    buffer = io.BytesIO()
    np.save(buffer, P)
    objects = np.array([print], dtype=object)
    for write in (
        lambda: path.write_bytes(buffer.getvalue()),
        lambda: path.write_text("p,y\n0.5,1"),
        lambda: np.savez(path, p=P, y=Y),
        lambda: np.savez(path, map="TemperatureMap", input=objects, n_classes=3, temperature=1.0, clip=1e-12),
        lambda: np.savez(path, map="ProbabilityMap", input="logits", n_classes=3),
    ):
        write()
        with pytest.raises(ValueError, match=r"other.npz.*got.*wanted|got.*other.npz.*wanted"):
            CalibrationMap.load(path)
    with pytest.raises(ValueError, match="wanted a dictionary"):
        CalibrationMap.from_dict([1, 2])
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    named = TemperatureScaling().fit(ct.Bernoulli(P[:, 0], classes=days), days[Y % 2])
    with pytest.raises(TypeError, match="which no file of arrays holds"):
        named.save(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temperature": float("nan")}, "temperature: got nan, wanted a finite number"),
        ({"temperature": 0.0}, "temperature: got 0.0, wanted numbers from 0.001 to 1000"),
        ({"temperature": "1"}, "temperature: got '1', wanted a number"),
        ({"temperature": True}, "temperature: got True, wanted a number"),
        ({"n_classes": 3.5}, "n_classes: got 3.5, wanted a number"),
        ({"n_classes": 1}, "n_classes: got 1, wanted at least 2"),
        ({"input": "logit"}, "input: got 'logit', wanted 'probabilities' or 'logits'"),
        ({"classes": ["a", "b"]}, "classes: got \\['a', 'b'\\], wanted 3 names"),
        ({"fitted_rows": [0.5, 0.2]}, "fitted_rows: got .* in increasing order"),
        ({"slope": 1.0}, "got a TemperatureMap with slope"),
    ],
)
def test_entries_are_checked(change, message):
    entries = fitted_map("temperature")[0].to_dict()
    with pytest.raises(ValueError, match=message):
        CalibrationMap.from_dict({**entries, **change})


@pytest.mark.parametrize("name", ["shift", "factor"])
def test_shifts_and_factors_have_one_shape(name):
    """With a column of factors no prediction of vectors can be moved."""
    entries = fitted_map("shift")[0].to_dict()
    with pytest.raises(ValueError, match=r"shift: got .*, wanted one for each of at least one of factor"):
        CalibrationMap.from_dict({**entries, name: [[value] for value in entries[name]]})


def test_lines_go_through_at_least_one_point():
    entries = {**fitted_map("interpolated")[0].to_dict(), "points": [], "values": []}
    with pytest.raises(ValueError, match=r"values: got \(0,\), wanted one for each of at least one of points"):
        CalibrationMap.from_dict(entries)


RANGES = {
    **dict.fromkeys([("vector", one) for one in ("weights", "intercept")], (-1e100, 1e100)),
    **dict.fromkeys([("beta", one) for one in ("a", "b")], (0, 1e100)),
    ("beta", "c"): (-1e100, 1e100),
    **dict.fromkeys([("isotonic", "values"), ("interpolated", "values")], (0, 1)),
    **dict.fromkeys([("temperature", "temperature"), ("family", "temperature"), ("gp", "slope")], (0.001, 1000)),
    ("temperature", "clip"): (2.22507e-308, 0.001),
    ("gp", "mean"): (-1e100, 1e100),
    ("gp", "scales"): (5e-7, 1000),
    **dict.fromkeys([("gp", one) for one in ("lengthscale", "variance")], (5e-7, 10000)),
    ("gp", "noise"): (5e-7, 100),
    ("shift", "factor"): (2e-9, 5e8),
}


@pytest.mark.parametrize(("name", "setting"), RANGES)
def test_ranges_of_settings(name, setting):
    entries, (low, high) = fitted_map(name)[0].to_dict(), RANGES[name, setting]
    for far in (1.001 * low - 1.0, 1.001 * high):
        value = np.full_like(entries[setting], far).tolist()
        with pytest.raises(ValueError, match=re.escape(f"numbers from {low:g} to {high:g}")):
            CalibrationMap.from_dict({**entries, setting: value})
