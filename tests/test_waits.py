"""What sessions were seen to do: rows of pg_stat_activity, samples of a window, their moments."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import convert, structs

from dbdyno.analysis.step import assemble
from dbdyno.engine import activity
from dbdyno.engine.activity import ActivitySample, Names, look
from dbdyno.engine.postgres.activity import NOT_SHOWN, Row, session
from dbdyno.engine.wait_sampler import moment
from dbdyno.evidence import evidence
from dbdyno.findings.owners import metrics as owner_metrics
from dbdyno.findings.waits import step as waits
from dbdyno.findings.waits.facts import KINDS, WaitFacts, kind_place
from dbdyno.model import Json, StepRun
from dbdyno.model.job.statements import Statement
from dbdyno.model.wait_samples import SessionCount
from doubted import doubted
from result_planted import MONO_NS
from run_builder import owners
from test_analysis import step_folder

POINT: Json = {
    "name": "point",
    "pieces": ["SELECT c FROM ", {"table": "t"}, " WHERE id=", {"value": 0}],
}
RANGE: Json = {
    "name": "range",
    "pieces": [*POINT["pieces"][:2], " WHERE id BETWEEN ", {"value": 0}],
}
ORDERED: Json = {"name": "ordered", "pieces": [*RANGE["pieces"], " ORDER BY c"]}
ITEM = ["(", {"value": 0}, ")"]
INSERT: Json = {
    "name": "insert",
    "pieces": ["INSERT INTO ", {"table": "t"}, " VALUES ", {"repeat": 50, "pieces": ITEM}],
}
COMMIT: Json = {"name": "commit", "pieces": ["COMMIT"]}
NAMES = Names(convert([POINT, RANGE, ORDERED, INSERT, COMMIT], list[Statement]))


def row(
    pid: int,
    state: str | None = "active",
    wait: str | None = None,
    event: str | None = None,
    text: str | None = "SELECT c FROM t1 WHERE id=5",
    kind: str | None = "client backend",
) -> Row:
    """A row of a sample."""
    return pid, kind, state, wait, event, text, None, None


def seen_of(rows: list[Row], roles: dict[int, str]) -> ActivitySample:
    """What these rows come to."""
    return look(map(session, rows), roles, NAMES)


# --- A look ----------------------------------------------------------------------------------


def test_active_sessions_are_on_the_cpu_or_wait_and_idle_ones_are_counted_apart() -> None:
    rows = [
        row(1),
        row(2),
        row(3, wait="IO", event="DataFileRead"),
        row(4, "idle", "Client", "ClientRead", None),
        row(5, "active", "Client", "ClientRead"),
        row(6, "active", "Client", "ClientWrite"),
        row(7, "idle in transaction", "Client", "ClientRead"),
        row(8, "idle in transaction (aborted)", "Client", "ClientRead", "COMMIT"),
    ]
    seen = seen_of(rows, dict.fromkeys(range(1, 9), "query"))
    assert set(seen.sessions) == {
        SessionCount("role:query", "CPU", "", "point", 2),
        SessionCount("role:query", "IO", "DataFileRead", "point", 1),
        SessionCount("role:query", "Client", "ClientWrite", "point", 1),
        SessionCount("role:query", "idle in transaction", "", "point", 1),
        SessionCount("role:query", "idle in transaction", "", "commit", 1),
    }
    assert seen.idle == {"role:query": 2}


def test_what_the_server_does_not_show_is_counted_apart_and_is_no_work() -> None:
    hidden = row(2, None, text=NOT_SHOWN, kind=None)
    seen = seen_of([row(1), hidden, replaced_pid(hidden, 3)], {1: "query"})
    assert [(doing.owner, doing.activity) for doing in seen.sessions] == [("role:query", "CPU")]
    assert seen.idle == {}
    assert seen.hidden == 2
    assert seen_of([row(1)], {1: "query"}).hidden == 0


def replaced_pid(of: Row, pid: int) -> Row:
    """The same row of another process."""
    return (pid, *of[1:])


def test_processes_of_nobodys_role_are_the_background_or_other_backends() -> None:
    rows = [
        row(1, None, "IO", "DataFileWrite", None, "checkpointer"),
        row(2, "active", "Timeout", "VacuumDelay", "autovacuum: VACUUM t", "autovacuum worker"),
        row(3, "idle", "Client", "ClientRead", None),
        row(4, "active", None, None, "VACUUM", None),  # 9.6 has no kinds
    ]
    seen = seen_of(rows, {})
    assert [structs.astuple(doing)[:4] for doing in seen.sessions] == [
        ("background:checkpointer", "IO", "DataFileWrite", ""),
        ("background:autovacuum worker", "Timeout", "VacuumDelay", "autovacuum: VACUUM t"),
        ("backend:other", "CPU", "", "VACUUM"),
    ]
    assert seen.idle == {"backend:other": 1}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SELECT c FROM t1 WHERE id=$1", "point"),
        ("SELECT c FROM t1 WHERE id BETWEEN 1 AND 9", "range"),
        ("SELECT c FROM t1 WHERE id BETWEEN 1 AND 9 ORDER BY c", "ordered"),
        ("INSERT INTO t1 VALUES " + ",".join(["(1234567)"] * 50), "insert"),
        ("INSERT INTO t1 VALUES (1)", "insert"),
        ("EXECUTE s2_ordered_t1(1, 2)", "ordered"),
        ("EXECUTE s9_unknown_t1(1, 2)", "EXECUTE s9_unknown_t1(1, 2)"),
        ("COMMIT", "commit"),
        ("SELECT d FROM t1", "SELECT d FROM t1"),
        ("SELECT\n  pg_sleep(1)", "SELECT pg_sleep(1)"),
        ("X" * 300, "X" * activity.SHORT_CHARACTERS),
        ("", ""),
    ],
)
def test_a_statement_has_its_name_in_the_job_or_its_beginning(text: str, name: str) -> None:
    assert NAMES.of(text[: activity.TEXT_CHARACTERS]) == name
    assert NAMES.of(text[: activity.TEXT_CHARACTERS]) == name, "the same again"


def test_texts_that_are_all_different_fill_no_memory() -> None:
    names = Names([convert(POINT, Statement)])
    for number in range(2 * activity.NAMES_MAX + 10):
        names.of(f"SELECT c FROM t1 WHERE id={number}")
    assert len(names._known) <= activity.NAMES_MAX


# --- When ------------------------------------------------------------------------------------


def test_each_interval_has_one_sample_and_they_fill_it_evenly() -> None:
    moments = [moment(number) for number in range(1_000)]
    assert [int(one) for one in moments] == list(range(1_000))
    tenths = [int(one % 1 * 10) for one in moments]
    assert all(95 <= tenths.count(tenth) <= 105 for tenth in range(10))


# --- A window --------------------------------------------------------------------------------


def sample(at_s: float, *sessions: tuple[str, str, str, str, int], idle: int = 0) -> Json:
    """A line of waits.jsonl; the window opens at 0."""
    at_ns = MONO_NS + round(at_s * 1e9)
    return {"mono_ns": at_ns, "took_us": 300, "sessions": sessions, "idle": {"role:query": idle}}


READ = ("role:query", "IO", "DataFileRead", "point", 2)
RUNS = ("role:query", "CPU", "", "point", 1)


def write(path: Path, *lines: Json, ended: bool = True) -> None:
    """Writes waits.jsonl."""
    header = {"asked_ns": 500_000_000, "application": "dyno waits", "version_num": 170006}
    end = {"end": True, "samples": len(lines), "late": 0, "cpu_us": 900.0, "failed": None}
    written = [header, *lines, *([end] if ended else [])]
    (path / "waits.jsonl").write_text("".join(json.dumps(line) + "\n" for line in written))


def derived(tmp_path: Path, *lines: Json, ended: bool = True) -> StepRun:
    """The example step of 20 s with these samples."""
    folder = step_folder(tmp_path, "qr100")
    write(folder.path, *lines, ended=ended)
    return assemble.step_run(folder)


def test_load_is_the_mean_of_the_samples_within_the_window(tmp_path: Path) -> None:
    run = derived(
        tmp_path,
        sample(-0.1, READ),
        sample(0.0, READ, RUNS),
        sample(0.6, RUNS, idle=1),
        sample(1.2, READ),
        sample(2.4, idle=3),
        sample(20.1, READ),
    )
    (found,) = run.of(WaitFacts).waits
    assert found.samples == 4
    assert (found.asked_s, found.interval_s) == (0.5, pytest.approx(0.8))
    assert found.interval_s_max == pytest.approx(1.2)
    assert (found.sample_us, found.lab_cpu_us, found.server_cpu_us) == (300.0, 900.0, None)
    assert [(load.owner, load.kind, load.event, load.sessions) for load in found.loads] == [
        ("role:query", "IO", "DataFileRead", 1.0),
        ("role:query", "CPU", None, 0.5),
        ("role:query", "idle", None, 1.0),
    ]
    assert run.series["waits.IO"].x_s == (1.0, 2.0, 3.0)
    assert run.series["waits.IO"].y == (1.0, 2.0, 0.0)
    assert run.series["waits.CPU"].y == (1.0, 0.0, 0.0)


def test_the_ledger_has_what_was_seen(tmp_path: Path) -> None:
    """Half of the samples with two waits: one session, which is 200 us of each of 5,000/s."""
    run = derived(tmp_path, sample(1.0, READ), sample(2.0, idle=1))
    assert run.metrics["wait_io_us_per_op"] == pytest.approx(200.0)
    assert run.metrics["client_us_per_op"] == pytest.approx(100.0)
    assert run.metrics["unaccounted_us_per_op"] == pytest.approx(0.0)


def test_what_was_sampled_between_turns_does_not_count(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    write(folder.path, sample(1.0, READ), sample(5.0, RUNS), sample(8.0, READ))
    found = evidence.read(folder)
    pause = (MONO_NS + 2_000_000_000, MONO_NS + 6_000_000_000)
    found = replace(found, load=replace(found.load, pauses=(pause,)))
    (seen,) = waits.of_step(found).waits
    assert [(load.kind, load.sessions) for load in seen.loads] == [("IO", 2.0), ("idle", 0.0)]
    assert seen.interval_s == pytest.approx(3.0), "in active time"


def test_hidden_sessions_are_a_mean_of_the_samples(tmp_path: Path) -> None:
    run = derived(tmp_path, sample(1.0, READ) | {"hidden": 3}, sample(2.0, READ))
    (sampling,) = run.of(WaitFacts).waits
    assert sampling.hidden == pytest.approx(1.5)


def test_a_window_without_samples_has_no_waits_and_says_nothing_of_them(tmp_path: Path) -> None:
    run = derived(tmp_path, sample(-1.0, READ))
    assert run.of(WaitFacts) == WaitFacts()
    assert run.metrics["wait_io_us_per_op"] is None


def test_samples_without_their_last_line_are_left_out_with_a_warning(tmp_path: Path) -> None:
    run = derived(tmp_path, sample(1.0, READ), ended=False)
    assert run.ending.status == "ok"
    assert run.of(WaitFacts) == WaitFacts()
    assert any("waits.jsonl: lacks its first or last line" in text for text in doubted(run))


def test_a_sample_of_another_form_is_named(tmp_path: Path) -> None:
    run = derived(tmp_path, {**sample(1.0), "sessions": "none"})
    assert run.of(WaitFacts) == WaitFacts()
    assert any("the key `sessions`: expected `array`, got `str`" in text for text in doubted(run))


def test_a_samples_cost_to_the_server_is_the_labs(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    write(folder.path, sample(1.0, READ))
    path = folder.path / "host.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        spent_ns = round((line["mono_ns"] - MONO_NS) * 0.01) + 100_000_000_000
        line["owners"]["lab:waits"] = {"cpu_ns": spent_ns}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = assemble.step_run(folder)
    (sampling,) = run.of(WaitFacts).waits
    assert sampling.server_cpu_us == pytest.approx(200_000.0), "1 % of 20 s"
    before = owner_metrics.costs(replace(evidence.read(folder), owners=owners(run)))
    assert run.metrics["generator_share"] == before["generator_share"]
    assert run.metrics["generator_share"] == pytest.approx(100 * 40_000 / 511_600)
    assert run.metrics["lab_cpu_share"] == pytest.approx(0.1 + 0.5)


def test_waits_for_buffers_have_a_place_by_their_names_to_18_and_from_19_on() -> None:
    before, since = kind_place("BufferPin"), kind_place("Buffer")
    assert before != since
    assert {before, since} < set(range(len(KINDS)))
