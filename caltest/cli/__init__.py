"""The command line: ``caltest test``, ``compare``, ``power``, ``recalibrate`` and ``demo``."""

from caltest.cli.main import main
from caltest.cli.named import TESTS

__all__ = ["TESTS", "main"]
