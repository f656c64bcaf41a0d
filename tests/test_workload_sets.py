"""Workload files that hold several forms: sets of steps, presets, switches, sleeps."""

from pathlib import Path
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model.error import WorkloadError
from workload_reader import SMALL, complaint, job_of, role, sql, steps

SETS = SMALL.replace("[parameters]", 'set = "old"\n[parameters]', 1).replace(
    "creates =", 'sets = ["old"]\ncreates =', 1
)
NEW = """
[[steps]]
name = "load"
sets = ["new"]
creates = ["t"]
roles.insert = { run = "put", stop = { rows = 50 } }

[[steps]]
name = "more@n={n}"
sets = ["new"]
roles.insert = { run = "put", stop = { rows = 10 } }
"""


def of_set(text: str, tmp_path: Path, name: str | None, **more: Any) -> list[tuple[str, int]]:
    """The names of a set's steps, and the operations of their role `insert`."""
    path = tmp_path / "w.toml"
    path.write_text(text)
    loaded = workload.load(str(path), set=name, preset=more.pop("preset", None))
    made = workload.expand(loaded, more.pop("parameters", {}), "postgres", **more)
    return [(step.name, role(step, "insert")["stop"]["operations"]) for step in made]


def test_two_steps_of_one_name_may_stand_in_different_sets(tmp_path: Path) -> None:
    assert of_set(SETS + NEW, tmp_path, None) == [("load", 10)]
    assert of_set(SETS + NEW, tmp_path, "new") == [("load", 5), ("more@n=10", 1)]
    mixed = of_set(SETS + NEW, tmp_path, "old", steps=["load", "more@n=10"])
    assert mixed == [("load", 10), ("more@n=10", 1)]


def test_a_sets_parameters_hold_in_its_steps_where_it_is_chosen(tmp_path: Path) -> None:
    text = SETS + NEW + "[sets.old]\n[sets.new.parameters]\nn = 5\n[presets]\nbig = { n = 25 }\n"
    assert of_set(text, tmp_path, "new") == [("load", 10), ("more@n=5", 2)]
    assert of_set(text, tmp_path, "old", steps=["load", "more@n=10"])[1] == ("more@n=10", 1)
    assert of_set(text, tmp_path, "new", preset="big")[0] == ("load", 2)
    given = of_set(text, tmp_path, "new", preset="big", parameters={"n": 50})
    assert given == [("load", 1), ("more@n=50", 1)]


@pytest.mark.parametrize(
    ("end", "line"),
    [
        ("[sets.old]\n", "key `steps[2].sets`: no set `new`; did you mean"),
        ("[sets.old.parameters]\nm = 1\n[sets.new]\n", "key `sets.old.parameters.m`: no such"),
        ("[sets.old.parameters]\nn = 'x'\n[sets.new]\n", "key `sets.old.parameters.n`: must be"),
    ],
)
def test_a_sets_table_is_checked(end: str, line: str, tmp_path: Path) -> None:
    found = complaint(SETS + NEW + end, tmp_path)
    assert found.startswith(line.split("; did")[0])


def test_steps_with_sets_need_a_set_that_is_taken(tmp_path: Path) -> None:
    text = SETS.replace('set = "old"\n', "")
    assert complaint(text, tmp_path).startswith("key `set`: missing; the steps have sets")


def test_presets_know_the_host_and_a_plan_may_say_another(tmp_path: Path) -> None:
    text = SMALL + "[presets]\nfit = { n = '{host_cores + host_memory_gb}' }\n"
    host = workload.host(2, 3 << 30)
    assert of_set(text, tmp_path, None, preset="fit", parameters=host) == [("load", 20)]
    larger = {**host, "host_cores": 22}
    assert of_set(text, tmp_path, None, preset="fit", parameters=larger) == [("load", 4)]
    with pytest.raises(WorkloadError, match=r"`host_cores`; .*"):
        of_set(text, tmp_path, None, preset="fit")
    with pytest.raises(WorkloadError, match=r"presets\.fit\.nn`: no such parameter; did you mean"):
        of_set(text.replace("fit = { n", "fit = { nn"), tmp_path, None, preset="fit")


# --- Switches ----------------------------------------------------------------------------------

LISTED = """create = ["CREATE TABLE {t} (a int)", \
{ repeat = "{n > 5}", statement = "cluster" }, \
{ repeat = 2, sql = "CREATE INDEX {t}_{turn} ON {t} ((a + {turn*n}))" }]"""


def test_sql_before_a_job_is_repeated_and_can_be_a_statement(tmp_path: Path) -> None:
    text = SMALL.replace('create = "CREATE TABLE {t} (a int)"', LISTED)
    text = text.replace("[statements]", '[statements]\ncluster = "CLUSTER {t}"')
    (step,) = steps(text, tmp_path)
    assert step.setup[2:] == (
        "CLUSTER t1",
        "CREATE INDEX t1_0 ON t1 ((a + 0))",
        "CREATE INDEX t1_1 ON t1 ((a + 10))",
    )
    (fewer,) = steps(text, tmp_path, parameters={"n": 5})
    assert "CLUSTER t1" not in fewer.setup
    wrong = text.replace('statement = "cluster"', 'statement = "put"')
    assert complaint(wrong, tmp_path) == (
        "key `tables.t.create`: `put` has values, which only a step's roles can send"
    )
    wrong = text.replace('statement = "cluster"', 'statement = "clustre"')
    assert complaint(wrong, tmp_path).endswith("no statement `clustre`; did you mean `cluster`?")
    wrong = text.replace('statement = "cluster"', 'statement = "cluster", sql = "x"')
    assert complaint(wrong, tmp_path).endswith("a repetition needs either `sql` or `statement`")


def test_a_role_and_a_step_are_there_when_they_should_be(tmp_path: Path) -> None:
    other = '\nroles.other = { run = "put", when = "{n > 10}" }\n'
    (step,) = steps(SMALL + other, tmp_path)
    assert [one["name"] for one in job_of(step)["roles"]] == ["insert"]
    (step,) = steps(SMALL + other, tmp_path, parameters={"n": 20})
    assert [one["name"] for one in job_of(step)["roles"]] == ["insert", "other"]
    assert not steps(SMALL + "\nwhen = 0\n", tmp_path)


def test_a_weight_of_zero_leaves_a_statement_out(tmp_path: Path) -> None:
    text = SMALL.replace('run = "put"', 'choose = { put = "{n > 5}", get = 2 }').replace(
        "[statements]", '[statements]\nget = { any = "SELECT a FROM {t}", rows = 10 }'
    )
    names = [one["name"] for one in job_of(steps(text, tmp_path)[0])["statements"]]
    assert names == ["put", "get"]
    fewer = text.replace("[{n}:", "[10:")
    (step,) = steps(fewer, tmp_path, parameters={"n": 5})
    assert [one["name"] for one in job_of(step)["statements"]] == ["get"]


HELD = """
[transactions]
held = { do = ["BEGIN", "put", { sleep_s = "{n/4}" }, "COMMIT"] }
"""


def test_a_transaction_sleeps_between_two_statements(tmp_path: Path) -> None:
    text = SMALL.replace('run = "put", stop = { rows = 100 }', 'run = "held"') + "seconds = 9\n"
    (step,) = steps(text + HELD, tmp_path)
    assert [verb for verb, _ in job_of(step)["programs"][0]["code"]] == [
        "send",
        "send",
        "sleep",
        "send",
    ]
    assert job_of(step)["programs"][0]["code"][2] == ["sleep", 2_500_000]
    for wrong, line in {
        '{ sleep_s = 1 }, "put"': "a `sleep_s` belongs between two statements",
        '"put", { sleep_s = 1 }': "a `sleep_s` belongs between two statements",
        '"put", { sleep_s = -1 }, "put"': "must be at least 0, but is -1",
        '"put", { sleep_s = 86_401 }, "put"': "must be at most 86400, but is 86401",
    }.items():
        held = f"\n[transactions]\nheld = {{ do = [{wrong}] }}\n"
        assert complaint(text + held, tmp_path).endswith(line)


def test_one_statement_of_a_step_moves_a_cursor(tmp_path: Path) -> None:
    text = SMALL.replace(
        "[[steps]]", '[cursors.c]\nstart = "SELECT 1"\non = ["put", "get"]\n[[steps]]'
    )
    text = text.replace("(:a)", "(:a + :cursor.c)")
    text = text.replace(
        "[statements]", '[statements]\nget = "SELECT a FROM {t} WHERE a = :cursor.c"'
    )
    (step,) = steps(text, tmp_path)
    assert job_of(step)["statements"][job_of(step)["cursors"][0]["on"]]["name"] == "put"
    assert sql(step, "put") == "INSERT INTO <t> VALUES [10× (<a> + <cursor c>)]"
    both = text + 'roles.query = { run = "get" }\n'
    assert complaint(both, tmp_path) == (
        "key `cursors.c.on`: only one statement of a step may move a cursor, not put and get"
    )
