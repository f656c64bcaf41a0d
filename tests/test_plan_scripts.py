"""Scripts in plans and workload files: which steps they make, of which tables, and what is said."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from dbdyno import plan, workload
from dbdyno.model import Plan, Step
from dbdyno.model.error import PlanError, WorkloadError
from dbdyno.run.check import plan_record
from dbdyno.store import continuation
from workload_reader import job_of, role

ARM = '[arms.a]\nversion = "17"\n'
PLAN = """
[arms.a]
version = "17"

[[workloads]]
pgbench = {scripts}
{more}
"""
MIX = "\\set aid random(1, 100 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
OWN = "\\set a random(1, :high)\nSELECT :a FROM orders;\n"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "mix.sql").write_text(MIX)
    (tmp_path / "own.sql").write_text(OWN)
    return tmp_path


def planned(folder: Path, scripts: str, more: str = "", text: str = PLAN) -> Plan:
    path = folder / "p.toml"
    return plan.parse(text.format(scripts=scripts, more=more), path)


def steps(made: Plan, engine: str = "postgres") -> dict[str, Step]:
    (use,) = made.workloads
    loaded = workload.used(use, made.path)
    found = workload.expand(loaded, use.parameters, engine, steps=use.steps)
    return {step.name: step for step in found}


def complaint(folder: Path, scripts: str, more: str = "") -> str:
    with pytest.raises(PlanError) as raised:
        planned(folder, scripts, more)
    return str(raised.value).removeprefix(f"{folder}/p.toml: key `workloads[1]")


def test_a_plan_names_scripts_with_weights_and_they_are_one_step(folder: Path) -> None:
    made = planned(
        folder,
        '["mix.sql@3", "tpcb-like@2", "select-only"]',
        "parameters = { scale = 2, clients = 4, rate = 50, seconds = 7, warmup_s = 2, "
        'protocol = "prepared" }',
    )
    (use,) = made.workloads
    assert (use.name, use.steps) == ("pgbench", ("scripts",))
    found = steps(made)
    assert list(found) == ["fill", "scripts"]
    step = found["scripts"]
    script = role(step, "script")
    programs = [job_of(step)["programs"][one["program"]]["name"] for one in script["choose"]]
    assert programs == ["mix.sql", "tpcb-like", "select-only"]
    assert [one["weight"] for one in script["choose"]] == [3, 2, 1]
    assert (script["per"], script["connections"]) == ("step", 4)
    assert script["pace"] == {"kind": "rate", "arrivals": "poisson", "per_s": 50.0}
    assert (job_of(step)["stop"]["seconds"], job_of(step)["stop"]["warmup_s"]) == (7, 2)
    assert step.headline is not None
    assert (step.headline.metric, step.headline.role) == ("qps", "script")
    assert step.setup == (
        "VACUUM pgbench_branches", "VACUUM pgbench_tellers", "TRUNCATE pgbench_history",
    )  # fmt: skip
    assert step.writes
    assert step.invariants == (), "own scripts may do with balances what they like"
    (sent,) = [one for one in job_of(step)["statements"] if one["name"] == "mix.sql:2"]
    assert sent["protocol"] == "prepared"
    names = [one["name"] for one in job_of(step)["variables"]]
    assert names == ["aid", "scale"]
    assert job_of(step)["variables"][1]["initial"] == {"integer": 2}
    assert step.job.timed_operations() == {"mix.sql", "tpcb-like", "select_balance"}


def test_pgbench_s_own_scripts_keep_balances(folder: Path) -> None:
    both = steps(planned(folder, '["tpcb-like@2", "simple-update"]'))["scripts"]
    assert len(both.invariants) == 1
    reads = steps(planned(folder, '["select-only"]'))["scripts"]
    assert (reads.writes, reads.invariants) == (False, ())
    assert "variables" not in job_of(reads), "a job without scripts is as it was"


def test_scripts_that_name_no_table_of_pgbench_s_bring_none(folder: Path) -> None:
    made = planned(folder, '["own.sql"]', "variables = { high = 7 }\nparameters = { clients = 3 }")
    (step,) = steps(made).values()
    assert (step.name, step.setup, step.tables, job_of(step)["tables"]) == ("scripts", (), (), {})
    initial = {one["name"]: one["initial"] for one in job_of(step)["variables"]}
    assert initial == {"a": None, "high": {"integer": 7}}
    assert job_of(steps(made, "mysql")["scripts"])["engine"] == "mysql"


P, M = "postgres", "mysql"
NAMING = [
    ("SELECT abalance FROM PGBENCH_ACCOUNTS LIMIT 1;", {P: True, M: True}),
    ('SELECT 1 FROM public."pgbench_accounts";', {P: True}),
    ("SELECT 1 FROM `pgbench_accounts`;", {M: True}),
    ("-- as pgbench_accounts has it\nSELECT 1;", {P: False, M: False}),
    ("/* pgbench_accounts */ SELECT 1 -- pgbench_tellers\n;", {P: False, M: False}),
    ("/* /* */ pgbench_accounts */ SELECT 1;", {P: False}),
    ("SELECT 'FROM pgbench_accounts', 'it''s', 'pgbench_accounts';", {P: False, M: False}),
    ("SELECT 1 # pgbench_accounts\n;", {P: True, M: False}),  # there an operator
    ("SELECT 'it\\'s pgbench_accounts';", {M: False}),
    ("SELECT $a$ 'pgbench_accounts $a$, E'\\'pgbench_accounts';", {P: False}),
    ("SELECT :pgbench_accounts;", {P: False, M: False}),
    ("SELECT 1 FROM my_pgbench_accounts;", {P: False, M: False}),
    ("SELECT '\\', 1 FROM pgbench_accounts;", {P: True}),
    ("SELECT '\\\\', 1 FROM pgbench_accounts;", {P: True, M: True}),
    ('SELECT "pgbench_accounts";', {P: True, M: False}),
    ("SELECT 5--1 FROM pgbench_accounts;", {M: True}),
]


def on(engine: str) -> str:
    return PLAN.replace('version = "17"', f'engine = "{engine}"\nversion = "{NEWEST[engine]}"')


NEWEST = {P: "17", M: "8.4"}


@pytest.mark.parametrize(
    ("script", "engine", "names"),
    [(script, engine, names) for script, by in NAMING for engine, names in by.items()],
)
def test_a_script_names_tables_in_any_case_and_neither_in_comments_nor_in_literals(
    folder: Path, script: str, engine: str, names: bool
) -> None:
    (folder / "naming.sql").write_text(f"\\set pgbench_accounts 1\n{script}\n")
    made = steps(planned(folder, '["naming.sql"]', text=on(engine)), engine)
    assert ("fill" in made) is names
    assert bool(made["scripts"].setup) is names


def test_a_literal_keeps_its_line_ends_and_lines_of_commands_may_end_by_both(folder: Path) -> None:
    (folder / "naming.sql").write_bytes(b"\\set a 1\r\n\\sleep 1 us\r\nSELECT 'x\r\ny', :a;\r\n")
    (statement,) = steps(planned(folder, '["naming.sql"]'))["scripts"].job.statements
    assert "'x\r\ny'" in "".join(statement.texts)


def test_a_backslash_in_a_literal_of_mysql_s_escapes_a_quote(folder: Path) -> None:
    (folder / "naming.sql").write_text("SELECT 'it\\'s; one'; # and; more\nSELECT 2;\n")
    made = job_of(steps(planned(folder, '["naming.sql"]', text=on(M)), M)["scripts"])["statements"]
    assert [statement["name"] for statement in made] == ["naming.sql:1", "naming.sql:2"]


def test_a_table_of_lists_makes_several_steps(folder: Path) -> None:
    made = planned(
        folder,
        '{ reads = ["mix.sql", "select-only"], other = ["own.sql@2", "mix.sql"] }',
        'variables = { high = 7 }\nset = "scale-up"\nparameters = { client_counts = [1, 2] }',
    )
    assert list(steps(made)) == [
        "fill", "reads@clients=1", "reads@clients=2", "other@clients=1", "other@clients=2",
    ]  # fmt: skip


def test_own_scripts_write_unless_the_plan_says_that_they_do_not(folder: Path) -> None:
    assert steps(planned(folder, '["mix.sql"]'))["scripts"].writes
    more = "parameters = { read_only = 1 }"
    assert not steps(planned(folder, '["mix.sql"]', more))["scripts"].writes
    in_turns = more + '\n[schedule]\ninterleave = "turn"\n[arms.b]\nversion = "17"\n'
    assert len(planned(folder, '["mix.sql"]', in_turns).arms) == 2


def test_one_workload_may_be_said_in_one_line(folder: Path) -> None:
    text = 'workload = {{ pgbench = {scripts} {more} }}\n[arms.a]\nversion = "17"\n'
    made = planned(folder, '["mix.sql"]', ", parameters = { scale = 3 }", text)
    assert made.workloads[0].parameters == {"scale": 3}
    with pytest.raises(PlanError, match="key `workload`: the plan has `workloads`, too"):
        both = f'workload = {{{{ name = "pgbench" }}}}\n{ARM}[[workloads]]\nname = "sysbench"\n'
        planned(folder, "", "", both)


def test_values_of_a_plan_are_variables_in_all_their_kinds(folder: Path) -> None:
    (folder / "v.sql").write_text("SELECT :a, :b, :c, :d;\n")
    more = 'variables = { a = 1, b = 1.5, c = true, d = "null", scale = 5 }'
    (folder / "s.sql").write_text("SELECT :scale;\n")
    (step,) = steps(planned(folder, '["v.sql", "s.sql"]', more)).values()
    initial = {one["name"]: one["initial"] for one in job_of(step)["variables"]}
    assert initial == {
        "a": {"integer": 1},
        "b": {"double": 1.5},
        "c": {"boolean": True},
        "d": {"text": "null"},
        "scale": {"integer": 5},
    }


def test_scripts_of_a_step_share_what_they_set(folder: Path) -> None:
    (folder / "one.sql").write_text("\\set x 1\n")
    (folder / "two.sql").write_text("SELECT :x;\n")
    (step,) = steps(planned(folder, '["one.sql", "two.sql"]')).values()
    assert [one["name"] for one in job_of(step)["variables"]] == ["x"]
    assert job_of(step)["programs"][0]["code"] == [["set", 0]]
    (alone,) = steps(planned(folder, '["two.sql"]')).values()
    assert job_of(alone)["statements"][0]["pieces"] == ["SELECT :x;"]


def test_what_is_wrong_in_a_script_is_shown(folder: Path) -> None:
    (folder / "bad.sql").write_text("SELECT 1;\n  \\set aid randon(1, 2)\n")
    assert complaint(folder, '["mix.sql", "bad.sql"]') == (
        "`: bad.sql:2:12: no function `randon`; did you mean `random`?\n"
        "  \\set aid randon(1, 2)\n"
        "           ^"
    )


@pytest.mark.parametrize(
    ("scripts", "more", "sentence"),
    [
        ('["no.sql"]', "", "no.sql: cannot be read as a script: No such file"),
        ('["tpcb"]', "", "`: no script `tpcb`: no file, and no built-in one; did you mean `tpcb-"),
        ("[]", "", "`: `scripts` has no script; write"),
        ("{}", "", '.pgbench`: has no scripts; write ["mix.sql"]'),
        ("{ a = [] }", "", "`: `a` has no script; write"),
        ('["mix.sql@x"]', "", "`: `mix.sql@x` is not a script with a weight; write it as"),
        ('["mix.sql@0"]', "", "`: `scripts`: all weights are 0; raise one of them"),
        ('["mix.sql", "mix.sql@2"]', "", "`: `mix.sql` is listed twice; give it the sum"),
        ('["generate"]', "", "`: `generate` means something else here; write `./generate`"),
        ('{ vacuum = ["mix.sql"] }', "", "`: `vacuum` is a step of the workload's own"),
        ('{ "a b" = ["mix.sql"] }', "", "'a b' cannot name a folder"),
        ('["mix.sql"]', "variables = { ad = 1 }", "no script has `:ad`; did you mean `aid`?"),
        ('["mix.sql"]', 'name = "pgbench"', ".pgbench`: names the workload, too; remove `name`"),
        ('["mix.sql"]', 'parameters = { protocol = "execute" }', "has to be simple, extended"),
        ('["own.sql"]', "", "own.sql:1:18: variable `high` is never set"),
        ('["mix.sql"]', 'steps = ["mix"]', "no step `mix` with these parameters"),
    ],
)
def test_what_is_wrong_in_a_plan_s_scripts_is_said(
    folder: Path, scripts: str, more: str, sentence: str
) -> None:
    assert sentence in complaint(folder, scripts, more)


def test_variables_belong_to_scripts(folder: Path) -> None:
    text = ARM + '[[workloads]]\nname = "pgbench"\nvariables = {{ a = 1 }}\n'
    with pytest.raises(PlanError, match="only scripts have variables"):
        planned(folder, "", "", text)
    with pytest.raises(PlanError, match="name`: missing"):
        planned(folder, "", "", ARM + "[[workloads]]\nset = 'all'\n")


def test_a_plan_s_record_has_a_hash_of_each_script(folder: Path) -> None:
    made = planned(folder, '["mix.sql@2", "own.sql", "tpcb-like"]', "variables = { high = 1 }")
    (use,) = made.workloads
    written = plan_record.workload_json(made, use, ())
    assert written["scripts_sha256"] == {
        "mix.sql": hashlib.sha256(MIX.encode()).hexdigest(),
        "own.sql": hashlib.sha256(OWN.encode()).hexdigest(),
    }
    (folder / "own.sql").write_text(OWN + "SELECT 2;\n")
    again = plan_record.workload_json(made, use, ())
    refused = continuation.refused({"workloads": [written]}, {"workloads": [again]}, highest=1)
    assert refused is not None
    assert refused.startswith("`workloads[0].scripts_sha256.own.sql` is ")


FILE = """
[parameters]
clients = 2
region = 3

[variables]
region = "{region + 1}"

[tables.orders]
numbered = false
create = "CREATE TABLE orders (a int)"

[statements]
get = "SELECT 1"

[transactions.mix]
script = "sql/mix.sql"
protocol = "extended"

[transactions.plain]
script = "sql/plain.sql"

[[steps]]
name = "load"
creates = ["orders"]
measured = false
parts = [{ once = "SELECT 1" }]

[[steps]]
name = "mixed"
seconds = 5
roles.users = { choose = { mix = 9, get = 1 } }
roles.plain = { per = "step", run = "plain" }
"""


def expanded(folder: Path, text: str = FILE, **given: Any) -> dict[str, Step]:
    (folder / "sql").mkdir(exist_ok=True)
    (folder / "sql" / "mix.sql").write_text("\\set n :region\nSELECT :n::int FROM orders;\n")
    (folder / "sql" / "plain.sql").write_text("SELECT 2;")
    (folder / "w.toml").write_text(text)
    loaded = workload.load(str(folder / "w.toml"))
    return {step.name: step for step in workload.expand(loaded, {}, "postgres", **given)}


def test_a_workload_file_names_scripts_beside_its_transactions(tmp_path: Path) -> None:
    step = expanded(tmp_path)["mixed"]
    assert [one["name"] for one in job_of(step)["programs"]] == ["mix", "get", "plain"]
    names = [(one["name"], one["protocol"]) for one in job_of(step)["statements"]]
    assert names == [("mix:2", "extended"), ("get", "simple"), ("plain:1", "simple")]
    assert job_of(step)["variables"][1] == {"name": "region", "initial": {"integer": 4}}
    assert job_of(step)["assignments"][0]["place"] == "sql/mix.sql:1:1"
    assert step.job.timed_operations() == {"mix", "get", "plain:1"}
    only = expanded(tmp_path, steps=["mixed"])
    assert list(only) == ["load", "mixed"], "as the script names its table"
    loaded = workload.load(str(tmp_path / "w.toml"))
    assert list(workload.scripts_sha256(loaded)) == ["sql/mix.sql", "sql/plain.sql"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('script = "sql/mix.sql"', 'script = "no.sql"', "no.sql: cannot be read as a script"),
        ('protocol = "extended"', 'protocol = "execute"', "sent by `simple` or `extended` or"),
        ('script = "sql/plain.sql"', 'script = "sql/plain.sql"\ndo = ["get"]', "remove one"),
        ('script = "sql/plain.sql"', 'protocol = "simple"', "has a `do`, or a `script`"),
        ('script = "sql/plain.sql"', "", "has a `do`, or a `script`"),
        ('region = "{region + 1}"', 'region = "{region + 1}"\n"a b" = 1', "cannot name a variable"),
        ('region = "{region + 1}"', 'region = "{regin}"', "did you mean `region`?"),
    ],
)
def test_what_is_wrong_in_a_workload_file_s_scripts_is_said(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    with pytest.raises(WorkloadError) as raised:
        expanded(tmp_path, FILE.replace(old, new))
    assert sentence in str(raised.value)
