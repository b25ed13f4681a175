"""Numbers that every public call returns for small data, stored so that any change of their meaning is noticed.

Calls and values of their settings are those of ``tests/fuzz``; families, kernels and tests those of
``tests/contracts.py``: what is new there is taken up by itself. ``python -m tests.golden.numbers`` stores what is
returned now, but for what depends on the last digits of a processor, and with ``new`` only what is not yet stored; with
names of cases it shows all that is in them, for a comparison with another commit. Each change has to be explained by
the change of the package that it comes with: what is stored says what was, not what is right.
"""

import contextlib
import dataclasses
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from bisect import bisect_left, bisect_right, insort
from contextlib import nullcontext
from functools import partial
from operator import itemgetter
from pathlib import Path
from zlib import crc32

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from contracts import CASES as KERNELS, estimators, first_of_each, made_tests
from fuzz.calls import CALLS, DATA, SPECIAL, Case, arguments, use_of, values_of
from golden.seeds import MEMBERS, N, _u as U, _v as V, _w as W
from public import PUBLIC
from samples import TV

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.cli import TESTS, main
from caltest.predictions import Predictions
from caltest.predictions.faults import Fit

STORED = Path(__file__).with_suffix(".json")
OTHER_PROCESSOR = {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512_SKX"}
"""Settings under which numpy and BLAS add up in another order; features that are not there are ignored."""
VERSIONS = re.compile(r"(caltest|numpy|scipy|Python) [0-9.]+\w*")
ZERO, SAME = 1e-11, 1e-9
"""Numbers that are 0 but for rounding, and relative differences of those that are one."""
ENOUGH = 3
"""Samples with which a public object is used."""
EVERYWHERE = {"weights", "missing"}
"""Arguments that are tried with all samples, the second with outcomes that are missing."""

# --- data ----------------------------------------------------------------------------------------------------------

_p = np.stack([0.1 + U, 0.1 + V, 0.2 + 0.5 * (1.0 - U)], axis=1)
_p /= _p.sum(axis=1, keepdims=True)
_q = np.sqrt(_p) / np.sqrt(_p).sum(axis=1, keepdims=True)
_labels = (W[:, None] > np.cumsum(_q, axis=1)).sum(axis=1)
MANY = 300
_many = np.arange(MANY) * 0.6180339887498949 % 1.0
_amounts = np.where(W < 0.2, 0.0, 3.0 * V + W)

SAMPLES = {
    "binary": (ct.Bernoulli(np.round(0.02 + 0.9 * U, 2)), (V < 0.25 + 0.6 * U).astype(float)),
    "classes": (ct.Categorical(_p), _labels.astype(float)),
    "ordered": (ct.Ordinal(_p), _labels),
    "numbers": (ct.Normal(U, 0.1 + 0.1 * V), U + 0.7 * (W - 0.4)),
    "counts": (ct.Poisson(1.0 + 5.0 * U), np.floor(1.0 + 4.0 * U + 6.0 * W).astype(int)),
    "vectors": (ct.MvNormal(np.stack([U, V], 1), 0.05), np.stack([U + 0.4 * (W - 0.5), 0.9 * V], 1)),
    "members": (ct.Ensemble(MEMBERS[:, :7]), U + 0.9 * (W - 0.5)),
    "amounts": (ct.Gamma(0.5 + U, 1.0), _amounts),
    "times": (ct.Gamma(1.0 + U, 1.0), ct.Censored(0.05 + 4.0 * W, V < 0.7)),
    "many": (ct.Bernoulli(0.02 + 0.9 * _many), (np.arange(MANY) * 0.7548776662466927 % 1.0 < 0.2 + 0.6 * _many)),
}
"""Predictions and outcomes, without random numbers of ours, that disagree; the last are for functions only."""

WEIGHTS = np.where(np.arange(N) % 7 == 3, 0.0, 0.3 + W)

ORDINARY = {
    "BinnedErrorFunction.n_bins": [3, 5],
    "DebiasedBinnedErrorFunction.n_bins": [3, 5],
    "DirichletErrorFunction.bandwidth": [0.1, 0.5],
    "DistributionFreeSKCETest.estimator": [ct.SKCE(TV), ct.BlockSKCE(TV, 3)],
    "distribution_free_interval.estimator": [ct.SKCE(TV), ct.SKCE(TV, unbiased=False), ct.BlockSKCE(TV, 3)],
    "sample_size.n_simulations": [20],
    "sample_size.n_max": [200],
    "sample_size.test": [ct.MonteCarloTest(ct.estimators.ExcessBrierScore(), 19)],
    "clusters": [np.arange(N) // 3],
    "distortion": [ct.generators.Tempering(0.5), ct.generators.Bias(0.3), ct.generators.LabelNoise(0.2)],
    "dry": [0.2],
    "edges": [[0.0, 0.3, 0.5, 1.0]],
    "estimator": [ct.ECE(ct.binning.QuantileBinning(4)), ct.estimators.ExcessBrierScore(), ct.estimators.PIT()],
    "features": [{"x": np.cos(np.arange(N)), "site": [f"s{i % 3}" for i in range(N)]}],
    "generator": [ct.generators.Resampled(ct.Categorical(_p), ct.generators.LabelNoise(0.3))],
    "groups": [np.arange(N) % 3, [f"g{i}" for i in np.arange(N) // 20]],
    "horizon": [1, 2, 18],
    "limits": [np.full(N, 9.0)],
    "min_variance": [0.5],
    "n": [9],
    "n_resamples": [19, 9],
    "n_simulations": [2],
    "null": [ct.nulls.ConditionalMonteCarlo(19)],
    "notion": ["canonical", "top_label", "classwise"],
    "regularisation": [0.1],
    "rng": [1],
    "time": [np.arange(N)],
    "thresholds": [0.5, [0.1, 0.2]],
    "values": [U, np.round(V, 1)],
    "weights": [WEIGHTS],
    "level": [0.3],
    "index": [slice(1, 7)],
    "n_members": [4],
    "c": [1],
    "size": [0.1],
}
"""Values of arguments that are better known here than in ``tests/fuzz``, the first of them for all calls."""
COMMANDS = [
    *(f"test classes classes_y --test {name}" for name in TESTS if name != "pit"),
    "test numbers numbers_y --normal --test pit --format latex",
    "test binary binary_y --weights weights --format markdown --alpha 0.1",
    "test binary binary_y --groups groups --format json",
    "audit binary binary_y --n-resamples 19",
    "audit numbers numbers_y --normal --n-resamples 19 --format json",
    "compare binary square binary_y --n-resamples 19",
    "compare binary square binary_y --n-resamples 19 --pairs --format json",
    "power binary --deviation label-noise --strength 0.5 --n-simulations 20 --n-resamples 19 --format json",
    "recalibrate classes classes_y",
    "recalibrate binary binary_y --method beta --apply square --output new.csv --format json",
]
"""Commands with the samples as files."""
ALWAYS = {
    "n_resamples",
    "n_simulations",
    "n_max",
    "rng",
    "max_iterations",
    "regularisation",
    "horizon",
    "dry",
    "min_variance",
}
"""Arguments that are given although they have defaults."""
OF_DATA = {"other": "predictions", "rows": "targets", "columns": "targets", "other_targets": "targets"}


class Ordinary(Case):
    """With three groups, and nine observations of generators."""

    def one_of(self, *values):
        return 9 if repr(values) == "(1, 2, 9)" else super().one_of(*values)

    def groups(self):
        return np.arange(self.n) % 3


class First:
    """Choices of ordinary values: the first of each, but for another one where the first choice is made."""

    def __init__(self, pick=0):
        self.pick, self.number = pick, None

    def one_of(self, *values):
        usual = [value for value in values if is_usual(value)] or values
        if self.number is not None:
            return usual[0]
        self.number = len(usual)
        return usual[self.pick]

    def below(self, n):
        return n - 1 if n < 10 else 1


def is_usual(value):
    """Whether numbers are neither tiny nor huge, so that no rounding shows."""
    if callable(value) or isinstance(value, str):
        return True
    try:
        sizes = np.abs(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        return True
    return bool(np.all((sizes == 0.0) | ((sizes >= 1e-3) & (sizes <= 100.0))))


def options(callable_, name, case):
    """Ordinary values of an argument; None if none are known."""
    if (own := f"{callable_.__name__}.{name}") in ORDINARY:
        return ORDINARY[own]
    if name in ORDINARY and (callable_, name) not in SPECIAL:
        return [resized(value, case.n) for value in ORDINARY[name]]
    make = values_of(callable_, name)
    if make is None:
        return None
    case.choices = First()
    values = [make(case)]
    for pick in range(1, case.choices.number or 1):
        case.choices = First(pick)
        values.append(make(case))
    case.choices = First()
    return values


def resized(value, n):
    """For n rows, if it is for N."""
    if isinstance(value, dict):
        return {name: resized(column, n) for name, column in value.items()}
    has_rows = isinstance(value, (list, np.ndarray)) and len(value) == N
    return np.resize(value, (n, *np.shape(value)[1:])) if has_rows and n != N else value


def settings(callable_, case):
    """The arguments that a call needs, and a few others; None if one has no known value."""
    given = {}
    for one in arguments(callable_):
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        if name := one.name if one.name in DATA else OF_DATA.get(one.name):
            given[one.name] = case.targets if name == "targets" else case.predictions
        elif one.default is one.empty or one.name in ALWAYS or f"{callable_.__name__}.{one.name}" in ORDINARY:
            values = options(callable_, one.name, case)
            if values is None and one.default is one.empty:
                return None
            if values is not None:
                given[one.name] = values[0]
    return given


# --- what is in a result -------------------------------------------------------------------------------------------

SKIPPED = {"save", "update", "memory", "citations", "followed_by", "warn_of_transport", "to_html", "bibtex", "plot"}
"""Methods that change an object, draw or write files, and texts of others."""
SETTINGS = (ct.estimators.Estimator, ct.nulls.Null, ct.CalibrationTest, ct.ProductKernel, ct.kernels.Metric)
"""What shows as it is written."""


def leaves(thing, case, name="", depth=1):
    """Numbers and texts of a result, with their places in it; methods are called to some depth."""
    if thing is None or isinstance(thing, (bool, np.bool_, str)):
        yield name, str(thing)
    elif isinstance(thing, (int, float, np.number)):
        yield name, float(thing)
    elif isinstance(thing, np.ndarray) and thing.dtype.kind in "fiub":
        yield name, thing
    elif isinstance(thing, dict):
        for key, value in thing.items():
            if key != "caltest":  # The version.
                yield from leaves(value, case, f"{name}.{key}", depth)
    elif hasattr(thing, "_asdict"):
        yield from leaves(thing._asdict(), case, name, depth)
    elif isinstance(thing, (list, tuple, np.ndarray)):
        for value in thing:
            yield from leaves(value, case, name, depth)
    elif isinstance(thing, SETTINGS):
        yield name, repr(thing)
    elif isinstance(thing, Predictions):
        yield from law(thing, name)
    elif type(thing).__module__.startswith("caltest"):
        yield from parts(thing, case, name, depth)


def law(predictions, name):
    """Predictions by what can be drawn from them, and by their parameters."""
    yield name, predictions.describe()
    for part in ("parameter_vectors", "probability_vectors", "redraw"):
        method = getattr(predictions, part)
        yield from said(partial(method, 1) if part == "redraw" else method, None, f"{name}.{part}", 0)


def parts(thing, case, name, depth):
    """What the text, the attributes and the methods of an object say; without methods only its fields."""
    fields = [one.name for one in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else ()
    if "<" not in (text := str(thing)) and not text.startswith(f"{type(thing).__name__}("):
        yield name, text
    methods = dir(type(thing)) if depth else ()
    for one in sorted({one for one in (*methods, *fields) if one[0] != "_"} - SKIPPED):
        static = inspect.getattr_static(type(thing), one, None)
        if inspect.isfunction(static):
            given = settings(getattr(thing, one), case)
            if given is not None:
                yield from said(partial(getattr(thing, one), **given), case, f"{name}.{one}", depth - 1)
        elif not isinstance(static, (classmethod, staticmethod)):
            yield from said(partial(getattr, thing, one), case, f"{name}.{one}", max(0, depth - 1))


def said(call, case, name="", depth=1):
    """What a call returns, or the kind of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except Exception as error:
        yield name, type(error).__name__
        return
    yield from leaves(result, case, name, depth)


# --- cases ---------------------------------------------------------------------------------------------------------


def case_of(predictions, targets):
    return Ordinary(First(), predictions, targets)


def used(thing, case, **more):
    """What a public function returns; a public object, and what it is used for."""
    given = settings(thing, case)
    if given is None:
        raise TypeError("an argument without a value")
    if inspect.isfunction(thing):
        return thing(**{**given, **more})
    if thing is ct.MultiLabel:
        given = {"probabilities": np.stack([U, V, W], axis=1)}
    made = thing(**{**given, **more})
    if isinstance(made, ct.estimators.Estimator):
        return made, monte_carlo(made, case)
    return made, use_of(thing)(made, case)


def fails(found):
    return len(found) == 1 and str(found[0][1]).endswith("Error")


def of_call(thing):
    """A call with the samples that it takes, and with other values of its arguments for the first of them."""
    taken, depth = [], 2 if inspect.isfunction(thing) else 1
    for kind, data in SAMPLES.items():
        if (len(taken) == ENOUGH and depth == 1) or (kind != "binary" and not takes_data(thing)):
            break
        case = case_of(*data)
        with pvalues_only() if taken and depth == 1 else nullcontext():
            found = list(said(partial(used, thing, case), case, depth=depth))
        taken += [] if fails(found) else [kind]
        yield kind, found
    for one in arguments(thing):
        if one.name not in {*DATA, *OF_DATA, "progress", "rng"}:
            some = taken if one.name in EVERYWHERE else taken[:1] or SAMPLES
            for kind in some if takes_data(thing) else ["binary"]:
                yield from of_argument(thing, one, kind)


def takes_data(thing):
    return not inspect.isfunction(thing) or any(one.name in DATA for one in arguments(thing))


def of_argument(thing, one, kind):
    """A call with all ordinary values of an argument but its default."""
    predictions, targets = SAMPLES[kind]
    if one.name == "missing" and kind != "times":
        targets = np.where(np.arange(len(targets)) % 9 == 4, np.nan, targets.T).T
    case = case_of(predictions, targets)
    for i, value in enumerate(options(thing, one.name, case) or ()):
        if not isinstance(value, (int, float, str)) or value != one.default:
            with pvalues_only():
                found = list(said(partial(used, thing, case, **{one.name: value}), case, depth=0))
            yield f"{kind} {one.name} {i}", found


def of_family(sample):
    """All that predictions know, of their faults and alternatives too."""
    predictions, targets = sample.predictions, sample.targets
    case = case_of(predictions, targets)
    # Where a loss is smallest is known to half of its digits, which differ between versions of SciPy.
    yield "law", [(name, one) for name, one in parts(predictions, case, "", 1) if name != ".best_move"]
    several = np.stack([targets, predictions.redraw(1), predictions.redraw(2)])
    for name, weights in (("", None), (" weights", 0.3 + np.arange(len(targets)) % 4)):
        yield f"faults{name}", list(of_faults(predictions, several, weights))
        yield f"alternatives{name}", list(of_alternatives(predictions, several, weights))


def of_faults(predictions, several, weights):
    faults = predictions.faults(weights)
    if faults is None:
        return
    yield "names", " ".join(one.name for one in faults.compared)
    yield from said(partial(faults.rows, several), None, "rows")
    yield from said(partial(faults.sums, several), None, "sums")
    seen = faults.seen(several[:1])
    for one in faults.kinds:
        yield from said(partial(one.promising, seen), None, f"{one.kind}.promising")
        for sibling in range(min(one.n_siblings, 4)):
            low, high = one.bounds(seen, sibling)
            sizes = [low + share * (high - low) for share in (0.2, 0.45, 0.6, 0.95)]
            for t in sizes:
                yield from said(partial(one.log_ratio, seen, sibling, t), None, f"{one.kind}.log_ratio")
                yield from said(partial(one.size, seen, sibling, t), None, f"{one.kind}.size")
            for fit in (Fit(sizes[1], *sizes[:2], True, False), Fit(sizes[2], *sizes[2:], False, True)):
                yield from said(partial(one.words, seen, sibling, fit), None, f"{one.kind}.words")
            yield from said(partial(one.apart, seen, 0, sibling), None, f"{one.kind}.apart")
            yield f"{one.kind}.place", one.place(sibling)


def of_alternatives(predictions, several, weights):
    found = predictions.alternatives(weights)
    if found is not None:
        yield "weights", found.weights
        yield from said(partial(found.log_ratios, several), None, "log_ratios")
        yield from said(partial(found.log_ratio_terms, several), None, "log_ratio_terms")
        for member in range(len(found.weights)):
            yield from said(partial(found.sample, member, np.random.default_rng(1), 2), None, "sample")


def of_kernel(maker, kernel, every):
    """Every estimator, with redraws."""
    sample = maker()
    case = case_of(sample.predictions, sample.targets)
    some = estimators(sample, kernel) if every else [ct.SKCE(kernel), ct.SKCE(kernel, unbiased=False)]
    with pvalues_only():
        for i, one in enumerate(some):
            test = partial(monte_carlo, one, sample)
            yield f"{i} {type(one).__name__}", list(said(test, case, depth=0))


def monte_carlo(estimator, sample):
    return ct.MonteCarloTest(estimator, 7)(sample.predictions, sample.targets, rng=1)


def of_test(make, maker):
    sample = maker()
    case = case_of(sample.predictions, sample.targets)
    yield "", list(said(lambda: make()(sample.predictions, sample.targets, rng=1), case))


def of_commands():
    """What the commands print."""
    p = SAMPLES["binary"][0].to_array()
    mean, scale = SAMPLES["numbers"][0].mean, SAMPLES["numbers"][0].scale
    files = {"binary": p, "square": p**2, "classes": _p, "numbers": np.stack([mean, scale], axis=1), "weights": WEIGHTS}
    files |= {f"{name}_y": SAMPLES[name][1] for name in ("binary", "classes", "numbers")}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, values in files.items():
            np.savetxt(f"{name}.csv", values, "%.12g", ",")
        for command in COMMANDS:
            words = [f"{word}.csv" if word in files else word for word in command.split()]
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                status = main([*words, "--seed", "1"])
            printed = out.getvalue()
            found = json.loads(printed) if printed[:1] == "{" else printed
            yield command, [("status", status), *leaves(found, None)]


def cases():
    """Names of cases, and what gives the parts of each, with what is in them."""
    for name in sorted(CALLS):
        yield name, partial(of_call, PUBLIC[name])
    makers = dict.fromkeys(maker for maker, _ in KERNELS)
    for maker in makers:
        yield f"family {maker.__name__}", lambda maker=maker: of_family(maker())
    for i, (maker, kernel) in enumerate(KERNELS):
        every = (maker, kernel) in first_of_each(KERNELS)
        yield f"kernel {i} {maker.__name__}", partial(of_kernel, maker, kernel, every)
    for name, (make, maker) in made_tests().items():
        yield f"test {name}", partial(of_test, make, maker)
    yield "commands", of_commands


CASES = dict(cases())

# --- what is stored ------------------------------------------------------------------------------------------------


class Digest:
    """For each part of a case a number of the letters of all that is exact, and other numbers, each of them once."""

    def __init__(self, name):
        self.parts, self.known, self.ordered = {}, {}, []
        for part, lines in self.lines(name):
            letters = crc32("\n".join(lines).encode())
            self.parts[part] = [letters, [number for place, number in self.known.items() if place[0] == part]]

    def lines(self, name):
        """All that is in each part of a case."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for part, found in CASES[name]():
                yield (
                    part,
                    [f"{place}: {self.exact((part, place, i), value)}" for i, (place, value) in enumerate(found)],
                )

    def exact(self, place, value):
        """A text, whole numbers, or where another number stood first."""
        if isinstance(value, str):
            # Where versions are named, lines can end at other words.
            return " ".join(VERSIONS.sub("", value).split()) if VERSIONS.search(value) else value
        values = np.asarray(value, dtype=float)
        # Beyond 2**53 all floating-point numbers are whole.
        if np.all(~np.isfinite(values) | ((values == np.round(values)) & (np.abs(values) < 2.0**53))):
            return f"{values.shape} {crc32((values + 0.0).tobytes())}"
        number = weighted(values)
        if abs(number) < ZERO * max(1.0, np.abs(values[np.isfinite(values)]).max()):
            return "0"
        near = SAME * abs(number)
        same = self.ordered[bisect_right(self.ordered, (number - near,)) : bisect_left(self.ordered, (number + near,))]
        if not same:
            insort(self.ordered, (number, len(self.known), place))
            self.known[place] = number
        first = min(same, key=itemgetter(1), default=(number, 0, place))[2]
        return f"as {first[:2]}"


def weighted(values):
    """A sum in which each value counts differently."""
    weights = 1.0 + np.arange(values.size) * 0.6180339887498949 % 1.0
    return float(weights @ np.where(np.isfinite(values), values, 10.0).ravel())


def digests(names):
    return {name: Digest(name).parts for name in names or CASES}


def agreed(one, other):
    """What is the same on two processors; None where it is not."""
    (letters, numbers), (other_letters, others) = one, other
    same = letters if letters == other_letters else None
    if len(numbers) != len(others):
        return [same, None]
    close = [abs(a - b) < 1e-10 * abs(a) for a, b in zip(numbers, others, strict=True)]
    return [same, [float(f"{a:.10g}") if is_same else None for a, is_same in zip(numbers, close, strict=True)]]


def store(names=()):
    """Write what two processors agree on, a line for each case or those named, and say where they do not."""
    command = [sys.executable, "-m", "tests.golden.numbers", "--digests", *names]
    done = subprocess.run(command, env=os.environ | OTHER_PROCESSOR, check=True, capture_output=True, text=True)
    other = json.loads(done.stdout)
    found = {
        name: {part: agreed(digest, other[name][part]) for part, digest in parts.items()}
        for name, parts in digests(names).items()
    }
    for parts in found.values():
        if any(numbers is not None and 2 * numbers.count(None) > len(numbers) for _, numbers in parts.values()):
            # Letters say which numbers are the same, which depends on the processor too.
            parts.update({part: [None, numbers] for part, (_, numbers) in parts.items()})
    stored = json.loads(STORED.read_text()) | found
    lines = [f"{json.dumps(name)}: {json.dumps(stored[name], separators=(',', ':'))}" for name in CASES]
    STORED.write_text("{" + ",\n".join(lines) + "}\n")
    for name, parts in found.items():
        unsure = [
            part for part, (letters, numbers) in parts.items() if letters is None or numbers is None or None in numbers
        ]
        if unsure:
            print(f"{name}: not all is stored of {unsure}")


def store_new():
    """Store the cases that are not yet stored, and print which these are."""
    known = json.loads(STORED.read_text())
    new = [name for name in CASES if name not in known]
    if new:
        store(new)
    print(f"{len(new)} new cases stored", *new, sep="\n  ")


def show(name):
    """All that is in a case, a line for each place."""
    for part, found in CASES[name]():
        print(f"--- {name}, {part}", *(f"{place}: {value}" for place, value in found), sep="\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--digests"]:
        json.dump(digests(sys.argv[2:]), sys.stdout)
    elif sys.argv[1:] == ["new"]:
        store_new()
    elif sys.argv[1:]:
        for one in sys.argv[1:]:
            show(one)
    else:
        store()
