"""A name that stands for several servers is one server to dyno and to the load generator."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from dbdyno import engine, plan
from dbdyno.engine import LabServer
from dbdyno.engine.external import ExternalServer
from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from dbdyno.run import blocks
from server_place import a_place, ends, over_tcp, started
from server_place import reached as load_address

pytestmark = pytest.mark.live

NAME = "both.invalid"
"""A name that the system itself knows nothing of: the load generator has the address from dyno."""
PLAN = """
[arms.theirs]
dsn = "postgresql://tenant@{places}/shop{query}"
[schedule.void]
foreign = 1
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]
parameters = {{ rows = 1000, seconds = 1, warmup_s = 0.2, administer = 0 }}
"""


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[LabServer, LabServer]]:
    """Two servers that answer at one port of two addresses of this host."""
    other_arm = Arm(name="b", engine="postgres", base_dir=ends()[-1], transport="tcp")
    with a_place() as place, started(other_arm, place) as other:
        other.execute("ALTER SYSTEM SET listen_addresses = '127.0.0.2'")
        other.stop()
        other.start()
        settings = {"port": str(load_address(other).port)}
        with started(replace(other_arm, name="a", settings=settings), place) as first:
            for server in (first, other):
                over_tcp(server).write_text("local all all trust\nhost all all 127.0.0.0/8 trust\n")
                server.execute("SELECT pg_reload_conf()", "CREATE ROLE tenant LOGIN")
                server.execute("CREATE DATABASE shop OWNER tenant")
            yield first, other


@pytest.fixture
def rotating(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that tells the addresses in another order each time, as many do."""
    orders = cycle([("127.0.0.2", "127.0.0.1"), ("127.0.0.1", "127.0.0.2")])
    real = socket.getaddrinfo

    def told(host: Any, port: Any, *given: Any, **more: Any) -> list[Any]:
        if host != NAME:
            return real(host, port, *given, **more)
        return [real(address, port, *given, **more)[0] for address in next(orders)]

    monkeypatch.setattr(socket, "getaddrinfo", told)


def test_all_connections_of_a_run_go_to_one_of_two_servers(
    servers: tuple[LabServer, LabServer], rotating: None, tmp_path: Path
) -> None:
    port = load_address(servers[0]).port
    text = PLAN.format(places=f"{NAME}:{port}", query="")
    outcome = blocks.run(plan.parse(text, None), tmp_path, wait=True)
    assert outcome.failed == 0
    tables = "SELECT count(*) FROM pg_stat_user_tables WHERE seq_scan + idx_scan > 0"
    assert sorted(server.execute(tables, database="shop")[0][0] for server in servers) == [0, 1]


def test_the_server_that_a_session_asks_for_is_found_among_several(
    servers: tuple[LabServer, LabServer],
) -> None:
    port = load_address(servers[0]).port
    places = f"127.0.0.1:{port},127.0.0.2:{port}"
    servers[0].execute("ALTER ROLE tenant SET default_transaction_read_only = on")
    try:
        for session, ip in (("read-write", "127.0.0.2"), ("read-only", "127.0.0.1"), ("any", None)):
            query = f"?target_session_attrs={session}"
            found = elsewhere(PLAN.format(places=places, query=query))
            found.check()
            assert found.load_address.ip == (ip or "127.0.0.1")
        with pytest.raises(ServerError, match="primary that writes, not `target_session_attrs=st"):
            elsewhere(PLAN.format(places=places, query="?target_session_attrs=standby")).check()
    finally:
        servers[0].execute("ALTER ROLE tenant RESET default_transaction_read_only")


def test_a_place_at_which_nothing_answers_is_passed_by_and_named_where_there_is_no_other(
    servers: tuple[LabServer, LabServer],
) -> None:
    port = load_address(servers[0]).port
    found = elsewhere(PLAN.format(places=f"127.0.0.9:{port},127.0.0.2:{port}", query=""))
    found.check()
    assert found.load_address.host == "127.0.0.2"
    with pytest.raises(ServerError, match=r"arms.theirs.dsn: nothing answers at 127.0.0.9:"):
        elsewhere(PLAN.format(places=f"127.0.0.9:{port}", query="")).check()


def elsewhere(text: str) -> ExternalServer:
    """The server of a plan's only arm."""
    (arm,) = plan.parse(text, None).arms
    return ExternalServer(arm, engine.of(arm.engine).client)
