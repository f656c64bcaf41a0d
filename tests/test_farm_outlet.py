"""The report command gets each report once, whatever it does and whoever is killed meanwhile."""

import os
import signal
import time
from pathlib import Path

from dbdyno.farm import outlet
from dbdyno.farm.outlet import ReportMessage
from dbdyno.host.process import start_ticks
from server_place import within

NAME = "master-1a2b3c-1"
REPORT = b'{"id":"master-1a2b3c"}\n'


def deliver(folder: Path, command: str, limit_s: float = 20.0) -> str:
    message = ReportMessage(
        name=NAME, report=REPORT, title="master: +3 %", page=folder / "a.md", finding="master-1a"
    )
    return outlet.deliver(command, folder, message, limit_s=limit_s)


def test_a_command_gets_the_report_on_its_standard_input(tmp_path: Path) -> None:
    assert deliver(tmp_path, "cat >got") == ""
    assert (tmp_path / "got").read_bytes() == REPORT


def test_a_command_knows_title_page_finding_and_standing(tmp_path: Path) -> None:
    words = '"$DYNO_TITLE" "$DYNO_REPORT" "$DYNO_FINDING" "$DYNO_STANDING"'
    assert deliver(tmp_path, f"printf '%s\n' {words} >got") == ""
    assert (tmp_path / "got").read_text().splitlines() == [
        "master: +3 %", str(tmp_path / "a.md"), "master-1a", "open",
    ]  # fmt: skip


def test_what_the_command_has_taken_it_does_not_get_again(tmp_path: Path) -> None:
    for _ in range(3):
        assert deliver(tmp_path, "cat >>got") == ""
    assert (tmp_path / "got").read_bytes() == REPORT


def test_a_command_that_fails_is_told_in_a_line_and_tried_again(tmp_path: Path) -> None:
    why = deliver(tmp_path, "echo first; echo 'no route to mail' >&2; exit 7")
    assert why == "report_command: ended with status 7: no route to mail; it is tried again"
    assert deliver(tmp_path, "cat >got") == ""
    assert (tmp_path / "got").read_bytes() == REPORT


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    why = deliver(tmp_path, "no-such-program --now")
    assert why.startswith("report_command: ended with status 127: ")
    assert "no-such-program" in why


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    begun_s = time.monotonic()
    why = deliver(tmp_path, "sleep 300 & echo $! >pid; wait", limit_s=0.3)
    assert why == "report_command: did not end in time, and was ended; it is tried again"
    assert time.monotonic() - begun_s < 100
    pid = int((tmp_path / "pid").read_text())
    assert within(60, lambda: start_ticks(pid) is None)


def test_a_command_outlives_a_killed_watcher_and_is_not_run_again(tmp_path: Path) -> None:
    command = "echo begun >begun; until [ -e killed ]; do sleep 0.05; done; cat >>got"
    if (pid := os.fork()) == 0:
        deliver(tmp_path, command)
        os._exit(0)
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    (tmp_path / "killed").touch()
    assert deliver(tmp_path, command) == ""
    assert (tmp_path / "got").read_bytes() == REPORT


def test_a_command_may_leave_a_program_running(tmp_path: Path) -> None:
    """What it leaves holds no lock: the report is not taken for one that is being delivered."""
    assert deliver(tmp_path, "sleep 600 >/dev/null 2>&1 & echo $! >left; cat >got") == ""
    begun_s = time.monotonic()
    assert deliver(tmp_path, "cat >again") == ""
    assert time.monotonic() - begun_s < 500
    assert not (tmp_path / "again").exists()
    os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)
