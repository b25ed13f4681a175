"""Objects that the examples of docstrings make: so contracts take up a new class without a line of their own."""

import ast
import contextlib
import doctest
import io
import sys
from functools import cache

import numpy as np

import caltest as ct
from caltest.predictions import CountPredictions, Sample, Univariate


def _is_name(node):
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_name(node.value))


@cache
def made_in_example(kind):
    """All that is made of a class, and all tests, in the examples of its docstring."""
    found, namespace = [], dict(vars(sys.modules[kind.__module__]))
    for example in doctest.DocTestParser().get_examples(kind.__doc__ or ""):
        calls = [node for node in ast.walk(ast.parse(example.source)) if isinstance(node, ast.Call)]
        for call in calls:
            source = ast.unparse(call)
            if _is_name(call.func) and eval(ast.unparse(call.func), namespace) in (kind, ct.CalibrationTest):
                found.append(eval(source, namespace))
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(example.source, kind.__name__, "single"), namespace)
    return found


def example(kind):
    """The last object of a class that an example of its docstring makes."""
    found = [one for one in made_in_example(kind) if type(one) is kind]
    assert found, f"{kind.__name__}: its docstring has no example that makes one, wanted >>> {kind.__name__}(...)"
    return found[-1]


def pair_of_example(null):
    """The test of an example that has a null of some class."""
    found = [one for one in made_in_example(null) if type(getattr(one, "null", None)) is null]
    wanted = f">>> ct.CalibrationTest(estimator, {null.__name__}(...))"
    assert found, f"{null.__name__}: its docstring has no example of a test with it, wanted {wanted}"
    return found[-1]


def sample_of_example(family, n):
    """n of the predictions of an example, or predictions with parameters between theirs, and draws from them."""
    predictions = example(family)
    parameters = predictions._parameters if isinstance(predictions, (Univariate, CountPredictions)) else ()
    if parameters:
        weights = np.random.default_rng(50).dirichlet(np.ones(len(predictions)), n)
        predictions = family(*(weights @ values for values in parameters))
    else:
        predictions = predictions.take(np.arange(n) % len(predictions))
    return Sample(predictions, predictions.redraw(51))
