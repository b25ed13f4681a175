"""Files that are written, and that none replaces another one."""

import csv
import gzip
import os
from collections.abc import Iterable
from io import TextIOWrapper
from pathlib import Path

import numpy as np

from caltest._basics.files import is_stdin, name_of
from caltest.predictions import Predictions

OUTPUTS = (".csv", ".csv.gz", ".npy")


def write_predictions(path: Path, predictions: Predictions, names: list[str] | None) -> None:
    """Write predictions as they are read: by classes, of class 1, mean and standard deviation, or members."""
    normal = predictions.normal
    table = np.stack(normal, axis=1) if normal is not None else predictions.to_array()
    if table.ndim == 1:
        table = table[:, None]
    if path.suffix == ".npy":
        np.save(path, table)
        return
    with path.open("wb") as raw, gzip.open(raw, "wb") if path.suffix == ".gz" else raw as file:
        text = TextIOWrapper(file, encoding="utf-8", newline="")
        if names is not None:
            csv.writer(text, lineterminator="\n").writerow(names)
        np.savetxt(text, table, fmt="%.17g", delimiter=",")
        text.flush()


def check_outputs(
    outputs: dict[str, Path | None], inputs: Iterable[Path], overwrite: bool, endings: tuple[str, ...] = OUTPUTS
) -> None:
    """Raise ``ValueError`` if what is to be written would replace an input, each other or, if not told to, a file.

    ``outputs`` are by the name of their option; links are followed.
    """
    written: list[Path] = []
    for option, path in outputs.items():
        if path is None:
            continue
        if any(_same(path, other) for other in inputs):
            raise ValueError(f"{option}: got {path}, which is a file that is read, wanted another name")
        if any(_same(path, other) for other in written):
            raise ValueError(f"{option}: got {path}, which another option names too, wanted different files")
        if path.is_dir() or not path.parent.is_dir():
            raise ValueError(f"{option}: got {path}, wanted a file in a folder that exists")
        if path.exists() and not overwrite:
            raise ValueError(f"{option}: got {path}, which exists; wanted a new name, or --force")
        if option == "--output" and not path.name.endswith(endings):
            raise ValueError(f"{option}: got {path}, wanted a name that ends in one of {', '.join(endings)}")
        written.append(path)


def check_different(paths: list[Path]) -> None:
    """Raise ``ValueError`` if a file is named twice, under whatever name."""
    for i, path in enumerate(paths):
        if any(_same(path, other) for other in paths[:i]):
            raise ValueError(f"{name_of(path)}: got this file 2 times, wanted different files")


def _same(path: Path, other: Path) -> bool:
    if is_stdin(path) or is_stdin(other):
        return is_stdin(path) and is_stdin(other)
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)
