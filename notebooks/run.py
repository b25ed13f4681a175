"""Run notebooks in place, without times and machine names in their metadata: ``python notebooks/run.py [NAME ...]``.

With ``--check`` nothing is written; outputs that differ from the stored ones are an error. Printed numbers may differ by
2 % or two units of their last digit: processors of several kinds sum in different orders, which fits follow. Pictures must
be as many, and look alike when they are made small.
"""

import base64
import io
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import numpy as np
from nbclient import NotebookClient
from PIL import Image


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """What each code cell prints; tables in Markdown hold fits that differ by more between processors."""
    return [
        "".join(output.get("text", "") for output in cell.outputs if output.output_type == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def alike(found: str, stored: str) -> bool:
    """Whether texts have the same words, and numbers that differ by no more than processors make them."""
    same_words = NUMBER.sub("#", found).split() == NUMBER.sub("#", stored).split()
    return same_words and all(map(close, NUMBER.findall(found), NUMBER.findall(stored)))


def close(found: str, stored: str) -> bool:
    """Within 2 %, or two units of the last digit."""
    digits, _, exponent = stored.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    return abs(float(found) - float(stored)) <= max(0.02 * abs(float(stored)), 2.01 * unit)


SIZE, FARTHEST = 32, 0.15
"""Pixels of a side of small pictures, and the share of ink in other places that does not count."""


def pictures(notebook: nbformat.NotebookNode) -> list[np.ndarray]:
    """The ink of the pictures of all cells, made small."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    images = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    opened = (Image.open(io.BytesIO(base64.b64decode(image))) for image in images)
    return [255.0 - np.asarray(one.convert("L").resize((SIZE, SIZE), Image.Resampling.BOX)) for one in opened]


def look_alike(found: list[np.ndarray], stored: list[np.ndarray]) -> bool:
    """Whether there are as many pictures, each with its ink in the same places but for fonts and last digits."""
    if len(found) != len(stored):
        return False
    pairs = zip(found, stored, strict=True)
    return all(np.abs(one - other).sum() <= FARTHEST * (one + other).sum() for one, other in pairs)


def run(path: Path, check: bool) -> bool:
    """Run a notebook, store it unless it is only checked, and say whether its outputs are those that were stored."""
    notebook = nbformat.read(path, as_version=4)
    stored, drawn = texts(notebook), pictures(notebook)
    NotebookClient(
        notebook,
        timeout=1200,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    notebook.metadata["language_info"] = {"name": "python"}
    same = all(map(alike, texts(notebook), stored)) and look_alike(pictures(notebook), drawn)
    print(f"{path.name}: {'outputs as stored' if same else 'outputs changed'}", flush=True)
    if not check:
        nbformat.write(notebook, path)
    return same


def main(arguments: list[str]) -> int:
    """Run the named notebooks, or all, in their folders, two at a time; return how many changed their outputs."""
    check = "--check" in arguments
    # Pictures appear in notebooks whatever backend other programs are told to use.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    # Two notebooks share the processors, and freed arrays that go back to the system are a third of the time of training.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.update(dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), "1000000000"))
    names = [name for name in arguments if name != "--check"]
    paths = [Path(name) for name in names] or sorted(Path(__file__).parent.glob("*.ipynb"))
    with ThreadPoolExecutor(2) as pool:
        same = list(pool.map(run, paths, [check] * len(paths)))
    return same.count(False) if check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
