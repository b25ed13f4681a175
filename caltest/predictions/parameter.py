"""Parameters of families of distributions as attributes."""

from typing import TYPE_CHECKING, Any

from caltest._basics.types import FloatArray


class Parameter(property):
    """One of the arrays of ``_parameters``, read-only: ``scale = Parameter(1, "Scales (..., n).")``."""

    def __init__(self, place: int, doc: str) -> None:
        super().__init__(lambda predictions: predictions._parameters[place], doc=doc)

    if TYPE_CHECKING:

        def __get__(self, instance: Any, owner: type | None = None) -> FloatArray: ...  # type: ignore[override]
