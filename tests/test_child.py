"""Child processes: what they say is kept, they end when asked, else by force, and how they died."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from dbdyno.host import child, process
from dbdyno.host.child import STDERR_LINES_MAX, Child
from dbdyno.model.error import DiskError, GeneratorError


def started(script: str) -> Child:
    return Child(["sh", "-c", script], name="program")


def test_a_program_ends_when_its_input_does_and_what_it_still_says_is_heard() -> None:
    program, rest = started("read line; echo heard $line; cat >/dev/null; echo bye"), []
    program.say("this")
    program.end(60.0, rest=rest.append)
    assert rest == ["heard this\n", "bye\n"]
    assert program.death() == "ended with status 0"
    program.say("to nobody")
    program.hang_up()


def test_a_program_that_does_not_end_when_asked_is_ended_by_force() -> None:
    program = started("trap '' TERM; echo ready; exec sleep 1000")
    assert program.output.readline() == "ready\n"
    begun_s = time.monotonic()
    program.end(0.1, by=signal.SIGTERM, rest=lambda line: None)
    assert time.monotonic() - begun_s < 60
    assert program.death() == "was killed by signal 9"


def test_nothing_is_left_of_a_program_whose_lines_cannot_be_kept() -> None:
    def keep(line: str) -> None:
        raise DiskError("the disk is full")

    program = started("while echo line; do :; done")
    with pytest.raises(DiskError):
        program.end(60.0, rest=keep)
    assert not Path(f"/proc/{program.pid}").exists(), "it has ended and was waited for"


def test_the_last_lines_of_standard_error_are_kept() -> None:
    heard: list[str] = []
    words = ["sh", "-c", f"seq {STDERR_LINES_MAX + 1} >&2; echo >&2; exit 3"]
    program = Child(words, name="program", hear=heard.append)
    assert program.death() == "ended with status 3"
    assert len(heard) == STDERR_LINES_MAX + 2
    assert program.last_line == str(STDERR_LINES_MAX + 1)
    assert len(program.said) == STDERR_LINES_MAX
    program.end(1.0, rest=heard.append)


def test_a_program_that_is_not_there_is_told_as_its_caller_wants() -> None:
    with pytest.raises(GeneratorError, match=r"`mine` cannot be started: .*No such file"):
        Child(["/nonexistent"], name="mine", error=GeneratorError)


def test_nothing_of_a_program_that_ran_to_its_end_goes_on(tmp_path: Path) -> None:
    script = "sleep 1000 & echo $! > pid; echo done"
    with (tmp_path / "output").open("w+b") as output:
        words = ["sh", "-c", script]
        end = child.run(words, output, folder=tmp_path, environment=dict(os.environ))
        output.seek(0)
        assert output.read() == b"done\n"
    assert (end.status, end.overdue) == (0, False)
    assert len(end.left) == 1
    assert process.start_ticks(int((tmp_path / "pid").read_text())) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_in_the_moment_in_which_a_program_begins_ends_it(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    def interrupted(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        begun.append(popen(*words, **options))
        signal.raise_signal(number)
        return begun[0]

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    popen, before = subprocess.Popen, signal.signal(number, interrupt)
    monkeypatch.setattr(subprocess, "Popen", interrupted)
    try:
        with (tmp_path / "output").open("wb") as output, pytest.raises(KeyboardInterrupt):
            child.run(["sleep", "1000"], output, folder=tmp_path, environment=dict(os.environ))
    finally:
        assert signal.signal(number, before) is interrupt, "who handles it is who did before"
    assert begun[0].returncode == -signal.SIGTERM
