"""Puts the tables that a tool makes between two marks of a page."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path


def write(page: Path, tool: str, lines: Iterable[str]) -> None:
    """Puts the lines between the marks of a tool; ends the program where the page has none."""
    begin, end = f"<!-- made by {tool}: begin -->", f"<!-- made by {tool}: end -->"
    before, _, rest = page.read_text().partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        sys.exit(f"`{page}` has no `{begin}` and `{end}`")
    table = "\n".join(lines).strip("\n")  # an introduction at the top has a blank line above it
    page.write_text(f"{before}{begin}\n\n{table}\n\n{end}{after}")
