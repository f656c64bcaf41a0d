"""How kinds of table are called: by their key in a workload file, or by their `name`."""

from pathlib import Path

import pytest

from dbdyno import workload
from dbdyno.model import Step
from dbdyno.model.error import WorkloadError

TEXT = """
[parameters]
old = 0

[tables.orders]
name = "{'orders1' if old else 'orders'}"
numbered = false
create = "CREATE TABLE {t} (o_id int, o_lines int)"
fill.rows = 10
fill.columns = { o_id = ":row", o_lines = { uniform = [1, 3] } }
fill.after = "ANALYZE {t}"

[tables.lines]
name = "NAME"
count = 2
create = "CREATE TABLE {t} (l_id int)"

[[steps]]
name = "make"
creates = ["orders", "lines"]
parts = [{ once = "SELECT 1" }]
"""


def made(folder: Path, *, old: int, name: str = "{'line' if old else 'lines'}") -> list[Step]:
    (folder / "mine.toml").write_text(TEXT.replace("NAME", name))
    loaded = workload.load("./mine.toml", folder / "plan.toml")
    return list(workload.expand(loaded, {"old": old}, "postgres"))


def test_a_name_stands_wherever_the_kind_is_named(tmp_path: Path) -> None:
    fill, make = made(tmp_path, old=1)
    assert make.tables == ("orders1", "line1", "line2")
    assert "CREATE TABLE line2 (l_id int)" in make.setup
    assert fill.job.fills[0].table == "orders1"
    assert fill.setup == (
        "DROP TABLE IF EXISTS orders1", "CREATE TABLE orders1 (o_id int, o_lines int)",
    )  # fmt: skip
    assert made(tmp_path, old=0)[1].tables == ("orders", "lines1", "lines2")


def test_estimates_know_tables_by_their_names(tmp_path: Path) -> None:
    steps = made(tmp_path, old=1)
    loaded = workload.load("./mine.toml", tmp_path / "plan.toml")
    assert workload.estimate(loaded, {"old": 1}, steps).rows == 10


@pytest.mark.parametrize(
    ("name", "line"), [("orders1", "another kind of table"), ("a b", "is no table's name")]
)
def test_a_name_is_refused_in_a_line(tmp_path: Path, name: str, line: str) -> None:
    with pytest.raises(WorkloadError, match=line):
        made(tmp_path, old=1, name=name)
