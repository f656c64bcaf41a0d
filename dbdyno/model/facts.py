"""What a finding tells: rows of typed fields that say what they mean.

Exports, their manual and the JSON of a comparison have their tables from these fields alone. A
field of facts that is a tuple of rows is a table of the field's name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from msgspec import Meta


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What one finding tells of a step of a run, or of a whole result; by default nothing."""


F = TypeVar("F", bound=Facts)


def among(findings: Mapping[str, Facts], facts: type[F]) -> F:
    """The facts of this type among findings, which have the types' names; by default nothing."""
    kept = findings.get(facts.__name__)
    return kept if isinstance(kept, facts) else facts()


def says(what: str, unit: str = "", *, table: str = "") -> Meta:
    """The meaning of a row's field, and its unit where it has one: `Annotated[int, says(…)]`.

    On a field of facts: what one of its rows is, and the table's name if it is not the field's. On
    further rows of a row: they are a table of their own.
    """
    return Meta(description=what, extra={"unit": unit, "table": table})


def columns(meanings: Mapping[str, str]) -> Meta:
    """The meanings of a tuple's items, each a column of this name."""
    return Meta(extra=dict(meanings))
