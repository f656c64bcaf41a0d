"""What a workload file says of engines and their releases, and how MySQL's statements come out."""

from pathlib import Path
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model import Json
from dbdyno.model.error import WorkloadError
from workload_reader import SMALL, complaint, job_of, role, sql, steps

ENGINES = ("postgres", "mysql", "mariadb")

FORMS = """
[parameters]
clients = 1
form = "{'wide' if engine == 'postgres' else 'narrow'}"
protocol = "{'execute' if engine == 'postgres' else 'simple'}"

[setup]
postgres = []
mysql = "FLUSH {engine}"

[tables.t]
create.any = "CREATE TABLE {t} ({form} int)"
create.mysql_before_8_4 = "CREATE TABLE {t} (old int)"
create.mariadb_before_11 = "CREATE TABLE {t} (old_too int)"

[values]
a = { uniform = [1, 1000] }
b = { add = ["a", 5] }
text = { text = { fill = "n", length = [3, 30] } }
day = { clock = "second" }
price = { uniform = [0, 99], format = "decimal2" }
next = { sequence = { first = 7 } }
n = { item = { first = 0 } }
key = { uniform = ["cursor:tail", "cursor:tail+9"] }

[cursors.tail]
start = "SELECT min(a) FROM {t}"

[statements]
get.protocol = "{protocol}"
get.types = "int"
get.any = "SELECT * FROM {t} WHERE a BETWEEN :a AND :b"
get.mysql = "SELECT * FROM {t} FORCE INDEX ({t}_a) WHERE a BETWEEN :a AND :b"
put = "INSERT INTO {t}_{number} VALUES [[4: (:n, :a, :text, :day, :price)]]"
drop = "DELETE FROM {t} WHERE a >= :cursor.tail AND a IN ([[3: :key]]) OR a = :next LIMIT 5"
alter_1 = "ALTER TABLE {t} ADD INDEX (a)"

[transactions.all]
do = [{ repeat = "{engine != 'postgres'}", do = ["alter_{clients}"] }, "get", "put", "drop"]

[[steps]]
name = "work"
creates = ["t"]
[steps.roles.query]
run = "all"
stop = { operations = 1 }
on_error = { retry = { postgres = ["40001"], mysql = ["40001", "1205"] } }

[[steps]]
name = "rest"
[[steps.parts]]
once.any = "ANALYZE {t}"
[[steps.parts]]
when = "{engine == 'postgres'}"
once = "CHECKPOINT"
"""


def made(tmp_path: Path, engine: str, **more: Any) -> Json:
    return {step.name: step for step in steps(FORMS, tmp_path, engine, **more)}


def test_mariadb_has_the_sql_of_mysql_where_it_has_none_of_its_own(tmp_path: Path) -> None:
    found = {engine: sql(made(tmp_path, engine)["work"], "get") for engine in ENGINES}
    assert found["postgres"] == "SELECT * FROM <t> WHERE a BETWEEN <a> AND <b>"
    assert found["mysql"] == found["mariadb"]
    assert found["mysql"] == "SELECT * FROM <t> FORCE INDEX (<t>_a) WHERE a BETWEEN <a> AND <b>"


@pytest.mark.parametrize(
    ("engine", "version", "column"),
    [
        ("mysql", (8, 0), "old"),
        ("mysql", (8, 4), "narrow"),
        ("mysql", (9, 7), "narrow"),
        ("mysql", None, "narrow"),
        ("mariadb", (10, 11), "old_too"),
        ("mariadb", (11, 4), "narrow"),
        ("postgres", (8,), "wide"),
    ],
)
def test_sql_for_older_releases_is_that_of_the_engine(
    engine: str, version: tuple[int, ...] | None, column: str, tmp_path: Path
) -> None:
    work = made(tmp_path, engine, version=version)["work"]
    assert work.setup[-1] == f"CREATE TABLE t1 ({column} int)"


def test_the_files_setup_comes_before_everything_else_of_each_step(tmp_path: Path) -> None:
    for engine in ENGINES:
        first = [] if engine == "postgres" else [f"FLUSH {engine}"]
        found = made(tmp_path, engine)
        assert list(found["rest"].setup) == first
        assert list(found["work"].setup)[:-1] == [*first, "DROP TABLE IF EXISTS t1"]


def test_the_files_setup_names_no_table(tmp_path: Path) -> None:
    text = FORMS.replace('"FLUSH {engine}"', '"FLUSH {t}"')
    assert complaint(text, tmp_path, engine="mysql") == (
        "key `setup`: names a table that may not exist yet; give the step a `setup`"
    )


def test_a_default_may_be_a_choice_of_texts_and_a_plan_gives_a_text(tmp_path: Path) -> None:
    found = made(tmp_path, "mysql", parameters={"form": "own"})
    assert found["work"].setup[-1] == "CREATE TABLE t1 (own int)"
    line = complaint(FORMS, tmp_path, parameters={"form": 3})
    assert line == "key `parameters.form`: must be text, not 3"


def test_nobody_sets_the_engine_but_the_plans_arms(tmp_path: Path) -> None:
    line = complaint(SMALL.replace("n = 10", 'engine = "mysql"'), tmp_path)
    assert line == "key `parameters.engine`: cannot be used as a parameter's name; use another word"
    line = complaint(SMALL, tmp_path, parameters={"engine": "mysql"})
    assert line.startswith("key `parameters.engine`: no such parameter")
    step = SMALL.replace('name = "load"', 'name = "load"\nparameters = { engine = "mysql" }')
    assert complaint(step, tmp_path).startswith("key `steps[1].parameters.engine`: no such")


@pytest.mark.parametrize("protocol", ["execute", "extended"])
@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_what_only_postgres_can_do_is_refused_in_one_line(
    protocol: str, engine: str, tmp_path: Path
) -> None:
    line = complaint(FORMS, tmp_path, engine=engine, parameters={"protocol": protocol})
    assert line == (
        f"key `statements.get.protocol`: `{protocol}` is PostgreSQL's alone; on {engine} "
        "statements are `simple` or `prepared`"
    )


def test_errors_that_are_tried_again_have_each_engines_codes(tmp_path: Path) -> None:
    found = [role(made(tmp_path, one)["work"], "query")["on_error"]["retry"] for one in ENGINES]
    assert found == [["40001"], ["40001", "1205"], ["40001", "1205"]]
    found = [role(steps(SMALL, tmp_path, one)[0], "insert")["on_error"]["retry"] for one in ENGINES]
    assert found == [["40001", "40P01"], ["40001"], ["40001"]]


def test_parts_and_repetitions_can_be_of_one_engine(tmp_path: Path) -> None:
    names = [[one["name"] for one in job_of(made(tmp_path, e)["rest"])["roles"]] for e in ENGINES]
    assert names == [["analyze", "checkpoint"], ["analyze"], ["analyze"]]
    sends = [
        [one["name"] for one in job_of(made(tmp_path, e)["work"])["statements"]] for e in ENGINES
    ]
    assert sends[0] == ["get", "put", "drop"]
    assert sends[1] == sends[2] == ["alter_1", "get", "put", "drop"]


def test_postgres_explains_with_parameters_and_mysql_with_samples(tmp_path: Path) -> None:
    assert made(tmp_path, "postgres")["work"].explain["get"] == (
        "SELECT * FROM t1 WHERE a BETWEEN $1::int AND $2::int"
    )
    found = made(tmp_path, "mysql")["work"].explain
    assert found["get"] == "SELECT * FROM t1 FORCE INDEX (t1_a) WHERE a BETWEEN 500 AND 505"
    day = "'2000-01-01 00:00:00'"
    assert found["put"] == (
        f"INSERT INTO t1_1 VALUES (0, 125, 'nnn', {day}, 12.00),(1, 375, 'nnn', {day}, 37.00),"
        f"(2, 625, 'nnn', {day}, 61.00),(3, 875, 'nnn', {day}, 86.00)"
    )
    assert found["drop"] == "DELETE FROM t1 WHERE a >= 1 AND a IN (1,2,3) OR a = 7 LIMIT 5"
    assert set(found) == {"get", "put", "drop"}


def test_an_engine_that_the_workload_lacks_is_named(tmp_path: Path) -> None:
    text = SMALL.replace("create =", "create.postgres =")
    line = complaint(text, tmp_path, engine="mysql")
    assert line == "key `tables.t.create`: no SQL for engine mysql; add the key `mysql`"
    with pytest.raises(WorkloadError, match="no engine `oracle`"):
        steps(SMALL, tmp_path, "oracle")


OF_POSTGRESQL = {("ybio", "procedures"), ("ybio", "replica")}
"""Sets for one engine: others are refused, with the set that is theirs (test_ybio)."""


@pytest.mark.parametrize("name", workload.names())
def test_every_set_of_every_shipped_workload_expands_for_every_engine(name: str) -> None:
    """With the same steps in the same places, so that arms of all engines are compared."""
    for each, about in workload.load(name).file.sets.items():
        if (name, each) in OF_POSTGRESQL:
            continue
        if about.steps is not None and len(about.steps) == 1:
            continue  # one of the steps of another set
        own = each == workload.load(name).set and name != "sysbench-oltp"
        file = workload.load(name).file
        filled = any(table.fill for table in file.tables.values())
        own &= any(step.fill == "published" for step in file.steps)
        for fill in (None,) if not filled else ("fast", "published") if own else ("fast",):
            loaded = workload.load(name, set=each, fill=fill)
            found = [
                [
                    (step.ordinal, step.name, step.measured)
                    for step in workload.expand(loaded, {}, e)
                ]
                for e in ENGINES
            ]
            assert found[0] == found[1] == found[2], (each, fill)


@pytest.mark.parametrize(
    ("engine", "release", "prepared"),
    [
        ("postgres", None, True),
        ("mysql", (9, 7), False),
        ("mariadb", None, True),
        ("mariadb", (10, 6), True),
        ("mariadb", (10, 5), False),
        ("mariadb", (10, 2), False),
    ],
)
@pytest.mark.parametrize("name", ["pgbench", "sysbench"])
def test_begin_is_prepared_by_servers_that_can(
    name: str, engine: str, release: tuple[int, ...] | None, *, prepared: bool
) -> None:
    given = {"pgbench": {"protocol": "prepared"}, "sysbench": {"clients": 1}}[name]
    step = {"pgbench": "tpcb-like", "sysbench": "read-only_range=100"}[name]
    made = workload.expand(
        workload.load(name), given, engine, version=release, steps=["fill", step]
    )
    (job,) = (job_of(each) for each in made if each.name == step)
    protocols = {each["name"]: each["protocol"] for each in job["statements"]}
    begin = next(name for name in protocols if name.lower().endswith("begin"))
    assert (protocols.pop(begin) == "prepared") == prepared
    assert set(protocols.values()) == {"prepared"}
