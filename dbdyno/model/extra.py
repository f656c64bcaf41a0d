"""Libraries that not every installation has, each with the line that brings it.

Some are extras of the package; an agent on another host gets only what measures.
"""

from importlib import import_module
from typing import Any

from dbdyno.model.error import DynoError

PROJECTS = {"vl_convert": "vl-convert-python"}
"""Modules whose project has another name."""
OF_JUDGES = frozenset(
    {"duckdb", "jinja2", "pandas", "postgast", "protobuf", "scipy", "starlette", "uvicorn"}
    | set(PROJECTS.values())
)
"""Projects for judging and showing alone; import-linter holds that no agent imports them."""


class MissingLibraryError(DynoError):
    """A library of an extra is not installed."""


def library(name: str, *, extra: str) -> Any:
    """A module that comes with an extra of the package. Raises MissingLibraryError in one line."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise MissingLibraryError(
            f"`{name}` is not installed: install dyno as `dbdyno[{extra}]`, or add it: "
            f"`pip install {PROJECTS.get(name, name)}`"
        ) from None
