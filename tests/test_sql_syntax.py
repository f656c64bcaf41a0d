"""Plans that two versions only write differently are one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.engine.postgres import sql_syntax
from dbdyno.engine.postgres.plan_form import without_values
from test_plan_trees import over, read, scan


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("date_part('month'::text, f.d)", "EXTRACT(month FROM f.d)"),
        ('"substring"(f.t, 1, 6)', "SUBSTRING(f.t FROM 1 FOR 6)"),
        ("\"position\"(f.t, 'x'::text)", "POSITION(('x'::text) IN (f.t))"),
        ("btrim(f.t)", "TRIM(BOTH FROM f.t)"),
        ("ltrim(f.t, 'x'::text)", "TRIM(LEADING 'x'::text FROM f.t)"),
        ('"overlay"(f.t, f.u, 2)', "OVERLAY(f.t PLACING f.u FROM 2)"),
        ("(timezone('UTC'::text, f.d) > f.e)", "((f.d AT TIME ZONE 'UTC'::text) > f.e)"),
        (
            "date_part('hour'::text, timezone('UTC'::text, \"substring\"(f.t, 2)))",
            "EXTRACT(hour FROM (SUBSTRING(f.t FROM 2) AT TIME ZONE 'UTC'::text))",
        ),
    ],
)
def test_calls_and_sqls_own_syntax_are_one_expression(old: str, new: str) -> None:
    assert without_values(old) == without_values(new)


@pytest.mark.parametrize(
    "expression", ['(f."EXTRACT(a FROM b)" = ?)', "my_extract(f.a)", "(f.a = EXTRACT(", "trim(f.a)"]
)
def test_what_is_no_such_call_stays(expression: str) -> None:
    assert sql_syntax.as_calls(expression) == expression


@given(st.text('()"EXTRACT FROM AT TIME ZONE,x?', max_size=40))
def test_any_text_is_read_to_its_end(text: str) -> None:
    sql_syntax.as_calls(text)


def test_a_sort_with_an_aggregates_own_order_groups_as_one_without() -> None:
    def grouped(*keys: str) -> object:
        below = over("Sort", scan(), **{"Sort Key": list(keys)})
        more = {"Strategy": "Sorted", "Group Key": ["f.g"]}
        return read(over("Aggregate", below, **more)).form

    assert grouped("f.g") == grouped("f.g", "f.x")
    assert grouped("f.g") != grouped("f.h")
