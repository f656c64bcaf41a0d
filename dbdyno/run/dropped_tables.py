"""Tables that a step's set-up drops and makes anew, on a server that runs elsewhere.

Somebody else's are not dropped unless the arm says so. Tables that the lab made are known by a mark
in their comment, so that a later block, or a plan that goes on, needs nobody to look at them.
"""

from collections.abc import Iterable, Mapping, Sequence

from dbdyno.engine import Server
from dbdyno.model.error import ServerError
from dbdyno.model.literal import literal
from dbdyno.workload import DROP

MARK = "made by dbdyno"
"""In the comment of a table that may be dropped."""
NAMED_MAX = 20
"""How many tables a message names; a workload may have thousands."""


def set_up(server: Server, statements: Sequence[str]) -> None:
    """Runs a step's set-up, and marks the tables that it makes on a server elsewhere.

    Raises ServerError, before anything is dropped where a table is not the lab's to drop.
    """
    tables = dropped(statements) if server.remote else []
    if not server.drops_any:
        refuse_others(server, tables)
    server.execute(*statements)
    mark(server, comments(server, tables))


def mark(server: Server, there: Mapping[str, str]) -> None:
    """Marks those of the tables that have no mark in their comments `there`. Raises ServerError."""
    if server.client is None:
        return
    marks = [
        server.client.sql.set_comment.format(table=table, comment=literal(marked(comment)))
        for table, comment in there.items()
        if MARK not in comment
    ]
    if marks:
        server.execute(*marks)


def made(server: Server, tables: Sequence[str], setup: Sequence[str] = ()) -> str | None:
    """Marks what a step's own statements made; in a sentence, which of the tables they did not.

    Elsewhere they may also have made what the step's set-up made room for, as those of
    `pgbench -i` do. Raises ServerError.
    """
    if server.address() is None:
        return None
    there = comments(server, [*tables, *(dropped(setup) if server.remote else ())])
    if server.remote:
        mark(server, there)
    missing = next((table for table in tables if table not in there), None)
    if missing is None:
        return None
    return f"no statement of the step created table `{missing}`, which `makes` names"


def dropped(statements: Iterable[str]) -> list[str]:
    """The tables that statements of a set-up drop where they are there."""
    return [sql.removeprefix(DROP).strip() for sql in statements if sql.startswith(DROP)]


def refuse_others(server: Server, tables: Sequence[str]) -> None:
    """Raises ServerError where one of the tables is there without the lab's mark."""
    others = [table for table, comment in comments(server, tables).items() if MARK not in comment]
    if not others:
        return
    address = server.address()
    assert address is not None, "a server elsewhere has an address"
    more = f" and {len(others) - NAMED_MAX:,} more" if len(others) > NAMED_MAX else ""
    names = ", ".join(f"`{table}`" for table in others[:NAMED_MAX])
    raise ServerError(
        f"arms.{server.name}: database `{address.database}` of `{address.host}:{address.port}` has "
        f"tables that dyno did not make and the workload would drop: {names}{more}; name another "
        "database, or write `allow_drop = true` in the arm"
    )


def comments(server: Server, tables: Sequence[str]) -> dict[str, str]:
    """The tables among these that exist, with the comment of each."""
    if not tables or server.client is None:
        return {}
    names = ", ".join(literal(table) for table in tables)
    rows = server.execute(server.client.sql.comments.format(names=names))
    return {str(table): str(comment or "") for table, comment in rows}


def marked(comment: str) -> str:
    """A comment with the mark; what a workload wrote stays, as it may be an option of InnoDB."""
    return f"{comment} {MARK}".strip()
