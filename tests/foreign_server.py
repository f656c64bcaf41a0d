"""Servers of the lab's own that plans know by DSN only, as they know a managed service.

A user of theirs has what a service gives to whoever rents it: a database, and nothing beside it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from certificates import Root
from dbdyno.engine import LabServer
from server_place import address, over_tcp, reached, within

USER, DATABASE = "tenant", "shop"
SECRET = "a word of the tenant's"
PASSWORD = "TENANTS_PASSWORD"
"""The environment's variable that has it."""
HBA = """
local all all trust
local replication all trust
hostssl all all 127.0.0.1/32 scram-sha-256
"""
"""Who comes over TCP comes with TLS and a password."""
UNADMINISTERED = """
[[workloads]]
name = "insert-benchmark"
steps = ["l.i0", "l.x", "l.i1", "cleanup", "qr100"]
parameters = { rows = 2000, rows_i1 = 500, rates = [100], seconds = 1, wait_s = 0, administer = 0 }
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query", "postwrite"]
parameters = { rows = 1000, seconds = 1, warmup_s = 0, pause_s = 0, administer = 0 }
"""
"""Workloads that administer their server unless they are told not to; in plans."""


def made_certificate(folder: Path, owner: int) -> Path:
    """A certificate for 127.0.0.1 with its key, of the server's account; the root's file."""
    root = Root(folder, owner).make()
    root.sign("server", "127.0.0.1")
    return root.certificate


def switch_tls_on(server: LabServer) -> None:
    """Lets a PostgreSQL that has a certificate use it, and waits until it does."""
    server.execute("ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
    assert within(60, lambda: server.execute("SHOW ssl") == [("on",)])


@dataclass(frozen=True)
class Service:
    """A server over TCP with TLS alone, and an ordinary user who has a database there."""

    server: LabServer
    port: int
    certificate: Path

    @property
    def dsn(self) -> str:
        """Its place, for a plan that verifies its certificate."""
        return f"{self.place(self.port)}?sslmode=verify-full&sslrootcert={self.certificate}"

    def place(self, port: int) -> str:
        """The place of the user's database on a port, without parameters."""
        return f"postgresql://{USER}@127.0.0.1:{port}/{DATABASE}"


@contextmanager
def a_service(server: LabServer, owner: int) -> Iterator[Service]:
    """A running PostgreSQL as a service, with a session of somebody else who is at work.

    `owner`: the server's account; the arm's transport is TCP. The user's role is
    as CREATE ROLE makes it.
    """
    assert server.data_dir is not None
    certificate = made_certificate(server.data_dir, owner)
    over_tcp(server).write_text(HBA)
    switch_tls_on(server)
    quoted = SECRET.replace("'", "''")
    server.execute(
        f"CREATE ROLE {USER} LOGIN PASSWORD '{quoted}'",
        f"CREATE DATABASE {DATABASE} OWNER {USER}",
        "CREATE ROLE neighbour LOGIN SUPERUSER",
    )
    with at_work(server, "neighbour"):
        yield Service(server, reached(server).port, certificate)


@contextmanager
def at_work(server: LabServer, user: str) -> Iterator[None]:
    """A session of a user in an open transaction, whose query goes on all the time."""
    own = address(server)
    session: psycopg.Connection[Any] = psycopg.connect(
        host=own.host, port=own.port, user=user, dbname=DATABASE
    )

    def work() -> None:
        with suppress(psycopg.Error):  # the end of the test ends it
            session.execute("SELECT pg_sleep(3600)")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        session.cancel()
        thread.join()
        session.close()
