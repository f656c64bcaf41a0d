"""What stands in a FROM: tables, views, subqueries, functions, and their joins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dbdyno.model.catalog import RelationFacts
from dbdyno.workload.determined.dependency import Dependency, nullable
from dbdyno.workload.determined.row_set import CommonTable, Field, Level, RowSet, RowValue
from dbdyno.workload.determined.sql_tree import (
    DERIVED,
    UnclearError,
    clause,
    is_parameter,
    parsed,
    words,
)
from dbdyno.workload.determined.value import named, parts_of, value

ROUNDS_MAX = 20
"""So often a recursive query is read until nothing more is open."""


def of_from(tree: exp.Expr, level: Level) -> RowSet:
    """The rows of a statement's FROM, whose tables the level knows by name from then on."""
    from_ = clause(tree, "from_")
    rows = source(from_.this, level) if from_ is not None else nothing()
    return joined(rows, tree, level)


def nothing() -> RowSet:
    """The one row of a SELECT without FROM."""
    return RowSet(fields=(), row=frozenset())


def joined(rows: RowSet, tree: exp.Expr, level: Level) -> RowSet:
    """Rows with those that the joins of a tree add."""
    for join in clause(tree, "joins") or ():
        rows = _join(rows, join, level)
    for lateral in clause(tree, "laterals") or ():
        rows = beside(rows, source(lateral, level))
    return rows


def source(tree: exp.Expr, level: Level) -> RowSet:
    """The rows of one item of a FROM. Raises UnclearError."""
    level.reading.part()
    alias = clause(tree, "alias")
    name = named(alias.this, level) if alias is not None else ""
    start = level.reading.number()
    rows = _from_within(_source(tree, level, name), start, level)
    if alias is not None:
        columns = [
            named(column.this if isinstance(column, exp.ColumnDef) else column, level)
            for column in clause(alias, "columns") or ()
        ]
        rows = _with_columns(rows, columns, level) if columns else rows
    elif isinstance(tree, exp.Table):
        name = named(tree.this, level)
    if clause(tree, "sample"):
        rows = rows.spoilt(f"`TABLESAMPLE`{level.title} draws rows")
    if name:
        level.sources[name] = rows
    return joined(rows, tree, level)


def _from_within(rows: RowSet, start: int, level: Level) -> RowSet:
    """Rows whose columns stand for themselves: an outer join makes also constants NULL."""
    fields, dependencies = [], list(rows.dependencies)
    for field in rows.fields:
        made = field.value
        if made.look < start:  # of an outer row
            number = level.reading.number()
            dependencies.append(Dependency(frozenset({made.look}), frozenset({number})))
            made = replace(made, look=number, equal=number)
        fields.append(Field(field.name, replace(made, needs=frozenset({made.look}))))
    return replace(rows, fields=tuple(fields), dependencies=tuple(dependencies))


def _is_join(tree: exp.Expr) -> bool:
    """Whether brackets are around tables and joins, and not around a query."""
    if isinstance(tree, exp.Subquery):
        return bool(clause(tree, "alias") or clause(tree, "joins")) or _is_join(tree.this)
    return isinstance(tree, exp.Table | exp.Lateral | exp.Unnest)


def _with_columns(rows: RowSet, columns: Sequence[str], level: Level) -> RowSet:
    """Rows whose columns an alias names; of a function it names all of them."""
    if rows.complete:
        return rows.renamed(columns)
    fields = [Field(name, level.fresh(rows.open)) for name in columns]
    return replace(rows, fields=tuple(fields), complete=True)


def _source(tree: exp.Expr, level: Level, name: str) -> RowSet:
    title = f" in subquery `{name}`" if name else " in a subquery"
    if isinstance(tree, exp.Subquery) and _is_join(tree.this):
        return source(tree.this, level)
    if isinstance(tree, exp.Lateral) and isinstance(tree.this, exp.Subquery):
        return level.reading.query(tree.this.this, level.within(title))
    if isinstance(tree, exp.Subquery):
        return level.reading.query(tree.this, level.beside(title))
    if isinstance(tree, exp.Values):
        return listed(tree, level)
    if isinstance(tree, exp.Table) and isinstance(tree.this, exp.Identifier):
        return _table(tree, level)
    if isinstance(tree, exp.Table | exp.Lateral | exp.Unnest):
        return _function(tree, level)
    raise UnclearError(f"`{type(tree).__name__.upper()}`{level.title} is not known here")


def listed(tree: exp.Values, level: Level) -> RowSet:
    """The rows of VALUES."""
    rows = [
        [value(part, level) for part in (row.expressions if isinstance(row, exp.Tuple) else [row])]
        for row in tree.expressions
    ]
    fields = []
    for place, held in enumerate(zip(*rows, strict=True), start=1):
        made = held[0] if len(rows) == 1 else level.fresh()
        opened = next((part.open for part in held if part.open), "")
        floating = any(part.floating for part in held)
        name = f"column{place}" if not level.reading.catalog.backticks else f"column_{place - 1}"
        fields.append(Field(name, replace(made, open=opened, floating=floating)))
    row = frozenset() if len(rows) == 1 else frozenset({level.reading.number()})
    return RowSet(fields=tuple(fields), row=row)


def _function(tree: exp.Expr, level: Level) -> RowSet:
    """The rows of a function, whose columns an alias or the mention of them tells."""
    call = tree.this if isinstance(tree.this, exp.Expr) else None
    inner = [call] if call is not None else [part for _, part in parts_of(tree)]
    arguments = [
        value(part, level)
        for held in inner
        for part in ([held] if isinstance(held, exp.Func) else [p for _, p in parts_of(held)])
        if not isinstance(part, exp.TableAlias | exp.Table | exp.ColumnDef | exp.Schema)
    ]
    reason = next((part.open for part in arguments if part.open), "")
    number = level.reading.number()
    return RowSet(fields=(), row=frozenset({number}), open=reason, complete=False)


# --- Tables, views and WITH -------------------------------------------------------------------


def _table(tree: exp.Table, level: Level) -> RowSet:
    schema, name = named(clause(tree, "db"), level), named(tree.this, level)
    common = None if schema else level.common(name)
    if common is not None:
        return _common(common, name, level)
    facts = facts_of(tree, level)
    if facts is None:
        raise UnclearError(f"the server tells nothing of `{words(tree.this)}`")
    if facts.moving:
        raise UnclearError(facts.moving)
    if facts.view:
        return _view(facts, name, level)
    return table(facts, level, alone=bool(clause(tree, "only")))


def facts_of(tree: exp.Table, level: Level) -> RelationFacts | None:
    """What the server tells of a table; MySQL's may have capitals."""
    catalog = level.reading.catalog
    if catalog.backticks:
        return catalog.relation(tree.db, tree.name)
    return catalog.relation(named(clause(tree, "db"), level), named(tree.this, level))


def table(facts: RelationFacts, level: Level, *, alone: bool = False) -> RowSet:
    """The rows of a table, with what its keys fix."""
    row = level.reading.number()
    fields, dependencies = [], []
    for column in facts.columns:
        look = level.reading.number()
        equal = level.reading.number() if column.loose else look
        dependencies.append(Dependency(frozenset({row}), frozenset({look, equal}), nulls=True))
        dependencies.append(Dependency(frozenset({look}), frozenset({equal}), nulls=True))
        made = RowValue(
            look=look,
            equal=equal,
            needs=frozenset({look}),
            floating=column.floating,
            text=column.text,
            loose=column.loose,
        )
        fields.append(Field(column.name, made))
    equals = {field.name: field.value.equal for field in fields}
    for key in facts.keys if alone or not facts.inherited else ():
        given = frozenset(equals[name] for name in key)
        dependencies.append(Dependency(given, frozenset({row}), nulls=True))
    return RowSet(
        fields=tuple(fields), row=frozenset({row}), dependencies=tuple(dependencies), system=True
    )


def _view(facts: RelationFacts, name: str, level: Level) -> RowSet:
    """The rows of a view, whose query is read."""
    level.reading.part()
    inner = Level(level.reading, title=f" in view `{name}`")
    rows = level.reading.query(parsed(facts.view, backticks=level.reading.catalog.backticks), inner)
    return rows.renamed([column.name for column in facts.columns])


def _common(common: CommonTable, name: str, level: Level) -> RowSet:
    """The rows of a query of a WITH, read for each mention of it."""
    if common.rows is not None:
        return common.rows
    title = f" in CTE `{name}`"
    recursive = common.recursive and isinstance(common.tree, exp.SetOperation)
    mentions = (named(table.this, level) == name for table in common.tree.find_all(exp.Table))
    if not recursive or not any(mentions):
        return level.reading.query(common.tree, common.level.within(title)).renamed(common.names)
    known = level.reading.query(common.tree.this, common.level.within(title))
    for _ in range(ROUNDS_MAX):
        inner = common.level.within(title)
        seen = replace(common, rows=_apart(known.renamed(common.names), inner))
        inner.tables[name] = seen
        rows = level.reading.query(common.tree, inner)
        if _open(rows) == _open(known):
            return rows.renamed(common.names)
        known = rows
    raise UnclearError(f"CTE `{name}` is not followed to its end")


def _open(rows: RowSet) -> list[object]:
    """What is open of rows, and what is known of their columns."""
    return [bool(rows.open)] + [
        (bool(field.value.open), field.value.floating, field.value.loose) for field in rows.fields
    ]


def _apart(rows: RowSet, level: Level) -> RowSet:
    """The same rows, of which nothing follows from anything."""
    fields = []
    for field in rows.fields:
        number = level.reading.number()
        fresh = replace(
            field.value,
            look=number,
            equal=level.reading.number() if field.value.loose else number,
            needs=frozenset({number}),
        )
        fields.append(Field(field.name, fresh))
    row = frozenset({level.reading.number()})
    return RowSet(fields=tuple(fields), row=row, open=rows.open)


# --- Joins ------------------------------------------------------------------------------------


def _join(left: RowSet, join: exp.Join, level: Level) -> RowSet:
    """Rows with those that one join adds."""
    start, noted = level.reading.number(), len(level.dependencies)
    right = source(join.this, level)
    pairs = {name: (_of(left, name), _of(right, name)) for name in _using(join, left, right, level)}
    on = list(conditions(clause(join, "on")))
    values = [value(condition, level) for condition in on]
    side = str(clause(join, "side") or "").upper()
    if side:
        same = [pair for each in on for pair in _equals(each, level)]
        same += [
            pair for first, second in pairs.values() for pair in ((first, second), (second, first))
        ]
        needs = frozenset().union(
            right.outer,
            *(part.needs for part in values),
            *(part.needs for pair in pairs.values() for part in pair),
        )
        left, right = _outer(side, (left, right), _JoinCondition(start, needs, same), level)
    else:
        for condition in on:
            equal(condition, level)
        for first, second in pairs.values():
            level.fix(frozenset({first.equal}), second.equal, nulls=True)
            level.fix(frozenset({second.equal}), first.equal, nulls=True)
    merged = {name: _merged(pair, side, level) for name, pair in pairs.items()}
    level.merged |= {name: Field(name, made) for name, made in merged.items()}
    met = [*values, *(part for pair in pairs.values() for part in pair)]
    rows = beside(left, right, merged).spoilt(next((part.open for part in met if part.open), ""))
    own = level.dependencies[noted:]  # which hold of this join alone: an outer one may weaken them
    del level.dependencies[noted:]
    return replace(rows, dependencies=(*rows.dependencies, *own))


def _using(join: exp.Join, left: RowSet, right: RowSet, level: Level) -> list[str]:
    """The columns that USING or NATURAL has equal."""
    if str(clause(join, "method") or "").upper() != "NATURAL":
        return [named(name, level) for name in clause(join, "using") or ()]
    if not (left.complete and right.complete):
        raise UnclearError(f"the columns of `NATURAL JOIN`{level.title} are not known")
    rights = {field.name for field in right.fields}
    return [field.name for field in left.fields if field.name in rights]


@dataclass(frozen=True)
class _JoinCondition:
    """The condition of an outer join."""

    start: int  # numbers from here on are of the right side
    needs: frozenset[int]  # the columns that it is made of
    same: list[tuple[RowValue, RowValue]]  # what it has equal


def _outer(
    side: str, both: tuple[RowSet, RowSet], meeting: _JoinCondition, level: Level
) -> tuple[RowSet, RowSet]:
    """The sides of an outer join: whether one is there follows from columns of the other."""
    left, right = both
    if side == "FULL":
        return _missing(left, level.reading.number()), _missing(right, level.reading.number())

    def weak(number: int) -> bool:
        """Whether a number is of the side that may be missing."""
        return number >= meeting.start if side == "LEFT" else level.first <= number < meeting.start

    matched = level.reading.number()
    fixed = [
        second.equal
        for first, second in meeting.same
        if weak(second.equal) and not any(map(weak, first.needs))
    ]
    given = frozenset(number for number in meeting.needs if not weak(number))
    level.fix(given, matched, *fixed)
    if side == "LEFT":
        return left, _missing(right, matched)
    return _missing(left, matched), right


def _missing(rows: RowSet, matched: int) -> RowSet:
    """The side of an outer join that may be missing, by whether it is there."""
    return replace(rows, dependencies=tuple(nullable(rows.dependencies, matched)))


def _of(rows: RowSet, name: str) -> RowValue:
    for field in rows.fields:
        if field.name == name:
            return field.value
    raise UnclearError(f"no table is known that has the column `{name}`")


def _merged(pair: tuple[RowValue, RowValue], side: str, level: Level) -> RowValue:
    """A column of USING."""
    left, right = pair
    if side == "FULL":
        return replace(level.fresh(left.open or right.open), loose=left.loose)
    return right if side == "RIGHT" else left


def beside(left: RowSet, right: RowSet, merged: dict[str, RowValue] | None = None) -> RowSet:
    """The rows of two sources, each with each."""
    merged = merged or {}
    rest = [field for rows in (left, right) for field in rows.fields if field.name not in merged]
    return RowSet(
        fields=(*(Field(name, made) for name, made in merged.items()), *rest),
        row=left.row | right.row,
        dependencies=(*left.dependencies, *right.dependencies),
        open=left.open or right.open,
        outer=left.outer | right.outer,
        complete=left.complete and right.complete,
        system=left.system or right.system,
    )


# --- Conditions -------------------------------------------------------------------------------


def conditions(tree: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions that all hold."""
    if isinstance(tree, exp.Where | exp.Paren):
        yield from conditions(tree.this)
    elif isinstance(tree, exp.And):
        yield from conditions(tree.this)
        yield from conditions(tree.expression)
    elif tree is not None:
        yield tree


def equal(condition: exp.Expr, level: Level) -> None:
    """Takes note of what a condition that holds for all rows has equal."""
    for first, second in _equals(condition, level):
        nulls = min(first.look, second.look) >= level.first and bool(first.needs and second.needs)
        level.fix(frozenset({first.equal}), second.equal, nulls=nulls)
    null = isinstance(condition, exp.Is) and isinstance(condition.expression, exp.Null)
    if null and not clause(condition, "negate"):
        made = value(condition.this, level)
        level.fix(frozenset(), made.look, made.equal)


def _equals(condition: exp.Expr, level: Level) -> Iterator[tuple[RowValue, RowValue]]:
    """What a condition has equal: the first fixes the second."""
    if isinstance(condition, exp.EQ):
        sides = (condition.this, condition.expression)
    elif isinstance(condition, exp.In) and len(condition.expressions) == 1:
        sides = (condition.this, condition.expressions[0])
    else:
        return
    if any(isinstance(side, (*DERIVED, exp.Any, exp.All)) for side in sides):
        return
    pairs = (
        zip(sides[0].expressions, sides[1].expressions, strict=False)
        if all(isinstance(side, exp.Tuple) for side in sides)
        else [sides]
    )
    for pair in pairs:
        for giving, fixed in (pair, pair[::-1]):
            first, second = value(giving, level), value(fixed, level)
            # MySQL takes many texts for one number.
            if first.text or not second.text or is_parameter(giving):
                yield first, second
