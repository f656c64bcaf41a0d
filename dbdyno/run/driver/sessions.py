"""Finds a program's sessions on a server: those with the name that dyno gave it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from dbdyno import engine
from dbdyno.model import Json
from dbdyno.model.job import address

LOOK_EVERY_S = 0.05
CONNECT_S_MAX = 60.0
"""For the sessions of all clients, since its threads began."""
SESSIONS = """
SELECT pid FROM pg_stat_activity
WHERE application_name = '{name}' AND client_port IS NOT NULL ORDER BY backend_start, pid
"""
"""Parallel workers have the name of whom they help, and no client."""


def looks(job: Json, ended: threading.Event) -> Iterator[list[int]]:
    """The server's processes of the job's `session`, looked at again and again until `ended`.

    Raises ServerError where the server does not say which they are.
    """
    asked = engine.of(job["engine"]).client
    where = address(job["server"])
    sql = SESSIONS.format(name=job["session"])
    while not ended.wait(LOOK_EVERY_S):
        yield [int(pid) for (pid,) in asked.execute(where, [sql], CONNECT_S_MAX)]
