"""Every public name: those of the front door, and those of its submodules; and the classes of ``--own``."""

import importlib.util
import inspect
import os
import sys
import typing
from pathlib import Path

import caltest as ct

MODULES = {name: thing for name in ct.__all__ if inspect.ismodule(thing := getattr(ct, name))}
MODULES |= {
    f"fields.{name}": part for name, part in vars(ct.fields).items() if name[0] != "_" and hasattr(part, "__path__")
}
DOOR = {name: thing for name in ct.__all__ if not inspect.ismodule(thing := getattr(ct, name))}
REST = {
    f"{part}.{name}": thing
    for part, module in MODULES.items()
    for name in module.__all__
    if (thing := getattr(module, name)) is not DOOR.get(name)
}
PUBLIC = DOOR | REST
"""Each public thing by what stands after ``ct.``, once."""
CLASSES = {thing.__name__: thing for thing in PUBLIC.values() if inspect.isclass(thing)}
FUNCTIONS = {thing.__name__: thing for thing in PUBLIC.values() if inspect.isfunction(thing)}
"""By their own names, as ``repr`` prints them."""


def own_classes(path):
    """The public classes of a file outside of the package."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {name: thing for name, thing in vars(module).items() if inspect.isclass(thing) and name[0] != "_"}
    return {name: thing for name, thing in found.items() if thing.__module__ == spec.name}


OWN = own_classes(os.environ["CALTEST_OWN"]) if "CALTEST_OWN" in os.environ else {}
"""Classes of the file of ``--own``, which contracts look at as at those of the package."""
CLASSES |= OWN


def classes_of(*bases):
    """Public classes that can be made and derive from one of some bases."""
    return {one for one in CLASSES.values() if issubclass(one, bases) and not inspect.isabstract(one)}


def not_set(kind):
    """What a class has to say of itself, according to its bases, and does not; in words."""
    for base in kind.__mro__:
        for name, annotation in getattr(base, "__annotations__", {}).items():
            if typing.get_origin(annotation) is typing.ClassVar and not hasattr(kind, name):
                yield f"{kind.__name__}.{name} is not set: {base.__name__} wants {name}: {annotation.__args__[0]}"
