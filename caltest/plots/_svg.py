"""Pictures as SVG elements of a page."""

import re
from collections.abc import Callable
from html import escape
from io import StringIO
from typing import Any

from caltest._results.tables import printable


def svg_of(draw: Callable[..., Any], alternative: str, size: tuple[float, float]) -> str:
    """An SVG element of what a function draws into ``ax``, with what it shows in words.

    The size is in inches; the page sets the width that is shown.
    """
    import matplotlib
    from matplotlib.figure import Figure

    figure, out = Figure(figsize=size, layout="constrained"), StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": alternative, "font.family": "sans-serif"}):
        draw(ax=figure.add_subplot())
        figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    # Names in several pictures of one page must differ.
    mark = re.sub(r"\W", "", alternative)
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{mark}-", svg)
    named = f'<svg role="img" aria-label="{escape(alternative)}" viewBox='
    return printable(re.sub(r"<svg [^>]*?viewBox=", lambda _: named, svg, count=1))
