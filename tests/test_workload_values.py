"""Values of workload files: distributions, permutations, sequences, and what is refused of them."""

import json
from pathlib import Path

import pytest

from dbdyno.workload.value import MAKERS
from workload_reader import SMALL, complaint, job_of, steps

ROOT = Path(__file__).parent.parent
EACH = """
[parameters]
clients = 2
rows = 10_000_000

[tables.t]
create = "CREATE TABLE {t} (id bigint PRIMARY KEY, key bigint, k bigint)"

[values]
ranked = { zipf = { range = [1, "{rows}"], exponent = 0.99 } }
scattered = { zipf = { range = [1, "{rows}"], exponent = 0.99, scattered = true } }
early = { pareto = { range = [1, "{rows}"] } }
hot = { special = { range = [1, "{rows}"] } }
middle = { bates = { range = [1, "{rows}"] } }
bell = { gaussian = { range = [1, "{rows}"], parameter = 2.5 } }
recent = { exponential = { range = ["{-rows}", -1], parameter = 5 } }
id = { sequence = { first = 1_000_001 } }
key = { permutation = { value = "id", range = [1, "{2*rows}"] } }
k = { uniform = [-9_223_372_036_854_775_808, 9_223_372_036_854_775_807] }
later = { add = ["early", 9] }
least = { constant = 1 }
number = { compute = "abs(hash_fnv1a(:early, 0)) % {rows}" }
name = { join = ["it's ", { of = ["BAR", "OUGHT"], compute = ":early / 10" }, ":number"] }
added = { count = { first = 500 }, per = "transaction" }
newest = { newest = "added" }

[statements]
put = { protocol = "prepared", any = "INSERT INTO {t} (id, key, k) VALUES (:id, :key, :k)" }
get = \"\"\"SELECT k FROM {t} WHERE id IN (:ranked, :scattered, :hot, :middle, :bell, -:recent) \\
         OR id BETWEEN :early AND :later AND id >= :least \\
         OR :name = \'\' OR id IN (:added, :newest)\"\"\"

[[steps]]
name = "mix"
creates = ["t"]
roles.insert = { run = "put", connections = 2, stop = { operations = 1000 } }
roles.query = { run = "get" }
"""


def test_each_maker_of_numbers_becomes_the_contracts_example(tmp_path: Path) -> None:
    (step,) = steps(EACH, tmp_path)
    theirs = json.loads((ROOT / "contract" / "job-values.json").read_text())
    for key in ("step", "clients", "tables", "values", "statements", "programs", "roles", "stop"):
        assert job_of(step)[key] == theirs[key]


def test_the_contracts_examples_show_every_maker() -> None:
    jobs = [json.loads(path.read_text()) for path in (ROOT / "contract").glob("job-*.json")]
    shown = {key for job in jobs for value in job["values"] for key in value}
    assert shown - {"name", "per", "format"} == {*MAKERS, "row"}


@pytest.mark.parametrize(
    ("maker", "line"),
    [
        ("zipf = { range = [2, 1] }", "zipf.range`: the lower bound 2 is above the upper bound 1"),
        ("zipf = { range = [1] }", "zipf.range`: list should have at least 2 items after "
         "validation, not 1, not [1]"),
        ("zipf = { range = [1, 1e19] }", "zipf.range`: must fit into 64 bits, but is "
         "10000000000000000000"),
        ("zipf = { range = [1, 'cursor:c'] }", "zipf.range`: must be a number, not 'cursor:c'"),
        ("zipf = { range = [1, 2], exponent = -1 }", "zipf.exponent`: must be at least 0, but is "
         "-1"),
        ("zipf = { range = [1, 2], exponent = '{1000*n}' }", "zipf.exponent`: must be at most "
         "1000, not 10000"),
        ("zipf = { range = [1, 2], scatter = true }", "zipf.scatter`: unknown key; did you mean "
         "`scattered`?"),
        ("pareto = { range = [1, 2], h = 1 }", "pareto.h`: must be below 1, not 1"),
        ("pareto = { range = [1, 2], h = 0 }", "pareto.h`: must be above 0, but is 0"),
        ("special = { range = [1, 2], iterations = 0 }", "special.iterations`: must be at least "
         "1, but is 0"),
        ("special = { range = [1, 2], percent = 101 }", "special.percent`: must be at most 100, "
         "not 101"),
        ("special = { range = [1, 2], share = -1 }", "special.share`: must be at least 0, but is "
         "-1"),
        ("bates = { range = [1, 2], iterations = 1001 }", "bates.iterations`: at most 1000, not "
         "1001"),
        ("gaussian = { range = [1, 2], parameter = 1.5 }", "gaussian.parameter`: must be at least "
         "2.0, but is 1.5"),
        ("gaussian = { range = [1, 2] }", "gaussian.parameter`: missing"),
        ("exponential = { range = [1, 2], parameter = 0 }", "exponential.parameter`: must be above "
         "0, but is 0"),
        ("permutation = { value = 'b', range = [1, 2] }", "permutation.range`: `b` runs from 0 to "
         "9, which is not inside of 1 to 2"),
        ("permutation = { value = 'c', range = [0, 9] }", "permutation.range`: `c` runs from 1 to "
         "10, which is not inside of 0 to 9"),
        ("permutation = { value = 'd', range = [0, 9] }", "`: nothing can be computed from `d`, "
         "which is a text"),
        ("permutation = { value = 'a', range = [0, 9] }", "`: is computed from itself"),
        ("permutation = { value = ':row', range = [0, 9] }", "values`: no value `:row`;"),
        ("sequence = { first = 0.5 }", "sequence.first`: must be whole, but is 0.5; use round or "
         "ceil"),
    ],
)  # fmt: skip
def test_a_wrong_maker_gets_one_line(maker: str, line: str, tmp_path: Path) -> None:
    others = "b = { uniform = [0, 9] }\nc = { add = ['b', 1] }\nd = { text = { length = [1, 2] } }"
    text = SMALL.replace('a = { uniform = [1, "{n}"] }', f"a = {{ {maker} }}\n{others}")
    assert text != SMALL
    assert line in complaint(text, tmp_path)


def test_a_sequence_in_a_repetition_has_to_say_that_it_is_meant(tmp_path: Path) -> None:
    text = SMALL.replace('a = { uniform = [1, "{n}"] }', "a = { sequence = { first = 7 } }")
    assert complaint(text, tmp_path) == (
        "key `statements.put`: `a` counts operations, so all items would have the same; "
        'give it the key per = "statement" if that is meant'
    )
    (step,) = steps(text.replace("first = 7 }", 'first = 7 }, per = "statement"'), tmp_path)
    assert job_of(step)["values"][0]["sequence"] == {"first": 7}


FILL = """
[tables.t]
create = "CREATE TABLE {t} (id int, key int, hot int)"
fill = { rows = 1000, columns = { id = ":row", key = { KEY }, hot = ":hot" } }

[values]
hot = { HOT }

[[steps]]
name = "vacuum"
parts = [{ once = "VACUUM {t}" }]
"""


def fill_text(key: str = "constant = 1", hot: str = "constant = 1") -> str:
    return FILL.replace("KEY", key).replace("HOT", hot)


def test_a_fill_draws_from_distributions_and_permutes_its_rows(tmp_path: Path) -> None:
    key = 'permutation = { value = ":row", range = [1, 1000] }'
    fill, _ = steps(fill_text(key, "zipf = { range = [1, 9] }"), tmp_path)
    values = {value["name"]: value for value in job_of(fill)["values"]}
    assert values["key"]["permutation"]["range"] == [1, 1000]
    rows = job_of(fill)["values"][values["key"]["permutation"]["value"]]
    assert rows == {"name": "row of key", "per": "item", "format": "integer", "row": 1}
    assert values["hot"]["zipf"] == {"range": [1, 9], "exponent": 0.8, "scattered": False}
    columns = {column["name"]: column for column in job_of(fill)["fills"][0]["columns"]}
    assert job_of(fill)["values"][columns["key"]["value"]] == values["key"]


@pytest.mark.parametrize(
    ("key", "hot", "line"),
    [
        ('permutation = { value = ":row", range = [1, 999] }', "constant = 1",
         "key `tables.t.fill.columns.key.permutation.range`: `row of key` runs from 1 to 1000, "
         "which is not inside of 1 to 999"),
        ("constant = 1", "sequence = {}", "a fill cannot use the sequence `hot`; use `:row`"),
    ],
)  # fmt: skip
def test_a_fill_refuses_what_cannot_be_repeated(key: str, hot: str, line: str, tmp_path: Path):
    assert line in complaint(fill_text(key, hot), tmp_path)
