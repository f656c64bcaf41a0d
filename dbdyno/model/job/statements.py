"""Statements of a job: SQL in pieces, how it is sent, and cursors that are read from the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from dbdyno.model.job.role import Connect
from dbdyno.model.json import Natural, always

Protocol = Literal["simple", "extended", "prepared", "execute"]
"""How a statement is sent."""
DECLARED_TYPES = frozenset(
    {
        "smallint",
        "int",
        "integer",
        "bigint",
        "real",
        "double precision",
        "boolean",
        "character varying",
        "timestamp with time zone",
        "timestamp without time zone",
        "bool",
        "bytea",
        "char",
        "name",
        "int8",
        "int2",
        "int4",
        "text",
        "oid",
        "json",
        "xml",
        "point",
        "float4",
        "float8",
        "money",
        "macaddr",
        "cidr",
        "inet",
        "bpchar",
        "varchar",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "interval",
        "timetz",
        "bit",
        "varbit",
        "numeric",
        "regclass",
        "uuid",
        "tsvector",
        "tsquery",
        "jsonb",
        "_bool",
        "_bytea",
        "_int2",
        "_int4",
        "_text",
        "_varchar",
        "_int8",
        "_float4",
        "_float8",
        "_timestamp",
        "_date",
        "_timestamptz",
        "_numeric",
        "_uuid",
        "_jsonb",
    }
)  # fmt: skip
"""The SQL types that a statement of PostgreSQL can declare for parameters by their names."""


class Piece(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of SQL that is no text: the one key that is there says what stands in its place."""

    value: Natural | None = None
    table: str | None = None  # the name of a table of this kind
    number: str | None = None  # the number in that name
    cursor: Natural | None = None
    variable: Natural | None = None
    repeat: Natural | None = None  # so many times `pieces`, with `separator` between them
    separator: str | None = None
    pieces: tuple[str | Piece, ...] | None = None


class ResultVariables(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The variables that take what a statement returns."""

    columns: Mapping[str, Natural | None]  # by the column's name; None: it fails the step
    every: bool = always(False)  # of each statement of several, not of the last alone
    prefix: str = ""


class Statement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A statement of SQL."""

    name: str
    protocol: Protocol = always("simple")
    pieces: tuple[str | Piece, ...] = always(())
    types: tuple[str, ...] = always(())  # the SQL types of its parameters
    rows: Natural | None = always(0)  # the nominal number of one execution
    place: str | None = None  # where it was written, for messages
    libpq: bool = False  # whether it is sent as libpq does
    results: Literal["binary", "text"] = "binary"
    class_: str | None = field(default=None, name="class")
    progress: str | None = None  # what is in front of the rows done so far in its notices
    into: ResultVariables | None = None

    @property
    def beginning(self) -> str:
        """Its SQL up to its first value or table."""
        return self.pieces[0] if self.pieces and isinstance(self.pieces[0], str) else ""

    @property
    def texts(self) -> list[str]:
        """The pieces of its SQL that are texts."""
        return [piece for piece in self.pieces if isinstance(piece, str)]


class Cursor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number for each client that is read from the server and counted up in between."""

    name: str
    start: str  # the SQL that reads it; `{t}` is the client's table
    on: Natural | None = always(None)  # the number of the statement that moves it
    advance: int = always(0)
    resync_every: Natural | None = always(None)  # None: never
    queued: bool = False
    connect: Connect = "once"  # "each": a connection for each reading
