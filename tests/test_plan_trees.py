"""Plans in normal form, without values, and where two of them part."""

import json
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine.postgres import plan_form
from dbdyno.findings.queries import plan_tree
from dbdyno.model.plan_tree import PlanNode

Raw = dict[str, Any]


def read(plan: Raw) -> PlanNode:
    """The tree of a plan as EXPLAIN writes it."""
    root = plan_form.read(json.dumps([{"Plan": plan}])).root
    assert root is not None
    return root


def scan(node: str = "Seq Scan", relation: str = "f", **more: Any) -> Raw:
    """A scan."""
    return {"Node Type": node, "Relation Name": relation, "Alias": relation, **more}


def over(node: str, *below: Raw, **more: Any) -> Raw:
    """A node over others."""
    return {"Node Type": node, "Plans": list(below), **more}


@pytest.mark.parametrize(
    ("expression", "form"),
    [
        ("(f.x = 7)", "(f.x = ?)"),
        ("((f.t = 'O''Brien (7)'::text) AND (f.b < '-5'::integer))", "((f.t = ?) AND (f.b < ?))"),
        ("(f.made > '2026-01-01 00:00:00'::timestamp without time zone)", "(f.made > ?)"),
        ("(f.id = ANY ('{1,2,3}'::integer[]))", "(f.id = ANY (?))"),
        ("(f.n = 1.50e3)", "(f.n = ?)"),
        ("(f.c1 = $1)", "(f.c1 = ?)"),
        ("(f.a = (InitPlan 1).col1)", "(f.a = ?)"),
        ("(f.a = $0)", "(f.a = ?)"),
        ('("f 7"."x1" = 1)', '("f 7"."x1" = ?)'),
        ("(f.name ~~ E'a\\\\b''c%'::text)", "(f.name ~~ ?)"),
        ("(f.ok = true)", "(f.ok = ?)"),
        ("(lower((f.name)::text) = 'x'::text)", "(lower((f.name)::text) = ?)"),
        ("(f.v = 'a'::character varying(20))", "(f.v = ?)"),
        ("(f.price > '1.5'::double precision)", "(f.price > ?)"),
        ('("*SELECT* 2".a = 7)', "(unnamed_subquery.a = ?)"),
        ("(unnamed_subquery_1.a = 7)", "(unnamed_subquery.a = ?)"),
    ],
)
def test_expressions_are_kept_without_values(expression: str, form: str) -> None:
    assert plan_form.without_values(expression) == form


def test_keys_that_only_some_versions_write_are_left_out() -> None:
    old = scan("Index Scan", **{"Index Name": "f_x", "Index Cond": "(f.x = 7)", "Plan Rows": 5})
    new = old | {
        "Async Capable": False,
        "Disabled": False,
        "Index Searches": 1,
        "Actual Rows": 5.00,
        "Actual Loops": 1,
        "Index Cond": "(f.x = 8)",
        "Plan Rows": 6,
    }
    assert read(old).form == read(new).form
    assert read(old) != read(new)


def test_a_subquery_without_a_name_is_the_same_in_19() -> None:
    old, new = (
        read(scan("Append", Plans=[scan("Subquery Scan", Alias=alias) for alias in aliases]))
        for aliases in (
            ("*SELECT* 1", "*SELECT* 2"),
            ("unnamed_subquery", "unnamed_subquery_1"),
        )
    )
    assert old.form == new.form


def test_strategy_join_type_and_direction_belong_to_the_form() -> None:
    join = over("Hash Join", scan(), over("Hash", scan(relation="g")), **{"Join Type": "Left"})
    assert read(join).node == "Hash Left Join"
    assert read(join | {"Join Type": "Inner"}).node == "Hash Join"
    loop = over("Nested Loop", scan(), scan(relation="g"), **{"Join Type": "Anti"})
    assert read(loop).node == "Nested Loop Anti Join"
    hashed = over("Aggregate", scan(), **{"Strategy": "Hashed", "Group Key": ["f.a"]})
    assert read(hashed).node == "Hash Aggregate"
    assert read(hashed).keys == ("group f.a",)
    back = scan("Index Scan", **{"Scan Direction": "Backward", "Index Name": "i"})
    assert read(back).node == "Index Scan Backward"


def test_a_gather_is_a_mark() -> None:
    tree = read(over("Gather", scan(**{"Parallel Aware": True}), **{"Workers Planned": 2}))
    assert (tree.node, tree.gathered) == ("Parallel Seq Scan", True)
    assert tree.form != read(scan(**{"Parallel Aware": True})).form


def test_partitions_of_a_table_are_folded() -> None:
    parts = [
        scan(
            "Index Scan",
            f"m_{year}",
            **{
                "Index Name": f"m_{year}_id",
                "Index Cond": f"(m_{year}.id = 5)",
                "Plan Rows": 10,
                "Alias": f"m_{number}",
            },
        )
        for number, year in enumerate((2024, 2025, 2026), start=1)
    ]
    (folded,) = read(over("Append", *parts)).inputs
    assert (folded.partitions, folded.expected_rows) == (3, 30)
    assert folded.keys == ("index (id = ?)",)
    other = [*parts[:2], scan(relation="m_2026")]
    assert len(read(over("Append", *other)).inputs) == 2


INCREMENTAL = over(
    "Limit",
    over(
        "Incremental Sort",
        scan(
            "Index Scan",
            **{
                "Index Name": "f_grp",
                "Plan Rows": 300000,
                "Actual Rows": 200.0,
                "Actual Loops": 1,
                "Rows Removed by Filter": 284800,
            },
        ),
        **{"Sort Key": ["f.grp", "f.y"], "Presorted Key": ["f.grp"], "Plan Rows": 300000},
    ),
    **{"Plan Rows": 10},
)
SORTED = over("Limit", over("Sort", scan(), **{"Sort Key": ["f.grp", "f.y"]}), **{"Plan Rows": 10})


def test_trees_part_at_the_first_difference_from_the_leaves_up() -> None:
    assert plan_tree.parting(read(SORTED), read(INCREMENTAL)) == (
        "f: Sort over Seq Scan → Incremental Sort over Index Scan f_grp; "
        "expected 10 rows, read 285,000"
    )


def test_a_join_of_the_same_scans_parts_at_the_join() -> None:
    hashed = over("Hash Join", scan(), over("Hash", scan(relation="g")))
    looped = over("Nested Loop", scan(), scan(relation="g"))
    assert plan_tree.parting(read(over("Sort", hashed)), read(over("Sort", looped))) == (
        "f and g: Hash Join → Nested Loop"
    )


def test_a_scan_that_differs_within_a_join_is_named_alone() -> None:
    index = scan("Index Scan", "g", **{"Index Name": "g_id"})
    first = over("Nested Loop", scan(), scan(relation="g"))
    second = over("Hash Join", scan(), over("Hash", index))
    assert plan_tree.parting(read(first), read(second)) == "g: Seq Scan → Index Scan g_id"


def test_nodes_of_one_name_are_told_apart_by_their_keys() -> None:
    first, second = (
        scan("Index Scan", **{"Index Name": "f_ab", "Index Cond": f"(f.{column} = 1)"})
        for column in "ab"
    )
    assert plan_tree.parting(read(first), read(second)) == (
        "f: Index Scan f_ab by index (f.a = ?) → Index Scan f_ab by index (f.b = ?)"
    )


def test_expectations_far_apart_are_told() -> None:
    first, second = read(scan(**{"Plan Rows": 5})), read(scan(**{"Plan Rows": 5000}))
    assert plan_tree.other_estimate(first, second) == (
        "Seq Scan of f: 5 rows expected, 5,000 on the arm"
    )
    assert plan_tree.other_estimate(first, read(scan(**{"Plan Rows": 40}))) == ""


EXPLAINED = json.loads((Path(__file__).parent / "explained.json").read_text())
"""By query and version, what PostgreSQL told of the same plan of the same data."""


@pytest.mark.parametrize("query", EXPLAINED)
def test_versions_that_plan_alike_have_one_form(query: str) -> None:
    roots = {
        version: plan_form.read(json.dumps(explained)).root
        for version, explained in EXPLAINED[query].items()
    }
    assert set(roots) == {"12", "15", "17", "18"}
    first = roots["12"]
    assert first is not None
    assert {root and root.form for root in roots.values()} == {first.form}


def test_no_value_of_a_query_is_in_the_form_of_any_version() -> None:
    for query, by_version in EXPLAINED.items():
        for version, explained in by_version.items():
            text = json.dumps(explained)
            assert "4711" in text or "Geheim" in text or query == "update"
            form = repr(plan_form.read(text))
            assert "4711" not in form, (query, version)
            assert "Geheim" not in form, (query, version)


def test_what_a_run_has_read_is_known_in_each_version() -> None:
    for explained in EXPLAINED["partitions"].values():
        whole = plan_form.read(json.dumps(explained))
        assert whole.root is not None
        (scan_of_parts,) = whole.root.inputs[0].inputs
        assert scan_of_parts.partitions == 3
        assert (scan_of_parts.rows or 0) > 20_000
        assert (whole.pages or 0) > 100
