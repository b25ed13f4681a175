"""What all results that are tables offer."""

from abc import ABC, abstractmethod
from typing import Any

from caltest.comparisons.formats import Table, data_frame, latex, markdown


class TabularResult(ABC):
    """A result with rows that can be exported."""

    @abstractmethod
    def table(self) -> Table:
        """Header and rows as text."""

    def remarks(self) -> list[str]:
        """What to say below the table, wherever it is printed."""
        return []

    @abstractmethod
    def row_entries(self) -> list[dict[str, Any]]:
        """Plain numbers and strings of each row, by their names."""

    def to_markdown(self) -> str:
        """The table in markdown, with remarks below it."""
        return markdown(self.table(), self.remarks())

    def to_latex(self) -> str:
        """The table in LaTeX, for the package booktabs; names are escaped."""
        return latex(self.table(), self.remarks())

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with the same rows; ``ImportError`` if pandas is missing."""
        return data_frame(self.row_entries())
