"""Reads threads in performance_schema, as sessions are sampled (engine.activity). Pure.

The classes are PostgreSQL's, so that a ledger reads the same for every engine; events keep the
server's own names, without `wait/`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from dbdyno.engine.activity import IDLE, IN_TRANSACTION, ON_CPU, TEXT_CHARACTERS, Session
from dbdyno.engine.mysql import thread_kind

Row = tuple[
    int, int | None, str, str | None, str | None, str | None, int | None, int | None, str | None
]
"""Thread, connection, the thread's name; command, state and text as the process list has them; the
number of an open transaction; number and name of a wait that goes on."""

SLEEP = "Sleep"
AT_WORK_FOR_ITSELF = ("Daemon", "Binlog Dump", "Binlog Dump GTID")
"""Commands of what has a connection's number and nobody's statement."""
ROW_LOCK = "innodb/row lock"
"""An event of ours: InnoDB's waits for rows are no events of performance_schema's."""
AROUND = ("wait/io/table/", "wait/lock/table/", "idle")
"""Events that last as long as a call of the storage engine, or as nothing is asked: no waits."""
CLASSES = (
    ("wait/lock/", "Lock"),
    ("wait/io/file/", "IO"),
    ("wait/io/socket/", "Client"),
    ("wait/synch/cond/", "IPC"),
    ("wait/synch/", "LWLock"),
)
"""How the name of a wait begins, and its class: a condition is what another thread brings about."""
CONDITIONS = (
    (re.compile(r"COND_wait_status|COND_thr_lock|thread_var::suspend|User_level_lock"), "Lock"),
    (re.compile(r"Item_func_sleep"), "Timeout"),
)
"""Conditions that stand for something else."""
STATES = (
    (re.compile(r"Waiting for .*\block|User lock", re.IGNORECASE), "Lock"),
    (re.compile(r"User sleep"), "Timeout"),
    (re.compile(r"waiting for handler commit|Commit|Waiting for .*\bcommit", re.IGNORECASE), "IPC"),
)
"""States in which a session waits for what is no event: the redo log's threads at a commit."""


def sql(threads: str) -> str:
    """The query of a sample: a row for each wait that goes on, else one for each connection.

    `threads`: as Flavour has it. Threads of the background are asked for only while
    a wait goes on: of the others nothing tells whether they work or sleep. A connection has a row
    for each of several waits, of which the inner ones have the higher numbers.
    """
    return f"""
        SELECT t.THREAD_ID, t.connection, t.NAME, t.command, t.state,
               LEFT(t.text, {TEXT_CHARACTERS}),
               x.EVENT_ID, w.EVENT_ID, w.EVENT_NAME
        FROM ({threads}) AS t
        LEFT JOIN performance_schema.events_waits_current w
             ON w.THREAD_ID = t.THREAD_ID AND w.END_EVENT_ID IS NULL AND w.EVENT_NAME <> 'idle'
        LEFT JOIN performance_schema.events_transactions_current x
             ON x.THREAD_ID = t.THREAD_ID AND x.STATE = 'ACTIVE'
        WHERE t.connection <> CONNECTION_ID()
              OR t.connection IS NULL AND w.EVENT_ID IS NOT NULL
    """


BLOCKS = (
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_pages_read', "
    "'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_read_requests')"
)


def blocks(rows: Iterable[tuple[str, str]]) -> tuple[int, int]:
    """Pages that InnoDB read from its files, ahead of need too, and asked for and had already."""
    counted = {name.lower(): int(value) for name, value in rows}
    asked = counted["innodb_buffer_pool_read_requests"]
    return counted["innodb_pages_read"], asked - counted["innodb_buffer_pool_reads"]


def transactions(rows: Iterable[Row]) -> dict[int, int | None]:
    """The open transaction of each thread; None: it has none."""
    return {row[0]: row[6] for row in rows}


def sessions(rows: Iterable[Row], blocked: Collection[int]) -> Iterator[Session]:
    """The activity of each thread, but those that only wait for work.

    `blocked`: the threads that wait for a row lock.
    """
    for thread, group in groupby(sorted(rows, key=itemgetter(0)), key=itemgetter(0)):
        one = session(list(group), blocked=thread in blocked)
        if one is not None:
            yield one


def session(rows: Sequence[Row], *, blocked: bool) -> Session | None:
    """The activity of the thread of these rows; None: it waits for work."""
    _, connection, name, command, state, text, transaction, _, _ = rows[0]
    waits = [wait for *_, _, wait in sorted(rows, key=lambda row: row[-2] or 0) if wait]
    if connection is None:
        found = background(waits)
        if found is None:
            return None
        kind = thread_kind.kind_of_instrument(name)
        return Session(None, kind, None, *found, "")
    if command in AT_WORK_FOR_ITSELF:
        return None
    shown = ": ".join(filter(None, (command, state)))
    if command == SLEEP:
        return Session(connection, None, shown, kind_of_pause(transaction), "", text or "")
    found = doing(waits, state or "", blocked=blocked)
    return Session(connection, None, shown, *found, text or "")


def kind_of_pause(transaction: int | None) -> str:
    """The activity of a session without a command."""
    return IDLE if transaction is None else IN_TRANSACTION


def background(waits: Sequence[str]) -> tuple[str, str] | None:
    """The wait of a background thread; None: for work, or for nothing known."""
    inner = innermost(waits)
    if inner is None or class_of(inner) not in ("IO", "LWLock"):
        return None
    return class_of(inner), short(inner)


def doing(waits: Sequence[str], state: str, *, blocked: bool) -> tuple[str, str]:
    """The class of what a session that is asked something does, and the event.

    `waits` go on, outer ones first; `blocked`: for a row lock.
    """
    if blocked:
        return "Lock", ROW_LOCK
    for wait in waits:
        if class_of(wait) == "Lock" and not wait.startswith(AROUND):
            return "Lock", short(wait)
    inner = innermost(waits)
    if inner is not None:
        return class_of(inner), short(inner)
    kind = next((kind for pattern, kind in STATES if pattern.match(state)), None)
    return (ON_CPU, "") if kind is None else (kind, state)


def innermost(waits: Sequence[str]) -> str | None:
    """The inmost of nested events that is a wait; None: none is."""
    return next((wait for wait in reversed(waits) if not wait.startswith(AROUND)), None)


def class_of(wait: str) -> str:
    """The class of a wait by performance_schema's name of it."""
    if wait.startswith("wait/synch/cond/"):
        for pattern, kind in CONDITIONS:
            if pattern.search(wait):
                return kind
    return next((kind for beginning, kind in CLASSES if wait.startswith(beginning)), "Other")


def short(wait: str) -> str:
    """An event as results name it."""
    return wait.removeprefix("wait/")
