"""The example results as their readers see them: comparisons and pages, each made once."""

import atexit
import io
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import example_figures
from dbdyno.analysis import compare
from dbdyno.model import Comparison
from dbdyno.parts.part import Page
from dbdyno.report import page
from dbdyno.report.render import terminal

IN_SHORT = {"turns", "begun"}
"""Kinds that are looked at in `make test`; with the others, a test is `long`."""
SEARCH = "bisect"
"""A kind whose folder is no result, but a search with results in it."""
KINDS = [
    pytest.param(example.name, marks=[] if example.name in IN_SHORT else [pytest.mark.long])
    for example in example_figures.examples()
    if example.name != SEARCH
]


@cache
def folder(kind: str) -> Path:
    """The result folder of an example, unpacked for this process."""
    scratch = Path(tempfile.mkdtemp(prefix="dyno-example-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    shutil.unpack_archive(example_figures.KINDS / kind / example_figures.PACKED, scratch, "xztar")
    (found,) = scratch.iterdir()
    return found


@cache
def comparison(kind: str) -> Comparison:
    """What reports show of an example."""
    return compare.load(folder(kind))


@cache
def report(kind: str) -> Page:
    """The page of its report."""
    return page.make(comparison(kind))


def screens(kind: str, width: int) -> dict[str, str]:
    """What a terminal of a width shows of it: the first screen, the tables, everything."""
    ways: dict[str, Callable[[Page, Console], Any]] = {
        "answer": terminal.print_answer,
        "tables": terminal.print_page,
        "all": lambda made, console: terminal.print_page(made, console, full=True),
    }
    return {name: _shown(print_page, report(kind), width) for name, print_page in ways.items()}


def _shown(print_page: Callable[[Page, Console], Any], made: Page, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_page(made, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
