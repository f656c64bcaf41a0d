"""Plans of MySQL and MariaDB in normal form, without values, and where two of them part."""

import json
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine.mysql import plan_form
from dbdyno.findings.queries import plan_tree
from dbdyno.model.plan_tree import PlanNode

Raw = dict[str, Any]


def test_the_plans_of_mysql_and_mariadb_become_trees() -> None:
    table: Raw = {
        "table_name": "f",
        "access_type": "ref",
        "key": "f_x",
        "used_key_parts": ["x"],
        "rows_examined_per_scan": 12,
        "attached_condition": "(`d`.`f`.`y` = 'secret')",
    }
    sorting: Raw = {
        "using_filesort": True,
        "using_temporary_table": True,
        "nested_loop": [{"table": table}, {"table": table | {"table_name": "g"}}],
    }
    root = read_mysql(
        {"query_block": {"cost_info": {"query_cost": "3.5"}, "ordering_operation": sorting}}
    )
    assert [node.node for node in root.walk()] == [
        "filesort",
        "temporary table",
        "nested loop",
        "ref",
        "ref",
    ]
    assert (root.cost, root.inputs[0].inputs[0].keys) == (3.5, ("f then g",))
    assert "secret" not in repr(root)
    root = read_mysql({"query_block": {"filesort": {"sort_key": "f.a + 'secret'", "table": table}}})
    assert root.keys == ("sort f.a + ?",)


def read_mysql(plan: Raw) -> PlanNode:
    """The tree of a plan as MySQL or MariaDB writes it."""
    root = plan_form.read(json.dumps(plan)).root
    assert root is not None
    return root


ALL: Raw = {"table_name": "f", "access_type": "ALL", "rows": 300000}
BY_INDEX: Raw = {
    "table_name": "f",
    "access_type": "index",
    "key": "f_grp",
    "used_key_parts": ["grp"],
    "rows": 10,
    "r_loops": 1,
    "r_rows": 285000,
}


def test_where_plans_of_mariadb_part_is_a_line() -> None:
    sort = {"sort_key": "f.grp, f.y", "temporary_table": {"nested_loop": [{"table": ALL}]}}
    base = read_mysql({"query_block": {"filesort": sort}})
    other = read_mysql({"query_block": {"nested_loop": [{"table": BY_INDEX}]}})
    assert plan_tree.parting(base, other) == (
        "f: filesort over temporary table over ALL → index f_grp; expected 10 rows, read 285,000"
    )


def test_tables_of_a_join_under_one_key_are_all_there_and_their_order_is_told() -> None:
    written = '{"query_block": {"table": {"table_name": "%s"}, "table": {"table_name": "%s"}}}'
    old = plan_form.read(written % ("f", "g")).root
    turned = plan_form.read(written % ("g", "f")).root
    new = read_mysql(
        {"query_block": {"nested_loop": [{"table": {"table_name": n}} for n in ("f", "g")]}}
    )
    assert old is not None
    assert turned is not None
    assert old.form == new.form
    assert plan_tree.parting(old, turned) == (
        "f and g: nested loop by f then g → nested loop by g then f"
    )


@pytest.mark.parametrize(
    ("more", "node"),
    [
        ({"access_type": "range", "using_index": True}, "covering range"),
        ({"access_type": "const", "using_index": True}, "const"),
        ({"access_type": "index", "backward_index_scan": True}, "index backward"),
        ({"access_type": "ALL", "using_join_buffer": "hash join"}, "ALL by hash join"),
        ({"access_type": "ALL", "insert": True}, "insert"),
        ({"access_type": "range", "update": 1}, "update by range"),
        ({"message": "Impossible WHERE noticed"}, "no access: impossible where noticed"),
    ],
)
def test_an_access_is_called_as_explain_calls_it(more: Raw, node: str) -> None:
    assert read_mysql({"query_block": {"table": {"table_name": "f", **more}}}).node == node


def test_what_mariadb_does_beside_an_access_belongs_to_the_form() -> None:
    filtered = ALL | {"rowid_filter": {"range": {"key": "f_b", "used_key_parts": ["b"]}, "rows": 9}}
    assert read_mysql({"query_block": {"table": filtered}}).keys == ("rowid filter f_b",)
    merged = {"sort_union": [{"range": {"key": "f_a"}}, {"range": {"key": "f_b"}}]}
    table = {"table_name": "f", "access_type": "index_merge", "index_merge": merged}
    assert read_mysql({"query_block": {"table": table}}).index == "sort_union(f_a,f_b)"
    buffered = {"block-nl-join": {"table": ALL, "join_type": "BNLH"}}
    assert read_mysql({"query_block": buffered}).node == "ALL by bnlh"


def test_subqueries_unions_and_a_plan_without_tables_are_trees() -> None:
    inner = {"query_block": {"table": {"table_name": "g", "access_type": "ref"}}}
    root = read_mysql({"query_block": {"table": ALL, "select_list_subqueries": [inner]}})
    assert [node.node for node in root.walk()] == ["query block", "ALL", "subquery", "ref"]
    union = {"table_name": "<union1,2>", "access_type": "ALL", "query_specifications": [inner] * 2}
    root = read_mysql({"query_block": {"union_result": union}})
    assert [node.node for node in root.walk()] == ["union by a temporary table", "ref", "ref"]
    root = read_mysql({"query_block": {"message": "no matching row in const table"}})
    assert root.node == "no access: no matching row in const table"


ANALYZED = """-> Limit: 10 row(s)  (cost=9.7 rows=10) (actual time=0.1..0.2 rows=10 loops=1)
    -> Nested loop inner join  (cost=9.7 rows=12) (actual time=0.1..0.2 rows=10 loops=1)
        -> Filter: (f.note = 'on g')  (cost=3 rows=5) (actual time=0.09..0.1 rows=4 loops=1)
            -> Index range scan on f using f_ab over (a = 1 AND 5 <= b), with index condition: \
(f.b > 5)  (cost=3 rows=12) (actual time=0.1..0.2 rows=1.2e+3 loops=1)
        -> Covering index lookup on g using g_f (f=f.id)  (cost=0.7 rows=2) \
(actual time=0.01..0.02 rows=2.5 loops=4)
        -> Single-row index lookup on h using PRIMARY (id=g.id)  (cost=0.7 rows=1) (never executed)
"""


def test_the_rows_of_a_run_of_mysql_come_to_their_accesses() -> None:
    tables = [
        {"table_name": "f", "access_type": "range", "key": "f_ab", "rows_examined_per_scan": 12},
        {"table_name": "g", "access_type": "ref", "key": "g_f", "rows_examined_per_scan": 2},
        {"table_name": "h", "access_type": "eq_ref", "key": "PRIMARY", "rows_examined_per_scan": 1},
        {"table_name": "g", "access_type": "ALL", "rows_examined_per_scan": 1},
    ]
    plan = read_mysql({"query_block": {"nested_loop": [{"table": table} for table in tables]}})
    ran = plan_form.with_rows(plan, ANALYZED)
    assert [(node.rows, node.loops) for node in ran.inputs] == [
        (1200, 1),
        (2.5, 4),
        (0, 0),
        (None, None),
    ]
    assert ran.form == plan.form
    assert [estimate.read for estimate in plan_tree.estimates(ran)] == [1200, 10]


EXPLAINED = json.loads((Path(__file__).parent / "explained_mysql.json").read_text())
"""By query and version, what servers told of the same plan of the same data."""
MARIADB = ("mariadb 10.2", "mariadb 10.11", "mariadb 11.4")


def told(query: str, version: str) -> PlanNode:
    """The tree of a query on a version."""
    root = plan_form.read(EXPLAINED[query][version]).root
    assert root is not None
    return root


@pytest.mark.parametrize("query", EXPLAINED)
def test_versions_of_mariadb_that_plan_alike_have_one_form(query: str) -> None:
    first = told(query, MARIADB[0])
    assert {told(query, version).form for version in MARIADB} == {first.form}
    assert all(told(query, version).ran for version in MARIADB)


@pytest.mark.parametrize("query", EXPLAINED)
def test_no_value_of_a_query_is_in_the_form_of_any_version(query: str) -> None:
    for version, text in EXPLAINED[query].items():
        form = repr(plan_form.read(text))
        assert "4711" not in form, version
        assert "Geheim" not in form, version


def test_what_a_join_has_read_is_known_in_each_version() -> None:
    for version in MARIADB:
        (outer, inner) = (node for node in told("join", version).walk() if node.relation)
        assert (outer.relation, outer.rows, outer.loops) == ("g", 100, 1)
        assert (inner.relation, inner.index, inner.rows, inner.loops) == ("f", "PRIMARY", 1, 100)
    assert plan_form.read(EXPLAINED["hash"]["mariadb 11.4"]).pages
