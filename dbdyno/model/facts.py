"""What a finding tells: rows of typed fields that say what they mean.

Exports, their manual and the JSON of a comparison have their tables from these fields alone. A
field of facts that is a tuple of rows is a table of the field's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Meta


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What one finding tells of a step of a run, or of a whole result; by default nothing."""


def says(what: str, unit: str = "") -> Meta:
    """The meaning of a row's field, and its unit where it has one: `Annotated[int, says(…)]`.

    On a field of facts: what one of its rows is.
    """
    return Meta(description=what, extra={"unit": unit})


def columns(meanings: Mapping[str, str]) -> Meta:
    """The meanings of a tuple's items, each a column of this name."""
    return Meta(extra=dict(meanings))
