"""`python -m iifl` is the command `iifl`."""

import sys

from iifl.cli import main

if __name__ == "__main__":
    sys.exit(main())
