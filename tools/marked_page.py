"""The command of a tool that makes tables: prints them, or writes them into a page."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path


def main(tool: str, says: str, tables: Callable[[float], Iterable[str]]) -> int:
    """Prints what a tool makes, or writes it into a page; returns the exit status.

    `tables` takes by what the usual number of draws is multiplied.
    """
    parser = argparse.ArgumentParser(prog=f"python {tool}", description=says.partition("\n")[0])
    parser.add_argument("--draws", type=float, default=1.0, help="times the usual number of draws")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put them between its marks")
    options = parser.parse_args()
    if options.write is None:
        print("\n".join(tables(options.draws)))
        return 0
    begin, end = marks(tool)
    page = options.write.read_text(encoding="utf-8")
    if page.count(begin) != 1 or page.count(end) != 1:
        print(f"{options.write}: lacks the marks `{begin}` and `{end}`; add them", file=sys.stderr)
        return 1
    table = "\n".join(tables(options.draws)).strip("\n")  # an introduction has a blank line above
    before, after = page.split(begin)[0], page.split(end)[1]
    options.write.write_text(f"{before}{begin}\n\n{table}\n\n{end}{after}", encoding="utf-8")
    return 0


def marks(tool: str) -> tuple[str, str]:
    """Between what a page has the tables of a tool."""
    return f"<!-- made by {tool}: begin -->", f"<!-- made by {tool}: end -->"


def draws_of(usual: int, times: float) -> int:
    """So many draws, at least one."""
    return max(1, round(usual * times))
