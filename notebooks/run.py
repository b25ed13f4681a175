"""Run notebooks in place, without times and machine names in their metadata: ``python notebooks/run.py [NAME ...]``.

With ``--check`` nothing is written; printed outputs that differ from the stored ones are an error.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """What each code cell prints."""
    return [
        "".join(output.get("text", "") for output in cell.outputs if output.output_type == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def main(arguments: list[str]) -> int:
    """Run the named notebooks, or all, in their folders; return how many changed their printed outputs."""
    check = "--check" in arguments
    names = [name for name in arguments if name != "--check"]
    paths = [Path(name) for name in names] or sorted(Path(__file__).parent.glob("*.ipynb"))
    changed = 0
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        stored = texts(notebook)
        NotebookClient(
            notebook,
            timeout=1200,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(path.parent)}},
        ).execute()
        notebook.metadata["language_info"] = {"name": "python"}
        same = texts(notebook) == stored
        changed += not same
        print(f"{path.name}: {'outputs as stored' if same else 'outputs changed'}")
        if not check:
            nbformat.write(notebook, path)
    return changed if check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
