"""Bulk loads of a job."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from dbdyno.model.json import Natural, always

ColumnType = Literal["int4", "int8", "float4", "text", "timestamp"]


class Column(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column of a fill, with the number of its value."""

    name: str
    type: ColumnType
    value: Natural
    each: Natural = 1  # it changes with every so many rows


class Fill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bulk load into every table of a kind."""

    table: str
    streams: Natural = always(0)  # connections in all; 0: as many as dyno-loadgen takes
    rows: Natural  # of each table
    columns: tuple[Column, ...]
    frozen: bool = False  # whether PostgreSQL takes the rows as old ones
    after: tuple[str, ...] = always(())  # SQL for each table when its rows are there
