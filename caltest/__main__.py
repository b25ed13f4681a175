"""``python -m caltest``."""

import sys

from caltest.cli import main

if __name__ == "__main__":
    sys.exit(main())
