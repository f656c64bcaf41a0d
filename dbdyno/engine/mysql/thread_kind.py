"""Names the purpose of a mysqld's threads, by the names that the kernel knows them by.

MySQL 8 names its threads (`ib_log_writer`, `connection`), MariaDB 10 does not: there they are known
by performance_schema where that is on, and else those that were there before the first client are
background threads of no known kind.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dbdyno.model.error import ServerError

Query = Callable[[str], list[tuple[Any, ...]]]

CONNECTION = "connection"
BACKGROUND = "background"
OTHER = "other"
BY_NAME = (
    ("connection", CONNECTION),
    ("ib_io_rd", "io read"),
    ("ib_io_wr", "io write"),
    ("ib_io_", "io other"),
    ("ib_pg_flush", "page cleaner"),
    ("ib_log_checkpt", "log checkpointer"),
    ("ib_log_writer", "log writer"),
    ("ib_log_wr_not", "log notifier"),
    ("ib_log_fl_not", "log notifier"),
    ("ib_log_flush", "log flusher"),
    ("ib_log_files", "log governor"),
    ("ib_log_", "log other"),
    ("ib_srv_purge", "purge"),
    ("ib_srv_wkr", "purge"),
    ("ib_src_main", "master"),
    ("ib_srv_", "monitor"),
    ("ib_par_rd", "parallel read"),
    ("ib_ddl", "index build"),
    ("ib_", "innodb other"),
)
"""How the kernel's name of a MySQL thread begins (15 characters at most), and its kind."""
BY_INSTRUMENT = (
    (re.compile(r"sql/one_connection"), CONNECTION),
    (re.compile(r"innodb/io_read"), "io read"),
    (re.compile(r"innodb/io_write"), "io write"),
    (re.compile(r"innodb/io_"), "io other"),
    (re.compile(r"innodb/page_(cleaner|flush)"), "page cleaner"),
    (re.compile(r"innodb/log_checkpointer"), "log checkpointer"),
    (re.compile(r"innodb/log_writer"), "log writer"),
    (re.compile(r"innodb/log_(write|flush)_notifier"), "log notifier"),
    (re.compile(r"innodb/log_flusher"), "log flusher"),
    (re.compile(r"innodb/log_files_governor"), "log governor"),
    (re.compile(r"innodb/srv_(purge|worker)"), "purge"),
    (re.compile(r"innodb/srv_master"), "master"),
    (re.compile(r"innodb/srv_"), "monitor"),
    (re.compile(r"innodb/parallel_read"), "parallel read"),
    (re.compile(r"innodb/ddl_thread"), "index build"),
    (re.compile(r"innodb/"), "innodb other"),
)
"""Names of performance_schema.threads, after `thread/`."""
THREADS = "SELECT THREAD_OS_ID, NAME FROM performance_schema.threads WHERE THREAD_OS_ID IS NOT NULL"


def kinds(pid: int, known: Mapping[int, str]) -> dict[int, str]:
    """The living threads of a process but its first, and what each is for.

    `known`: what was learnt at the start (`named`), for threads whose name says nothing.
    """
    found = {}
    for thread, name in names(pid).items():
        if thread != pid:
            found[thread] = kind_of(name) or known.get(thread, OTHER)
    return found


def named(query: Query, before: Mapping[int, str]) -> dict[int, str]:
    """The threads of a server that has just started, in its own words. Raises ServerError.

    `before`: the threads, with their names, that there were before its first session; that of a
    session lives on, and serves others.
    """
    listed = query(THREADS) if is_instrumented(query) else []
    found = {int(thread): kind_of_instrument(str(name)) for thread, name in listed}
    told = {thread: kind for thread, kind in found.items() if kind not in (CONNECTION, OTHER)}
    return dict.fromkeys(before, BACKGROUND) | told


def is_instrumented(query: Query) -> bool:
    """Whether performance_schema is on and knows the kernel's thread ids (not before 5.7)."""
    ((on,),) = query("SELECT @@performance_schema")
    if not on:
        return False
    try:
        query(THREADS + " LIMIT 1")
    except ServerError:
        return False
    return True


def names(pid: int) -> dict[int, str]:
    """The living threads of a process and their names; empty when it is gone."""
    found = {}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            found[int(task.name)] = (task / "comm").read_text().rstrip("\n")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
    return found


def kind_of(name: str) -> str | None:
    """The purpose of a thread by the kernel's name of it; None for a name that says nothing."""
    return next((kind for beginning, kind in BY_NAME if name.startswith(beginning)), None)


def kind_of_instrument(name: str) -> str:
    """The purpose of a thread by performance_schema's name of it."""
    words = name.removeprefix("thread/")
    return next((kind for pattern, kind in BY_INSTRUMENT if pattern.match(words)), OTHER)
