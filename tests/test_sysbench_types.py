"""`sysbench_types`: which types a workload's parameters get, where, and what is refused."""

from pathlib import Path

import pytest

from dbdyno import workload
from dbdyno.model import Json, Step
from dbdyno.model.error import WorkloadError
from workload_reader import job_of, steps

FILE = """
sysbench_types = true

[parameters]
how = "prepared"

[tables.t]
create = "CREATE TABLE {t} (a int, b char(9), c numeric)"

[values]
a = { uniform = [1, 9] }
b = { pattern = "##" }
c = { uniform = [1, 9], format = "decimal2" }
now = { clock = "second" }

[statements]
put = { protocol = "{how}", any = "INSERT INTO {t} VALUES [[2: (:a, :b, :c)]]" }
begin = { protocol = "prepared", any = "BEGIN" }
plain = "SELECT a FROM {t} WHERE a = :a"

[transactions]
all = { do = ["begin", "put", "plain"] }

[[steps]]
name = "work"
creates = ["t"]
seconds = 1
roles.query = { run = "all" }
"""
ROW = ["bigint", "varchar", "double precision"]


def made(tmp_path: Path, engine: str = "postgres", text: str = FILE, **given: str) -> Step:
    (step,) = steps(text, tmp_path, engine, parameters=given)
    return step


def sent(step: Step) -> dict[str, tuple[list[str], bool]]:
    """The declared types of each statement, and whether it goes as libpq sends it."""
    found: list[Json] = job_of(step)["statements"]
    return {one["name"]: (one["types"], one.get("libpq", False)) for one in found}


@pytest.mark.parametrize("how", ["prepared", "extended"])
def test_numbers_are_bigint_and_texts_varchar(tmp_path: Path, how: str) -> None:
    assert sent(made(tmp_path, how=how)) == {
        "put": (ROW * 2, True),
        "begin": ([], True),
        "plain": ([], False),
    }


def test_the_plan_is_asked_for_with_the_same_types(tmp_path: Path) -> None:
    explained = made(tmp_path).explain
    row = [f"${number}::{kind}" for number, kind in enumerate(ROW * 2, 1)]
    assert explained["put"] == (
        f"INSERT INTO t1 VALUES ({', '.join(row[:3])}),({', '.join(row[3:])})"
    )
    assert explained["plain"] == "SELECT a FROM t1 WHERE a = $1"


def test_literals_and_mysql_s_protocol_stay_as_they_are(tmp_path: Path) -> None:
    literal = sent(made(tmp_path, how="simple"))
    assert literal["put"] == ([], False)
    text = FILE.replace(
        'protocol = "prepared", any = "BEGIN"', 'protocol = "simple", any = "BEGIN"'
    )
    of_mysql = made(tmp_path, "mysql", text)
    assert set(map(str, sent(of_mysql).values())) == {"([], False)"}


@pytest.mark.parametrize("written", ["false", "\"{how == 'simple'}\""])
def test_it_is_off_by_itself_and_by_an_expression(tmp_path: Path, written: str) -> None:
    off = FILE.replace("sysbench_types = true", f"sysbench_types = {written}")
    without = FILE.replace("sysbench_types = true", "")
    for text in (off, without):
        assert sent(made(tmp_path, text=text))["put"] == ([], False)


def test_a_time_is_refused_as_sysbench_cannot_bind_one(tmp_path: Path) -> None:
    text = FILE.replace("(:a, :b, :c)", "(:a, :b, :now)")
    with pytest.raises(WorkloadError, match=r"put.*sysbench binds no timestamp, which `now` is"):
        made(tmp_path, text=text)


@pytest.mark.parametrize("name", ["sysbench", "sysbench-oltp"])
@pytest.mark.long
def test_the_shipped_suites_bind_as_sysbench_unless_asked(name: str) -> None:
    def bound(given: dict[str, str | int | float]) -> set[tuple[str, bool]]:
        found = workload.expand(workload.load(name), given, "postgres")
        jobs = [one for step in found for one in job_of(step)["statements"]]
        return {(one["protocol"], one.get("libpq", False)) for one in jobs}

    assert bound({}) == {("prepared", True), ("simple", False)}
    assert bound({"bind_types": "server"}) == {("prepared", False), ("simple", False)}
    with pytest.raises(WorkloadError, match=r"`?bind_types`? has to be sysbench or server"):
        bound({"bind_types": "int"})
