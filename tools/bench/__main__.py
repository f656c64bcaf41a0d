"""`python tools/bench [NAME…]`: runs the measurements and prints the ratios."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts this folder first, not the one above it, where the package `bench` is found.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.command import main

    sys.exit(main())
