"""What servers say of their own state in a window: asked, kept, shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

import report_parts
from comparison_builder import comparison
from dbdyno.analysis.step import assemble
from dbdyno.analysis.step.collect import Kept
from dbdyno.engine.postgres.status import THERE, indexes
from dbdyno.engine.status import Status
from dbdyno.model import Arm, ServerStatus
from dbdyno.model.error import ServerError
from dbdyno.model.server_status import IndexState, IndexStatistics, StatusLook, WalFiles
from dbdyno.model.step_run import WalRange
from dbdyno.report import page
from dbdyno.report.parts import Table, Text, flat
from mysql_place import ENGINES, an_arm
from result_planted import MONO_NS
from server_place import a_place, address, ends, started
from test_analysis import step_folder

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


# --- Keeping and showing -------------------------------------------------------------------------

INDEX = IndexState(
    tree_level=1,
    index_size=409_600,
    internal_pages=1,
    leaf_pages=48,
    empty_pages=0,
    deleted_pages=0,
    avg_leaf_density=94.06,
    leaf_fragmentation=0.0,
)


def look(second: float, part: str, **answer: Any) -> StatusLook:
    """An answer so many seconds after the window of `step_folder` has opened."""
    at_ns = MONO_NS + round(second * 1e9)
    return StatusLook(mono_ns=at_ns, part=part, took_us=1, **answer)


def write(folder: Path, lines: Iterable[StatusLook]) -> None:
    """status.jsonl of these answers, and indexes.json."""
    text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    (folder / "status.jsonl").write_bytes(text)
    indexes = IndexStatistics(indexes={"k_1": INDEX})
    (folder / "indexes.json").write_bytes(msgspec.json.encode(indexes))


def test_a_windows_answers_are_summed_up_by_question_and_survive_being_kept(
    tmp_path: Path,
) -> None:
    folder = step_folder(tmp_path, "qr100")
    write(
        folder.path,
        [
            look(1, "wal", wal=WalFiles(files=2, bytes=32)),
            look(1, "activity", text="old"),
            look(2, "wal", wal=WalFiles(files=5, bytes=80)),
            look(2, "activity", text="new"),
            look(3, "wal", failed="gone"),
        ],
    )
    run = assemble.step_run(folder)
    wal, activity = run.server.status
    assert (wal.looks, wal.wal) == (2, WalRange(files_min=2, files_max=5, bytes_max=80))
    assert wal.failed == "gone" and activity.text == "new"
    assert run.server.indexes == {"k_1": INDEX}
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(Kept.of(run)), type=Kept).step_run()
    assert kept.server.status == run.server.status


def test_a_report_folds_the_last_answers_and_has_a_table_of_indexes() -> None:
    made = comparison(blocks=2, troubles=False)
    log = WalRange(files_min=2, files_max=5, bytes_max=80 << 20)
    wal = ServerStatus(part="wal", looks=3, at_s=20.0, wal=log)
    told = ServerStatus(part="activity", looks=3, at_s=20.0, text="pid\tstate")
    side = {"status": (wal, told), "indexes": {"k_1": INDEX}}
    steps = [step for step in made.steps if step.step == "qr100"]
    cells = tuple(
        replace(
            cell,
            runs=tuple(replace(run, server=replace(run.server, **side)) for run in cell.runs),
        )
        for cell in steps[0].cells
    )
    shown = page.make(replace(made, steps=(replace(steps[0], cells=cells),)))
    (step,) = report_parts.steps(shown)
    parts = [part for part in flat(step.parts) if "-status-" in part.name]
    files, first, second, density = parts
    assert isinstance(files, Table) and isinstance(first, Text) and isinstance(density, Table)
    assert [cell.text for cell in files.rows[0].cells] == ["pg17", "2", "5", "80.0 MiB", "3"]
    assert [item.text for item in first.items] == ["pid\tstate"]
    assert "in block 2; all are in " in first.lead[0]
    assert [part.depth for part in parts] == ["detail"] * 4
    assert density.rows[0].cells[5].text == "94.06"
    assert second.name.endswith("pg18-activity")
