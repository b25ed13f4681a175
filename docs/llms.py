"""``llms.txt``, the index of the pages for assistants, and the text of each page beside its HTML."""

import shutil
from pathlib import Path
from typing import Any

import caltest

ABOUT = """# caltest

> Statistical hypothesis tests of calibration: whether predicted probabilities can be taken at face value. Python,
> `import caltest as ct`; `ct.calibration_test(predictions, targets, rng=1)` is the test to begin with, exact for every
> number of rows.
"""


def write_llms(app: Any, error: Exception | None) -> None:
    """Write the index and copy the pages, at the end of a build."""
    if error is not None:
        return
    paths = {name: Path(app.env.doc2path(name)) for name in sorted(app.env.found_docs)}
    pages = {name: path for name, path in paths.items() if path.suffix == ".md"}
    lines = [ABOUT, "## Pages\n"]
    for name, path in pages.items():
        shutil.copy(path, Path(app.outdir) / f"{name}.md")
        lines.append(f"- [{app.env.titles[name].astext()}]({name}.md)")
    lines.append("\n## Public names\n")
    for name in sorted(one for one in caltest.__all__ if not one.startswith("_")):
        doc = (getattr(caltest, name).__doc__ or "").strip().splitlines()
        lines.append(f"- `ct.{name}`: {doc[0] if doc else ''}")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n")
