"""Bulk loads of a job."""

from typing import Literal

from msgspec import Struct, field

from dbdyno.model.json import Natural, always

ColumnType = Literal[
    "int2", "int4", "int8", "float4", "float8", "numeric", "text", "timestamp", "date"
]


class FillColumn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column of a fill, with the number of its value."""

    name: str
    type: ColumnType
    value: Natural
    scale: Natural = 0  # the decimals of a numeric
    null_if: Natural | None = None  # the number of the value that is not 0 where it is NULL
    each: Natural = 1  # it changes with every so many rows


class RowsPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of rows that come from elsewhere: a program's words, or a file's path."""

    command: tuple[str, ...] | None = None
    file: str | None = None


class RowSource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Programs or files that give the rows of a table, part by part."""

    format: Literal["csv"] = always("csv")
    header: bool = False  # whether the first record of each part names the columns
    columns: tuple[str, ...] = ()  # in the order of the records; (): the table's own
    folder: str = ""  # in which programs work, and where paths of files begin
    parts: tuple[RowsPart, ...]
    version: tuple[str, ...] = ()  # the arguments by which the program tells its version
    remedy: str = ""  # what to do where a program is not there


class Children(Struct, frozen=True, kw_only=True):
    """The rows of another table, each of which has some rows as its children."""

    table: str
    columns: tuple[FillColumn, ...]  # of the other table, as its own fill has them
    count: Natural  # the number of the value that is how many children a row has
    least: Natural
    most: Natural


class Fill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bulk load into every table of a kind."""

    table: str
    streams: Natural = always(0)  # connections in all; 0: as many as dyno-loadgen takes
    # Of each table; of children: places, the most for each row of their parent; a guess where they
    # come from elsewhere.
    rows: Natural
    per: Children | None = None
    columns: tuple[FillColumn, ...] = ()
    source: RowSource | None = field(default=None, name="from")
    frozen: bool = False  # whether PostgreSQL takes the rows as old ones
    after: tuple[str, ...] = always(())  # SQL for each table when its rows are there

    @property
    def expected_rows(self) -> int:
        """The rows of each table; of children as many as are likely."""
        if self.per is None:
            return self.rows
        return self.rows // self.per.most * (-(-(self.per.least + self.per.most) // 2))
