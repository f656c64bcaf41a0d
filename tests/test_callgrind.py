"""Files of callgrind: two real ones, of a mark alone and of two point queries between marks."""

import gzip
import os
from pathlib import Path

import pytest

from dbdyno.host import place
from dbdyno.host.callgrind import counts, program
from dbdyno.host.callgrind.counts import CallgrindCounts, CallgrindWork
from dbdyno.model.error import HostError

FOLDER = Path(__file__).parent / "callgrind"


def text_of(part: int) -> str:
    """The file that the mark of this number has written; PostgreSQL 17.11, valgrind 3.19."""
    return gzip.decompress((FOLDER / f"counts.4242.{part}.gz").read_bytes()).decode()


def of(part: int) -> CallgrindCounts:
    """The same, read."""
    return counts.read(text_of(part), f"counts.4242.{part}")


@pytest.mark.parametrize("part", [3, 4])
def test_functions_add_up_to_the_total_of_the_file(part: int) -> None:
    """Instructions and atomics of all functions are the file's own totals, to the last one."""
    (line,) = [line for line in text_of(part).splitlines() if line.startswith("totals:")]
    instructions, atomics, *_ = (int(word) for word in line.split()[1:])
    total = of(part).total
    assert (total.instructions, total.atomics) == (instructions, atomics)


def test_a_system_call_that_the_kernel_answers_in_user_space_is_none() -> None:
    """gettimeofday is one under Valgrind alone, which has no vDSO."""
    assert of(3).total.system_calls == 1  # its answer
    assert "gettimeofday" in text_of(3)


def test_an_operation_is_the_window_less_its_marks() -> None:
    """The window has two operations; what a mark costs is the window before it."""
    window, empty = of(4), of(3)
    work = counts.between(window, empty, 2)
    difference = window.total.instructions - empty.total.instructions
    assert work.total.instructions == pytest.approx(difference / 2)
    executor = ("postgres", "ExecutorRun")
    assert work.calls[executor] == 1
    assert work.with_callees[executor] > 50 * work.by_itself[executor].instructions
    assert work.with_callees["postgres", "PostgresMain"] == pytest.approx(difference / 2)


def test_what_the_mark_costs_is_taken_off_every_count() -> None:
    assert CallgrindWork(5.0, 4.0, 3.0).less(CallgrindWork(1.0, 1.0, 1.0), per=2) == CallgrindWork(
        2.0, 1.5, 1.0
    )


def test_a_torn_file_is_refused() -> None:
    """A killed process leaves no totals."""
    text = text_of(3)
    with pytest.raises(HostError, match="no end"):
        counts.read(text[: len(text) // 2], "torn")


def test_what_compilers_add_to_names_goes() -> None:
    """Clones and recursion are one function; an address has no name."""
    assert counts.name_of("dopr.constprop.4") == "dopr"
    assert counts.name_of("ExecEndNode'2") == "ExecEndNode"
    assert counts.name_of("f.part.0.isra.3") == "f"
    assert counts.name_of("0x00000000001e4660") == counts.NO_SYMBOL


def test_the_command_line_switches_collection_on_last(tmp_path: Path) -> None:
    """Each `--toggle-collect` switches collection off until its function is entered."""
    valgrind = program.Valgrind(path=tmp_path, version="3.19.0")
    words = program.command(valgrind, mark="mark", left_out=("a", "b"), threads=True)
    switches = [word for word in words if "collect=" in word or "atstart" in word]
    assert switches[-1] == "--collect-atstart=yes"
    assert "--separate-threads=yes" in words


def test_without_valgrind_a_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The remedy stands in the line."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(HostError, match="apt-get install valgrind"):
        program.find()


def test_a_build_is_run_under_valgrind_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race checks its plan several times, and a program's start under Valgrind takes a second."""
    ran, build = tmp_path / "ran", tmp_path / "postgres"
    (fake := tmp_path / "valgrind").write_text(
        f'#!/bin/sh\n[ $# -eq 1 ] || basename "$2" >>{ran}\necho valgrind-3.19.0\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    for second in (1, 1, 2):
        build.touch()
        os.utime(build, (second, second))
        for cached in (program.tried, program.failure):
            cached.cache_clear()  # as in another command
        program.refuse_unknown(program.find(), build)
    assert ran.read_text().split() == ["true", "postgres", "postgres"]


def test_a_build_that_valgrind_cannot_run_is_refused(tmp_path: Path) -> None:
    """It ends by an instruction that Valgrind does not know."""
    fake = tmp_path / "valgrind"
    fake.write_text("#!/bin/sh\necho 'vex: unhandled instruction bytes: 0x62' >&2\nexit 132\n")
    fake.chmod(0o755)
    valgrind = program.Valgrind(path=fake, version="3.19.0")
    with pytest.raises(HostError, match="-march=x86-64-v3"):
        program.refuse_unknown(valgrind, tmp_path)


def test_a_program_that_does_not_end_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its name and the seconds that it had."""
    monkeypatch.setattr(program, "TRIAL_S_MAX", 0.2)
    with pytest.raises(HostError, match=r"^`sleep` did not end within 0.2 s$"):
        program.run(["sleep", "60"])
    with pytest.raises(HostError, match=r"^`/nowhere` cannot be run: No such file or directory$"):
        program.run(["/nowhere"])
