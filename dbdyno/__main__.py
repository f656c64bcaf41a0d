"""`python -m dbdyno`: the same as the command `dyno`."""

import sys

from dbdyno.cli import main

sys.exit(main())
