"""Figures that can be printed; imported where one is made, as it loads matplotlib."""

from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure


class PrintableFigure(Figure):
    """A figure whose files in PDF and PS have TrueType fonts, whatever saves it: ``plt.savefig``, ``fig.savefig``.

    Publishers refuse the Type 3 fonts that matplotlib writes by default.
    """

    def savefig(self, *args: Any, **settings: Any) -> None:
        """As ``matplotlib.figure.Figure.savefig``."""
        with rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
            super().savefig(*args, **settings)
