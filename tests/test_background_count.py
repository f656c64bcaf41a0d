"""Background processes of a counted server: what they did between two marks, by kind."""

import os
import shutil
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.engine.counting import Background
from dbdyno.engine.postgres.counting import BACKGROUND, COUNTING
from dbdyno.findings.work import plan as work
from dbdyno.findings.work import show as section
from dbdyno.host import process
from dbdyno.host.callgrind import program
from dbdyno.host.callgrind.program import Valgrind
from dbdyno.model.error import HostError
from dbdyno.model.work import Amounts, WorkChange, WorkComparison
from dbdyno.run import background_count
from dbdyno.run.background_count import CountMarks, Mark


def written(main: str, instructions: int, *, whole: bool = True) -> str:
    """A file of callgrind's: a process in its first function, which did so much in another."""
    return (
        "creator: callgrind-3.19.0\nevents: Ir Ge sysCount\n\nob=/bin/postgres\nfn=start\n"
        f"cfn={main}\ncalls=0 0\n0 {instructions} 0 0\n\nfn=work\n0 {instructions} 0 0\n"
        + ("totals: 1 0 0\n" if whole else "")
    )


def test_each_process_has_what_it_wrote_between_two_marks(tmp_path: Path) -> None:
    """Sessions and the first process are none of the background; earlier files do not count."""
    for name, main, amount in (
        ("counts.10.1", "CheckpointerMain", 7), ("counts.10.2", "CheckpointerMain", 100),
        ("counts.11.1", "WalWriterMain", 1),
        ("counts.11.2", "WalWriterMain", 30), ("counts.12.4", "PostgresMain", 1000),
        ("counts.5.1", "PostmasterMain", 1), ("counts.5.2", "PostmasterMain", 500),
        ("counts.13", "AutoVacWorkerMain", 40), ("counts.14", "ParallelWorkerMain", 4000),
    ):  # fmt: skip
        (tmp_path / name).write_text(written(main, amount))
    (tmp_path / "valgrind.10").write_text("log")
    now = (tmp_path / "counts.13").lstat().st_mtime_ns
    begun = Mark(parts={10: 1, 11: 1, 5: 1}, unix_ns=now - 10**9)
    ended = Mark(parts=background_count.parts(tmp_path), unix_ns=now + 10**9)
    assert background_count.between(tmp_path, begun, ended, BACKGROUND) == {
        "checkpointer": 100.0, "WAL writer": 30.0, "autovacuum worker": 40.0,
    }  # fmt: skip
    os.utime(tmp_path / "counts.13", ns=(now, now - 2 * 10**9))
    assert "autovacuum worker" not in background_count.between(tmp_path, begun, ended, BACKGROUND)


def test_threads_have_a_file_each_and_a_session_none_of_them(tmp_path: Path) -> None:
    """Of a server of threads: what vgdb had written last, not what a session wrote at its marks."""
    kinds = Background(
        kinds={"srv_purge_coordinator_thread": "purge", "log_writer": "log"},
        sessions=frozenset({"main", "handle_connection"}),
    )
    for name, main, amount in (
        ("counts.10.1-01", "main", 7), ("counts.10.1-02", "log_writer", 9),
        ("counts.10.2-04", "log_writer", 11), ("counts.10.3-01", "main", 100),
        ("counts.10.3-02", "log_writer(log_t*)", 20),
        ("counts.10.3-03", "srv_purge_coordinator_thread", 5),
        ("counts.10.3-04", "handle_connection", 999), ("counts.10.3-05", "nameless", 3),
    ):  # fmt: skip
        (tmp_path / name).write_text(written(main, amount))
    begun = Mark(parts={10: 1}, unix_ns=0)
    ended = Mark(parts=background_count.parts(tmp_path), unix_ns=0)
    assert background_count.between(tmp_path, begun, ended, kinds) == {
        "log": 20.0, "purge": 5.0, "other": 3.0,
    }  # fmt: skip


def test_threads_that_cannot_be_asked_are_a_line(tmp_path: Path) -> None:
    """A process that Valgrind does not run."""
    if shutil.which("vgdb") is None:
        pytest.skip("no valgrind here: `apt-get install valgrind`")
    with pytest.raises(HostError, match="vgdb: "):
        background_count.ask(tmp_path, os.getpid())


def test_a_mark_waits_until_all_processes_have_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that have ended meanwhile are not waited for."""
    sent: list[tuple[int, int]] = []
    (tmp_path / "counts.10.1").write_text(written("CheckpointerMain", 1))
    late = threading.Timer(0.05, (tmp_path / "counts.10.2").write_text, ["x"])

    def kill(pid: int, number: int) -> None:
        sent.append((pid, number))
        late.start()

    monkeypatch.setattr(background_count.os, "kill", kill)
    monkeypatch.setattr(process, "children", lambda pid: [10, 11])
    monkeypatch.setattr(process, "start_ticks", lambda pid: 1 if pid == 10 else None)
    mark = background_count.mark(tmp_path, 5)
    assert sent == [(5, signal.SIGHUP)]
    assert mark.parts == {10: 2}


def test_a_process_that_never_writes_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A mark goes on after its limit, and a file that stays torn is an error."""
    monkeypatch.setattr(background_count, "MARKED_S_MAX", 0.05)
    monkeypatch.setattr(background_count.os, "kill", lambda pid, number: None)
    monkeypatch.setattr(process, "children", lambda pid: [10])
    monkeypatch.setattr(process, "start_ticks", lambda pid: 1)
    assert background_count.mark(tmp_path, 5).parts == {}
    (tmp_path / "counts.10.1").write_text(written("CheckpointerMain", 1, whole=False))
    with pytest.raises(HostError, match=r"counts\.10\.1: the file has no end"):
        background_count.whole(tmp_path, "counts.10.1")


def test_a_mark_after_a_step_is_that_before_the_next_of_its_server() -> None:
    """Once, so that a step which is not counted leaves none."""
    marks, mark = CountMarks(), Mark(parts={10: 2}, unix_ns=1)
    assert marks.taken(5) is None
    marks.keep(5, mark)
    assert marks.taken(5) is mark
    assert marks.taken(5) is None
    marks.keep(5, mark)
    assert marks.taken(6) is None


def test_the_function_of_marks_is_not_counted_itself() -> None:
    """It writes and switches; engines without one have neither."""
    valgrind = Valgrind(path=Path("/usr/bin/valgrind"), version="3.19.0")
    assert COUNTING.background is BACKGROUND
    with_it, without = (
        program.command(valgrind, mark="m", left_out=("f",), threads=False, reread=function)
        for function in (BACKGROUND.function, "")
    )
    assert set(with_it) - set(without) == {
        "--dump-before=ProcessConfigFile", "--toggle-collect=ProcessConfigFile",
    }  # fmt: skip
    assert with_it.index("--collect-atstart=yes") == len(with_it) - 1


def test_the_background_stands_apart_in_a_report() -> None:
    """By process, the base before the arm; a process that one arm lacks did nothing there."""
    base, arm = (
        Amounts(instructions=4e4, atomics=32.0, system_calls=1.0, background_by_kind=background)
        for background in ({"checkpointer": 1000.0}, {"checkpointer": 900.0, "I/O worker": 7.0})
    )
    change = WorkChange(workload="w", step="s", arm="b", word="same", of_base=base, of_arm=arm)
    comparison = WorkComparison(
        base="a", arms=("a", "b"), repeats=2, tool="valgrind 3.19.0", left_out=(),
        scatter=1e-4, scatter_of_writes=1e-4, changes=(change,),
    )  # fmt: skip
    (table,) = section.background_table(comparison)
    assert [column.text for column in table.columns][2:] == ["I/O worker", "checkpointer"]
    (row,) = table.rows
    assert [cell.text for cell in row.cells] == ["s", "b", "0 → 7", "1,000 → 900"]
    nothing = {side: replace(base, background_by_kind={}) for side in ("of_base", "of_arm")}
    bare = replace(change, **nothing)
    assert not list(section.background_table(replace(comparison, changes=(bare,))))


def test_the_mean_of_a_background_needs_every_repeat() -> None:
    """A repeat that does not tell says nothing of the others."""
    assert work.mean_background([{"a": 2.0}, {"a": 4.0, "b": 2.0}]) == {"a": 3.0, "b": 1.0}
    assert work.mean_background([{"a": 2.0}, None]) is None
