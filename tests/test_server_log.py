"""What is read from a server's log, in the words of versions 9.6 to 18."""

from pathlib import Path

import pytest

from dbdyno.engine import log

CHECKPOINT = (
    "1795170688.549 [479] LOG:  checkpoint complete: wrote 1365 buffers (1.4%); 0 WAL file(s) "
    "added, 0 removed, 1 recycled; write=0.132 s, sync=0.353 s, total=0.518 s; sync files=304"
)
VACUUM = [
    '1795170690.001 [77] LOG:  automatic vacuum of table "ib.public.pi1": index scans: 1',
    "\tpages: 0 removed, 10 remain",
    "\tsystem usage: CPU: user: 0.00 s, system: 0.00 s, elapsed: 12.34 s",
]


def test_a_checkpoint_is_an_event_with_its_time_and_duration():
    (event,) = log.events([CHECKPOINT])
    assert event.unix_ms == 1795170688549
    assert event.name == "checkpoint complete"
    assert event.duration_s == 0.518
    assert event.text.startswith("checkpoint complete: wrote 1365 buffers")


def test_lines_without_a_prefix_belong_to_the_message_before():
    first, second = log.events([*VACUUM, CHECKPOINT])
    assert first.name == "automatic vacuum"
    assert first.duration_s == 12.34
    assert "pages: 0 removed" in first.text
    assert second.name == "checkpoint complete"


def test_a_vacuum_of_9_6_has_its_duration_too():
    (event,) = log.events(
        [
            '1.000 [7] LOG:  automatic vacuum of table "ib.public.pi1": index scans: 0',
            "\tsystem usage: CPU 0.01s/0.02u sec elapsed 3.45 sec",
        ]
    )
    assert event.duration_s == 3.45


def test_a_vacuum_against_wraparound_is_a_vacuum():
    (event,) = log.events(
        ['1.000 [7] LOG:  automatic aggressive vacuum to prevent wraparound of table "t": 0']
    )
    assert event.name == "automatic vacuum"


def test_errors_keep_their_detail_but_not_the_statement():
    (event,) = log.events(
        [
            '5.001 [8] ERROR:  duplicate key value violates unique constraint "pk"',
            "5.001 [8] DETAIL:  Key (a)=(1) already exists.",
            "5.001 [8] STATEMENT:  INSERT INTO t VALUES (1)",
            "5.002 [8] LOG:  something that nobody keeps",
        ]
    )
    assert event.name == "error"
    assert event.text.endswith("Key (a)=(1) already exists.")
    assert event.duration_s is None


def test_of_very_many_errors_the_number_is_kept():
    lines = [f"1.{n % 1000:03} [8] ERROR:  number {n}" for n in range(log.ERRORS_MAX + 23)]
    events = log.events([*lines, CHECKPOINT])
    assert len(events) == log.ERRORS_MAX + 1
    assert events[-2].text.endswith("(and 23 more errors)")
    assert events[-1].name == "checkpoint complete"


@pytest.mark.parametrize(
    "line",
    [
        "server process (PID 12) was terminated by signal 9: Killed",
        "client backend (PID 12) was terminated by signal 11: Segmentation fault",
        "checkpointer process (PID 12) exited with exit code 2",
        "server process (PID 12) exited with exit code 127",
        'background worker "parallel worker" (PID 12) was terminated by signal 6: Aborted',
        "all server processes terminated; reinitializing",
    ],
)
def test_a_crash_is_seen(line: str):
    assert log.crash([f"1.000 [7] LOG:  {line}"]) == line


@pytest.mark.parametrize(
    "line",
    [
        '1.000 [7] LOG:  background worker "launcher" (PID 12) exited with exit code 1',
        "1.000 [7] LOG:  database system is ready to accept connections",
        "1.000 [7] FATAL:  terminating connection due to administrator command",
        "1.000 [7] ERROR:  all server processes terminated; reinitializing",
        "all server processes terminated; reinitializing",
    ],
)
def test_what_is_no_crash_is_not_taken_for_one(line: str):
    assert log.crash([line]) is None


def test_why_a_server_does_not_start_is_the_last_bad_message_and_a_remedy():
    reason = log.reason(
        [
            '1.000 [7] LOG:  could not bind IPv4 address "127.0.0.1": Address already in use',
            "1.000 [7] HINT:  Is another postmaster already running on port 5432?",
            "1.000 [7] FATAL:  could not create any TCP/IP sockets",
        ]
    )
    assert reason.startswith("could not create any TCP/IP sockets; the port is in use")
    assert "\n" not in reason


def test_why_is_the_last_line_where_no_message_is_bad():
    assert log.reason(["postgres: error while loading shared libraries: libssl.so.3"]).startswith(
        "postgres: error while loading"
    )
    assert log.reason([]) == log.UNSAID


READY = "1.000 [7] LOG:  database system is ready to accept connections"
FAILED = '1.000 [8] ERROR:  duplicate key value violates unique constraint "t_pkey"'


def test_why_a_server_was_ended_by_a_signal_is_not_whatever_it_said_last():
    assert log.reason([READY]) == log.UNSAID
    assert log.reason([READY, FAILED], ("PANIC",)) == log.UNSAID
    panic = "1.000 [7] PANIC:  could not write to file"
    assert log.reason([READY, panic, FAILED], ("PANIC",)) == "could not write to file"
    assert "memory runs out" in log.ending("signal 9", log.UNSAID)
    assert log.ending("status 1", log.UNSAID) == f"ended with status 1: {log.UNSAID}"


def test_the_tail_of_a_log_that_is_not_there_is_empty(tmp_path: Path):
    assert log.tail(tmp_path / "none", 5) == []
    (tmp_path / "log").write_text("\n".join(f"line {n}" for n in range(50_000)) + "\n")
    assert log.tail(tmp_path / "log", 2) == ["line 49998", "line 49999"]


STARTING = "1795170600.000 [479] LOG:  checkpoint starting: time"


def test_a_checkpoint_that_runs_as_a_step_begins_is_its_first_event(tmp_path: Path):
    """It may last longer than the step: then the step's own lines have neither start nor end."""
    path = tmp_path / "log"
    path.write_text(f"{CHECKPOINT}\n{STARTING}\n5.001 [8] ERROR:  no\n")
    since = path.stat().st_size
    assert [event.name for event in log.step_events(path, since)] == ["checkpoint starting"]
    with path.open("a") as file:
        file.write("\n".join([*VACUUM, CHECKPOINT, ""]))
    kinds = [event.name for event in log.step_events(path, since)]
    assert kinds == ["checkpoint starting", "automatic vacuum", "checkpoint complete"]


def test_a_checkpoint_that_ended_before_a_step_is_not_its_event(tmp_path: Path):
    path = tmp_path / "log"
    path.write_text(f"{STARTING}\n{CHECKPOINT}\n")
    assert log.step_events(path, path.stat().st_size) == []
    assert log.step_events(tmp_path / "none", 0) == []


def test_the_start_of_a_checkpoint_is_found_behind_many_errors(tmp_path: Path):
    path = tmp_path / "log"
    errors = "\n".join(f"5.001 [8] ERROR:  number {n}" for n in range(10_000))
    path.write_text(f"{STARTING}\n{errors}\n")
    (event,) = log.step_events(path, path.stat().st_size)
    assert event.unix_ms == 1795170600000


def test_a_vacuum_of_a_table_with_many_indexes_keeps_its_duration():
    """From 14 on each index has a line, and the duration comes last."""
    indexes = [f'\tindex "{n:060}": pages: 1 in total' for n in range(50)]
    (event,) = log.events([VACUUM[0], *indexes, VACUUM[2]])
    assert event.duration_s == 12.34
    assert len(event.text) == log.TEXT_LENGTH_MAX
