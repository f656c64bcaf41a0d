"""What the workload wants told of a step after its load: work, metrics, rights before it."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs

from dbdyno import engine as engines
from dbdyno.engine import Server
from dbdyno.model import Address, Headline, Json, MetricSource, Requirement, Right, Step
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.step_files import HeadlineWork, StepDone, ToldMetric
from dbdyno.run import dropped_tables, load_output, server_parts
from dbdyno.run.check import rights
from dbdyno.run.step import summary

STEP = Step(
    ordinal=1, name="s", workload="w", measured=True, writes=True, warm="none", setup=(), job={},
    headline=None, sla=None, pad_to_s=None, roles={}, tables=(), explain={}, expected_s=None,
    nominal_s=None,
)  # fmt: skip
SOURCE = MetricSource(name="m", title="M", unit="MB/s", better="more", take="first", text=False)
VACUUM: Json = {
    "event": "captured",
    "mono_ns": 1,
    "role": "r",
    "client": 0,
    "connection": 0,
    "statement": "vacuum",
    "columns": [],
    "rows": [],
    "notices": [
        "finished: pages: 5\navg read rate: 12.5 MB/s, avg write rate: 0.5 MB/s",
        "rate: x",
    ],
}
PLAN: Json = {
    "event": "captured",
    "mono_ns": 1,
    "role": "r",
    "client": 0,
    "connection": 0,
    "statement": "explain",
    "columns": ["QUERY PLAN", "n"],
    "rows": [["Seq Scan on t", "7"], ["  Buffers: shared hit=3 read=9", None], [None, "8"]],
    "notices": [],
}


class Answers:
    """A server that answers each SQL as it is told to."""

    name = "theirs"

    def __init__(self, *, remote: bool = False, there: bool = True, **answers: object) -> None:
        self.answers, self.remote, self._there = answers, remote, there

    def address(self) -> Address | None:
        return Address(host="h", port=5432, user="u", database="d") if self._there else None

    def execute(self, sql: str, **_: object) -> list[tuple[Any, ...]]:
        found = self.answers.get(sql)
        if isinstance(found, Exception):
            raise found
        return [] if found is None else [(found, 1)]


def of(step: Step, tmp_path: Path, server: Answers | None = None) -> StepDone:
    events = tmp_path / "events.jsonl"
    lines = ({"event": "paused", "mono_ns": 1}, VACUUM, PLAN, {"event": "resumed", "mono_ns": 1})
    events.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = StepDone(status="ok")
    load_output.take(cast(Server, server or Answers()), step, events, done, {})
    return done


def only(tmp_path: Path, server: Answers | None = None, **source: object) -> object:
    """The value of a metric with this source."""
    done = of(replace(STEP, metrics=(replace(SOURCE, **source),)), tmp_path, server)  # type: ignore[arg-type]
    assert not done.warnings
    metric = done.metrics["m"]
    assert metric == ToldMetric(value=metric.value, unit="MB/s", title="M", better="more")
    return metric.value


def test_a_pattern_is_searched_in_notices_and_rows_line_by_line(tmp_path: Path) -> None:
    assert only(tmp_path, pattern="read rate: ([0-9.]+)") == 12.5
    assert only(tmp_path, pattern="read=([0-9]+)") == 9
    assert only(tmp_path, pattern="t \\| ([0-9]+)$") == 7
    assert only(tmp_path, pattern="^avg read rate: ([0-9.]+)") == 12.5


def test_a_group_that_is_empty_where_its_line_is_found_says_zero(tmp_path: Path) -> None:
    form = r"Buffers: shared(?: hit=[0-9]+)?(?: read=[0-9]+)?(?: dirtied=)?([0-9]*)"
    assert only(tmp_path, pattern=form) == 0
    assert only(tmp_path, pattern=form, text=True) == ""


def test_several_values_are_taken_as_the_step_says(tmp_path: Path) -> None:
    takes = {"first": 12.5, "last": 0.5, "sum": 13.0, "max": 12.5, "mean": 6.5}
    for take, value in takes.items():
        assert only(tmp_path, pattern="rate: ([0-9.]+)", take=take) == value


def test_a_column_has_the_values_of_its_rows_without_nulls(tmp_path: Path) -> None:
    assert only(tmp_path, column="n", take="last", of="explain") == 8
    assert only(tmp_path, column="n", take="sum") == 15


def test_a_text_stays_one(tmp_path: Path) -> None:
    assert only(tmp_path, pattern="(Seq Scan|Index Scan)", text=True) == "Seq Scan"
    assert only(tmp_path, Answers(q=7), query="q", text=True) == "7"


def test_a_query_is_the_first_column_of_its_first_row(tmp_path: Path) -> None:
    assert only(tmp_path, Answers(q=Decimal("2.5")), query="q") == 2.5


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"pattern": "(nothing)"}, "pattern `(nothing)`: captured nothing"),
        ({"column": "a", "of": "explain"}, "column `a` of statement `explain`: captured nothing"),
        ({"column": "a", "of": "other"}, "of statement `other`: no statement that could"),
        (
            {"pattern": "finished: ([a-z]+)"},
            "pattern `finished: ([a-z]+)`: 'pages' is not a number",
        ),
        ({"query": "words"}, "query `words`: 'abc' is not a number"),
        ({"query": "truth"}, "query `truth`: 'True' is not a number"),
        ({"query": "empty"}, "query `empty`: the answer is empty"),
        ({"query": "fails"}, "query `fails`: no such table"),
    ],
)
def test_what_is_not_told_is_a_warning(source: Any, said: str, tmp_path: Path) -> None:
    server = Answers(words="abc", truth=True, fails=ServerError("no such table"))
    step = replace(STEP, metrics=(replace(SOURCE, **source),))
    done = of(step, tmp_path, server)
    (warning,) = done.warnings
    assert done.metrics["m"].value is None
    assert warning.startswith("step `s`: metric `m` by ")
    assert said in warning


def test_a_server_without_a_database_tells_nothing_and_nothing_is_said_of_it(tmp_path: Path):
    headline = Headline(metric="mbps", role="r", count="operations", work_query="q")
    step = replace(STEP, headline=headline, metrics=(replace(SOURCE, query="q"),))
    done = of(step, tmp_path, Answers(there=False))
    assert (done.work, done.metrics["m"].value, done.warnings) == (None, None, [])


def test_work_is_asked_for_after_the_load_and_shown_with_the_step(tmp_path: Path) -> None:
    headline = Headline(metric="mbps", role="r", count="operations", work_query="q")
    step = replace(STEP, headline=headline)
    done = of(step, tmp_path, Answers(q=3 << 20))
    assert done == StepDone(status="ok", work=3 << 20)
    done.counted = HeadlineWork(seconds=1.5, operations=1, rows=9, statements=1)
    done.window_ns = 1_500_000_000
    assert summary(step, done) == "2 MiB/s in 1.5 s"
    assert summary(step, structs.replace(done, work=None)) == "1.5 s"
    seconds = replace(STEP, headline=Headline(metric="seconds", role="r", count="operations"))
    assert summary(seconds, done) == "1.500 s"


# --- Tables that statements make ----------------------------------------------------------------


class Tables:
    """A server with tables, by their comments."""

    name = "theirs"

    def __init__(self, tables: dict[str, str], *, remote: bool) -> None:
        self.client, self.tables, self.remote = engines.of("postgres").client, tables, remote
        self.said: list[str] = []

    def address(self) -> Address:
        return Address(host="h", port=5432, user="u", database="d")

    def execute(self, *sql: str) -> list[tuple[Any, ...]]:
        if sql[0].startswith("SELECT"):
            return list(self.tables.items())
        self.said += sql
        return []


def test_a_table_that_no_statement_made_fails_the_step() -> None:
    server = Tables({"a": ""}, remote=False)
    assert dropped_tables.made(cast(Server, server), ("a",)) is None
    assert dropped_tables.made(cast(Server, server), ("a", "b")) == (
        "no statement of the step created table `b`, which `makes` names"
    )
    assert not server.said


def test_a_table_that_was_made_elsewhere_is_marked_as_the_labs() -> None:
    server = Tables({"a": ""}, remote=True)
    assert dropped_tables.made(cast(Server, server), ("a",)) is None
    assert server.said == ["COMMENT ON TABLE a IS 'made by dbdyno'"]


# --- Rights -------------------------------------------------------------------------------------


def test_a_right_that_is_lacking_is_refused_in_a_line() -> None:
    step = replace(STEP, rights=(Right(name="CREATE", query="may"),))
    for answer in (False, 0, None):
        server = Answers(remote=True, may=answer)
        with pytest.raises(ServerError) as raised:
            rights.refuse_lacking(cast(Server, server), [step])
        assert str(raised.value).startswith(
            "w: step `s`: user `u` of arm theirs lacks the right `CREATE`: grant it, "
        )


def test_a_right_that_is_there_is_not_named_and_own_servers_are_not_asked() -> None:
    step = replace(STEP, rights=(Right(name="CREATE", query="may"),))
    rights.refuse_lacking(cast(Server, Answers(remote=True, may=1)), [step])
    rights.refuse_lacking(cast(Server, Answers(remote=False, may=False)), [step])


def test_a_right_that_cannot_be_asked_for_is_refused_with_the_reason() -> None:
    step = replace(STEP, rights=(Right(name="CREATE", query="may"),))
    server = Answers(remote=True, may=ServerError("syntax error"))
    with pytest.raises(ServerError, match=r"right `CREATE` \(syntax error\): correct"):
        rights.refuse_lacking(cast(Server, server), [step])


# --- Parts that a server must have --------------------------------------------------------------


def test_a_part_that_a_server_lacks_is_refused_in_a_line_whoever_made_it() -> None:
    needed = Requirement(part="storage engine `rocksdb`", query="has", remedy="install it")
    step = replace(STEP, requires=(needed,))
    for remote in (True, False):
        with pytest.raises(ServerError) as raised:
            server_parts.refuse_missing(cast(Server, Answers(remote=remote, has=0)), [step])
        assert str(raised.value) == (
            "w: the server of arm theirs has no storage engine `rocksdb`: install it"
        )
        server_parts.refuse_missing(cast(Server, Answers(remote=remote, has=1)), [step])


class Program:
    """A server of the lab before it is started: what its program has."""

    name, made = "mine", property(lambda self: self)

    def has_storage_engine(self, name: str) -> bool:
        return name != "tidesdb"


@pytest.mark.parametrize("name", ["tidesdb", "rocksdb"])
def test_a_storage_engine_that_the_program_lacks_is_refused_before_it_starts(name: str) -> None:
    needed = Requirement(part="x", query="has", remedy="install it", storage_engine=name)
    step = replace(STEP, requires=(needed,))
    if name == "rocksdb":
        server_parts.refuse_unbuilt(cast(Server, Program()), [step])
        return
    with pytest.raises(PlanError, match=r"^arms.mine: its server has no x: install it$"):
        server_parts.refuse_unbuilt(cast(Server, Program()), [step])


LASTED = (
    {"event": "started", "mono_ns": 1_000_000_000, "unix_ns": 1},
    {"event": "window_open", "mono_ns": 3_000_000_000},
    {"event": "paused", "mono_ns": 5_000_000_000},
    {"event": "resumed", "mono_ns": 50_000_000_000},
    {"event": "window_close", "mono_ns": 56_000_000_000, "active_ns": 8, "ended": {},
     "clients_end_ns": []},
)  # fmt: skip
"""A load of 10 s, 2 of them before its window, with a pause of 45 s."""


def change(tmp_path: Path, by: str, first: object, last: object) -> StepDone:
    step = replace(STEP, metrics=(replace(SOURCE, query="q", change=by),))  # type: ignore[arg-type]
    earlier = load_output.before(cast(Server, Answers(q=first)), step)
    events, done = tmp_path / "events.jsonl", StepDone(status="ok")
    events.write_text("".join(json.dumps(line) + "\n" for line in LASTED))
    load_output.take(cast(Server, Answers(q=last)), step, events, done, earlier)
    return done


@pytest.mark.parametrize(
    ("by", "value"), [("second", 3.0), ("minute", 180.0), ("hour", 10_800.0), ("load", 30.0)]
)
def test_a_change_is_told_by_the_time_of_the_load_without_pauses(
    tmp_path: Path, by: str, value: float
) -> None:
    done = change(tmp_path, by, Decimal(70), 100)
    assert (done.metrics["m"].value, done.warnings) == (value, [])


@pytest.mark.parametrize(
    ("first", "last", "line"),
    [
        (None, 1, "before the load the answer is empty"),
        (ServerError("no such table"), 1, "before the load no such table"),
        (1, ServerError("no such table"), "no such table"),
        (1, "x", "'x' is not a number"),
    ],
)
def test_a_change_of_which_a_side_is_missing_is_one_warning(
    tmp_path: Path, first: object, last: object, line: str
) -> None:
    done = change(tmp_path, "second", first, last)
    assert done.metrics["m"].value is None
    assert done.warnings == [f"step `s`: metric `m` by query `q`: {line}"]
