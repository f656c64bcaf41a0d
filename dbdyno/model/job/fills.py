"""Bulk loads of a job."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from dbdyno.model.json import Natural, always

ColumnType = Literal["int4", "int8", "float4", "text", "timestamp"]


class Column(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column of a fill, with the number of its value."""

    name: str
    type: ColumnType
    value: Natural
    each: Natural = 1  # it changes with every so many rows


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of rows that come from elsewhere: a program's words, or a file's path."""

    command: tuple[str, ...] | None = None
    file: str | None = None


class Source(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Programs or files that give the rows of a table, part by part."""

    format: Literal["csv"] = always("csv")
    header: bool = False  # whether the first record of each part names the columns
    columns: tuple[str, ...] = ()  # in the order of the records; (): the table's own
    folder: str = ""  # in which programs work, and where paths of files begin
    parts: tuple[Part, ...]
    version: tuple[str, ...] = ()  # the arguments by which the program tells its version
    remedy: str = ""  # what to do where a program is not there


class Fill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bulk load into every table of a kind."""

    table: str
    streams: Natural = always(0)  # connections in all; 0: as many as dyno-loadgen takes
    rows: Natural  # of each table; a guess where they come from elsewhere
    columns: tuple[Column, ...] = ()
    source: Source | None = field(default=None, name="from")
    frozen: bool = False  # whether PostgreSQL takes the rows as old ones
    after: tuple[str, ...] = always(())  # SQL for each table when its rows are there
