"""Figures that can be printed; imported where one is made, as it loads matplotlib."""

from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure


class PrintableFigure(Figure):
    """A figure whose files have the fonts of ``caltest.plots.save`` whatever saves them, ``plt.savefig`` or its own."""

    def savefig(self, *args: Any, **settings: Any) -> None:
        with rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
            super().savefig(*args, **settings)
