"""Bulk loads of a workload file, as a job has them (contract/README.md, "fills")."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

from dbdyno.model.document import suggestion
from dbdyno.model.job.fills import Children, ColumnType, Fill, FillColumn
from dbdyno.model.job.values import Format
from dbdyno.workload import distribution, schema, supplied, tables
from dbdyno.workload.computed import condition
from dbdyno.workload.job_content import Content
from dbdyno.workload.maker_schema import Maker
from dbdyno.workload.scope import Scope, for_table
from dbdyno.workload.value import ITEM, MAKERS, FillRow

STREAMS_MAX = 64
SCALE_MAX = 18
"""The most decimals of a numeric, as dyno-loadgen has it."""
COLUMN_TYPES: Mapping[Format, ColumnType] = {
    "text": "text",
    "timestamp": "timestamp",
    "hundredths": "float4",
}
"""The SQL type of a filled column by its value's format, where the file names none; else int4."""
TYPES: tuple[ColumnType, ...] = get_args(ColumnType)


def made(
    kinds: Sequence[str], file: schema.WorkloadFile, content: Content, scope: Scope
) -> list[Fill]:
    """The fills of kinds of table, of those that have rows. Raises WorkloadError."""
    filler = _Filler(file, content, scope)
    return [fill for base in kinds if (fill := filler.fill(base)) is not None]


def check(content: Content, fills: Sequence[Fill], scope: Scope) -> None:
    """Refuses values that depend on operations, and sums of two that are no column's value.

    Raises WorkloadError.
    """
    for number, value in enumerate(content.values):
        for maker in ("sequence", "count", "newest", "item", "client"):
            if getattr(value, maker) is not None and number not in content.children:
                raise scope.error(f"a fill cannot use the {maker} `{value.name}`; use `:row`")
        if value.add is None or value.add.other is None:
            continue
        if not all(value.bases & {column.value for column in fill.columns} for fill in fills):
            first, other = content.values[value.add.value], content.values[value.add.other]
            raise scope.error(
                f"`{value.name}` adds `{first.name}` and `{other.name}`, of which in a fill one "
                "has to be the value of another column"
            )


class _Filler:
    """Makes fills, each once: that of a parent may be needed before its turn."""

    def __init__(self, file: schema.WorkloadFile, content: Content, scope: Scope) -> None:
        self.file = file
        self.content = content
        self.scope = scope
        self._made: dict[str, Fill | None] = {}

    def fill(self, base: str) -> Fill | None:
        """The fill of a kind of table; None where it has no rows."""
        if base not in self._made:
            self._made[base] = self._fill(base)
        return self._made[base]

    def _fill(self, base: str) -> Fill | None:
        written = self.file.tables[base].fill
        assert written is not None, "the caller looked"
        scope = self.scope.root("tables", base, "fill")
        if isinstance(written.rows, schema.ChildrenForm):
            if written.source is not None:
                raise scope.at("from").error("children are made of values; remove it, or `per`")
            per = self._children(base, written.rows, scope.at("rows"))
            parent = self.fill(written.rows.per)
            if per is None or parent is None:
                return None
            columns = {column.name: column.value for column in per.columns}
            row = FillRow(rows=parent.rows, items=per.most, columns=columns)
            rows = parent.rows * per.most
        else:
            per, rows = None, scope.at("rows").integer(written.rows, low=0)
            row = FillRow(rows=rows)
        if not rows:
            return None
        streams = scope.at("streams").integer(written.streams, low=0)
        if streams > STREAMS_MAX:
            raise scope.at("streams").error(f"at most {STREAMS_MAX}, not {streams}")
        after = scope.at("after").sql(written.after) if written.after else ()
        return Fill(
            table=base,
            streams=streams,
            rows=rows,
            per=per,
            source=supplied.source(self.file.tables[base], written, scope),
            columns=self._columns(written.columns, row, scope.at("columns")),
            frozen=bool(scope.at("frozen").number(written.frozen)),
            after=tuple(for_table(sql, "{t}", "{number}") for sql in after),
        )

    def _children(self, base: str, written: schema.ChildrenForm, scope: Scope) -> Children | None:
        """Whose children a table's rows are; None where these have no rows."""
        filled = [name for name, table in self.file.tables.items() if table.fill and name != base]
        if written.per not in filled:
            remedy = suggestion(written.per, filled)
            raise scope.at("per").error(f"no table `{written.per}` that has a `fill`; {remedy}")
        form = self.file.tables[written.per].fill
        assert form is not None, "it was among them"
        if form.source is not None:
            raise scope.at("per").error(f"the rows of `{written.per}` are no values of this file")
        if isinstance(form.rows, schema.ChildrenForm):
            raise scope.at("per").error(f"the rows of `{written.per}` are children themselves")
        counts = tables.counts(self.file, self.scope)
        if counts[base] != counts[written.per]:
            raise scope.at("per").error(f"there have to be as many `{base}` as `{written.per}`")
        parent = self.fill(written.per)
        if parent is None:
            return None
        columns = {column.name: column for column in parent.columns}
        if written.count not in columns:
            remedy = suggestion(written.count, columns)
            sentence = f"`{written.per}` has no column `{written.count}`; {remedy}"
            raise scope.at("count").error(sentence)
        number = columns[written.count].value
        extent = distribution.extent(self.content.values, number, parent.rows)
        if extent is None or extent[0] < 0 or extent[1] < 1:
            raise scope.at("count").error(
                f"column `{written.count}` has to be a number from 0 on with an upper bound"
            )
        return Children(
            table=written.per, columns=parent.columns, count=number, least=extent[0], most=extent[1]
        )

    def _columns(
        self, written: Mapping[str, schema.ColumnForm], row: FillRow, scope: Scope
    ) -> tuple[FillColumn, ...]:
        """The columns of a table; each can be computed from those above it, by their names."""
        columns = []
        for name, column in written.items():
            columns.append(self._column(name, column, row, scope.at(name)))
            row = replace(row, columns={**row.columns, name: columns[-1].value})
        return tuple(columns)

    def _column(
        self, name: str, column: schema.ColumnForm, row: FillRow, scope: Scope
    ) -> FillColumn:
        """A column takes a value of the file, or has one of its own named for it."""
        given = [key for key in (*MAKERS, "row", "value") if getattr(column, key, None) is not None]
        if len(given) != 1:
            raise scope.error(f"needs exactly one value or maker, not {len(given)}")
        each = scope.at("each").integer(column.each, low=1)
        if each > 1 and row.items is not None:
            raise scope.at("each").error("children have no `each`; compute the column from `:item`")
        own = self.content.free_name(name)
        if column.row is not None:
            if row.items is not None:
                raise scope.error("a row of children has no number but `:item`, its parent's")
            number = self.content.add_row(own, column.row)
        elif column.value is not None:
            number = self._named(column.value, own, row)
        else:
            maker = Maker.model_validate({given[0]: getattr(column, given[0])})
            rows = None if row.rows is None else math.ceil(row.rows / each)
            number = self.content.add_value(own, maker, scope, replace(row, rows=rows))
        type = self._type(column, number, scope)
        return FillColumn(
            name=name,
            type=type,
            value=number,
            scale=self._scale(column, type, number, scope),
            null_if=self._null_if(name, column, number, row, scope),
            each=each,
        )

    def _named(self, value: str, own: str, row: FillRow) -> int:
        """The value of a column that names one: a child's number, a parent's column, a value."""
        if row.items is None:
            return self.content.value(value)
        if value == ITEM:
            return self.content.add_item(own)
        return row.columns[value] if value in row.columns else self.content.value(value)

    def _type(self, column: schema.ColumnForm, number: int, scope: Scope) -> ColumnType:
        default = COLUMN_TYPES.get(self.content.values[number].format, "int4")
        word = default if column.type is None else scope.at("type").text(column.type)
        type = next((type for type in TYPES if type == word), None)
        if type is None:
            raise scope.at("type").error(f"no type `{word}`; {suggestion(word, TYPES)}")
        return type

    def _scale(self, column: schema.ColumnForm, type: ColumnType, number: int, scope: Scope) -> int:
        """The decimals of a numeric: those written, or those of its value's format."""
        if column.scale is None:
            hundredths = self.content.values[number].format == "hundredths"
            return 2 if type == "numeric" and hundredths else 0
        scale = scope.at("scale").integer(column.scale, low=0)
        if type != "numeric" and scale:
            raise scope.at("scale").error('only a column of type = "numeric" has decimals')
        if scale > SCALE_MAX:
            raise scope.at("scale").error(f"at most {SCALE_MAX}, not {scale}")
        return scale

    def _null_if(
        self, name: str, column: schema.ColumnForm, number: int, row: FillRow, scope: Scope
    ) -> int | None:
        """The value that is not 0 where the column is NULL; it can be computed from the column."""
        if column.null_if is None:
            return None
        own = self.content.free_name(f"{name} is null")
        known = replace(row, columns={**row.columns, name: number})
        maker = Maker(compute=condition(column.null_if))
        return self.content.add_value(own, maker, scope.at("null_if"), known)
