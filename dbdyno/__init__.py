"""dbdyno: a dynamometer for database engines.

`dbdyno.read("results/x").steps` is what was measured as a data frame (docs/export.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.model.error import ResultError

if TYPE_CHECKING:
    from dbdyno.report.export.frames import Result

__all__ = ["ResultError", "__version__", "read"]

__version__ = "0.2.0"


def read(*folders: Path | str, base: str | None = None) -> Result:
    """Result folders as data frames: `.steps`, `.ticks` and the other tables of an export.

    `base`: in place of the plans' own. Raises dbdyno.ResultError where a folder is none.
    """
    from dbdyno.report.export.frames import Result

    return Result(*folders, base=base)
