"""Tables without a number, steps that load them in bulk, and SQL beside a step's load."""

from pathlib import Path

import pytest

from workload_reader import complaint, job_of, sql, steps

TEXT = """
[parameters]
rows = 20
parts = 2
kind = "int8"

[tables.stock]
numbered = false
create = [{ statement = "stock" }]
fill.rows = "{rows}"
fill.frozen = 1
fill.columns.id = { row = 1, type = "{kind}" }
fill.after = "ANALYZE {t}"

[tables.sold]
numbered = false
create = "CREATE TABLE {t} (id int)"
fill.rows = 0
fill.columns.id = ":row"

[statements]
stock = "CREATE TABLE stock (id int)"
part = "CREATE TABLE part{turn}_of_{parts} (id int)"
take = "DELETE FROM stock WHERE id = :id"

[values]
id = { uniform = [1, 9] }

[[steps]]
name = "parts"
measured = false
[[steps.parts]]
once = ["BEGIN", { repeat = "{parts}", statement = "part" }, "COMMIT"]
[[steps.parts]]
once = [{ repeat = 0, sql = "VACUUM" }]
[[steps.parts]]
once = "CHECKPOINT"

[[steps]]
name = "again"
fill = "published"
fills = ["stock"]
creates = ["stock", "sold"]

[[steps]]
name = "take"
setup = "TRUNCATE sold"
invariants = [{ repeat = "{parts - 1}", sql = "SELECT count(*) FROM sold" }]
roles.delete = { run = "take", stop = { operations = 5 } }
"""


def test_a_table_without_a_number_is_called_as_the_file_calls_it(tmp_path: Path) -> None:
    fill, *_ = steps(TEXT, tmp_path)
    assert fill.tables == ("stock", "sold")
    assert fill.setup == (
        "DROP TABLE IF EXISTS stock",
        "CREATE TABLE stock (id int)",
        "DROP TABLE IF EXISTS sold",
        "CREATE TABLE sold (id int)",
    )
    assert job_of(fill)["tables"] == {"stock": 0, "sold": 0}
    assert fill.job.table_names("stock") == ("stock",)
    counted = fill.job.extent
    assert counted is not None
    assert counted.tables == 2


def test_a_table_that_the_fill_gives_no_rows_is_created_and_stays_empty(tmp_path: Path) -> None:
    fill, *_ = steps(TEXT, tmp_path)
    (only,) = job_of(fill)["fills"]
    assert (only["table"], only["rows"], only["frozen"]) == ("stock", 20, True)
    assert only["columns"][0]["type"] == "int8"
    assert only["after"] == ["ANALYZE {t}"]
    place = tmp_path / "none"
    place.mkdir()
    line = complaint(TEXT.replace('fill.rows = "{rows}"', "fill.rows = 0"), place)
    assert line.endswith("fills no rows")


def test_a_step_may_load_a_table_in_bulk_and_leaves_out_what_follows_the_rows(tmp_path: Path):
    again = steps(TEXT, tmp_path, fill="published")[1]
    (only,) = job_of(again)["fills"]
    assert (again.name, job_of(again)["step"]) == ("again", "again")
    assert (only["table"], only["after"]) == ("stock", [])
    assert again.roles == {"fill": "insert"}


def test_a_part_may_send_several_statements_one_after_another(tmp_path: Path) -> None:
    _, parts, _ = steps(TEXT, tmp_path)
    assert [one["name"] for one in job_of(parts)["roles"]] == ["begin", "checkpoint"]
    first, last = job_of(parts)["programs"]
    names = [job_of(parts)["statements"][number]["name"] for _, number in first["code"]]
    assert [sql(parts, name) for name in names] == [
        "BEGIN",
        "CREATE TABLE part0_of_2 (id int)",
        "CREATE TABLE part1_of_2 (id int)",
        "COMMIT",
    ]
    assert len(last["code"]) == 1


def test_a_step_whose_sql_names_a_table_brings_its_load(tmp_path: Path) -> None:
    assert [one.name for one in steps(TEXT, tmp_path, steps=["take"])] == ["fill", "take"]


def test_invariants_are_sql_of_the_step(tmp_path: Path) -> None:
    *_, take = steps(TEXT, tmp_path)
    assert take.invariants == ("SELECT count(*) FROM sold",)
    *_, take = steps(TEXT.replace('"{parts - 1}", sql', "0, sql"), tmp_path)
    assert take.invariants == ()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "numbered = false\ncreate = [",
            "numbered = false\ncount = 2\ncreate = [",
            "key `tables.stock.count`: 2 tables need numbers; remove `numbered = false`",
        ),
        ('kind = "int8"', 'kind = "int9"', "key `tables.stock.fill.columns.id.type`: no type "),
        (
            'fills = ["stock"]',
            'fills = ["stack"]',
            "key `steps[2].fills`: no table `stack` that has a `fill`; did you mean `stock`?",
        ),
        (
            'fills = ["stock"]',
            'fills = ["stock"]\nseconds = 5',
            "key `steps[2].seconds`: a step with `fills` does nothing else; remove it",
        ),
        ('fills = ["stock"]', "", "key `steps[2]`: needs one of `roles`, `parts` and `fills`"),
    ],
)
def test_what_does_not_fit_gets_one_line(old: str, new: str, line: str, tmp_path: Path) -> None:
    assert TEXT.count(old) == 1
    assert complaint(TEXT.replace(old, new), tmp_path, fill="published").startswith(line)


def test_a_table_without_a_number_has_none_in_sql(tmp_path: Path) -> None:
    one = TEXT.split("[tables.sold]")[0] + "[statements]" + TEXT.split("[statements]")[1]
    one = one.replace("DELETE FROM stock", "DELETE FROM {t}").replace('"stock", "sold"', '"stock"')
    taken = steps(one, tmp_path)[-1]
    assert sql(taken, "take") == "DELETE FROM <stock> WHERE id = <id>"
    assert taken.explain["take"] == "DELETE FROM stock WHERE id = $1"
    line = complaint(one.replace("id = :id", "id = {number}"), tmp_path)
    assert line == "key `statements.take`: `{number}`: tables of `stock` have none"


def test_columns_of_two_tables_may_have_one_name(tmp_path: Path) -> None:
    fill, *_ = steps(TEXT.replace("fill.rows = 0", "fill.rows = 3"), tmp_path)
    assert [one["name"] for one in job_of(fill)["values"]] == ["id", "id (2)"]
    assert [one["columns"][0]["value"] for one in job_of(fill)["fills"]] == [0, 1]
