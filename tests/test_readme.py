"""The README's code runs and prints what it says."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_code_blocks_run_and_print_what_is_shown():
    text = README.read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    shown = re.search(r"```python\n.*?print\(result\)\n```\n\n```\n(.*?)```", text, re.S)
    assert len(blocks) == 9
    assert shown
    names = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(block, names)
    assert printed.getvalue() == shown[1]
