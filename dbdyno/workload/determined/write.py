"""Statements that write: how many rows they change, and what they return of these."""

from dataclasses import replace

from sqlglot import exp

from dbdyno.workload.determined import sources
from dbdyno.workload.determined.outputs import outputs
from dbdyno.workload.determined.row_set import Field, Level, RowSet, RowValue
from dbdyno.workload.determined.sql_tree import UnclearError, clause, order_items, words
from dbdyno.workload.determined.value import named, not_total, value


def written(tree: exp.Insert | exp.Update | exp.Delete | exp.Merge, level: Level) -> RowSet:
    """The rows that are changed. Raises UnclearError."""
    if isinstance(tree, exp.Insert):
        rows = _inserted(tree, level)
    elif isinstance(tree, exp.Merge):
        rows = _merged(tree, level)
    else:
        rows = _changed(tree, level)
    returning = clause(tree, "returning")
    items = returning.expressions if returning is not None else []
    if items and isinstance(tree, exp.Merge):
        raise UnclearError(f"`RETURNING` of `MERGE`{level.title} is not known here")
    fields = tuple(outputs(items, level, rows))
    return RowSet(
        fields=fields,
        row=frozenset({level.reading.number()}),
        open=rows.open,
        sequence=tuple("the answer has no ORDER BY" for _ in fields),
    )


def _target(tree: exp.Expr, level: Level) -> RowSet:
    """The table that is written to, whose columns a trigger may change."""
    table = tree.this if isinstance(tree, exp.Schema) else tree
    rows = sources.source(table, level)
    facts = sources.facts_of(table, level) if isinstance(table, exp.Table) else None
    if facts is None or not facts.triggers:
        return rows
    reason = f"a trigger of `{words(table.this)}`"
    return replace(rows, fields=tuple(_open(field, reason) for field in rows.fields))


def _open(field: Field, reason: str) -> Field:
    return Field(field.name, replace(field.value, open=field.value.open or reason))


def _inserted(tree: exp.Insert, level: Level) -> RowSet:
    table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    target = _target(tree.this, level)
    given = clause(tree, "expression")
    source = sources.nothing() if given is None else level.reading.query(given, level.within(""))
    listed = tree.this.expressions if isinstance(tree.this, exp.Schema) else ()
    names = [named(item, level) for item in listed] or [field.name for field in target.fields]
    values = {name: field.value for name, field in zip(names, source.fields, strict=False)}
    facts = sources.facts_of(table, level)
    defaults = {column.name for column in facts.columns if column.default} if facts else set()
    fields = []
    for field in target.fields:
        reason = f"the default of `{field.name}`" if field.name in defaults else ""
        reason = values[field.name].open if field.name in values else reason
        fields.append(_open(field, reason))
    rows = replace(target, fields=tuple(fields)).spoilt(source.open)
    conflict = clause(tree, "conflict")
    if conflict is not None or clause(tree, "ignore"):
        rows = _conflicting(tree, level, rows, source)
    level.sources[table.alias_or_name] = rows
    return rows


def _conflicting(tree: exp.Insert, level: Level, rows: RowSet, source: RowSet) -> RowSet:
    """The rows of an INSERT some of which may be there already."""
    rows = rows.spoilt(next((field.value.open for field in source.fields if field.value.open), ""))
    conflict = clause(tree, "conflict")
    several = bool(source.row)
    level.sources["excluded"] = rows
    reasons = {}
    for item in conflict.expressions if conflict is not None else ():
        if isinstance(item, exp.EQ) and isinstance(item.left, exp.Column):
            reasons[named(item.left.this, level)] = value(item.right, level).open
    several_reason = "rows that conflict come in any order" if several else ""
    fields = (_open(each, several_reason or reasons.get(each.name, "")) for each in rows.fields)
    return replace(rows, fields=tuple(fields))


def _changed(tree: exp.Update | exp.Delete, level: Level) -> RowSet:
    """The rows that an UPDATE or DELETE finds, with what it sets."""
    target = _target(tree.this, level)
    level.dependencies += target.dependencies
    rows, fixed = target, target.row
    others = [clause(tree, "from_").this] if clause(tree, "from_") else []
    others += clause(tree, "using") or []
    for other in others:
        rows = sources.beside(rows, sources.source(other, level))
    level.dependencies += rows.dependencies
    level.row, level.used = rows.row, level.used | rows.outer
    reason = rows.open
    for condition in sources.conditions(clause(tree, "where")):
        sources.equal(condition, level)
        reason = reason or value(condition, level).open
    known = level.closure(fixed)
    sets = {
        named(item.left.this, level): value(item.right, level)
        for item in (tree.expressions if isinstance(tree, exp.Update) else ())
        if isinstance(item, exp.EQ) and isinstance(item.left, exp.Column)
    }
    opened = {name: _any_row(made, level, known) for name, made in sets.items()}
    own = {field.value.look for field in target.fields}
    fields = tuple(
        _open(field, opened.get(field.name, "") if field.value.look in own else "")
        if field.value.look in own
        else _open(field, _any_row(field.value, level, known))
        for field in rows.fields
    )
    if level.reading.catalog.backticks:  # which counts the rows that are then others
        reason = reason or next((why for why in opened.values() if why), "")
    made = replace(rows, fields=fields).spoilt(reason or _limit(tree, level))
    _rename(level, made)
    return made


def _any_row(made: RowValue, level: Level, known: frozenset[int]) -> str:
    """Why a value is open of which a row that is changed may meet several."""
    return made.open or (
        "" if level.fixes(known, made) else "a row that is changed may meet several others"
    )


def _rename(level: Level, rows: RowSet) -> None:
    """Has the level's sources give the columns as they are after the statement."""
    after = {field.value.look: field for field in rows.fields}
    for name, source in level.sources.items():
        fields = tuple(after.get(field.value.look, field) for field in source.fields)
        level.sources[name] = replace(source, fields=fields)


def _limit(tree: exp.Update | exp.Delete, level: Level) -> str:
    """Why it is open which rows are changed under a LIMIT."""
    limit, items = clause(tree, "limit"), order_items(tree)
    if limit is None:
        return ""
    ordered = [value(item, level) for item in items]
    fixed = level.closure([made.equal for made in ordered])
    opened = next((made.open for made in ordered if made.open), "")
    if isinstance(tree, exp.Delete) or (level.row <= fixed and not opened):
        return ""
    return opened or not_total(f"`LIMIT {words(limit.expression)}`{level.title}", items)


def _merged(tree: exp.Merge, level: Level) -> RowSet:
    """The rows that a MERGE meets."""
    rows = sources.beside(_target(tree.this, level), sources.source(clause(tree, "using"), level))
    on = clause(tree, "on")
    return rows.spoilt(value(on, level).open if on is not None else "")
