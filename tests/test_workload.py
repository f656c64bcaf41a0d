"""Workload files: arithmetic, SQL in pieces, and the jobs that they become."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno import workload
from dbdyno.model.error import WorkloadError
from dbdyno.workload import maker_schema, schema
from dbdyno.workload.expression import ExpressionError, evaluate, fill_in, resolve
from workload_reader import SMALL, complaint, job_of, role, sql, steps

ROOT = Path(__file__).parent.parent

# --- Arithmetic --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("rows", 30_000_000),
        ("4*rows/3", 40_000_000),
        ("rows/7*7", 30_000_000),
        ("min(1200, 60 + rows/1e6)", 90),
        ("max(1, 2, 3)", 3),
        ("round(2.6)", 3),
        ("ceil(10/3) - floor(10/3)", 1),
        ("0.1*3", 0.3),
        ("7//2", 3),
        ("7%4", 3),
        ("-(1 + 2)*3", -9),
        ("1/4", 0.25),
        ("mix", "qr"),
        ("rows > 1 and not rows == 2", 1),
        ("1 < 2 < 2 or 0", 0),
        ("mix == 'qr'", 1),
        ("mix != 'qr'", 0),
        ("'a' if mix == 'qp' else 'b'", "b"),
        ("1/0 if rows < 0 else 7", 7),
        ("(rows >= 30_000_000) * 2", 2),
        ("sum(rates)*max(rates)", 600),
    ],
)
def test_arithmetic_is_exact_and_whole_where_it_is_whole(text: str, value: object) -> None:
    found = evaluate(text, {"rows": 30_000_000, "mix": "qr", "rates": [10, 20]})
    assert found == value
    assert type(found) is type(value)


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6), st.sampled_from("+-*/"))
def test_arithmetic_agrees_with_fractions(a: int, b: int, sign: str) -> None:
    exact = {"+": Fraction(a) + b, "-": Fraction(a) - b, "*": Fraction(a) * b, "/": Fraction(a, b)}[
        sign
    ]
    assert evaluate(f"a {sign} b", {"a": a, "b": b}) == (
        int(exact) if exact.denominator == 1 else float(exact)
    )


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "rows.real",
        "rows**9",
        "[1]",
        "rows if rows",
        "rows in mix",
        "rows == mix",
        "rows if mix else 1",
        "sum(mix)",
        "open",
        "rows(1)",
        "max(rows, key=1)",
        "'a' + 1",
        "True",
        "1/0",
        "1 +",
        "round(1, 2)",
        "min()",
        "mix + 1",
        "",
        "1+" * 200 + "1",
    ],
)
def test_what_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {"rows": 3, "mix": "qr"})


def test_braces_in_texts_are_filled_in_and_doubled_ones_stay() -> None:
    assert fill_in("a{n + 1}b{{n}}", {"n": 1}) == "a2b{n}"
    assert resolve("{list}", {"list": [1, 2]}) == [1, 2]
    assert resolve(["{n}", 5], {"n": 1}) == [1, 5]
    assert resolve("{n}", {"n": 2.0}) == 2
    for wrong in ("a{", "a}", "{list} of"):
        with pytest.raises(ExpressionError):
            fill_in(wrong, {"list": [1]})


# --- The small workload: what a file can and cannot say ----------------------------------------


def test_a_statement_becomes_pieces_and_rows_become_operations(tmp_path: Path) -> None:
    (step,) = steps(SMALL, tmp_path)
    assert step.setup == ("DROP TABLE IF EXISTS t1", "CREATE TABLE t1 (a int)")
    assert sql(step, "put") == "INSERT INTO <t> VALUES [10× (<a>)]"
    assert job_of(step)["statements"][0]["rows"] == 10
    assert role(step, "insert")["stop"] == {"operations": 10}
    assert job_of(step)["values"] == [
        {"name": "a", "per": "item", "format": "integer", "uniform": [1, 10]}
    ]
    assert step.explain["put"].startswith("INSERT INTO t1 VALUES ($1),($2),")
    assert step.explain["put"].endswith("($10)")
    assert step.roles == {"insert": "insert"}


def test_rows_that_do_not_fill_the_last_operation_are_rounded_up(tmp_path: Path) -> None:
    (step,) = steps(SMALL, tmp_path, parameters={"n": 30})
    assert role(step, "insert")["stop"] == {"operations": 4}


def test_quoted_colons_and_casts_are_no_values(tmp_path: Path) -> None:
    text = SMALL.replace('"INSERT', '"""INSERT').replace(
        '(:a)]]"', "(:a::int, ':a', x[1:2], 'it''s :a {t}')]]\"\"\""
    )
    (step,) = steps(text, tmp_path)
    wanted = "INSERT INTO <t> VALUES [10× (<a>::int, ':a', x[1:2], 'it''s :a <t>')]"
    assert sql(step, "put") == wanted


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("run =", "rn =", "key `steps[1].roles.insert.rn`: unknown key; did you mean `run`?"),
        ('"put"', '"putt"', "key `steps[1].roles.insert.run`: no statement or transaction "
         "`putt`; did you mean `put`?"),
        (":a)", ":b)", "key `values`: no value `b`; there are `a`"),
        (":a)", ":cursor.c)", "key `cursors`: no cursor `c`; there are none"),
        ('"INSERT', '"{m} INSERT', "key `statements.put`: `{m}`: no parameter `m`; there are "
         "`clients`, `engine`, `n`, `number`, `t`"),
        ("{ uniform", "{ constant = 1, uniform", "key `values.a`: needs exactly one of uniform, "
         "zipf, pareto, special, bates, gaussian, exponential, add, permutation, compute, join, "
         "sequence, count, newest, item, client, text, pattern, clock, constant, sample, not 2"),
        ('[1, "{n}"]', "[20, 10]", "key `values.a.uniform`: the lower bound 20 is above the "
         "upper bound 10"),
        ("[[{n}:", "[[0:", "key `statements.put`: a repetition begins with a number, as "
         "`[[50:` or `[[50 ' OR ':`, from 1 to 100000, not '0'"),
        (', stop = { rows = 100 }', "", "key `steps[1]`: never ends; give it `seconds`, or one "
         "of its roles a `stop`"),
        ("rows = 100 }", "rows = 1, operations = 1 }", "key `steps[1].roles.insert.stop`: needs "
         "either `rows` or `operations`"),
        ('creates = ["t"]', "", "step `load` uses table `t`, which no step creates; give a step "
         "the key `creates` or `makes`"),
        ('creates = ["t"]', 'creates = ["u"]', "key `steps[1].creates`: no table `u`; there are "
         "`t`"),
        ('put = "', 'put.mysql = "', "key `statements.put`: no SQL for engine postgres; add the "
         "key `postgres`"),
        ('name = "load"', 'name = "a/b"', "key `steps[1].name`: 'a/b' cannot name a folder"),
        ('name = "load"', 'name = "load"\nstop = "query"', "key `steps[1].stop`: no role `query` "
         "with a `stop` of its own; there are `insert`"),
        ('name = "load"', 'name = "load"\nwarmup_s = -3', "key `steps[1].warmup_s`: must be at "
         "least 0, but is -3"),
        ('name = "load"', 'name = "load"\nseconds = 2592001', "key `steps[1].seconds`: must be at "
         "most 2592000, but is 2592001"),
        ('name = "load"', 'name = "load"\nwarm = "scan"', "key `steps[1].warm`: must be "
         "'none' or a list, not 'scan'"),
        ('name = "load"', 'name = "load"\nparameters = { m = 1 }', "key "
         "`steps[1].parameters.m`: no such parameter; there are `clients`, `n`"),
        ('name = "load"', 'name = "load"\nfor = { n = [1] }', "key `steps[1].for.n`: is a "
         "parameter's name, too; use another word"),
        ('name = "load"', 'name = "load"\nfor = { k = "{n}" }', "key `steps[1].for.k`: must be a "
         "list or the name of one in braces, not 10"),
        ('name = "load"', 'name = "load"\nsla = { role = "x", rows_per_s = 1 }', "key "
         "`steps[1].sla.role`: no role `x`; there are `insert`"),
        ("[parameters]", "[parameters]\nt = 1", "key `parameters.t`: cannot be used as a "
         "parameter's name; use another word"),
        ("n = 10", 'n = "{n}"', "key `parameters.n`: is computed from itself: n → n"),
        ("run =", "pace = { tied = 'x' }, run =", "key `steps[1].roles.insert.pace.tied`: no "
         "other role `x`; there are none"),
        ("run =", "pace = { rows_per_s = -1 }, run =", "key "
         "`steps[1].roles.insert.pace.rows_per_s`: must be at least 0, but is -1"),
        ("run =", "after = ['insert'], run =", "key `steps[1].roles.insert.after`: waits for "
         "itself"),
        ('put = "', 'put.types = "int"\nput.any = "', 'key `statements.put.types`: only '
         'protocol = "execute" has types'),
        ('put = "', 'put.protocol = "execute"\nput.any = "', "key `statements.put.types`: "
         "missing; protocol = \"execute\" needs the values' SQL types"),
        ("rows = 100 }", "rows = 1e21 }", "key `steps[1].roles.insert.stop.rows`: must fit into "
         "64 bits, but is 100000000000000000000"),
        ("rows = 100 }", "rows = inf }", "key `steps[1].roles.insert.stop.rows`: must be finite, "
         "but is inf"),
    ],
)  # fmt: skip
def test_what_is_wrong_gets_one_line(old: str, new: str, line: str | None, tmp_path: Path) -> None:
    assert old in SMALL
    found = complaint(SMALL.replace(old, new), tmp_path)
    assert line is None or found == line


def test_paces_and_seconds(tmp_path: Path) -> None:
    text = SMALL.replace("stop = { rows = 100 }", "pace = { per_s = 2.5 }").replace(
        'creates = ["t"]', 'creates = ["t"]\nseconds = 60\nwarmup_s = 5'
    )
    (step,) = steps(text, tmp_path)
    assert role(step, "insert")["pace"] == {"kind": "rate", "arrivals": "even", "per_s": 2.5}
    assert job_of(step)["stop"] == {"roles": [], "seconds": 60, "warmup_s": 5, "seconds_max": None}
    assert (step.nominal_s, step.expected_s) == (65, 65)


def test_a_burst_that_is_rounded_up_shortens_the_nominal_time(tmp_path: Path) -> None:
    """1.5 statements a second become bursts of 2, as the published client rounds."""
    text = SMALL.replace("stop =", 'pace = { per_s = 1.5, arrivals = "burst" }, stop =')
    (step,) = steps(text, tmp_path)
    assert step.nominal_s == 10 / 2


def test_random_arrivals_are_a_rate_of_their_own(tmp_path: Path) -> None:
    text = SMALL.replace("stop =", 'pace = { per_s = 2.5, arrivals = "poisson" }, stop =')
    (step,) = steps(text, tmp_path)
    assert role(step, "insert")["pace"] == {"kind": "rate", "arrivals": "poisson", "per_s": 2.5}
    assert step.nominal_s == 10 / 2.5


def test_a_transaction_draws_once_what_is_once_per_transaction(tmp_path: Path) -> None:
    text = SMALL.replace('"put"', '"both"').replace("rows = 100", "operations = 5")
    text = text.replace(
        '"{n}"] }', '"{n}"], per = "transaction" }\nb = { add = ["a", 7], per = "statement" }'
    )
    text = text.replace(
        "[[steps]]",
        'get = "SELECT a FROM {t} WHERE a = :b"\n'
        '[transactions.both]\ndo = ["BEGIN", "put", "get", "COMMIT"]\n[[steps]]',
    )
    (step,) = steps(text, tmp_path)
    assert [value["name"] for value in job_of(step)["values"]] == ["a", "b"]
    assert job_of(step)["values"][1]["add"] == {"value": 0, "plus": 7}
    assert [one["name"] for one in job_of(step)["statements"]] == ["BEGIN", "put", "get", "COMMIT"]
    assert job_of(step)["programs"] == [
        {"name": "both", "code": [["draw", 0], *(["send", number] for number in range(4))]}
    ]


def test_a_value_cannot_add_to_one_that_is_drawn_more_often(tmp_path: Path) -> None:
    text = SMALL.replace("[statements]", 'b = { add = ["a", 1], per = "statement" }\n[statements]')
    assert complaint(text.replace(":a)", ":b)"), tmp_path) == (
        "key `values.b`: is drawn once per statement, but `a` more often; "
        'give `a` the key per = "statement"'
    )


def test_values_that_add_to_each_other_are_refused(tmp_path: Path) -> None:
    text = SMALL.replace(
        "[statements]", 'b = { add = ["c", 1] }\nc = { add = ["b", 1] }\n[statements]'
    )
    assert complaint(text.replace(":a)", ":b)"), tmp_path) == (
        "key `values.b`: is computed from itself"
    )


def test_a_fill_is_a_step_of_its_own_before_the_others(tmp_path: Path) -> None:
    text = """
[parameters]
rows = 1_000_000

[tables.sbtest]
count = 2
bytes_per_row = 230
create = "CREATE TABLE {t} (id int primary key, k int, c text, pad text)"

[tables.sbtest.fill]
rows = "{rows}"
streams = 2
after = [
    "ALTER TABLE {t} ADD PRIMARY KEY (id)",
    "CREATE INDEX k_{number} ON {t} (k)",
    "SELECT setval('{t}_id_seq', {rows})",
    "VACUUM (ANALYZE) {t}",
]

[tables.sbtest.fill.columns]
id = ":row"
k = { uniform = [1, "{rows}"] }
c = { pattern = "C" }
pad = { pattern = "P" }

[values]
id = { uniform = [1, "{rows}"] }

[statements]
point = { protocol = "prepared", any = "SELECT c FROM {t} WHERE id = :id" }

[[steps]]
name = "point"
writes = false
seconds = 10
roles.query = { run = "point" }
"""
    theirs = json.loads((ROOT / "contract" / "job-fill.json").read_text())
    (patterns,) = [theirs["values"][2:]]
    text = text.replace('"C"', f'"{patterns[0]["pattern"]}"')
    text = text.replace('"P"', f'"{patterns[1]["pattern"]}"')
    fill, point = steps(text, tmp_path)
    assert [(one.ordinal, one.name) for one in (fill, point)] == [(1, "fill"), (2, "point")]
    assert fill.setup[:2] == ("DROP TABLE IF EXISTS sbtest1", point_create("sbtest1"))
    assert not fill.measured
    assert point.setup == ()
    assert point.tables == ("sbtest1", "sbtest2")
    ours = job_of(fill)
    assert ours == {key: value for key, value in theirs.items() if key in ours} | {"threads": 0}
    loaded = workload.load(str(tmp_path / "w.toml"))
    guess = workload.estimate(loaded, {}, (fill, point))
    assert (guess.rows, guess.disk_bytes) == (2_000_000, 460_000_000)
    alone = workload.expand(loaded, {}, "postgres", steps=["point"])
    assert [(one.ordinal, one.name) for one in alone] == [(1, "fill"), (2, "point")]


LOADS = """
[parameters]
rows = 250
threads = 2

[tables.t]
count = 3
create = "CREATE TABLE {t} (id serial PRIMARY KEY, k int, at timestamp)"

[tables.t.fill]
rows = "{rows}"
before = "ALTER TABLE {t} DROP CONSTRAINT {t}_pkey"
columns = { id = ":row", k = ":k", at = { row = 5, each = "{rows/10}", type = "timestamp" } }

[values]
k = { uniform = [1, 9] }

[statements]
put = "INSERT INTO {t} (k) VALUES [[100: (:k)]]"
rest = "INSERT INTO {t} (k) VALUES [[{max(1, rows%100)}: (:k)]]"
index = "CREATE INDEX k_{number} ON {t} (k)"

[transactions]
all = { do = [{ repeat = "{rows//100}", do = ["put"] }, { repeat = "{min(1, rows%100)}", do = ["rest"] }, "index"] }

[[steps]]
name = "load"
fill = "published"
creates = ["t"]
roles.insert = { per = "step", connections = "{threads}", run = "all", table = "in_turn", stop = { operations = 3 } }

[[steps]]
name = "read"
seconds = 1
roles.query = { run = "put" }
"""  # noqa: E501


def test_a_file_says_how_its_tables_are_loaded_fast_and_as_published(tmp_path: Path) -> None:
    fill, read = steps(LOADS, tmp_path)
    assert [(one.ordinal, one.name) for one in (fill, read)] == [(1, "fill"), (2, "read")]
    assert fill.setup[-1] == "ALTER TABLE t3 DROP CONSTRAINT t3_pkey"
    (made,) = job_of(fill)["fills"]
    assert (made["streams"], made["after"], made["columns"][2]["each"]) == (0, [], 25)
    assert fill.expected_s == 3 * 250 / 250_000
    load, again = steps(LOADS, tmp_path, fill="published")
    assert [(one.ordinal, one.name) for one in (load, again)] == [(1, "load"), (2, "read")]
    assert load.measured
    assert not any("DROP CONSTRAINT" in sql for sql in load.setup)
    names = [one["name"] for one in job_of(load)["statements"]]
    sent = [names[number] for _, number in job_of(load)["programs"][0]["code"]]
    assert sent == ["put", "put", "rest", "index"]
    assert sql(load, "index") == "CREATE INDEX k_<number of t> ON <t> (k)"
    assert role(load, "insert")["table"] == {"of": "t", "by": "in_turn"}
    assert again.job == read.job
    even = steps(LOADS, tmp_path, fill="published", parameters={"rows": 300})[0]
    assert [one["name"] for one in job_of(even)["statements"]] == ["put", "index"]


def test_the_file_names_the_load_of_a_plan_that_names_none(tmp_path: Path) -> None:
    text = 'fill = "published"\n' + LOADS
    assert [step.name for step in steps(text, tmp_path)] == ["load", "read"]
    assert [step.name for step in steps(text, tmp_path, fill="fast")] == ["fill", "read"]


@pytest.mark.parametrize(
    ("change", "more", "words"),
    [
        (("", ""), {"steps": ["load"]}, 'step `load` is part of fill = "published" only'),
        (("", ""), {"steps": ["fill"], "fill": "published"}, 'is part of fill = "fast" only'),
        (('fill = "published"\n', ""), {"fill": "published"}, 'no load is "published"; write'),
        (("{rows//100}", "-1"), {"fill": "published"}, "key `transactions.all.do[1].repeat`"),
        (("{rows//100}", "{4000*rows+1}"), {"fill": "published"}, "at most 1000000 statements"),
        (('"{rows/10}"', "0"), {}, "key `tables.t.fill.columns.at.each`: must be at least 1"),
    ],
)
def test_what_is_wrong_with_a_load_gets_one_line(
    tmp_path: Path, change: tuple[str, str], more: dict[str, Any], words: str
) -> None:
    assert words in complaint(LOADS.replace(*change, 1), tmp_path, **more)


def point_create(table: str) -> str:
    return f"CREATE TABLE {table} (id int primary key, k int, c text, pad text)"


def test_sql_for_older_versions_is_taken_below_their_limit(tmp_path: Path) -> None:
    text = SMALL.replace(
        'put = "', 'put.any_before = 1\nput.postgres_before_12 = "OLD"\nput.any = "'
    ).replace("put.any_before = 1\n", 'put.postgres_before_10 = "OLDEST"\n').replace(
        "rows = 100", "operations = 1"
    )  # fmt: skip
    versions = (None, (9, 6), (10,), (11,), (12,), (18,))
    found = [sql(steps(text, tmp_path, version=one)[0], "put")[:6] for one in versions]
    assert found == ["INSERT", "OLDEST", "OLD", "OLD", "INSERT", "INSERT"]


@pytest.mark.parametrize("clients", [0, -1])
@pytest.mark.parametrize("name", ["insert-benchmark", "sysbench", "sysbench-oltp"])
def test_no_clients_are_refused_by_their_key_and_divide_nothing(name: str, clients: int) -> None:
    with pytest.raises(WorkloadError) as caught:
        workload.expand(workload.load(name), {"clients": clients}, "postgres")
    assert str(caught.value) == (
        f"{name}.toml: key `parameters.clients`: must be at least 1, but is {clients}: "
        "write how many work at once"
    )


# --- Files -------------------------------------------------------------------------------------


@pytest.mark.long
def test_every_shipped_workload_has_a_description_and_expands() -> None:
    assert "insert-benchmark" in workload.names()
    for name in workload.names():
        loaded = workload.load(name)
        assert loaded.description
        assert workload.expand(loaded, {}, "postgres")
        others = workload.load(name, set="outside") if name == "ybio" else loaded  # no procedures
        for engine in ("mysql", "mariadb"):
            assert workload.expand(others, {}, engine)
        assert len(workload.sha256(name)) == 64


def test_another_text_has_another_hash(tmp_path: Path) -> None:
    text = workload.text("insert-benchmark")
    (tmp_path / "a.toml").write_text(text)
    (tmp_path / "b.toml").write_text(text + "\n")
    shipped = workload.sha256("insert-benchmark")
    assert workload.sha256("./a.toml", tmp_path) == shipped
    assert workload.sha256("./b.toml", tmp_path) != shipped


def test_the_reference_of_workload_files_names_every_key() -> None:
    reference = (ROOT / "docs" / "workload.md").read_text()
    forms = (
        schema.WorkloadFile, schema.TableForm, schema.FillForm, schema.ChildrenForm,
        schema.ColumnForm, maker_schema.Maker, maker_schema.TextForm, maker_schema.TextPartForm,
        schema.CursorForm, schema.StatementForm, schema.Transaction, schema.Repetition,
        schema.RepeatedSqlForm, schema.AssignForm, schema.SleepForm, schema.StepSet,
        schema.StepForm, schema.RoleForm, schema.Pace, schema.StopForm, schema.ErrorReactionForm,
        schema.StatementPartForm, schema.HeadlineForm, schema.QueryForm, schema.ToldMetricForm,
        schema.RightForm, schema.SlaForm,
    )  # fmt: skip
    for one in forms:
        for name, field in one.model_fields.items():
            key = field.alias or name
            assert key == "before" or f"`{key}`" in reference, f"{one.__name__}.{key}"


def test_the_example_of_the_reference_expands(tmp_path: Path) -> None:
    reference = (ROOT / "docs" / "workload.md").read_text()
    example = reference.split("```toml\n")[1].split("```")[0]
    made = steps(example, tmp_path)
    assert [step.name for step in made] == ["load", "read@clients=1", "vacuum"]
