"""Answers and plans of an application's queries, asked of real servers."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import LabServer
from dbdyno.engine.answer_hash import Rows
from dbdyno.engine.inquiry import CallOutcome, CallPlan, QueryCall
from dbdyno.engine.postgres import inquiry
from dbdyno.host import place as places
from dbdyno.model import Arm
from dbdyno.model.answer import Answer
from dbdyno.model.answer_word import AnswerMatch, compared
from dbdyno.model.error import ServerError
from dbdyno.model.plan_tree import PlanNode
from server_place import a_place, address, outermost, started

pytestmark = pytest.mark.live

MARKER = "MARKER_4711"
TABLES = (
    "CREATE TABLE f (id int PRIMARY KEY, a int, grp int, t text)",
    "INSERT INTO f SELECT n, n % 1000, n % 7, 'text ' || n FROM generate_series(1, 20000) AS n",
    f"INSERT INTO f VALUES (0, -1, 0, '{MARKER}')",
    "CREATE INDEX f_a ON f (a)",
    "CREATE TABLE child (id int REFERENCES f DEFERRABLE INITIALLY DEFERRED)",
    "CREATE ROLE reader; GRANT SELECT ON f TO reader",
    "ANALYZE f",
)


def make(server: LabServer) -> None:
    """Makes the tables in the database `ib`."""
    server.create_database("ib")
    server.execute(*TABLES, database="ib")


@pytest.fixture(params=outermost(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server with a table."""
    arm = Arm(name="asked", engine="postgres", base_dir=request.param)
    with a_place() as place, started(arm, place) as running:
        make(running)
        yield running


def call(text: str, **more: Any) -> QueryCall:
    """A call whose values stand in its text."""
    return QueryCall(text=text, own_text=text, **more)


def asked(
    server: LabServer, of: QueryCall, planner: Mapping[str, str] | None = None
) -> CallOutcome:
    """How a call ends on a server."""
    with inquiry.connected(address(server)) as inquirer:
        return inquirer.answer(of, Rows(key=b"key"), planner or {})


def plan(server: LabServer, of: QueryCall, **how: bool) -> CallPlan:
    """Its plan there."""
    with inquiry.connected(address(server)) as inquirer:
        return inquirer.explain(of, **how)


def root(explained: CallPlan) -> PlanNode:
    """The tree; there is one."""
    assert explained.root is not None, explained.unavailable
    return explained.root


@pytest.mark.capability("own queries")
def test_rows_are_counted_and_hashed_and_no_value_is_kept(server: LabServer) -> None:
    answered = asked(server, call("SELECT id, t FROM f WHERE a < 100"))
    assert (answered.outcome, answered.rows) == ("rows", 2001)
    assert [(column.name, column.type) for column in answered.columns] == [
        ("id", "int4"),
        ("t", "text"),
    ]
    assert MARKER not in repr(answered)
    again = asked(server, call("SELECT id, t FROM f WHERE a < 100 ORDER BY id DESC"))
    assert again.whole == answered.whole
    assert again.columns[0].order != answered.columns[0].order


def test_bound_values_are_of_the_types_that_the_application_binds(server: LabServer) -> None:
    text = "SELECT id FROM f WHERE a = $1 AND t <> $2"
    bound = QueryCall(text=text, own_text=text, values=("5", "x"), types=("int4", ""))
    assert asked(server, bound).rows == 20
    assert "index (f.a = ?)" in [
        key for node in root(plan(server, bound)).walk() for key in node.keys
    ]
    numeric = QueryCall(text=text, own_text=text, values=("5", "x"), types=("numeric", ""))
    assert root(plan(server, numeric)).node == "Seq Scan"
    generic = root(plan(server, bound, generic=True))
    assert MARKER not in repr(generic)


def test_errors_keep_their_code_and_class_alone(server: LabServer) -> None:
    failed = asked(server, call(f"SELECT t::int FROM f WHERE t = '{MARKER}'"))
    assert (failed.outcome, failed.code) == ("failed", "22P02")
    assert failed.reason == "invalid text representation"
    assert MARKER not in repr(failed)
    unknown = plan(server, call(f"SELECT * FROM nothing WHERE a = '{MARKER}'"))
    assert unknown.unavailable == "42P01 undefined table"
    log = server.log_path.read_text()
    assert "statement" not in log.lower()
    assert MARKER not in log


def test_what_a_query_writes_is_undone_and_its_constraints_are_checked(server: LabServer) -> None:
    written = asked(server, call("INSERT INTO f VALUES (-5) RETURNING id", writes=True))
    assert (written.rows, len(written.columns)) == (1, 1)
    changed = asked(server, call("UPDATE f SET a = 1 WHERE id < 11", writes=True))
    assert (changed.rows, changed.columns) == (11, ())
    assert asked(server, call("SELECT FROM f WHERE id = -5")).rows == 0
    deferred = asked(server, call("INSERT INTO child VALUES (-99)", writes=True))
    assert deferred.reason == "foreign key violation"
    assert asked(server, call("DELETE FROM f")).code == "25006"


def test_sessions_have_the_role_and_settings_of_the_application(server: LabServer) -> None:
    assert asked(server, call("SELECT FROM f", role="reader", settings={"work_mem": "1MB"})).rows
    denied = asked(server, call("SELECT FROM child", role="reader"))
    assert denied.reason == "role `reader`: insufficient privilege"
    lacking = asked(server, call("SELECT 1", settings={"enable_nothing": "on"}))
    assert lacking.reason == "setting `enable_nothing`: undefined object"
    assert asked(server, call("SELECT 1", role="nobody")).rows == 1
    assert asked(server, call("SELECT gone FROM f", role="nobody")).code == "42703", "its own"
    limited = call("SELECT pg_sleep(0.05)", settings={"statement_timeout": "1"})
    assert asked(server, limited).outcome == "rows", "the source's limit ends nothing here"
    with inquiry.connected(address(server)) as inquirer:
        tells = inquirer.connection.server_version >= inquiry.SETTINGS_VERSION_NUM
    told = {"work_mem": "1MB"} if tells else {}
    assert plan(server, call("SELECT 1", settings={"work_mem": "1MB"})).settings == told


def test_a_query_that_takes_too_long_ends(server: LabServer) -> None:
    begun_s = time.monotonic()
    late = asked(server, call("SELECT pg_sleep(60)", limit_s=0.5))
    assert late.outcome == "timed out"
    assert time.monotonic() - begun_s < 55, "before its sleep ends"


def test_rows_beyond_the_most_are_not_read(server: LabServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inquiry, "ROWS_MAX", 1000)
    with inquiry.connected(address(server)) as inquirer:
        answered = inquirer.answer(call("SELECT id FROM f"), Rows(key=b"key"), {})
        assert (answered.rows, answered.cut) == (1000, True)
        assert inquirer.answer(call("SELECT 1"), Rows(key=b"key"), {}).rows == 1


def test_a_base_that_contradicts_itself_is_found_out(server: LabServer) -> None:
    tied = call("SELECT a FROM f WHERE a >= 0 LIMIT 5")
    with inquiry.connected(address(server)) as inquirer:
        answers = {asked(server, tied, planner).whole for _, planner in inquirer.other_settings}
        assert len(answers | {asked(server, tied).whole}) > 1
        assert frozenset({"id"}) in inquirer.drawer.unique({"f", "limit"})


def test_a_run_tells_rows_and_pages(server: LabServer) -> None:
    ran = plan(server, call("SELECT count(*) FROM f WHERE a = 5"), run=True)
    scan = next(node for node in root(ran).walk() if node.relation)
    assert ((scan.rows or 0) * (scan.loops or 0), scan.relation) == (20, "f")
    assert ran.pages
    assert root(plan(server, call("SELECT count(*) FROM f WHERE a = 5"))).form == root(ran).form


def test_statistics_of_another_sample_are_undone(server: LabServer) -> None:
    rows = "SELECT stanullfrac FROM pg_statistic WHERE starelid = 'f'::regclass"
    before = asked(server, call(rows)).whole
    server.execute("INSERT INTO f SELECT n FROM generate_series(100001, 130000) AS n")
    try:
        wanted = call("SELECT id FROM f WHERE a IS NULL")
        with inquiry.connected(address(server)) as inquirer:
            first = root(inquirer.explain(wanted))
            with inquirer.anew():
                again = root(inquirer.explain(wanted))
            assert (again.expected_rows or 0) > 1000 > (first.expected_rows or 0)
        assert asked(server, call(rows)).whole == before
    finally:
        server.execute("DELETE FROM f WHERE id > 100000")


def test_a_server_that_goes_away_is_no_answer(server: LabServer) -> None:
    ended = call("SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(ServerError, match="the connection was lost"):
        asked(server, ended)


# --- What 18 does otherwise than 12 -----------------------------------------------------------

OLD = places.cache_root() / "postgres"
NATURAL = (
    ("SELECT id FROM f WHERE id=1OR id=2", "fails", "42601 syntax error"),
    ("SELECT 5 !", "fails", "42601 syntax error"),
    ("SELECT to_tsquery('pg_class')", "different", "other values of `to_tsquery`"),
    (
        "SELECT extract(epoch FROM timestamp '2020-01-01') AS e",
        "other type",
        "`e`: float8 became numeric",
    ),
    ("SELECT a, count(*) FROM f GROUP BY a", "same", ""),
)


@pytest.mark.soak
def test_an_upgrade_from_12_to_18_fails_and_answers_as_it_does() -> None:
    found = [next(iter(sorted(OLD.glob(f"{major}.*"))), None) for major in (12, 18)]
    if None in found:
        pytest.skip("no PostgreSQL 12 here: `dyno server fetch postgres 12`")
    with a_place() as place, ExitStack() as stack:
        servers = []
        for base_dir in found:
            assert isinstance(base_dir, Path)
            arm = Arm(name=f"pg{base_dir.name[:2]}", engine="postgres", base_dir=base_dir)
            servers.append(stack.enter_context(started(arm, place)))
            make(servers[-1])
        for text, word, detail in NATURAL:
            base, arm_answer = (answer_of(asked(server, call(text))) for server in servers)
            assert compared(base, arm_answer) == AnswerMatch(word, detail), text  # type: ignore[arg-type]


def answer_of(answered: CallOutcome) -> Answer:
    """The same as a result keeps it."""
    return Answer(
        query="q",
        outcome=answered.outcome,
        code=answered.code,
        reason=answered.reason,
        rows=answered.rows,
        columns=answered.columns,
        whole=answered.whole,
    )
