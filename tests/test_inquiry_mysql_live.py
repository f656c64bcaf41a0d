"""Answers and plans of an application's queries, asked of real servers of MySQL and MariaDB."""

from typing import Any

import pytest

from dbdyno.engine import LabServer
from dbdyno.engine.answer_hash import Rows
from dbdyno.engine.inquiry import CallOutcome, CallPlan, QueryCall
from dbdyno.engine.mysql import inquiry
from dbdyno.workload.determined import open_parts
from server_place import address

pytestmark = pytest.mark.live

MARKER = "MARKER_4711"
DATABASE = "asked"


@pytest.fixture(name="server", scope="module")
def _server(mysql_server: LabServer) -> LabServer:
    """The engine's server, with a table."""
    mysql_server.create_database(DATABASE)
    numbers = "SELECT 0 AS n" + "".join(f" UNION SELECT {n}" for n in range(1, 100))
    mysql_server.execute(
        "CREATE TABLE f (id int PRIMARY KEY, a int, t varchar(40), d double, KEY f_a (a))",
        f"INSERT INTO f SELECT x.n * 100 + y.n, y.n, 'text', x.n / 3 FROM ({numbers}) AS x, "
        f"({numbers}) AS y",
        f"INSERT INTO f VALUES (-1, -1, '{MARKER}', 0)",
        "CREATE VIEW v AS SELECT id AS n FROM f ORDER BY a LIMIT 3",
        "CREATE FUNCTION own(n int) RETURNS int NO SQL RETURN n",
        "ANALYZE TABLE f",
        database=DATABASE,
    )
    return mysql_server


def call(text: str, **more: Any) -> QueryCall:
    """A call whose values stand in its text."""
    return QueryCall(text=text, own_text=more.pop("own_text", text), **more)


def asked(server: LabServer, of: QueryCall) -> CallOutcome:
    """How a call ends on a server."""
    with inquiry.connected(address(server)) as inquirer:
        return inquirer.answer(of, Rows(key=b"key"), {})


def plan(server: LabServer, of: QueryCall, **how: bool) -> CallPlan:
    """Its plan there."""
    with inquiry.connected(address(server)) as inquirer:
        return inquirer.explain(of, **how)


@pytest.mark.capability("own queries")
def test_rows_are_counted_and_hashed_and_no_value_is_kept(server: LabServer) -> None:
    answered = asked(server, call("SELECT id, t, d FROM f WHERE a < 10"))
    assert (answered.outcome, answered.rows) == ("rows", 1001)
    assert [
        (column.name, column.rounded is not None, column.inexact) for column in answered.columns
    ] == [("id", True, False), ("t", False, False), ("d", True, True)]
    assert MARKER not in repr(answered)
    again = asked(server, call("SELECT id, t, d FROM f WHERE a < 10 ORDER BY id DESC"))
    assert again.whole == answered.whole


def test_a_literal_that_names_a_column_is_not_kept(server: LabServer) -> None:
    literal = call(f"SELECT '{MARKER}', count(*) FROM f", own_text="SELECT $1, count(*) FROM f")
    answered = asked(server, literal)
    assert [column.name for column in answered.columns] == ["an expression", "count(*)"]


def test_errors_keep_their_number_and_name_alone(server: LabServer) -> None:
    failed = asked(server, call(f"SELECT '{MARKER}' FROM nothing"))
    assert (failed.outcome, failed.code, failed.reason) == ("failed", "1146", "no such table")
    assert asked(server, call(f"SELECT '{MARKER}' FRM f")).reason == "parse error"
    assert plan(server, call("SELECT 1 FROM nothing")).unavailable == "1146 no such table"


def test_what_a_query_writes_is_undone(server: LabServer) -> None:
    written = asked(server, call("UPDATE f SET t = 'x' WHERE a = 5", writes=True))
    assert (written.rows, written.columns) == (100, ())
    assert asked(server, call("SELECT id FROM f WHERE t = 'x'")).rows == 0
    assert asked(server, call("DELETE FROM f")).code == "25006"


def test_a_query_that_takes_too_long_ends(server: LabServer) -> None:
    late = asked(
        server, call("SELECT sum(x.a + y.a + z.a) FROM f AS x, f AS y, f AS z", limit_s=0.5)
    )
    assert late.outcome == "timed out"


def test_plans_are_trees_without_values(server: LabServer) -> None:
    query = f"SELECT count(*) FROM f JOIN f AS g USING (id) WHERE f.a = 5 AND g.t <> '{MARKER}'"
    explained = plan(server, call(query))
    assert explained.root is not None
    scans = [node for node in explained.root.walk() if node.relation]
    assert sorted(node.relation for node in scans) == ["f", "g"]
    assert {node.index for node in scans} == {"f_a", "PRIMARY"}
    assert MARKER not in repr(explained)
    again = plan(server, call(query.replace("= 5", "= 6")))
    assert again.root is not None
    assert again.root.form == explained.root.form
    assert "index id" in [key for node in scans for key in node.keys]


def test_a_run_tells_the_rows_that_each_access_has_read(server: LabServer) -> None:
    explained = plan(server, call("SELECT count(t) FROM f WHERE a = 5"), run=True)
    assert explained.root is not None
    (scan,) = [node for node in explained.root.walk() if node.relation]
    assert (scan.node, scan.index, scan.rows, scan.loops) == ("ref", "f_a", 100, 1)
    planned = plan(server, call("SELECT count(t) FROM f WHERE a = 5"))
    assert planned.root is not None
    assert planned.root.form == explained.root.form
    assert not planned.root.ran


def test_a_run_of_what_writes_leaves_nothing(server: LabServer) -> None:
    explained = plan(server, call("DELETE FROM f WHERE a = 5", writes=True), run=True)
    assert explained.root is not None
    assert explained.root.node in ("delete by range", "delete by ref", "delete by ALL")
    assert asked(server, call("SELECT id FROM f WHERE a = 5")).rows == 100


def test_a_mode_of_the_session_decides_what_a_text_means(server: LabServer) -> None:
    mode = {"sql_mode": "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"}
    text = r"""SELECT "id" FROM f WHERE 'a\' <> t AND a = 5"""
    assert asked(server, call(text, settings=mode)).rows == 100
    expression = {"sql_mode": "REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', '')"}
    grouped = "SELECT t, a FROM f WHERE id > 0 GROUP BY a"
    assert asked(server, call(grouped, settings=expression)).rows == 100
    full = {"sql_mode": "ONLY_FULL_GROUP_BY"}
    assert asked(server, call(grouped, settings=full)).code == "1055"


OPEN = [
    ("SELECT * FROM f ORDER BY id LIMIT 3", ""),
    ("SELECT * FROM f ORDER BY a LIMIT 3", "`LIMIT 3` is ordered by `a`, which is not unique"),
    ("SELECT n FROM v", "`LIMIT 3` in view `v` is ordered by `asked.f.a`, which is not unique"),
    ("SELECT sum(d) FROM f", "`sum` adds floating-point numbers in an order that is not given"),
    ("SELECT sum(a), avg(id), count(*) FROM f GROUP BY a", ""),
    ("SELECT DISTINCT t FROM f", "`DISTINCT` takes one of equal values"),
    ("SELECT t, a FROM f GROUP BY a", "`GROUP BY` leaves open `t`"),
    ("SELECT t, a FROM f GROUP BY id", ""),
    ("SELECT rand(), lower(t) FROM f", "the function `rand`, which gives another value each time"),
    ("SELECT table_name FROM information_schema.tables", "`tables`, which the server keeps"),
    ("SELECT own(1)", "the function `own`, which is not declared to depend on its arguments"),
]


@pytest.mark.parametrize(("text", "reason"), OPEN)
def test_the_server_tells_what_a_tree_does_not(server: LabServer, text: str, reason: str) -> None:
    with inquiry.connected(address(server)) as inquirer, inquirer.catalog(call(text)) as catalog:
        parts = open_parts.of(text, catalog, [])
    assert bool(parts) == bool(reason)
    assert not parts or parts[0].reason.startswith(reason)


def test_no_plan_is_for_any_values(server: LabServer) -> None:
    with inquiry.connected(address(server)) as inquirer:
        assert inquirer.explain(call("SELECT 1"), generic=True).root is None
