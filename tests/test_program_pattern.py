"""A program that knows nothing of dyno as the load: patterns find what its output tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import structs

from dbdyno.model import Json
from dbdyno.model.error import GeneratorError, WorkloadError
from dbdyno.run.driver import program
from step_load import heard, only_step

PATTERNED = """
[[steps]]
name = "mine"
driver = "command"
command = {command}
pattern = {{ {pattern} }}
headline = {{ metric = "qps", role = "tpcc", count = "operations" }}
roles.tpcc = {{ connections = 2 }}
"""
HAMMER = "'System achieved [0-9]+ NOPM from (?P<per_min>[0-9]+) PostgreSQL TPM'"
SAID = """
echo Rampup complete, Taking start Transaction Count.
sleep 0.5
echo Test complete, Taking end Transaction Count.
echo TEST RESULT : System achieved 5108 NOPM from 12000 PostgreSQL TPM
"""


def patterned(folder: Path, said: str, pattern: str) -> list[Json]:
    """The events of a program that prints this."""
    text = PATTERNED.format(command=json.dumps(["sh", "-c", said]), pattern=pattern)
    job = only_step(folder, text).job
    job = structs.replace(job, program="hammer", version="1", folder=str(folder))
    return heard(program.Run(job, lambda text: None, cpus=None))


def test_patterns_find_the_window_and_what_was_done_in_it(tmp_path: Path) -> None:
    pattern = f"open = 'Taking start', close = 'Taking end', result = {HAMMER}"
    events = patterned(tmp_path, SAID, pattern)
    assert [event["event"] for event in events] == [
        *("hello", "ready", "started", "window_open", "window_close", "tick", "done")
    ]
    *_, opened, closed, tick, done = events
    seconds = closed["active_ns"] / 1e9
    assert closed["active_ns"] == closed["mono_ns"] - opened["mono_ns"] == tick["active_ns"]
    assert tick["per_client"] == [[round(200 * seconds), None, 0, None]]
    assert (tick["tick"], tick["operations"]["tpcc"]["response"]) == (None, None)
    assert (done["status"], done["report"]) == ("ok", {"per_min": 12000.0})


def test_without_lines_at_its_ends_the_window_is_from_the_start_to_the_result(
    tmp_path: Path,
) -> None:
    result = r"'ended (?P<count>[0-9,]+), (?P<errors>\d+) lost, mean (?P<latency_ms>[0-9.]+) ms'"
    said = "sleep 0.2; echo ended 1,234, 5 lost, mean 6.25 ms; echo ended 9, 9 lost, mean 9 ms"
    events = patterned(tmp_path, said, f"result = {result}")
    closed, tick, done = events[-3:]
    assert tick["per_client"] == [[1234, None, 5, None]]
    assert tick["active_ns"] == closed["active_ns"] > 0
    assert done["report"] == {"count": 1234.0, "errors": 5.0, "latency_ms": 6.25}
    assert done["totals"]["tpcc"]["count"] == 1234


@pytest.mark.parametrize(
    ("said", "pattern", "reason"),
    [
        (SAID, "open = 'Takin start', result = 'x(?P<count>.)'", "`pattern.open`, 'Takin start'"),
        (SAID, f"close = 'Takin end', result = {HAMMER}", "`pattern.close`, 'Takin end'"),
        (SAID, "result = '(?P<per_s>[0-9]+) TPS'", "`pattern.result`, '(?P<per_s>[0-9]+) TPS'"),
        ("true", "result = '(?P<per_s>[0-9]+) TPS'", "no line of its output matched"),
        ("echo no such schema >&2; exit 3", f"result = {HAMMER}", "status 3: no such schema"),
    ],
)
def test_a_pattern_that_never_matches_is_told_with_its_key(
    tmp_path: Path, said: str, pattern: str, reason: str
) -> None:
    done = patterned(tmp_path, said, pattern)[-1]
    assert done["status"] == "failed"
    assert reason in done["reason"]
    assert "\n" not in done["reason"]


def test_a_result_that_is_no_number_is_shown_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match="finds `many`, which is not a number, in: did many"):
        patterned(tmp_path, "echo did many", "result = 'did (?P<count>.*)'")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("result = '(?P<count>'", "key `steps[1].pattern.result`: is not a regular expression: "),
        ("result = '(?P<rate>.)'", "pattern.result`: no group `rate` here"),
        ("open = '(?P<count>.)', result = '(?P<count>.)'", "pattern.open`: no group `count` here"),
        ("result = '(?P<errors>.)'", "pattern.result`: has 0 groups that say how much was done"),
        ("open = 'x'", "pattern.result`: missing"),
    ],
)
def test_a_pattern_that_cannot_tell_is_refused(tmp_path: Path, pattern: str, words: str) -> None:
    with pytest.raises(WorkloadError) as found:
        patterned(tmp_path, "true", pattern)
    assert words in str(found.value)
