"""Which steps a workload file comes to: a set's own list, sweeps, groups, repetitions that draw."""

from pathlib import Path
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model import Step
from dbdyno.model.error import PlanError, WorkloadError
from dbdyno.plan import parse
from workload_reader import job_of

TEXT = """
set = "all"

[parameters]
clients = 2
connections = "{2*clients}"
counts = [1, 3]
m = 5

[groups]
read = "reads of all kinds"
write = "writes"

[sets.all]

[sets.short]
steps = ["load", "read_n=2", "write", "again"]

[sets.turned]
steps = ["load", "write", "read_n=2", "read_n=1"]

[sets.growing]
steps = ["load", "read_n=2", "write", "again"]
sweep = { clients = "{counts}", m = [7] }

[tables.t]
create = "CREATE TABLE {t} (a int)"

[values]
a = { uniform = [1, 9] }

[statements]
put = "INSERT INTO {t} VALUES (:a)"
get = "SELECT a FROM {t} LIMIT {m}"

[[steps]]
name = "load"
creates = ["t"]
roles.insert = { run = "put", stop = { rows = 1 } }

[[steps]]
name = "read_n={n}"
group = "read"
for = { n = [1, 2] }
seconds = 4
roles.query = { run = "get", connections = "{connections}" }

[[steps]]
name = "write"
group = "write"
seconds = 3
roles.insert = { run = "put" }

[[steps]]
name = "again"
group = "read"
measured = false
seconds = 2
roles.query = { run = "get" }

[[steps]]
name = "never"
when = "{m > 5}"
sets = ["all"]
seconds = 2
roles.query = { run = "get" }
"""


def made(text: str, tmp_path: Path, name: str | None = None, **more: Any) -> dict[str, Step]:
    path = tmp_path / "w.toml"
    path.write_text(text)
    loaded = workload.load(str(path), set=name)
    parameters = more.pop("parameters", {})
    return {one.name: one for one in workload.expand(loaded, parameters, "postgres", **more)}


def complaint(text: str, tmp_path: Path, name: str | None = None, **more: Any) -> str:
    with pytest.raises(WorkloadError) as raised:
        made(text, tmp_path, name, **more)
    line = str(raised.value)
    assert "\n" not in line
    return line.removeprefix(f"{tmp_path}/w.toml: ")


# --- Sets that list their steps ----------------------------------------------------------------


def test_a_set_takes_the_steps_of_its_list_in_its_order(tmp_path: Path) -> None:
    assert list(made(TEXT, tmp_path)) == ["load", "read_n=1", "read_n=2", "write", "again"]
    assert list(made(TEXT, tmp_path, "short")) == ["load", "read_n=2", "write", "again"]
    turned = made(TEXT, tmp_path, "turned")
    assert list(turned) == ["load", "write", "read_n=2", "read_n=1"]
    assert [one.ordinal for one in turned.values()] == [1, 2, 3, 4]


def test_a_step_of_another_set_comes_behind_the_one_that_the_file_has_before_it(tmp_path: Path):
    wanted = ["load", "read_n=1", "again"]
    assert list(made(TEXT, tmp_path, "short", steps=wanted)) == wanted
    found = made(TEXT, tmp_path, "turned", steps=["load", "read_n=2", "again"])
    assert list(found) == ["load", "again", "read_n=2"]
    assert [one.ordinal for one in found.values()] == [1, 3, 4]


def test_a_sets_list_names_steps_that_the_file_has(tmp_path: Path) -> None:
    wrong = TEXT.replace('"write", "again"]', '"wriet", "again"]', 1)
    line = "key `sets.short.steps[3]`: no step `wriet`; did you mean `write`?"
    assert complaint(wrong, tmp_path, "short") == line
    twice = TEXT.replace('"write", "again"]', '"load", "again"]', 1)
    assert complaint(twice, tmp_path, "short").endswith("`load` is listed twice; "
                                                         "a run has each step once")  # fmt: skip


def test_a_set_may_be_like_another(tmp_path: Path) -> None:
    own = 'like = "turned"\nwithout = ["write"]\ninstead = { "read_n=2" = "again" }\n'
    text = TEXT.replace("[sets.turned]", f"[sets.own]\n{own}\n[sets.turned]")
    assert list(made(text, tmp_path, "own")) == ["load", "again", "read_n=1"]
    for wrong, line in {
        own + 'steps = ["load"]\n': "has both `steps` and `like`; remove one",
        own.replace('"turned"', '"own"'): "is like itself: own → own",
        own.replace('"turned"', '"turnt"'): "that has a list of steps; did you mean `turned`?",
        own.replace('"write"', '"wriet"'): "no step `wriet` in it; did you mean `write`?",
        own.replace('"read_n=2"', '"read_n=3"'): "no step `read_n=3` in it; did you mean",
    }.items():
        assert line in complaint(text.replace(own, wrong), tmp_path, "own")


def test_a_listed_step_that_is_switched_off_is_passed_over(tmp_path: Path) -> None:
    text = TEXT.replace('"again"]', '"never", "again"]', 1)
    assert "never" not in made(text, tmp_path, "short")
    assert list(made(text, tmp_path, "short", parameters={"m": 6}))[3] == "never"


# --- Sweeps ------------------------------------------------------------------------------------


def test_a_sweep_has_each_measured_timed_step_once_for_each_value(tmp_path: Path) -> None:
    swept = made(TEXT, tmp_path, "growing")
    assert list(swept) == [
        *("load", "read_n=2@clients=1,m=7", "read_n=2@clients=3,m=7"),
        *("write@clients=1,m=7", "write@clients=3,m=7", "again"),
    ]
    assert [job_of(one)["clients"] for one in swept.values()] == [2, 1, 3, 1, 3, 2]
    reads = [swept[f"read_n=2@clients={count},m=7"] for count in (1, 3)]
    assert [job_of(one)["roles"][0]["connections"] for one in reads] == [2, 6]
    assert job_of(reads[0])["statements"][0]["pieces"][-1] == " LIMIT 7"
    assert job_of(swept["again"])["statements"][0]["pieces"][-1] == " LIMIT 5"
    assert {one.group for one in reads} == {"reads of all kinds"}


def test_a_plan_names_one_step_of_a_sweep_or_all(tmp_path: Path) -> None:
    wanted = ["load", "write@clients=3,m=7"]
    assert list(made(TEXT, tmp_path, "growing", steps=wanted)) == wanted
    found = made(TEXT, tmp_path, "growing", steps=["load", "write"])
    assert list(found) == ["load", "write@clients=1,m=7", "write@clients=3,m=7"]


def test_a_sweep_is_of_parameters_and_over_lists(tmp_path: Path) -> None:
    wrong = TEXT.replace("sweep = { clients", "sweep = { client")
    line = "key `sets.growing.sweep.client`: no such parameter; did you mean `clients`?"
    assert complaint(wrong, tmp_path, "growing") == line
    wrong = TEXT.replace('"{counts}"', '"{m}"')
    line = "key `sets.growing.sweep.clients`: must be a list or the name of one in braces, not 5"
    assert complaint(wrong, tmp_path, "growing") == line


# --- Groups ------------------------------------------------------------------------------------


def test_a_steps_group_is_its_title(tmp_path: Path) -> None:
    groups = [one.group for one in made(TEXT, tmp_path).values()]
    assert groups == [None, *["reads of all kinds"] * 2, "writes", "reads of all kinds"]
    wrong = TEXT.replace('group = "write"', 'group = "writes"')
    line = "key `steps[3].group`: no group `writes`; did you mean `write`? (or add it to [groups])"
    assert complaint(wrong, tmp_path) == line


def test_groups_keep_their_steps_and_those_of_none(tmp_path: Path) -> None:
    found = made(TEXT, tmp_path, groups=["write"])
    assert [(one.name, one.ordinal) for one in found.values()] == [("load", 1), ("write", 4)]
    both = made(TEXT, tmp_path, groups=["write", "read"])
    assert list(both) == list(made(TEXT, tmp_path))
    line = "no group `reed`; did you mean `read`?"
    assert complaint(TEXT, tmp_path, groups=["reed"]) == line


def test_a_plan_has_groups_or_steps(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(TEXT)
    head = (
        '[arms.a]\nengine = "fake"\nfake = { default_us = 9 }\n[[workloads]]\nname = "./w.toml"\n'
    )
    use = parse(head + 'groups = ["read"]\n', tmp_path / "plan.toml").workloads[0]
    assert use.groups == ("read",)
    with pytest.raises(PlanError, match="a plan names `steps` or `groups`; remove one of them"):
        parse(head + 'groups = ["read"]\nsteps = ["load"]\n', tmp_path / "plan.toml")
    with pytest.raises(PlanError, match="no group `reads`; did you mean `read`"):
        parse(head + 'groups = ["reads"]\n', tmp_path / "plan.toml")


# --- Headlines ---------------------------------------------------------------------------------


def test_an_operation_may_count_as_so_much_work(tmp_path: Path) -> None:
    head = 'headline = { metric = "scan", role = "insert", count = "operations", each = "{2*m}" }'
    text = TEXT.replace('group = "write"', head)
    headline = made(text, tmp_path)["write"].headline
    assert headline is not None
    assert (headline.metric, headline.each, headline.work) == ("scan", 10, None)
    both = text.replace('each = "{2*m}"', "each = 2, work = 3")
    assert complaint(both, tmp_path).endswith("has both `work` and `each`; remove one")


# --- The file's protocol -----------------------------------------------------------------------


def test_statements_have_the_files_protocol_if_they_have_none(tmp_path: Path) -> None:
    text = TEXT.replace('set = "all"', 'set = "all"\nprotocol = "{kind}"').replace(
        "m = 5", 'm = 5\nkind = "prepared"'
    )
    found = made(text, tmp_path)
    assert job_of(found["read_n=1"])["statements"][0]["protocol"] == "prepared"
    own = text.replace('get = "SELECT', 'get.protocol = "extended"\nget.any = "SELECT')
    assert job_of(made(own, tmp_path)["read_n=1"])["statements"][0]["protocol"] == "extended"
    given = {"kind": "preparde"}
    line = "key `protocol`: no protocol `preparde`; did you mean `prepared`?"
    assert complaint(text, tmp_path, parameters=given) == line
    parts = DRAWING.replace("[values]", 'protocol = "prepared"\n[values]', 1)
    step = made(parts + '[[steps]]\nname = "v"\nparts = [{ once = "VACUUM" }]', tmp_path)["v"]
    assert job_of(step)["statements"][0]["protocol"] == "simple"
    (begin, *_) = job_of(made(parts, tmp_path)["load"])["statements"]
    assert (begin["name"], begin["protocol"]) == ("BEGIN", "prepared")


# --- Repetitions that draw ---------------------------------------------------------------------

DRAWING = """
[values]
id = { uniform = [1, 9], per = "transaction" }
next = { add = ["id", 1], per = "transaction" }
k = { uniform = [1, 9], per = "transaction" }

[tables.t]
create = "CREATE TABLE {t} (a int, b int)"

[statements]
out = "DELETE FROM {t} WHERE a = :id"
put = "INSERT INTO {t} VALUES (:next, :k)"

[transactions.turns]
do = ["BEGIN", { repeat = 2, draw = ["id"], do = ["out", "put"] }, "COMMIT"]

[[steps]]
name = "load"
creates = ["t"]
seconds = 1
roles.write = { run = "turns" }
"""


def code(text: str, tmp_path: Path) -> list[str]:
    """A program as words: `draw id`, `send out` …"""
    (step,) = made(text, tmp_path).values()
    names = {"draw": job_of(step)["values"], "send": job_of(step)["statements"]}
    (program,) = job_of(step)["programs"]
    return [f"{what} {names[what][number]['name']}" for what, number in program["code"]]


def test_a_repetition_draws_anew_and_what_is_computed_follows(tmp_path: Path) -> None:
    turn = ["draw id", "draw next", "send out", "send put"]
    assert code(DRAWING, tmp_path) == ["draw k", "send BEGIN", *turn, *turn, "send COMMIT"]
    without = DRAWING.replace('draw = ["id"], ', "")
    first = ["draw id", "draw next", "draw k"]
    assert code(without, tmp_path)[:3] == first
    never = DRAWING.replace("repeat = 2", "repeat = 0")
    assert code(never, tmp_path) == ["send BEGIN", "send COMMIT"]


def test_what_a_repetition_draws_is_not_used_before_it(tmp_path: Path) -> None:
    early = DRAWING.replace('"BEGIN", {', '"out", {')
    line = (
        "key `transactions.turns`: `out` uses `id`, which a repetition behind it draws; "
        "list it under the transaction's `draw`, too"
    )
    assert complaint(early, tmp_path) == line
    listed = early.replace("[transactions.turns]", '[transactions.turns]\ndraw = ["id"]')
    assert code(listed, tmp_path)[:3] == ["draw id", "draw k", "send out"]


def test_a_repetition_draws_values_of_transactions(tmp_path: Path) -> None:
    wrong = DRAWING.replace('draw = ["id"]', 'draw = ["idd"]')
    assert complaint(wrong, tmp_path).endswith("no value `idd`; did you mean `id`?")
    wrong = DRAWING.replace('[1, 9], per = "transaction" }\nnext', "[1, 9] }\nnext").replace(
        'add = ["id", 1], per = "transaction"', 'add = ["id", 1]'
    )
    line = '`id` is listed; give it the key per = "transaction"'
    assert complaint(wrong, tmp_path).endswith(line)
