"""What all tables of comparisons offer."""

from abc import ABC, abstractmethod
from typing import Any

from caltest.comparisons.formats import Table, data_frame, latex, markdown
from caltest.results.citations import entries


class ComparisonTable(ABC):
    """Rows that can be printed, exported and cited."""

    rows: tuple[Any, ...]
    citations: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @abstractmethod
    def table(self) -> Table:
        """Header and rows as text."""

    @abstractmethod
    def row_entries(self) -> list[dict[str, Any]]:
        """Plain numbers and strings of each row, by their names."""

    def to_markdown(self) -> str:
        """The table in markdown."""
        return markdown(self.table())

    def to_latex(self) -> str:
        """The table in LaTeX, for the package booktabs; names are escaped."""
        return latex(self.table())

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with the same rows; ``ImportError`` if pandas is missing."""
        return data_frame(self.row_entries())

    def bibtex(self) -> str:
        """BibTeX entries of the methods."""
        return entries(self.citations)
