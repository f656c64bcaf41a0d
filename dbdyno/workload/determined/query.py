"""Queries: what each of their parts leaves open, from FROM to LIMIT."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from dbdyno.workload.determined import sources, write
from dbdyno.workload.determined.dependency import Dependency
from dbdyno.workload.determined.outputs import is_star, outputs, settled
from dbdyno.workload.determined.row_set import CommonTable, Field, Level, RowSet, RowValue
from dbdyno.workload.determined.sql_tree import UnclearError, clause, order_items, words
from dbdyno.workload.determined.value import called, is_aggregate, named, not_total, parts_of, value

READ = frozenset(
    {
        *("distinct", "expressions", "from_", "group", "having", "hint", "joins", "laterals"),
        *("limit", "locks", "offset", "operation_modifiers", "order", "where", "windows"),
        *("with_", "this", "expression", "alias", "by_name", "match"),
    }
)
"""Parts of a query that are read here, or that change nothing of its answer."""
SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets)
"""What groups rows in several ways at once."""


def query(tree: exp.Expr, level: Level) -> RowSet:
    """The rows of a query or of a statement that writes. Raises UnclearError."""
    _common_tables(tree, level)
    if isinstance(tree, exp.Insert | exp.Update | exp.Delete | exp.Merge):
        return write.written(tree, level)
    unread = [key for key, held in tree.args.items() if held and key not in READ]
    if unread:
        raise UnclearError(f"`{unread[0].strip('_').upper()}`{level.title} is not known here")
    if isinstance(tree, exp.Subquery) and not isinstance(tree.this, exp.Table):
        inner = Level(level.reading, title=level.title, outer=level)
        return _ended(tree, level, query(tree.this, inner))
    if isinstance(tree, exp.SetOperation):
        return _ended(tree, level, _together(tree, level))
    if isinstance(tree, exp.Values):
        return _ended(tree, level, sources.listed(tree, level))
    if isinstance(tree, exp.Select):
        return _selected(tree, level)
    raise UnclearError(f"`{type(tree).__name__.upper()}`{level.title} is not known here")


def _common_tables(tree: exp.Expr, level: Level) -> None:
    """Takes note of the queries of a WITH."""
    with_ = clause(tree, "with_")
    if with_ is None:
        return
    if clause(with_, "search"):
        raise UnclearError("`SEARCH` of a recursive query is not known here")
    for table in with_.expressions:
        alias = clause(table, "alias")
        names = tuple(named(name, level) for name in clause(alias, "columns") or ())
        name = named(alias.this, level)
        recursive = bool(clause(with_, "recursive"))
        seen = Level(level.reading, outer=level.outer, tables=dict(level.tables))
        level.tables[name] = CommonTable(table.this, names, seen, recursive)


# --- SELECT -----------------------------------------------------------------------------------


def _selected(tree: exp.Select, level: Level) -> RowSet:
    """The rows of a SELECT."""
    rows = sources.of_from(tree, level)
    level.dependencies += rows.dependencies
    level.row, level.open = rows.row, rows.open
    level.used |= rows.outer
    for condition in sources.conditions(clause(tree, "where")):
        sources.equal(condition, level)
        level.open = level.open or value(condition, level).open
    for lock in clause(tree, "locks") or ():
        if clause(lock, "wait") is False:
            level.open = level.open or f"`SKIP LOCKED`{level.title} passes over what others hold"
    level.windows = {named(window.this, level): window for window in clause(tree, "windows") or ()}
    _group(tree, level)
    fields = tuple(outputs(tree.expressions, level, rows))
    having = clause(tree, "having")
    if having is not None:
        level.open = level.open or settled(value(having.this, level)).open
    made = RowSet(
        fields=fields,
        row=level.row,
        open=level.open,
        complete=rows.complete or not any(is_star(item) for item in tree.expressions),
    )
    return _ended(tree, level, _distinct(tree, level, made))


def _group(tree: exp.Select, level: Level) -> None:
    """Makes groups of a level's rows."""
    group = clause(tree, "group")
    over = [*tree.expressions, clause(tree, "having"), clause(tree, "order")]
    if group is None and not any(_aggregates(part, level) for part in over if part is not None):
        return
    parts = [] if group is None else [part for _, part in parts_of(group)]
    several = any(isinstance(part, SEVERAL) for part in parts)
    items = [_named_output(item, tree, level) for part in parts for item in _grouping(part)]
    made = [value(item, level) for item in items]
    level.open = level.open or next((key.open for key in made if key.open), "")
    level.group_row = level.reading.number()
    level.row = frozenset({level.group_row})
    equal = frozenset(key.equal for key in made)
    if several:  # NULL stands for a value and for all of them: nothing follows from anything
        level.dependencies.clear()
        level.group = equal
    else:
        level.group = level.closure(equal)
        level.fix(equal, level.group_row)
    level.fix(level.row, *level.group)


def _grouping(item: exp.Expr) -> Iterator[exp.Expr]:
    """The keys in ROLLUP, CUBE and GROUPING SETS."""
    if isinstance(item, (*SEVERAL, exp.Tuple, exp.Paren)):
        for _, part in parts_of(item):
            yield from _grouping(part)
    else:
        yield item


def _named_output(item: exp.Expr, tree: exp.Select, level: Level) -> exp.Expr:
    """What a key of GROUP BY stands for: an output by its number or alias, or itself."""
    if isinstance(item, exp.Literal) and not item.is_string:
        place = int(item.this) - 1
        if 0 <= place < len(tree.expressions):
            output: exp.Expr = tree.expressions[place].unalias()
            return output
    if isinstance(item, exp.Column) and not clause(item, "table"):
        name = named(item.this, level)
        own = any(field.name == name for rows in level.sources.values() for field in rows.fields)
        for output in tree.expressions if not own else ():
            if isinstance(output, exp.Alias) and named(clause(output, "alias"), level) == name:
                return output.unalias()
    return item


def _aggregates(tree: exp.Expr, level: Level) -> bool:
    """Whether an aggregate of this level stands in an expression."""
    if isinstance(tree, exp.Query):
        return False
    call = called(tree)
    if call is not None and is_aggregate(call, level):
        return True
    parts = [part for _, part in parts_of(tree)]
    if isinstance(tree, exp.Window):  # whose own function reads the rows of a window
        inner = called(tree.this) or tree.this
        parts = [part for part in parts if part is not tree.this]
        parts += [part for _, part in parts_of(inner)]
    return any(_aggregates(part, level) for part in parts)


def _distinct(tree: exp.Select, level: Level, rows: RowSet) -> RowSet:
    """The rows without those that come twice."""
    distinct = clause(tree, "distinct")
    if distinct is None:
        return rows
    on = clause(distinct, "on")
    number = level.reading.number()
    if on is None:
        known = [field.value.equal for field in rows.fields]
        reason = f"`DISTINCT`{level.title} takes one of equal values"
        opened = next((field.value.open for field in rows.fields if field.value.open), "")
    else:
        items = on.expressions if isinstance(on, exp.Tuple) else [on]
        picked = [_key(item, rows, level) for item in items]
        order = order_items(tree)
        ordered = [_key(item, rows, level) for item in order]
        known = [part.equal for part in (*picked, *ordered)]
        reason = not_total(f"`DISTINCT ON`{level.title}", _spelt(tree))
        opened = next((part.open for part in picked if part.open), "")
        reason = next((part.open for part in ordered if part.open), reason)
    fixed = level.closure(known)
    kept = tuple(_opened(field, level, fixed, reason) for field in rows.fields)
    level.fix(frozenset(part.equal for part in picked) if on else frozenset(known), number)
    level.fix(frozenset({number}), *(n for f in kept for n in (f.value.look, f.value.equal)))
    return replace(rows, fields=kept, row=frozenset({number})).spoilt(opened)


def _opened(field: Field, level: Level, fixed: frozenset[int], reason: str) -> Field:
    """A column, which is open where it is not fixed."""
    if field.value.open or level.fixes(fixed, field.value):
        return field
    return Field(field.name, replace(field.value, open=reason))


# --- UNION and its like -----------------------------------------------------------------------


def _together(tree: exp.SetOperation, level: Level) -> RowSet:
    """The rows of UNION, INTERSECT and EXCEPT, of which nothing follows from anything."""
    sides = [
        query(side, Level(level.reading, title=level.title, outer=level))
        for side in (tree.left, tree.right)
    ]
    return merged(sides, level, every=not clause(tree, "distinct"), name=tree.key.upper())


def merged(sides: Sequence[RowSet], level: Level, *, every: bool, name: str = "UNION") -> RowSet:
    """The rows of several queries; `every`: also those that come twice."""
    if not all(rows.complete for rows in sides) or len({len(rows.fields) for rows in sides}) > 1:
        raise UnclearError(f"the columns of `{name}`{level.title} are not known")
    alike = f"`{name}`{level.title} takes one of equal values"
    fields = []
    for held in zip(*(rows.fields for rows in sides), strict=True):
        loose = any(field.value.loose for field in held)
        opened = next((field.value.open for field in held if field.value.open), "")
        made = level.fresh(opened or (alike if loose and not every else ""))
        equal = level.reading.number() if loose else made.equal
        level.fix(frozenset({made.look}), equal, nulls=True)
        fields.append(
            Field(
                held[0].name,
                replace(
                    made,
                    equal=equal,
                    floating=any(field.value.floating for field in held),
                    text=any(field.value.text for field in held),
                    loose=loose,
                ),
            )
        )
    number = level.reading.number()
    if not every:
        level.fix(frozenset(field.value.equal for field in fields), number)
    reasons = [rows.open for rows in sides]
    if not every or name != "UNION":  # which rows are equal is open, where a value is
        reasons += [field.value.open for rows in sides for field in rows.fields]
    reason = next(filter(None, reasons), "")
    outer = frozenset().union(*(rows.outer for rows in sides))
    level.used |= outer
    return RowSet(fields=tuple(fields), row=frozenset({number}), open=reason)


# --- ORDER BY and LIMIT -----------------------------------------------------------------------


def _ended(tree: exp.Expr, level: Level, rows: RowSet) -> RowSet:
    """The rows after ORDER BY and LIMIT, with all that is known of them."""
    level.dependencies += rows.dependencies
    order = order_items(tree)
    ordered = [_key(item, rows, level) for item in order]
    fixed = level.closure([key.equal for key in ordered])
    opened = next((key.open for key in ordered if key.open), "")
    rows = _limited(tree, level, rows, opened, fixed)
    sequence = tuple(
        opened
        or field.value.open
        or ("" if level.fixes(fixed, field.value) else not_total("the answer", order))
        for field in rows.fields
    )
    outer = frozenset(number for number in level.used if number < level.first)
    dependencies = tuple(
        each if each.nulls else Dependency(each.given | outer, each.fixed)
        for each in level.dependencies
    )
    return replace(rows, sequence=sequence, outer=rows.outer | outer, dependencies=dependencies)


def _limited(
    tree: exp.Expr, level: Level, rows: RowSet, opened: str, fixed: frozenset[int]
) -> RowSet:
    """The rows that LIMIT and OFFSET leave; what the order does not fix is open."""
    limit, offset = clause(tree, "limit"), clause(tree, "offset")
    counts = [
        clause(part, "count") or clause(part, "expression")
        for part in (limit, offset)
        if part is not None
    ]
    if limit is not None and str(counts[0]).upper() in ("ALL", "NULL"):
        limit, counts = None, counts[1:]
    options = clause(limit, "limit_options") if limit is not None else None
    ties = options is not None and bool(clause(options, "with_ties"))
    if ties and offset is None and not opened:
        return rows
    if limit is None and offset is None:
        return rows
    for each in counts:
        rows = rows.spoilt(value(each, level).open if each is not None else "")
    what = "LIMIT" if isinstance(limit, exp.Limit) else "FETCH FIRST" if limit else "OFFSET"
    what = f"`{what} {words(counts[0])}`{level.title}"
    reason = opened or not_total(what, _spelt(tree))
    if limit is not None and str(counts[0]) == "1" and not ties:
        number = frozenset(
            n for field in rows.fields for n in (field.value.look, field.value.equal)
        )
        level.fix(frozenset(), *number, *rows.row)
    known = frozenset() if opened else fixed
    return replace(rows, fields=tuple(_opened(each, level, known, reason) for each in rows.fields))


def _spelt(tree: exp.Expr) -> list[exp.Expr]:
    """The keys of ORDER BY, outputs that are named by numbers as what they are."""
    outputs = tree.expressions if isinstance(tree, exp.Select) else []
    numbered = {str(place): output.unalias() for place, output in enumerate(outputs, start=1)}
    return [
        numbered.get(item.name, item) if isinstance(item, exp.Literal) else item
        for item in order_items(tree)
    ]


def _key(item: exp.Expr, rows: RowSet, level: Level) -> RowValue:
    """The value of a key of ORDER BY: an output by its number or name, or an expression."""
    if isinstance(item, exp.Literal) and not item.is_string:
        place = int(item.this) - 1
        if 0 <= place < len(rows.fields):
            return rows.fields[place].value
    if isinstance(item, exp.Column) and not clause(item, "table"):
        name = named(item.this, level)
        for field in rows.fields:
            if field.name == name:
                return field.value
    return settled(value(item, level))
