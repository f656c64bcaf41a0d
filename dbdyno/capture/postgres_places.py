"""Where the parameters of a PostgreSQL query stand, and queries that draw values for them.

A *draft* is a query of the parts that a SELECT, UPDATE, DELETE or INSERT reads, with every
condition on a parameter left out: its rows have in their columns what parameters are compared with.
So values that a query compares together come from one row, across joins, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import postgast
from google.protobuf.message import Message
from postgast import PgQueryError, pg_query_pb2

from dbdyno.capture.drawing import SHARE, ParameterPlace, ParameterPlaces, Use, ValueQueries
from dbdyno.capture.postgres_statement import below, children, name_of, unwrapped

STATEMENTS = frozenset({"SelectStmt", "UpdateStmt", "DeleteStmt", "InsertStmt"})
FIELDS = frozenset({"extract", "date_part", "date_trunc"})
"""Functions whose first argument names a part of a date."""
USES: dict[str, Use] = {"<": "to", "<=": "to", ">": "from", ">=": "from"}
ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "^", "||"})
"""Operators that compare nothing: the other side need not be of the column's type."""
MIRRORED: dict[Use, Use] = {"from": "to", "to": "from"}
LIKES = ("AEXPR_LIKE", "AEXPR_ILIKE", "AEXPR_SIMILAR")
BETWEENS = ("AEXPR_BETWEEN", "AEXPR_BETWEEN_SYM", "AEXPR_NOT_BETWEEN", "AEXPR_NOT_BETWEEN_SYM")
TEXT_TYPE = "SELECT 1::text"
TRUE = "SELECT true"
AND = pg_query_pb2.BoolExprType.Value("AND_EXPR")


def places_of(text: str) -> ParameterPlaces:
    """The places of a query's parameters, and the drafts for them; none where it is not parsed."""
    try:
        tree = postgast.parse(text)
    except (PgQueryError, UnicodeError):
        return ParameterPlaces()
    reading = _QueryReading()
    if len(tree.stmts) == 1:
        reading.scope(unwrapped(tree.stmts[0].stmt))
    return ParameterPlaces(places=reading.places, drafts=tuple(reading.drafts), typed=_typed(tree))


def _typed(tree: Any) -> str:
    """The text as a server prepares it: `$1::interval` and not `interval $1`, a call for extract.

    Empty where the parser cannot write it.
    """
    for node in below(tree):
        if type(node).__name__ == "FuncCall" and name_of(node) == "extract":
            call: Any = node
            call.funcname[-1].string.sval = "date_part"
            call.funcformat = pg_query_pb2.CoercionForm.Value("COERCE_EXPLICIT_CALL")
    try:
        return str(postgast.deparse(tree))
    except PgQueryError:
        return ""


@dataclass
class _QueryReading:
    """What is known of a query after some of its scopes."""

    places: dict[int, ParameterPlace] = field(default_factory=dict)
    drafts: list[ValueQueries] = field(default_factory=list)

    def scope(self, statement: Message) -> None:
        """Reads a statement, then those within it."""
        scope = _Scope(statement)
        number = len(self.drafts)
        for place in scope.places:
            known = self.places.get(place.number)
            if known is None or known.column is None:
                self.places[place.number] = place.within(number)
        if scope.columns:
            self.drafts.append(scope.draft())
        for inner in _inner(statement):
            self.scope(inner)


def _inner(node: Message) -> Iterator[Message]:
    """The statements directly within a node's clauses."""
    for _, child in children(node):
        if type(child).__name__ in STATEMENTS:
            yield child
        else:
            yield from _inner(child)


def _own(node: Message) -> Iterator[Message]:
    """A statement's own nodes, without those of statements within it."""
    for _, child in children(node):
        if type(child).__name__ not in STATEMENTS:
            yield child
            yield from _own(child)


class _Scope:
    """One statement: the columns that its parameters meet."""

    def __init__(self, statement: Any) -> None:
        self.statement = statement
        self.what = type(statement).__name__
        self.columns: dict[str, Any] = {}  # expressions of the draft, by their texts
        self.places: list[ParameterPlace] = []
        if self.what == "InsertStmt":
            self._inserted()
        elif self.what == "UpdateStmt":
            self._assigned()
        else:
            self._limits()
        for node in _own(statement):
            match type(node).__name__:
                case "A_Expr":
                    self._compared(node)
                case "FuncCall":
                    self._called(node)
        known = {place.number for place in self.places}
        for node in _own(statement):
            number = _parameter(node)
            if number and number not in known:
                known.add(number)
                self.places.append(ParameterPlace(number=number, use="other"))

    def _place(self, value: Any, use: Use, column: Any) -> None:
        """Takes note of a value that is a parameter, and of the column that it meets."""
        number = _parameter(value)
        if not number or any(place.number == number for place in self.places):
            return
        at = None
        if column is not None:
            text = _written(column)
            self.columns.setdefault(text, column)
            at = list(self.columns).index(text)
        self.places.append(ParameterPlace(number=number, use=use, column=at))

    def _limits(self) -> None:
        if self.what == "SelectStmt":
            self._place(unwrapped(self.statement.limit_count), "limit", None)
            self._place(unwrapped(self.statement.limit_offset), "offset", None)

    def _inserted(self) -> None:
        columns = [_column(unwrapped(node)) for node in self.statement.cols]
        rows: Any = unwrapped(self.statement.select_stmt)
        for row in getattr(rows, "values_lists", ()):
            values = [unwrapped(node) for node in unwrapped(row).items]
            for column, value in zip(columns, values, strict=False):
                self._place(value, "inserted", column)

    def _assigned(self) -> None:
        for node in self.statement.target_list:
            target: Any = unwrapped(node)
            self._place(unwrapped(target.val), "assigned", _column(target))

    def _compared(self, node: Any) -> None:
        sort = pg_query_pb2.A_Expr_Kind.Name(node.kind)
        left: Any = unwrapped(node.lexpr)
        right: Any = unwrapped(node.rexpr)
        column = _readable(left)
        if type(right).__name__ == "List":
            values = [unwrapped(item) for item in right.items]
            ends: Sequence[Use] = ("from", "to")
            for place, value in enumerate(values):
                self._place(value, ends[place % 2] if sort in BETWEENS else "listed", column)
            return
        if type(left).__name__ == type(right).__name__ == "RowExpr":
            pairs = zip(left.args, right.args, strict=False)
            for first, second in pairs:
                self._place(unwrapped(second), "equal", _readable(unwrapped(first)))
            return
        operator = node.name[-1].string.sval if node.name else ""
        if operator in ARITHMETIC:
            return
        use: Use = "equal"
        if sort in LIKES:
            use = "like"
        elif sort == "AEXPR_OP_ANY":
            use = "array"
        elif sort == "AEXPR_OP":
            use = USES.get(operator, "equal")
        self._place(right, use, column)
        self._place(left, MIRRORED.get(use, use), _readable(right))

    def _called(self, node: Any) -> None:
        if name_of(node) in FIELDS and node.args:
            self._place(unwrapped(node.args[0]), "field", None)

    # --- The draft ---

    def draft(self) -> ValueQueries:
        """The queries of the columns: of all that the statement reads, and of each table."""
        sources = [_joined(source) for source in self._sources()]
        return ValueQueries(
            whole=self._query(sources),
            sampled=self._query([_sampled(source) for source in sources[:1]] + sources[1:]),
            tables=tuple(_written(table) for table in self._tables()),
            plain=tuple(_written(_unqualified(column)) for column in self.columns.values()),
            names=tuple(_named(column) for column in self.columns.values()),
        )

    def _sources(self) -> list[Any]:
        if self.what == "SelectStmt":
            return list(self.statement.from_clause)
        relation = pg_query_pb2.Node()
        relation.range_var.CopyFrom(self.statement.relation)
        more = {"UpdateStmt": "from_clause", "DeleteStmt": "using_clause"}.get(self.what, "")
        return [relation, *getattr(self.statement, more, ())]

    def _tables(self) -> Iterator[Any]:
        for source in self._sources():
            node = unwrapped(source)
            for each in (node, *_own(node)):
                if type(each).__name__ == "RangeVar":
                    yield each

    def _where(self) -> Any:
        if self.what == "InsertStmt" or not self.statement.HasField("where_clause"):
            return None
        return self.statement.where_clause

    def _query(self, sources: Sequence[Any]) -> str:
        """SELECT of the columns as texts; empty: a part of it holds parameters."""
        tree, select = _select()
        for column in self.columns.values():
            cast = select.target_list.add().res_target.val.type_cast
            cast.arg.CopyFrom(_node(column))
            cast.type_name.CopyFrom(_target(TEXT_TYPE).type_cast.type_name)
        select.from_clause.extend(sources)
        if (where := _kept(self._where())) is not None:
            select.where_clause.CopyFrom(where)
        if self.what == "SelectStmt" and self.statement.HasField("with_clause"):
            select.with_clause.CopyFrom(self.statement.with_clause)
        if _holds(select):
            return ""
        try:
            return str(postgast.deparse(tree))
        except PgQueryError:
            return ""


def _parameter(node: Any) -> int:
    """The number of a parameter, also behind a cast; 0: it is none."""
    while type(node).__name__ == "TypeCast":
        node = unwrapped(node.arg)
    return int(node.number) if type(node).__name__ == "ParamRef" else 0


def _holds(node: Message) -> bool:
    """Whether a parameter stands anywhere below a node."""
    return type(node).__name__ == "ParamRef" or any(_holds(child) for _, child in children(node))


def _readable(node: Any) -> Any:
    """An expression of columns alone; None: it is none."""
    nodes = (node, *_own(node))
    columns = any(type(each).__name__ == "ColumnRef" for each in nodes)
    inner = any(type(each).__name__ == "SubLink" for each in nodes)
    return node if columns and not inner and not _holds(node) else None


def _column(target: Any) -> Any:
    """The column that a target of INSERT or UPDATE names."""
    column = pg_query_pb2.ColumnRef()
    column.fields.add().string.sval = target.name
    return column


def _named(expression: Any) -> str:
    """The name of a column; empty: it is an expression."""
    if type(expression).__name__ != "ColumnRef":
        return ""
    return str(expression.fields[-1].string.sval)


def _unqualified(expression: Any) -> Any:
    """An expression whose columns are named without their tables."""
    plain = type(expression)()
    plain.CopyFrom(expression)
    for each in (plain, *_own(plain)):
        if type(each).__name__ == "ColumnRef":
            column: Any = each
            del column.fields[:-1]
    return plain


def _kept(where: Any) -> Any:
    """What of a condition holds no parameter; None: nothing."""
    if where is None or not _holds(where):
        return where
    if where.WhichOneof("node") != "bool_expr" or where.bool_expr.boolop != AND:
        return None
    parts = [part for part in map(_kept, where.bool_expr.args) if part is not None]
    if not parts:
        return None
    kept = pg_query_pb2.Node()
    kept.bool_expr.boolop = AND
    kept.bool_expr.args.extend(parts)
    return kept


def _joined(source: Any) -> Any:
    """A source whose joins have no condition on a parameter."""
    if source.WhichOneof("node") != "join_expr" or not _holds(source):
        return source
    made = pg_query_pb2.Node()
    made.CopyFrom(source)
    join = made.join_expr
    join.larg.CopyFrom(_joined(source.join_expr.larg))
    join.rarg.CopyFrom(_joined(source.join_expr.rarg))
    if source.join_expr.HasField("quals"):
        quals = _kept(source.join_expr.quals)
        join.quals.CopyFrom(_target(TRUE) if quals is None else quals)
    return made


def _sampled(source: Any) -> Any:
    """A source of whose first table a share is read; the same where it begins with no table."""
    made = pg_query_pb2.Node()
    what = source.WhichOneof("node")
    if what == "range_var":
        sample = made.range_table_sample
        sample.relation.CopyFrom(source)
        sample.method.add().string.sval = "system"
        sample.args.add().column_ref.fields.add().string.sval = SHARE
    else:
        made.CopyFrom(source)
        if what == "join_expr":
            made.join_expr.larg.CopyFrom(_sampled(source.join_expr.larg))
    return made


def _select() -> tuple[Any, Any]:
    """An empty SELECT, and the tree that it is the only statement of."""
    tree = pg_query_pb2.ParseResult(version=postgast.parse(TRUE).version)
    select = tree.stmts.add().stmt.select_stmt
    select.limit_option = pg_query_pb2.LimitOption.Value("LIMIT_OPTION_DEFAULT")
    select.op = pg_query_pb2.SetOperation.Value("SETOP_NONE")
    return tree, select


def _target(text: str) -> Any:
    """What the one target of a SELECT is."""
    select = postgast.parse(text).stmts[0].stmt.select_stmt
    return select.target_list[0].res_target.val


def _node(expression: Any) -> Any:
    """An expression in the parser's wrapper."""
    node = pg_query_pb2.Node()
    name = next(
        each.name
        for each in node.DESCRIPTOR.fields
        if each.message_type is not None and each.message_type.name == type(expression).__name__
    )
    getattr(node, name).CopyFrom(expression)
    return node


def _written(node: Any) -> str:
    """A table or an expression as SQL."""
    tree, select = _select()
    if type(node).__name__ == "RangeVar":
        select.from_clause.add().range_var.CopyFrom(node)
        select.from_clause[0].range_var.ClearField("alias")
        return str(postgast.deparse(tree)).partition("FROM ")[2]
    select.target_list.add().res_target.val.CopyFrom(_node(node))
    return str(postgast.deparse(tree)).removeprefix("SELECT ")
