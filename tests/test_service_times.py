"""The published columns of response times are from sent to completion; what is paced has both."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

import report_parts
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.model import Comparison, ResponseFacts, StepRun
from dbdyno.parts.table import Table
from dbdyno.report import page
from dbdyno.store import Results
from result_builder import build
from run_builder import served

SERVED_US = 150
"""From sent to completion; from due an insert is planted to take 800, a query 200."""


def change(folder: Path, how: Callable[[dict[str, Any]], None]) -> None:
    """Changes each operation's part of each tick."""
    for path in folder.glob("blocks/*/*/*/*/events.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            if line["event"] == "tick":
                for part in line["operations"].values():
                    how(part)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def serve_sooner(part: dict[str, Any]) -> None:
    """All inserts and queries were sent late, and answered at once."""
    histogram = HdrHistogram(1, 3_600_000_000, 3)
    assert histogram.record_value(min(SERVED_US, part["max_us"]), max(part["count"], 1))
    part["service"] = bytes(histogram.encode()).decode()


def forget(part: dict[str, Any]) -> None:
    del part["service"]


def made(tmp_path: Path, how: Callable[[dict[str, Any]], None], step: str = "qr100") -> Path:
    folder = build(tmp_path, blocks=1, steps=(step,))
    change(folder, how)
    return folder


def one_step(folder: Path) -> StepRun:
    (block,) = Results.open(folder).blocks()
    (run, *_) = block.runs()
    (step,) = run.steps()
    return assemble.step_run(step)


def tables(shown: Comparison) -> dict[str, Table]:
    """The tables of times of the only step, by title."""
    (section,) = report_parts.steps(page.make(shown))
    return {table.title: table for table in report_parts.tables(section, "response")}


def groups(table: Table) -> list[str]:
    return list(dict.fromkeys(row.group for row in table.rows))


def test_the_slowest_statement_is_timed_from_sent_as_published(tmp_path: Path) -> None:
    run = one_step(made(tmp_path, serve_sooner))
    assert run.metrics["maxop"] == pytest.approx(SERVED_US / 1e6)
    assert run.metrics["service_p99_us"] == SERVED_US
    assert run.metrics["response_us_max"] == run.metrics["response_p99_us"] == 200.0
    assert served(run)["insert"].max_us == SERVED_US
    assert run.of(ResponseFacts).by_kind["insert"].max_us == 800
    paced = {times.name for times in run.of(ResponseFacts).response if times.paced}
    assert paced == {"insert", "delete"}, "queries go in a loop"


def test_what_is_paced_has_both_times_and_the_published_table_those_from_sent(tmp_path: Path):
    found = tables(compare.load(made(tmp_path, serve_sooner)))
    assert list(found) == ["Service time", "Response time"]
    published, due = found.values()
    assert groups(published) == ["query", "insert", "delete"]
    assert groups(due) == ["insert", "delete"]
    assert "sending" in published.note and "as published" in published.note
    assert "due" in due.note
    (insert, *_) = [row for row in published.rows if row.group == "insert"]
    assert insert.cells[1].text == "100.000", "all within 256 µs"
    (insert, *_) = [row for row in due.rows if row.group == "insert"]
    assert (insert.cells[1].text, insert.cells[2].text) == ("", "100.000"), "above 256 µs"


def test_an_older_result_keeps_the_times_from_due_under_their_own_name(tmp_path: Path) -> None:
    folder = made(tmp_path, forget)
    run = one_step(folder)
    assert (run.ending.status, served(run)) == ("ok", {})
    assert run.metrics["maxop"] is None
    assert run.metrics["service_p99_us"] is None
    assert run.metrics["response_us_max"] == 200.0
    (only,) = tables(compare.load(folder)).values()
    assert only.title == "Response time"
    assert groups(only) == ["query", "insert", "delete"]


def test_a_closed_loop_has_one_table(tmp_path: Path) -> None:
    folder = made(tmp_path, serve_sooner, "l.i0")
    assert not any(times.paced for times in one_step(folder).of(ResponseFacts).response)
    assert [*tables(compare.load(folder))] == ["Service time"]
