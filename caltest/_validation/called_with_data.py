"""Tests and estimators are made of settings first, and called with data then."""

from typing import Any

from caltest._basics.numerics import OwnErrstate


class CalledWithData(OwnErrstate):
    """Base of what is called with data: ``TypeError`` if it is made of them, ``ECE(p, y)`` for ``ECE()(p, y)``."""

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        """The object, unless it is given two columns in place of settings."""
        if len(arguments) == 2 and all(hasattr(one, "__len__") and not isinstance(one, str) for one in arguments):
            name = cls.__name__
            raise TypeError(
                f"{name}: got data in place of settings; make it first and then call it with them, "
                f"{name}(...)(predictions, targets)"
            )
        return super().__new__(cls)
