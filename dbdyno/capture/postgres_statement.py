"""What the tree of a PostgreSQL statement says: its verb, its tables, whether it writes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from postgast.pg_query_pb2 import SQLValueFunctionOp

WRITING = frozenset({"InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt", "CallStmt"})
WRITING_FUNCTIONS = frozenset({"nextval", "setval", "set_config"})
QUERIES = {
    "SelectStmt": "select",
    "InsertStmt": "insert",
    "UpdateStmt": "update",
    "DeleteStmt": "delete",
    "MergeStmt": "merge",
    "CallStmt": "call",
}
UTILITIES = {
    "TransactionStmt": "transaction control",
    "VariableSetStmt": "SET",
    "VariableShowStmt": "SHOW",
    "CopyStmt": "COPY",
    "DeclareCursorStmt": "DECLARE",
    "FetchStmt": "FETCH",
    "ClosePortalStmt": "CLOSE",
    "PrepareStmt": "PREPARE",
    "ExecuteStmt": "EXECUTE",
    "DeallocateStmt": "DEALLOCATE",
    "ListenStmt": "LISTEN",
    "NotifyStmt": "NOTIFY",
    "UnlistenStmt": "UNLISTEN",
    "LockStmt": "LOCK",
    "VacuumStmt": "VACUUM or ANALYZE",
    "ExplainStmt": "EXPLAIN",
    "DoStmt": "DO",
    "CreateTableAsStmt": "CREATE TABLE AS",
    "DiscardStmt": "DISCARD",
    "CheckPointStmt": "CHECKPOINT",
    "CreateStmt": "CREATE TABLE",
}
NOT_ALONE = {
    "NOTIFY": r"pg_notify",
    "pg_sleep": r"pg_sleep\w*",
    "dblink": r"dblink\w*",
    "large objects": r"lo_\w+|loread|lowrite",
    "scheduled jobs": r"cron\.\w+",
    "administration of the server": (
        r"pg_stat\w*_reset\w*|pg_reload_conf|pg_rotate_logfile\w*|pg_(?:terminate|cancel)_backend"
        r"|pg_switch_(?:wal|xlog)|pg_create_restore_point|pg_promote|pg_(?:start|stop)_backup"
        r"|pg_backup_\w+|pg_wal_replay_\w+|pg_\w*replication_(?:slot|origin)\w*|pg_logical_\w+"
        r"|pg_export_snapshot|pg_read_(?:binary_)?file|pg_ls_\w+|pg_file_\w+|pg_log_\w+"
    ),
}
"""Functions that reach beyond the database or measure nothing, by what coverage calls them."""
NO_FUNCTION_ALONE = {
    reason: re.compile(rf"(?:{names})" if "\\." in names else rf"(?:\w+\.)?(?:{names})")
    for reason, names in NOT_ALONE.items()
}
TIME_WORDS = ("SVFOP_CURRENT_DATE", "SVFOP_CURRENT_TIME", "SVFOP_LOCALTIME")
"""How the parser's names begin of words that ask for the time; others ask for a role."""
TEMPORARY = "temporary tables"
CLOCK_FUNCTIONS = frozenset(
    {"now", "transaction_timestamp", "statement_timestamp", "clock_timestamp"}
)


@dataclass(frozen=True, kw_only=True)
class PostgresTraits:
    """What the tree says of a statement."""

    verb: str
    tables: tuple[str, ...]
    writes: bool
    left_out: str
    clocks: tuple[int, ...]  # where calls of the clock begin; bytes


def traits_of(statement: Message) -> PostgresTraits:
    """What the tree of one statement says."""
    top = unwrapped(statement)
    what = type(top).__name__
    verb = QUERIES.get(what)
    nodes = [top, *below(top)]
    names = [type(node).__name__ for node in nodes]
    functions = [
        (name_of(node), node) for node, name in zip(nodes, names, strict=True) if name == "FuncCall"
    ]
    left_out = "" if verb else utility(what)
    if verb == "select" and any(
        name == "IntoClause" or (name == "SelectStmt" and node.HasField("into_clause"))
        for node, name in zip(nodes, names, strict=True)
    ):
        left_out = "SELECT INTO"
    made = [node for node in nodes if getattr(node, "relpersistence", "") == "t"]
    if made:
        left_out = TEMPORARY
    for _, node in functions:
        left_out = left_out or not_alone(node)
    return PostgresTraits(
        verb=verb or utility(what).lower().replace(" ", "-"),
        tables=tables_of(made or nodes),
        writes=any(name in WRITING or name == "LockingClause" for name in names)
        or any(name in WRITING_FUNCTIONS for name, _ in functions),
        left_out=left_out,
        clocks=tuple(
            node.location for node, name in zip(nodes, names, strict=True) if is_clock(node, name)
        ),
    )


def utility(what: str) -> str:
    """What coverage calls a statement that is no query."""
    return UTILITIES.get(what) or "definitions (CREATE, ALTER, DROP, GRANT …)"


def is_clock(node: Any, name: str) -> bool:
    """Whether a node asks for the time."""
    if name == "FuncCall":
        return name_of(node) in CLOCK_FUNCTIONS and not node.args
    if name != "SQLValueFunction":
        return False
    return str(SQLValueFunctionOp.Name(node.op)).startswith(TIME_WORDS)


def tables_of(nodes: list[Message]) -> tuple[str, ...]:
    """The tables that a statement names, each once, without names of its own WITH."""
    own: set[str] = {node.ctename for node in nodes if type(node).__name__ == "CommonTableExpr"}
    tables: dict[str, None] = {}
    for node in nodes:
        if type(node).__name__ == "RangeVar":
            range_variable: Any = node
            schema, name = range_variable.schemaname, range_variable.relname
            if schema or name not in own:
                tables[f"{schema}.{name}" if schema else name] = None
    return tuple(tables)


def not_alone(function: Any) -> str:
    """Why no query that calls this function can run in a race; empty: it can."""
    name = ".".join(part.string.sval for part in function.funcname)
    return next((why for why, names in NO_FUNCTION_ALONE.items() if names.fullmatch(name)), "")


def name_of(function: Any) -> str:
    """A called function's name without its schema."""
    return str(function.funcname[-1].string.sval) if function.funcname else ""


def below(node: Message) -> Iterator[Message]:
    """All nodes below one, in the order of the text as far as the tree has it."""
    for _, child in children(node):
        yield child
        yield from below(child)


def children(node: Message) -> Iterator[tuple[str, Message]]:
    """The nodes directly below one, with the field that holds them."""
    for field, value in node.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if isinstance(value, Message):
            yield field.name, unwrapped(value)
        else:
            for item in value:
                yield field.name, unwrapped(item)


def unwrapped(node: Any) -> Message:
    """The node inside the parser's wrapper; the node itself where there is none."""
    if type(node).__name__ == "Node":
        field = node.WhichOneof("node")
        if field is not None:
            inner: Message = getattr(node, field)
            return inner
    kept: Message = node
    return kept
