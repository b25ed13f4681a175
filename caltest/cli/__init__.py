"""The command line: ``caltest test``, ``caltest compare``, ``caltest power`` and ``caltest demo``."""

from caltest.cli.main import main
from caltest.cli.named import TESTS

__all__ = ["TESTS", "main"]
