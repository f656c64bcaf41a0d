"""What servers say of their own state in a window: asked, kept, shown."""

from __future__ import annotations

from typing import Any

import pytest

from dbdyno.engine.postgres.status import THERE, indexes
from dbdyno.engine.status import Status
from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from dbdyno.model.server_status import WalFiles
from mysql_place import ENGINES, an_arm
from server_place import a_place, address, ends, started

# --- Asking --------------------------------------------------------------------------------------


class Refused(Exception):
    """What the connection below raises."""


class Answering:
    """A connection with answers by SQL; others are refused."""

    def __init__(self, answers: dict[str, tuple[list[str], list[tuple[Any, ...]]]]) -> None:
        self.answers, self.sent = answers, list[str]()

    def cursor(self) -> Answering:
        return self

    def execute(self, sql: str) -> None:
        self.sent.append(sql)
        if sql not in self.answers:
            raise Refused("permission\ndenied")
        names, self.rows = self.answers[sql]
        self.description = [(name,) for name in names]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.rows

    def close(self) -> None:
        raise Refused("gone")


def test_numbers_are_figures_rows_are_text_and_a_refused_question_is_not_asked_again() -> None:
    connection = Answering(
        {"w": (["files", "bytes"], [(2, 32)]), "l": (["Id", "Info"], [(1, "x"), (2, None)])}
    )
    status = Status(connection, {"wal": "w", "list": "l", "secret": "s"}, 7, (Refused,))
    wal, processes, secret = status.looks()
    assert (wal.part, wal.wal, wal.text) == ("wal", WalFiles(files=2, bytes=32), None)
    assert (processes.text, processes.failed) == ("Id\tInfo\n1\tx\n2\t", None)
    assert secret.failed == "permission denied"
    assert [look.part for look in status.looks()] == ["wal", "list"]
    assert connection.sent == ["w", "l", "s", "w", "l"]
    status.close()


@pytest.mark.live
@pytest.mark.parametrize("engine", ENGINES)
def test_a_real_mysql_tells_its_sessions_and_its_storage_engine(engine: str) -> None:
    with a_place(engine) as place, started(an_arm(engine), place) as server:
        server.create_database("ib")
        assert server.client is not None
        status = server.client.status(address(server))
        assert status.pid in server.processes()
        answers = {look.part: look for look in status.looks()}
        status.close()
        assert "SHOW FULL PROCESSLIST" in (answers["processlist"].text or "")
        assert "INNODB MONITOR OUTPUT" in (answers["innodb"].text or "")
        assert server.client.indexes(server.execute, ["t"]).unavailable


@pytest.mark.live
def test_a_mysql_that_does_not_tell_threads_is_not_asked_as_its_cost_would_be_the_servers() -> None:
    arm = an_arm("mysql", settings={"performance_schema": "OFF"})
    with a_place("mysql") as place, started(arm, place) as server:
        assert server.client is not None
        with pytest.raises(ServerError, match="performance_schema is off"):
            server.client.status(address(server))


@pytest.mark.live
def test_a_real_postgres_tells_its_wal_its_sessions_and_all_of_its_indexes() -> None:
    with (
        a_place() as place,
        started(Arm(name="a", engine="postgres", base_dir=ends()[-1]), place) as server,
    ):
        server.create_database("ib")
        assert server.client is not None
        status = server.client.status(address(server))
        assert status.pid in server.processes()
        answers = {look.part: look for look in status.looks()}
        status.close()
        assert answers["wal"].wal is not None and answers["wal"].wal.files > 0
        assert "checkpointer" in (answers["activity"].text or "")
        server.execute("CREATE TABLE t (a int PRIMARY KEY, b int UNIQUE)")
        server.execute("INSERT INTO t SELECT n, n FROM generate_series(1, 1000) AS n")
        read = server.client.indexes(server.execute, ["t", "gone"])
        assert set(read.indexes) == {"t_pkey", "t_b_key"} and read.unavailable is None
        assert (read.indexes["t_pkey"].avg_leaf_density or 0.0) > 50


def test_a_server_without_the_extension_says_so_in_a_line() -> None:
    def execute(*sql: str, limit_s: float = 0) -> list[tuple[Any, ...]]:
        assert sql == (THERE,)
        return []

    read = indexes(execute, ["t"])
    assert read.indexes == {} and read.unavailable is not None
    assert read.unavailable.startswith("this server comes without the extension pgstattuple")
