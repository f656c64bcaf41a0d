"""Tables that are drawn, classes of statements, and the values that bulk loads number rows by."""

import json
from pathlib import Path

import pytest

from workload_reader import complaint, job_of, steps

ROOT = Path(__file__).parents[1]

EACH = """
sysbench_types = true
[parameters]
clients = 2
tables = 3
digits = 4
rows = 1000

[tables.sbtest]
count = "{tables}"
digits = "{digits}"
create = "CREATE TABLE {t} (id integer PRIMARY KEY, k integer, c char(120), pad char(60))"

[values]
id = { uniform = [1, "{rows}"] }
gone = { uniform = [1, "{rows}"], per = "transaction" }
k = { uniform = [1, "{rows}"] }
c = { pattern = "###########-###########" }
# Ten operations of the role after each other have the same.
group = { sequence = { first = 1, each = 10, step = 3 } }
# Five rows for each operation, those of client 1 from 1,000,000 on.
start = { client = { step = 1_000_000 }, per = "statement" }
block = { sequence = { first = 1001, step = 5 }, per = "statement" }
place = { item = { first = 0 } }
row = { add = ["block", "place"] }
new = { add = ["start", "row"] }

[statements]
point = { protocol = "prepared", any = "SELECT c FROM {t} WHERE id=:id" }
points = { protocol = "prepared", any = "SELECT c FROM {t} WHERE id IN ([[10: :id]])" }
update = "UPDATE {t} SET k=k+1 WHERE id=:id"
delete = { protocol = "prepared", class = "delete_insert", any = "DELETE FROM {t} WHERE id=:gone" }
insert = { protocol = "execute", types = ["int", "int", "text"], class = "delete_insert", \
    any = "INSERT INTO {t} (id, k, c, pad) VALUES (:gone, :group, :c, '')" }
bulk = { progress = "rows so far:", \
    any = "INSERT INTO {t} (id, k, c, pad) VALUES[[5: (:new, :new, :c, '')]]" }

[transactions.mixed]
do = ["BEGIN", { repeat = 2, do = ["point"] }, "points", "update", "delete", "insert", "COMMIT"]

[[steps]]
name = "mixed"
creates = ["sbtest"]
roles.query = { run = "mixed", choice = "deficit", connections = 2, table = "uniform", \
    stop = { operations = 1000 } }
roles.insert = { run = "bulk", table = "own", stop = { operations = 10 } }
"""


def test_drawn_tables_and_numbered_rows_become_the_contracts_example(tmp_path: Path) -> None:
    (step,) = steps(EACH, tmp_path)
    theirs = json.loads((ROOT / "contract" / "job-tables.json").read_text())
    same = ("step", "clients", "tables", "table_digits", "values", "statements", "programs")
    for key in (*same, "roles", "stop"):
        assert job_of(step)[key] == theirs[key]


def test_tables_are_numbered_with_as_many_digits_wherever_they_are_named(tmp_path: Path) -> None:
    text = EACH.replace("(id integer", "(k_{number} integer")
    text = text.replace(
        'creates = ["sbtest"]',
        """
        creates = ["sbtest"]
        setup = "ANALYZE {t}"
        invariants = "SELECT count(k_{number}) FROM {t}"
    """,
    )
    (step,) = steps(text, tmp_path)
    assert step.tables == ("sbtest0001", "sbtest0002", "sbtest0003")
    assert step.tables == step.job.table_names("sbtest")
    assert step.setup[:2] == (
        "DROP TABLE IF EXISTS sbtest0001",
        "CREATE TABLE sbtest0001 (k_0001 integer PRIMARY KEY, k integer, c char(120), "
        "pad char(60))",
    )
    assert step.setup[-1] == "ANALYZE sbtest0003"
    assert step.invariants[1] == "SELECT count(k_0002) FROM sbtest0002"
    assert step.explain["update"].startswith("UPDATE sbtest0001 SET")
    (plain,) = steps(text, tmp_path, parameters={"digits": 1, "tables": 12})
    assert (plain.tables[0], plain.tables[-1]) == ("sbtest1", "sbtest12")
    assert "table_digits" not in job_of(plain)
    (longer,) = steps(text, tmp_path, parameters={"digits": 2, "tables": 100})
    assert (longer.tables[0], longer.tables[-1]) == ("sbtest01", "sbtest100")


def test_numbers_of_clients_and_sequences_have_what_they_leave_out(tmp_path: Path) -> None:
    text = EACH.replace("{ step = 1_000_000 }", "{}").replace(", step = 5", "")
    values = {value["name"]: value for value in job_of(steps(text, tmp_path)[0])["values"]}
    assert values["start"]["client"] == {"first": 0, "step": 1}
    assert values["block"]["sequence"] == {"first": 1001}
    text = EACH.replace("item = { first = 0 }", "item = {}")
    values = {value["name"]: value for value in job_of(steps(text, tmp_path)[0])["values"]}
    assert values["place"]["item"] == {"first": 1}


def test_the_second_of_a_sum_is_a_number_where_its_expression_is_one(tmp_path: Path) -> None:
    text = EACH.replace('["start", "row"]', '["row", "{10*rows}"]')
    values = {value["name"]: value for value in job_of(steps(text, tmp_path)[0])["values"]}
    assert values["new"]["add"]["plus"] == 10_000


def test_a_class_may_be_computed(tmp_path: Path) -> None:
    text = EACH.replace('class = "delete_insert"', 'class = "{tables}_tables"')
    statements = {one["name"]: one for one in job_of(steps(text, tmp_path)[0])["statements"]}
    assert statements["delete"]["class"] == "3_tables"
    assert "class" not in statements["point"]


def test_a_statement_says_its_rows_while_it_runs_where_the_engine_has_notices(tmp_path: Path):
    text = EACH.replace(', types = ["int", "int", "text"]', "")
    text = text.replace('protocol = "execute"', 'protocol = "simple"')
    line = complaint(text, tmp_path, engine="mysql")
    assert line.endswith(
        "`statements.bulk.progress`: statements of MySQL say nothing while they run; remove it, or "
        "give the engine a statement of its own"
    )


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('table = "uniform"', 'table = "random"', "roles.query.table`: must be 'own', "
         "'by_connection', 'in_turn' or 'uniform', not 'random'"),
        ('class = "delete_insert", any', 'class = "", any', "class`: "),
        ('choice = "deficit"', 'choice = "fair"', "roles.query.choice`: no rule `fair`"),
        ('progress = "rows so far:"', 'progress = ""', "progress`: "),
        ("digits = 4", "digits = 0", "tables.sbtest.digits`: must be at least 1, but `{digits}` is "
         "0"),
        ("digits = 4", "digits = 10", "tables.sbtest.digits`: at most 9, not 10"),
        ('count = "{tables}"', "numbered = false", "tables.sbtest.digits`: the table is not "
         "`numbered`; remove it"),
        ("each = 10", "each = 0", "sequence.each`: must be at least 1, but is 0"),
        ("item = { first = 0 }", "item = { first = 0, step = 2 }", "item.step`: unknown key"),
        ("item = { first = 0 }", 'item = {}, per = "statement"', "values.place.per`: an `item` "
         "counts a repetition's items; leave `per` out"),
        ('["start", "row"]', '["start", "rwo"]', "values`: no value `rwo`; did you mean `row`?"),
        ('["start", "row"]', '["c", "row"]', "values.new`: nothing can be computed from `c`"),
        ('["start", "row"]', '["row", "c"]', "values.new`: nothing can be computed from `c`"),
        ('["start", "row"]', '["start", "new"]', "values.new`: is computed from itself"),
        ('add = ["start", "row"]', 'add = ["start", "row"], per = "statement"', "values.new`: is "
         "drawn once per statement, but `row` more often"),
        ('step = 5 }, per = "statement" }', "step = 5 } }", "statements.bulk`: `block` counts "
         "operations, so all items would have the same"),
    ],
)  # fmt: skip
def test_what_does_not_fit_gets_one_line(old: str, new: str, line: str, tmp_path: Path) -> None:
    assert old in EACH
    assert line in complaint(EACH.replace(old, new, 1), tmp_path)


CURSOR = """
[cursors.tail]
start = "SELECT min(id) FROM {t}"
on = ["update"]
"""


@pytest.mark.parametrize("by", ["uniform", "in_turn"])
@pytest.mark.parametrize(
    "statement",
    [
        'update = "UPDATE {t} SET k=k+1 WHERE id=:cursor.tail"',
        'update = "UPDATE {t} SET k=k+1 WHERE id=:old"',
    ],
)
def test_several_tables_and_a_cursor_exclude_each_other(statement: str, by: str, tmp_path: Path):
    text = EACH.replace('update = "UPDATE {t} SET k=k+1 WHERE id=:id"', statement)
    text = text.replace('table = "uniform"', f'table = "{by}"')
    text = text.replace("[statements]", 'old = { uniform = ["cursor:tail", 9] }\n[statements]')
    assert complaint(text + CURSOR, tmp_path) == (
        "key `steps[1].roles.query.table`: `update` has a cursor, which is read from one table; "
        "use `own`"
    )
    steps(text.replace(f'table = "{by}"', 'table = "own"') + CURSOR, tmp_path)


@pytest.mark.parametrize(
    ("maker", "line"),
    [
        ("item = {}", "a fill cannot use the item `hot`; use `:row`"),
        ("client = {}", "a fill cannot use the client `hot`; use `:row`"),
        ('add = ["one", "two"]', "`hot` adds `one` and `two`, of which in a fill one has to be "
         "the value of another column"),
    ],
)  # fmt: skip
def test_a_fill_has_no_operations(maker: str, line: str, tmp_path: Path) -> None:
    text = f"""
[tables.t]
create = "CREATE TABLE {{t}} (id int)"
fill = {{ rows = 10, columns = {{ id = ":hot" }} }}

[values]
one = {{ constant = 1 }}
two = {{ constant = 2 }}
hot = {{ {maker} }}

[[steps]]
name = "vacuum"
parts = [{{ once = "VACUUM {{t}}" }}]
"""
    assert line in complaint(text, tmp_path)


def test_a_permutation_of_a_sum_is_refused_only_where_it_is_known_to_leave(tmp_path: Path) -> None:
    text = EACH.replace("[statements]", 'p = { permutation = { value = "s", range = [2, 1002] } }\n'
                        "[statements]").replace("id=:id", "id=:p")  # fmt: skip
    apart = text.replace("[statements]", 's = { add = ["id", "k"] }\n[statements]')
    assert "`s` runs from 2 to 2000, which is not inside of 2 to 1002" in complaint(apart, tmp_path)
    steps(text.replace("[statements]", 's = { add = ["id", "id"] }\n[statements]'), tmp_path)
