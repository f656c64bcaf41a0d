"""`python tools/trials NAME`: takes the runs of a trial that are missing, and prints its table."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts this folder first, not the one above it, where the package `trials` is found.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from trials.command import main

    sys.exit(main())
