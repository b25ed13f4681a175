"""Every public name: those of the front door, and those of its submodules."""

import inspect

import caltest as ct

MODULES = {name: thing for name in ct.__all__ if inspect.ismodule(thing := getattr(ct, name))}
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


def classes_of(*bases):
    """Public classes that can be made and derive from one of some bases."""
    return {one for one in CLASSES.values() if issubclass(one, bases) and not inspect.isabstract(one)}
