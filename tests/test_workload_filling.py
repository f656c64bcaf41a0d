"""Bulk loads: NULLs, decimals, columns computed from others, and child rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from workload_reader import complaint, job_of, steps

ROOT = Path(__file__).parents[1]
ORDERS = """
[tables.orders]
numbered = false
create = "CREATE TABLE orders (o_id int, o_lines int, o_carrier int)"
fill.rows = 30

[tables.orders.fill.columns]
o_id = { compute = "(:row - 1) % 10 + 1" }
o_lines = { uniform = [5, 15], type = "int2" }
o_carrier = { uniform = [1, 10], null_if = ":o_id > 7" }

[tables.lines]
numbered = false
create = "CREATE TABLE lines (l_order int, l_number int, l_amount numeric(6, 2), l_data text)"
fill.rows = { per = "orders", count = "o_lines" }

[tables.lines.fill.columns]
l_order = ":o_id"
l_number = ":item"
l_amount = { compute = ":l_number * :o_id", type = "numeric", scale = 2 }
l_data = ":data"

[values]
data = { text = { length = [4, 8], random = 1, alphabet = "abc" } }

[statements]
read = "SELECT count(*) FROM lines"

[[steps]]
name = "read"
seconds = 1
roles.query = { run = "read" }
"""


JOINED = """
[tables.lines.fill.columns.l_note]
join = ["line ", { compute = ":l_number" }, { text = " of many", when = ":o_lines > 9" }]
[tables.lines.fill.columns.l_shipped]
uniform = [0, 20_000]
type = "date"
"""
EMPTY = """
[tables.other]
numbered = false
create = "CREATE TABLE other (a int)"
fill.rows = 1
fill.columns.a = ":row"
"""


def filled(text: str, tmp_path: Path) -> tuple[Any, Any, Any]:
    """The values of the load's job, and its fills of orders and lines."""
    fill = job_of(steps(text, tmp_path)[0])
    orders, lines = fill["fills"]
    return fill["values"], orders, lines


def test_children_become_the_contracts_example(tmp_path: Path) -> None:
    values, *fills = filled(ORDERS + JOINED, tmp_path)
    theirs = json.loads((ROOT / "contract" / "job-children.json").read_text())
    assert theirs["values"] == values
    assert theirs["fills"] == fills


def test_a_column_is_computed_from_those_above_it(tmp_path: Path) -> None:
    values, orders, _ = filled(ORDERS, tmp_path)
    o_id, o_lines, carrier = orders["columns"]
    assert o_lines["type"] == "int2"
    null_if = values[carrier["null_if"]]["compute"]
    assert null_if["range"] == [0, 1]
    more = ["gt", ["variable", o_id["value"]], ["integer", 7]]
    assert null_if["expression"] == ["case", more, ["integer", 1], ["integer", 0]]


def test_children_take_their_parents_columns(tmp_path: Path) -> None:
    values, orders, lines = filled(ORDERS, tmp_path)
    assert lines["rows"] == 30 * 15, "places"
    count = orders["columns"][1]["value"]
    expected = {"table": "orders", "count": count, "least": 5, "most": 15}
    assert lines["per"] == {**expected, "columns": orders["columns"]}
    order, number, amount, data = lines["columns"]
    assert order["value"] == orders["columns"][0]["value"]
    assert values[number["value"]]["item"] == {"first": 1}
    assert values[amount["value"]]["compute"]["range"] == [1, 150]
    assert (amount["type"], amount["scale"]) == ("numeric", 2)
    assert values[data["value"]]["text"]["alphabet"] == "abc"


def test_the_likely_rows_of_children_stand_in_the_estimate(tmp_path: Path) -> None:
    (fill, _) = steps(ORDERS, tmp_path)
    assert [fill.expected_rows for fill in fill.job.fills] == [30, 300]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('per = "orders"', 'per = "order"', "`tables.lines.fill.rows.per`: no table `order` that"),
        ('count = "o_lines"', 'count = "o_line"', "rows.count`: `orders` has no column `o_line`"),
        ("uniform = [5, 15]", "uniform = [-1, 15]", "has to be a number from 0 on"),
        ('l_order = ":o_id"', "l_order = { row = 1 }", "has no number but `:item`"),
        ('":item"', '{ uniform = [1, 2], each = 5 }', "children have no `each`"),
        ("scale = 2", "scale = 19", "columns.l_amount.scale`: at most 18, not 19"),
        ('"numeric", scale', '"int4", scale', 'only a column of type = "numeric" has decimals'),
        (":o_id > 7", ":o_id + 7", "takes true or false"),
        (":o_id > 7", ":l_number > 7", "no value `l_number`"),
        ("numbered = false\ncreate = \"CREATE TABLE l", 'create = "CREATE TABLE l',
         "there have to be as many `lines` as `orders`"),
        ("fill.rows = 30", "fill.rows = 30\nfill.streams = 99999", "fill.streams`: at most "),
        ("[4, 8]", "[9, 8]", "values.data.text.length`: the shortest, 9, is above 8"),
        ("random = 1,", "random = 2,", "values.data.text.random`: is a share from 0 to 1, not 2"),
        ('":data"', "{ row = 1, uniform = [1, 2] }", "needs exactly one value or maker, not 2"),
        ('"abc"', '"äbc"', "values.data.text.alphabet`: takes at most 128 ASCII characters"),
    ],
)  # fmt: skip
def test_a_load_that_cannot_be_gets_one_line(old: str, new: str, line: str, tmp_path: Path) -> None:
    assert old in ORDERS
    assert line in complaint(ORDERS.replace(old, new), tmp_path)


def test_children_without_a_parents_rows_are_none(tmp_path: Path) -> None:
    text = ORDERS + EMPTY
    tables = [[fill.table for fill in step.job.fills] for step in steps(text, tmp_path)]
    assert tables == [["orders", "lines", "other"], []]
    empty = text.replace("fill.rows = 30", "fill.rows = 0")
    tables = [[fill.table for fill in step.job.fills] for step in steps(empty, tmp_path)]
    assert tables == [["other"], []]


PART = "join = ['x', {{ {part} }}]"


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ("text = 'y'", "a text that always stands is a part by itself"),
        ("text = 'y', compute = '1'", "needs one of `compute` and `text`"),
        ("when = '1 = 1'", "needs one of `compute` and `text`"),
        ("text = 'y', when = '1'", "takes true or false"),
    ],
)
def test_a_part_with_a_condition_has_one_content(part: str, line: str, tmp_path: Path) -> None:
    text = ORDERS.replace('l_data = ":data"', f"l_data = {{ {PART.format(part=part)} }}")
    assert line in complaint(text, tmp_path)


def test_a_part_that_is_left_out_is_not_explained(tmp_path: Path) -> None:
    part = "text = 'lost', when = ':n > 9'"
    more = f"n = {{ uniform = [1, 9] }}\njoined = {{ {PART.format(part=part)} }}\n[statements]"
    text = ORDERS.replace("[statements]", more).replace(
        "FROM lines", "FROM lines WHERE a = :joined"
    )
    step = steps(text, tmp_path, engine="mysql")[-1]
    assert step.explain["read"].endswith("a = 'x'")
