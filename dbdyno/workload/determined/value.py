"""What the expressions of a query give: on what they depend, and why they are not determined."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from dbdyno.workload.determined import functions
from dbdyno.workload.determined.row_set import Level, RowSet, RowValue
from dbdyno.workload.determined.sql_tree import (
    DERIVED,
    UnclearError,
    clause,
    is_parameter,
    order_items,
    words,
)

SYSTEM_COLUMNS = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid"})
VARIABLES = (exp.Parameter, exp.SessionParameter, exp.PropertyEQ)
FLOATING_TYPES = (exp.DType.FLOAT, exp.DType.DOUBLE)
LOOSE_TYPES = (exp.DType.INTERVAL, exp.DType.JSONB, exp.DType.JSON)
Call = exp.Func | exp.Anonymous


def value(tree: exp.Expr, level: Level) -> RowValue:
    """What an expression gives for a row of the level. Raises UnclearError."""
    if isinstance(tree, exp.Column):
        return column(tree, level)
    if isinstance(tree, DERIVED):
        return of_rows(level.reading.query(tree, level.within(" in a subquery")), level)
    if isinstance(tree, exp.Exists):
        rows = level.reading.query(tree.this, level.within(" in a subquery"))
        return of_rows(replace(rows, fields=()), level)
    if isinstance(tree, exp.Window):
        return windowed(tree, level)
    call = called(tree)
    if call is not None and is_aggregate(call, level):
        return grouped(tree, call, level)
    parts = [(key, value(part, level)) for key, part in parts_of(tree)]
    made = combined(tree, [part for _, part in parts], level)
    return typed(tree, call, made, level)


def parts_of(tree: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    """The expressions within one, and as what they stand there."""
    for key, held in tree.args.items():
        for part in held if isinstance(held, list) else (held,):
            if isinstance(part, exp.Expr) and not isinstance(part, exp.DataType | exp.Identifier):
                yield key, part


def plain(tree: exp.Expr) -> tuple[tuple[str, str], ...]:
    """What an expression has beside those within it: operator, function, literal, type."""
    return tuple(
        (key, part.sql() if isinstance(part, exp.Expr) else str(part))
        for key, held in tree.args.items()
        for part in (held if isinstance(held, list) else (held,))
        if not isinstance(part, exp.Expr) or isinstance(part, exp.DataType | exp.Identifier)
    )


def combined(tree: exp.Expr, parts: Sequence[RowValue], level: Level) -> RowValue:
    """What an expression makes of the values within it, of the same ones always the same."""
    made = described(plain(tree), tree, parts, level)
    level.fix(frozenset(part.look for part in parts), made.look)
    in_group = level.group is not None and level.fixes(level.group, made)
    return replace(made, apart="") if in_group else made


def described(written: object, tree: exp.Expr, parts: Sequence[RowValue], level: Level) -> RowValue:
    """What an expression is that has these values within it; `written`: what it has beside."""
    loose = any(part.loose for part in parts) and not isinstance(tree, exp.Predicate)
    look = level.number((type(tree).__name__, written, tuple(part.look for part in parts)))
    level.fix(
        frozenset({look}), equal := level.number(("equal", look)) if loose else look, nulls=True
    )
    return RowValue(
        look=look,
        equal=equal,
        needs=frozenset().union(*(part.needs for part in parts)),
        open=next((part.open for part in parts if part.open), ""),
        apart=next((part.apart for part in parts if part.apart), ""),
        floating=any(part.floating for part in parts) and not isinstance(tree, exp.Predicate),
        text=isinstance(tree, exp.Literal) and tree.is_string,
        loose=loose,
    )


def typed(tree: exp.Expr, call: Call | None, made: RowValue, level: Level) -> RowValue:
    """The value of an expression that is no column, by what it is."""
    if isinstance(tree, VARIABLES):
        return level.fresh(f"the variable `{words(tree).replace('$', '@')}`")
    if isinstance(tree, exp.Literal) and not is_parameter(tree):
        moment = tree.is_string and str(tree.this).strip().lower() in functions.MOMENTS
        return level.fresh("the clock") if moment and not level.reading.catalog.backticks else made
    if isinstance(tree, exp.Cast):
        to = tree.to.this
        inexact = to == exp.DType.DECIMAL and not tree.to.expressions
        return replace(
            made,
            floating=to in FLOATING_TYPES,
            loose=to in LOOSE_TYPES or inexact or (made.loose and to in exp.DataType.TEXT_TYPES),
        )
    return of_call(call, made, level) if call is not None else made


def column(tree: exp.Column, level: Level) -> RowValue:
    """A column of the level's rows, or of outer ones. Raises UnclearError."""
    name, table = named(tree.this, level), named(clause(tree, "table"), level)
    at: Level | None = level
    while at is not None:
        value = of_level(name, table, at)
        if value is not None:
            break
        at = at.outer
    else:
        raise UnclearError(f"no table is known that has the column `{words(tree)}`")
    if at is not level:
        inner: Level | None = level
        while inner is not None and inner is not at:
            inner.used |= {value.look, value.equal}
            inner = inner.outer
        return value
    if level.group is not None and not level.fixes(level.group, value) and not value.apart:
        equal = value.equal in level.group
        said = "takes one of equal values of" if equal else "leaves open"
        value = replace(value, apart=f"`GROUP BY`{level.title} {said} `{words(tree)}`")
    return value


def of_level(name: str, table: str, level: Level) -> RowValue | None:
    """The column of a level by its names; None: it has none."""
    if table and table not in level.sources:
        return None
    if not table and name in level.merged:
        return level.merged[name].value
    sources = [level.sources[table]] if table else list(level.sources.values())
    for rows in sources:
        for field in rows.fields:
            if field.name == name:
                return field.value
    if name in SYSTEM_COLUMNS and any(rows.system for rows in sources):
        return level.fresh(f"the system column `{name}`")
    if not table and name in level.sources:
        return whole_row(level.sources[name], level)
    if any(not rows.complete for rows in sources):
        return opaque(level.number(("column", table, name)), sources)
    return None if table else level.outputs.get(name)


def opaque(number: int, sources: Sequence[RowSet]) -> RowValue:
    """A column that only its mention tells of."""
    reason = next((rows.open for rows in sources if not rows.complete and rows.open), "")
    return RowValue(look=number, equal=number, needs=frozenset({number}), open=reason)


def whole_row(rows: RowSet, level: Level) -> RowValue:
    """A row as a value."""
    if not rows.complete:
        return level.fresh()
    return combined(exp.Tuple(), [field.value for field in rows.fields], level)


def named(tree: object, level: Level) -> str:
    """A name as it is compared: of PostgreSQL, in lower case where it is not quoted."""
    if not isinstance(tree, exp.Identifier):
        return str(tree).lower() if tree else ""
    text = str(tree.this)
    return text if clause(tree, "quoted") and not level.reading.catalog.backticks else text.lower()


def of_rows(rows: RowSet, level: Level) -> RowValue:
    """The value of a subquery."""
    level.used |= {number for number in rows.outer if number < level.first}
    made = level.fresh(
        rows.open or next((field.value.open for field in rows.fields if field.value.open), "")
    )
    first = rows.fields[0].value if rows.fields else made
    equal = level.reading.number() if first.loose else made.equal
    level.fix(rows.outer, made.look, equal)
    return replace(
        made,
        equal=equal,
        needs=rows.outer,
        floating=first.floating,
        text=first.text,
        loose=first.loose,
    )


# --- Functions --------------------------------------------------------------------------------


def called(tree: exp.Expr) -> Call | None:
    """The call that stands here, also one with FILTER or WITHIN GROUP; None: it is none."""
    while isinstance(tree, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        tree = tree.this
    operator = isinstance(tree, exp.Connector | exp.Binary | exp.Cast | exp.Case | exp.If)
    return tree if isinstance(tree, exp.Func) and not operator else None


def name_of(call: Call) -> str:
    """The function's name in lower case."""
    return str(call.this if isinstance(call, exp.Anonymous) else call.sql_name()).lower()


def is_aggregate(call: Call, level: Level) -> bool:
    """Whether it is called over the rows of a group."""
    name = name_of(call)
    known = name in functions.AGGREGATES
    return known or (
        isinstance(call, exp.Anonymous) and level.reading.catalog.function(name).aggregate
    )


def of_call(call: Call, made: RowValue, level: Level) -> RowValue:
    """The value of a call that is no aggregate."""
    name = name_of(call)
    arguments = [part for _, part in parts_of(call)]
    if name in functions.CLOCK or functions.CLOCK_BY_ARGUMENTS.get(name) == len(arguments):
        return level.fresh(f"the clock: `{name}`")
    if name in functions.SESSION:
        return level.fresh(f"`{name}`, which tells of the session or the server")
    if name == "array" and len(arguments) == 1 and isinstance(arguments[0], exp.Query):
        return listed(arguments[0], made, level)
    if isinstance(call, exp.Anonymous):
        facts = level.reading.catalog.function(name)
        if facts.moving or name in functions.DRAWN:
            why = (
                "which gives another value each time"
                if facts.builtin
                else ("which is not declared to depend on its arguments alone")
            )
            return level.fresh(f"the function `{name}`, {why}")
        if facts.rows:  # any number of rows for each row: nothing fixes which
            return replace(level.fresh(made.open), apart=made.apart, loose=made.loose)
        made = replace(made, floating=made.floating or facts.floating)
    exact = name in functions.EXACT
    floating = name in functions.FLOATING or (made.floating and not exact)
    return replace(made, floating=floating, loose=made.loose and not exact)


def listed(tree: exp.Query, made: RowValue, level: Level) -> RowValue:
    """ARRAY(SELECT …), which has its rows in their order."""
    rows = level.reading.query(tree, level.within(" in `ARRAY`"))
    opened = next((field.value.open for field in rows.fields if field.value.open), "")
    reason = not_total(f"`ARRAY`{level.title}", order_items(tree)) if rows.sequence[0] else ""
    return replace(made, open=made.open or rows.open or opened or reason)


def grouped(tree: exp.Expr, call: Call, level: Level) -> RowValue:
    """An aggregate over the rows of a group."""
    rows_level = replace(level, group=None)  # which has the same lists: what is noted is kept
    parts = [value(part, rows_level) for part in inputs(tree, call)]
    order = list(order_of(call))
    ordered = [value(part, rows_level) for part in order]
    made = described(tree.sql(), tree, [*parts, *ordered], level)
    known = level.closure((level.group or frozenset()) | {part.equal for part in ordered})
    reason = level.open or made.open or added(name_of(call), parts, level)
    if not reason and not all(level.fixes(known, part) for part in parts):
        reason = by_order(name_of(call), parts, order, level)
    level.fix(frozenset({level.group_row}), made.look, made.equal)
    return settled(made, call, frozenset({level.group_row}), reason)


def settled(made: RowValue, call: Call, needs: frozenset[int], reason: str) -> RowValue:
    """The value of an aggregate or a window function."""
    exact = name_of(call) in functions.EXACT
    return replace(
        made,
        needs=needs,
        open=reason,
        apart="",
        floating=made.floating and not exact,
        loose=made.loose and not exact,
    )


def inputs(tree: exp.Expr, call: Call) -> Iterator[exp.Expr]:
    """The expressions that an aggregate reads: arguments, what it orders by and filters by."""
    for _, part in parts_of(call):
        if isinstance(part, exp.Star):
            continue
        if isinstance(part, exp.Order):
            part = part.this
        yield from part.expressions if isinstance(part, exp.Distinct) else (part,)
    while tree is not call:
        if isinstance(tree, exp.Filter):
            yield tree.expression.this
        if isinstance(tree, exp.WithinGroup):
            yield from (ordered.this for ordered in tree.expression.expressions)
        tree = tree.this


def order_of(call: Call) -> Iterator[exp.Expr]:
    """The keys of an ORDER BY within an aggregate's brackets."""
    for _, part in parts_of(call):
        if isinstance(part, exp.Order):
            yield from (ordered.this for ordered in part.expressions)


def added(name: str, parts: Sequence[RowValue], level: Level) -> str:
    """Why a sum is open: floating-point numbers are added in any order."""
    if name not in functions.ADDING:
        return ""
    backticks = level.reading.catalog.backticks
    always = name in functions.ALWAYS_FLOATING or (backticks and name in functions.SPREADS)
    if not always and not any(part.floating or part.text for part in parts):
        return ""
    return f"`{name}`{level.title} adds floating-point numbers in an order that is not given"


def by_order(name: str, parts: Sequence[RowValue], order: Sequence[exp.Expr], level: Level) -> str:
    """Why an aggregate of values that its group does not fix is open."""
    if name in functions.COUNTING | functions.ADDING:
        return ""
    if name in functions.LEAST:
        loose = any(part.loose for part in parts)
        return f"`{name}`{level.title} takes one of equal values" if loose else ""
    if name in functions.PICKING:
        return f"`{name}`{level.title} takes any of the values"
    return not_total(f"`{name}`{level.title}", order)


def not_total(what: str, order: Sequence[exp.Expr]) -> str:
    """The reason of what takes rows in an order that does not tell them apart."""
    if not order:
        return f"{what} has no ORDER BY"
    return f"{what} is ordered by {keys(order)}, which is not unique"


def keys(trees: Sequence[exp.Expr]) -> str:
    """The keys of an ORDER BY for a message."""
    return ", ".join(f"`{words(tree)}`" for tree in trees)


# --- Windows ----------------------------------------------------------------------------------


def windowed(tree: exp.Window, level: Level) -> RowValue:
    """A window function, or an aggregate over a window."""
    call = called(tree.this)
    if call is None:
        raise UnclearError(f"`{words(tree)}` is no window function that is known")
    defined = level.windows.get(named(clause(tree, "alias"), level), tree)
    by = clause(tree, "partition_by") or clause(defined, "partition_by") or ()
    partition = [value(part, level) for part in by]
    order = order_items(tree) or order_items(defined)
    ordered = [value(part, level) for part in order]
    parts = [value(part, level) for part in inputs(tree.this, call)]
    made = described(tree.sql(), tree, [*parts, *partition, *ordered], level)
    known = level.closure([part.equal for part in (*partition, *ordered)])
    spec = clause(tree, "spec") or clause(defined, "spec")
    by_rows = spec is not None and str(clause(spec, "kind")).upper() == "ROWS"
    total = level.row <= known
    name = name_of(call)
    reason = level.open or made.open or made.apart or added(name, parts, level)
    fixed = not by_rows and all(level.fixes(known, part) for part in parts)
    settles = total or (fixed and name in functions.TAKING | functions.AGGREGATES)
    if not reason and not settles and name not in functions.RANKING:
        in_groups = name in functions.AGGREGATES and not by_rows
        what = f"the window of `{name}`{level.title}"
        reason = by_order(name, parts, order, level) if in_groups else not_total(what, order)
    if name == "row_number" and total:
        level.fix(frozenset({made.look, *(part.equal for part in partition)}), *level.row)
    level.fix(level.row, made.look, made.equal)
    return settled(made, call, level.row, reason)
