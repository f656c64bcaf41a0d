"""What transactions compute: kept columns, conditions, assignments, turns."""

from pathlib import Path
from typing import Any

import pytest

from workload_reader import complaint, job_of, steps

ORDER = """
[parameters]
least = 2

[tables.t]
numbered = false
create = "CREATE TABLE t (a int)"

[statements]
next = { any = "SELECT n AS number FROM t WHERE d = :d FOR UPDATE", keep = ["number"] }
price = { any = "SELECT p AS price FROM t WHERE a = :i", keep = ["price"] }
put = "INSERT INTO t VALUES (:number, :line, :i, CAST(:price AS decimal) * :n)"
rare = "SELECT :number"

[values]
d = { uniform = [1, 10], per = "transaction" }
i = { uniform = [1, 1000], per = "transaction" }
n = { uniform = [1, 9], per = "transaction" }
lines = { uniform = [1, 3], per = "transaction" }
every = { uniform = [1, 3] }
name = { pattern = "##", per = "transaction" }

[transactions.order]
do = [
    "BEGIN", "next",
    { repeat = 3, when = "{turn} < :lines", draw = ["i", "n"], do = [
        { set = "line", to = "{turn + 1}" }, "price",
        { when = ":line >= {least}", do = ["put"] },
    ] },
    { when = ":number % 2 = 1", do = ["rare"] },
    "COMMIT",
]

[[steps]]
name = "run"
seconds = 1
creates = ["t"]
roles.query = { run = "order" }
"""


def job(tmp_path: Path, engine: str = "postgres", text: str = ORDER) -> Any:
    (step,) = steps(text, tmp_path, engine=engine)
    return job_of(step)


def test_kept_columns_are_variables_of_later_statements(tmp_path: Path) -> None:
    made = job(tmp_path)
    statements = {statement["name"]: statement for statement in made["statements"]}
    number, price, line = (
        [variable["name"] for variable in made["variables"]].index(name)
        for name in ("number", "price", "line")
    )
    assert statements["next"]["into"] == {"columns": {"number": number}, "every": False}
    assert statements["next"]["pieces"][1] == {"value": 0}, "a value is one still"
    variables = [piece.get("variable") for piece in statements["put"]["pieces"][1::2]]
    assert variables == [number, line, None, price, None]


def test_statements_with_variables_bind_texts_on_postgresql(tmp_path: Path) -> None:
    text = ORDER.replace("[parameters]", 'protocol = "prepared"\n[parameters]')
    sent = {s["name"]: s for s in job(tmp_path, text=text)["statements"]}
    assert all(sent[name]["libpq"] for name in ("next", "price", "put", "rare"))
    assert all("libpq" not in s for s in job(tmp_path, "mysql", text)["statements"])


def walked(made: Any, drawn: dict[str, int], kept: dict[str, int]) -> list[str]:
    """What the one program of a job sends where values and columns are these."""
    values = [drawn.get(value["name"], 0) for value in made["values"]]
    names = [variable["name"] for variable in made["variables"]]
    held = {names.index(name): number for name, number in kept.items() if name in names}

    def number(tree: Any) -> int:
        form, *parts = tree
        if form in ("integer", "boolean"):
            return int(parts[0])
        if form == "variable":
            return held[parts[0]]
        if form == "drawn":
            return values[parts[0]]
        first, second = (number(part) for part in parts)
        compared = {"lt": first < second, "eq": first == second, "le": first <= second,
                    "ge": first >= second}  # fmt: skip
        return int(compared[form]) if form in compared else first % second

    (program,) = made["programs"]
    sent, line = [], 0
    while line < len(program["code"]):
        verb, at = program["code"][line]
        line += 1
        if verb == "send":
            sent.append(made["statements"][at]["name"])
        elif verb == "set":
            assignment = made["assignments"][at]
            held[assignment["variable"]] = number(assignment["expression"])
        elif verb == "unless" and not number(made["branches"][at]["unless"]):
            assert made["branches"][at]["to"] >= line, "only forward"
            line = made["branches"][at]["to"]
    return sent


@pytest.mark.parametrize(
    ("lines", "number", "sent"),
    [
        (1, 4, "BEGIN next price COMMIT"),
        (2, 4, "BEGIN next price price put COMMIT"),
        (3, 5, "BEGIN next price price put price put rare COMMIT"),
    ],
)
def test_turns_and_parts_are_left_out_by_their_conditions(
    lines: int, number: int, sent: str, tmp_path: Path
) -> None:
    made = job(tmp_path)
    assert walked(made, {"lines": lines}, {"number": number}) == sent.split()


def test_each_turn_draws_anew_and_what_conditions_take_is_drawn_before(tmp_path: Path) -> None:
    made = job(tmp_path)
    names = [value["name"] for value in made["values"]]
    drawn = [names[at] for verb, at in made["programs"][0]["code"] if verb == "draw"]
    assert sorted(drawn[:2]) == ["d", "lines"]
    assert sorted(drawn[2:]) == sorted(["i", "n"] * 3)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (":number % 2 = 1", ":nobody = 1", "neither a value nor a kept column is called `nobody`"),
        (":number % 2 = 1", ":every = 1", '`every` is computed with; give it the key per = "tra'),
        (":number % 2 = 1", ":name = 1", "nothing can be computed from `name`, which is a text"),
        ("(:number,", "(:nobody,", "no value `nobody`"),
        ("], do = [\n        { set", '], do = [\n        { draw = ["d"], do = ["rare"] }, { set',
         "a repetition within another draws nothing"),
        ('rare = "', 'rare.protocol = "execute"\nrare.types = "int"\nrare.any = "',
         '"execute" has no variables; use "prepared"'),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_gets_one_line(old: str, new: str, line: str, tmp_path: Path):
    assert old in ORDER
    assert line in complaint(ORDER.replace(old, new), tmp_path)
