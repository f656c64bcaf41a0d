"""Values of a workload file in its scripts: how a job says it, what the fake does, what is said."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dbdyno.model import Json
from dbdyno.model.error import WorkloadError
from mysql_jobs import run
from workload_reader import job_of, sql, steps

FILE = """
[values]
n = { zipf = { range = [1, 1000], exponent = 0.5 }, per = "transaction" }
m = { compute = ":n % 10 + 1", per = "transaction" }
name = { join = ["user", ":n"], per = "transaction" }
credit = { sample = { file = "credit.jsonl", type = "mood" } }
often = { uniform = [1, 5] }
tail = { uniform = [1, "cursor:head"], per = "transaction" }

[cursors]
head = { start = "SELECT 1", on = ["move"] }

[statements]
move = "SELECT 2"

[transactions.mix]
script = "mix.sql"
protocol = "{protocol}"

[parameters]
protocol = "simple"

[[steps]]
name = "run"
seconds = 1
roles.users = { per = "step", run = "mix" }
"""
MIX = """\\set twice 2 * :n
\\if :n > 500
SELECT :n, :m, :twice;
\\else
SELECT :name AS found \\gset r_
\\endif
SELECT '12:30', :r_found::text;
"""


def job(folder: Path, script: str, protocol: str = "simple", text: str = FILE) -> Json:
    return job_of(step(folder, script, protocol, text))


def step(folder: Path, script: str, protocol: str = "simple", text: str = FILE) -> Any:
    (folder / "mix.sql").write_text(script)
    (folder / "credit.jsonl").write_text('{"values": [5]}\n{"values": [null]}\n')
    (made,) = steps(text, folder, parameters={"protocol": protocol})
    return made


def complaint(folder: Path, script: str, protocol: str = "simple", text: str = FILE) -> str:
    """The first line of what is said, without the folder."""
    with pytest.raises(WorkloadError) as raised:
        job(folder, script, protocol, text)
    return str(raised.value).splitlines()[0].replace(f"{folder}/", "")


def test_a_script_draws_its_values_once_at_its_beginning(tmp_path: Path) -> None:
    made = job(tmp_path, MIX)
    assert [value["name"] for value in made["values"]] == ["n", "m", "name"], "no others"
    code = made["programs"][0]["code"]
    assert code[:4] == [["draw", 0], ["draw", 1], ["draw", 2], ["set", 0]]
    assert [line for line in code[4:] if line[0] == "draw"] == []
    assert [assignment["expression"] for assignment in made["assignments"]] == [
        ["drawn", 0],
        ["multiply", ["integer", 2], ["variable", 0]],
    ]
    (branch,) = made["branches"]
    assert code[branch["to"]] == ["send", 1], "targets count the draws"
    pieces = made["statements"][0]["pieces"]
    assert pieces == ["SELECT ", {"value": 0}, ", ", {"value": 1}, ", ", {"variable": 1}, ";"]


def test_a_script_without_values_is_as_it_would_be_without_the_section(tmp_path: Path) -> None:
    script = "\\set k random(1, 5)\nSELECT :k;\n"
    without = FILE[FILE.index("[transactions") :]
    assert job(tmp_path, script) == job(tmp_path, script, text=without)


def test_bound_values_are_sent_as_pgbench_sends_variables(tmp_path: Path) -> None:
    made = step(tmp_path, "SELECT :n, :credit, :credit;\n", "prepared")
    (statement,) = job_of(made)["statements"]
    assert (statement["libpq"], statement["results"]) == (True, "text")
    assert sql(made, "mix:1") == "SELECT <n>, <credit>::mood, <credit>::mood;"
    assert made.explain["mix:1"] == "SELECT $1, $2::mood, $2::mood"
    assert job_of(made)["programs"][0]["code"] == [["draw", 0], ["send", 0]], "samples need no draw"
    number = FILE.replace('type = "mood"', 'type = "int4"')
    assert job(tmp_path, "SELECT :credit;\n", "prepared", number)["statements"][0]["types"] == [
        "int4"
    ]


def played(made: Json, **changes: Any) -> Counter[str]:
    """How often 200 operations on the fake sent each statement."""
    (role,) = made["roles"]
    fake = {"default_us": 100}
    ran = run(
        made
        | {"protocol": 1, "autostart": True, "seed": 7, "engine": "fake", "fake": fake}
        | {"roles": [role | {"stop": {"operations": 200}}], "stop": {"roles": ["users"]}}
        | changes
    )
    assert ran.done["status"] == "ok", ran.done["reason"]
    counts: Counter[str] = Counter()
    for tick in ran.of("tick"):
        counts.update({name: each["count"] for name, each in tick["operations"].items()})
        counts["retries"] += sum(each["retries"] for each in tick["operations"].values())
    return counts


def test_both_arms_draw_the_same_and_so_does_a_retry(tmp_path: Path) -> None:
    made = job(tmp_path, MIX)
    first = played(made)
    assert first["mix"] == first["mix:3"] + first["mix:5"] == 200, "by what is drawn"
    assert 0 < first["mix:3"] < 200
    assert played(made, fake={"default_us": 300}) == first
    assert played(made, seed=8) != first
    error = {"statement": "mix:3", "every": 2, "code": "40001"}
    again = played(made, fake={"default_us": 100, "errors": [error]})
    assert again["retries"] > 0
    assert again == first | {"retries": again["retries"]}, "each goes the same way again"


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("\\set n 1\nSELECT :n;", "mix.sql:1:1: `n` is also a value of w.toml; rename one of them"),
        ("SELECT a, max(b) AS N FROM t \\gset\nSELECT 1;", "mix.sql:1:1: `n` is also a value"),
        ("SELECT t.a AS m FROM t \\gset na\nSELECT 1;", ""),
        ("UPDATE t SET a = 1 RETURNING a, t.n \\gset", "mix.sql:1:1: `n` is also a value"),
        ("SELECT ame FROM t \\aset n\nSELECT 1;", "mix.sql:1:1: `name` is also a value"),
        ("SELECT a FROM t WHERE n = :n ORDER BY n \\gset\nSELECT :a;", ""),
        ("SELECT :often;", "w.toml: key `values.often`: `mix.sql` draws it once; give it the key"),
        ("SELECT :tail;", "w.toml: key `values.tail`: a cursor bounds it, which `mix.sql` does"),
        ("\\set a :name + 1", "mix.sql:1:8: nothing can be computed from the value `name`"),
        ("\\if false\n\\sleep :name us\n\\endif", "mix.sql:2:1: nothing can be computed from the"),
        ("SELECT 'user:n';", "mix.sql:1:13: `:n` is a value, which stands in neither quotes nor"),
        ("\\set a :nn + 1", "mix.sql:1:8: variable `nn` is never set: set it, or name it under"),
    ],
)
def test_what_is_wrong_with_a_value_in_a_script_is_said(tmp_path: Path, script: str, sentence: str):
    if sentence:
        assert complaint(tmp_path, script).startswith(sentence)
    else:
        job(tmp_path, script)


def test_a_name_is_no_variable_and_value_at_once(tmp_path: Path) -> None:
    variables = FILE + "\n[variables]\nn = 5\n"
    told = complaint(tmp_path, "SELECT :n;", text=variables)
    assert told == (
        "w.toml: key `values.n`: is also a variable, which `mix.sql` uses; rename one of them"
    )
    job(tmp_path, "SELECT :m;", text=variables)
    scale = FILE.replace("often", "scale")
    assert "also a variable" in complaint(tmp_path, "SELECT :scale;", text=scale)


def test_a_script_can_be_kept_from_values(tmp_path: Path) -> None:
    text = FILE.replace('script = "mix.sql"', 'script = "mix.sql"\nvalues = false')
    made = job(tmp_path, "\\set n 1\nSELECT :n, ':often';", text=text)
    assert made["values"] == []
    assert [variable["name"] for variable in made["variables"]] == ["n"]
    told = complaint(tmp_path, "", text=text.replace('script = "mix.sql"', 'do = ["move"]'))
    assert "`transactions.mix.protocol`: a transaction has a `do`, or a `script`" in told


def test_a_column_with_a_value_s_name_is_left_to_the_run(tmp_path: Path) -> None:
    made = job(tmp_path, "SELECT * FROM t WHERE a = :n \\gset\nSELECT :a;")
    assert made["statements"][0]["into"]["columns"] == {"a": 0, "n": None}
