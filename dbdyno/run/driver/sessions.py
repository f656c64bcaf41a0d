"""Finds a program's sessions on a server: those with the name that dyno gave it."""

import threading
from collections.abc import Iterator

from dbdyno import engine
from dbdyno.model.job import Job
from dbdyno.model.job.endpoint import Endpoint

LOOK_EVERY_S = 0.05
CONNECT_S_MAX = 60.0
"""For the sessions of all clients, since its threads began."""
SESSIONS = """
SELECT pid FROM pg_stat_activity
WHERE application_name = '{name}' AND client_port IS NOT NULL ORDER BY backend_start, pid
"""
"""Parallel workers have the name of whom they help, and no client."""


def looks(job: Job, ended: threading.Event) -> Iterator[list[int]]:
    """The server's processes of the job's `session`, looked at again and again until `ended`.

    Raises ServerError where the server does not say which they are.
    """
    client = engine.of(job.engine).client
    assert isinstance(job.server, Endpoint), "it was told as the step began"
    address, sql = job.server.address, SESSIONS.format(name=job.session)
    while not ended.wait(LOOK_EVERY_S):
        yield [int(pid) for (pid,) in client.execute(address, [sql], CONNECT_S_MAX)]
