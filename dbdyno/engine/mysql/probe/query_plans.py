"""Asks the optimizer how it would run each statement; nothing is run.

The table that plain EXPLAIN gives is the one form that every version of MySQL and MariaDB has, for
statements that change rows, too; MySQL's tree has none for a DELETE with ORDER BY and LIMIT.
"""

from collections.abc import Mapping
from functools import partial

from dbdyno.engine.mysql.probe.reader import MysqlProbe
from dbdyno.engine.snapshot import Row, UnavailableError
from dbdyno.model.snapshot import StatementPlan

TREE_VERSION_NUM = 80016
NO_TREE = "<not executable by iterator executor>"
PLAIN = ("SIMPLE", "PRIMARY", "DELETE", "UPDATE")
"""Kinds of a line that say no more than the statement does; MariaDB has SIMPLE for some of them."""
INSERTS = ("INSERT", "REPLACE")
"""Of these a line says ALL, though nothing is read."""


def plans(reader: MysqlProbe, statements: Mapping[str, str]) -> dict[str, StatementPlan]:
    """The plans of each statement (SQL with literals) by name: `custom`, and MySQL's own `tree`.

    There is no `generic` plan: each execution of a prepared statement is planned for its values. A
    statement without a plan (ALTER TABLE, a missing table) is None and named in `unavailable`.
    """
    reader.rows("SET SESSION sql_mode = @@GLOBAL.sql_mode")  # as those who send them have it
    found = {name: both(reader, name, sql) for name, sql in statements.items()}
    reader.rows("SET SESSION sql_mode = ''")
    return found


def both(reader: MysqlProbe, name: str, sql: str) -> StatementPlan:
    """The table of a statement's plan as lines, and its tree where the version has one."""
    custom = reader.part(f"explain.{name}", partial(table, reader, sql))
    has_tree = not reader.is_mariadb and reader.version_num >= TREE_VERSION_NUM
    tree = reader.part(f"explain.{name}.tree", partial(tree_of, reader, sql)) if has_tree else None
    return StatementPlan(custom=custom, tree=tree)


def table(reader: MysqlProbe, sql: str) -> str:
    """A line for each table that the plan comes by, in its order."""
    return "\n".join(line(row) for row in reader.rows(f"EXPLAIN FORMAT=TRADITIONAL {sql}"))


def line(row: Row) -> str:
    """`range on pi1 by pi1_market: Using where; Using index  (rows=50)`.

    Rows are set apart, as they change with the statistics.
    """
    kind = str(row.get("select_type") or "SIMPLE")
    access = "insert" if kind in INSERTS else str(row.get("type") or "no access")
    text = access if kind in PLAIN or kind in INSERTS else f"{kind.lower()}: {access}"
    text += f" on {row['table']}" if row.get("table") else ""
    text += f" by {row['key']}" if row.get("key") else ""
    extra = f": {row['extra']}" if row.get("extra") else ""
    return f"{text}{extra}  (rows={'unknown' if row.get('rows') is None else row['rows']})"


def tree_of(reader: MysqlProbe, sql: str) -> str:
    """MySQL's own text of the plan, as it prints it; raises UnavailableError where it has none."""
    (found,) = reader.row(f"EXPLAIN FORMAT=TREE {sql}").values()
    if NO_TREE in str(found):
        raise UnavailableError(f"{reader.product} has no tree of this statement")
    return str(found).rstrip()
