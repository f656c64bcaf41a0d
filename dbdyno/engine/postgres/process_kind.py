"""Tells what a PostgreSQL process is for from its title, for versions 9.6 to 19.

postgres: checkpointer                        11 and later
postgres: checkpointer process                to 10
postgres: NAME: walwriter                     with cluster_name = NAME
postgres: bgworker: parallel worker for PID 7 to 10
postgres: dyno ib [local] idle                a backend: user, database, client, activity
"""

import re

TITLE = "postgres: "
EXACT = {
    "checkpointer": "checkpointer",
    "background writer": "background writer",
    "writer": "background writer",
    "walwriter": "walwriter",
    "wal writer": "walwriter",
    "autovacuum launcher": "autovacuum launcher",
    "logical replication launcher": "logical replication launcher",
    "stats collector": "stats collector",
    "walsummarizer": "walsummarizer",
}
BEGINNINGS = (
    ("autovacuum worker", "autovacuum worker"),
    ("parallel worker", "parallel worker"),
    ("io worker", "io worker"),
    ("archiver", "archiver"),
    ("startup", "startup"),
    ("walsender", "walsender"),
    ("wal sender", "walsender"),
    ("walreceiver", "walreceiver"),
    ("wal receiver", "walreceiver"),
    ("checkpointer", "checkpointer"),
)
"""Titles that go on: with a database, a number, a file of the write-ahead log."""
SENDERS = ("walsender ", "wal sender ")
"""Titles that have a client in them, too."""
LED = re.compile(r"parallel worker for PID (\d+)")
BACKEND = re.compile(r"\S+ \S+ (\[local\]|\S+\(\d+\))( |$)")


def kind_of(title: str, cluster_name: str = "") -> str | None:
    """The purpose of the process; `other` if it is not known here.

    None for one that has no title of its own yet: ask again later.
    """
    words = _words(title, cluster_name)
    if words is None:
        return None
    if BACKEND.match(words) and not words.startswith(SENDERS):
        return "backend"
    if words.removesuffix(" process") in EXACT:
        return EXACT[words.removesuffix(" process")]
    for beginning, kind in BEGINNINGS:
        if words.startswith(beginning):
            return kind
    return "other"


def leader_of(title: str, cluster_name: str = "") -> int | None:
    """The process id of the backend whose work a parallel worker does; None of all others."""
    led = LED.match(_words(title, cluster_name) or "")
    return int(led[1]) if led else None


def _words(title: str, cluster_name: str) -> str | None:
    """A title without what all have before it; None where it is not the server's own."""
    if not title.startswith(TITLE):
        return None
    words = title[len(TITLE) :].strip()
    if cluster_name:
        words = words.removeprefix(f"{cluster_name}: ")
    return words.removeprefix("bgworker: ")
