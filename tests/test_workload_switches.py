"""What parameters switch in a workload: which value it is, a pace or none, an end, a headline."""

from pathlib import Path
from typing import Any

import pytest

from dbdyno.model import Headline, Json
from workload_reader import complaint, job_of, role, sql, steps

MODELS = """
[parameters]
kind = "flat"
rate = 0
events = 0
time = 7
role = "query"
metric = "qps"

[tables.t]
create = "CREATE TABLE {t} (a int)"

[values]
a_flat = { uniform = [1, 9] }
a_steep = { zipf = { range = [1, 9] }, format = "decimal2" }
a_later = { add = ["a_flat", 5] }
a = { value = "a_{kind}" }
b = { value = "a", per = "transaction" }

[statements]
get = "SELECT FROM {t} WHERE a=:a OR a=:b"

[[steps]]
name = "load"
creates = ["t"]
roles.query = { run = "get", stop = { operations = 1 } }

[[steps]]
name = "read"
seconds = "{0 if events else time}"
headline = { metric = "{metric}", role = "{role}", count = "statements", each = "{2*time}" }

[steps.roles.query]
per = "step"
run = "get"
pace = { per_s = "{rate}", arrivals = "poisson" }
stop = { operations = "{events}" }
"""


def values(tmp_path: Path, **parameters: Any) -> list[Json]:
    (step, _) = steps(MODELS, tmp_path, parameters=parameters)
    return list(job_of(step)["values"])


def test_a_value_with_the_maker_of_another_is_drawn_by_itself(tmp_path: Path) -> None:
    flat: Json = {"per": "item", "format": "integer", "uniform": [1, 9]}
    assert values(tmp_path) == [{"name": "a", **flat}, {"name": "b", **flat, "per": "transaction"}]


def test_a_parameter_chooses_the_maker_and_its_format_comes_along(tmp_path: Path) -> None:
    a, b = values(tmp_path, kind="steep")
    assert a["zipf"]["range"] == b["zipf"]["range"] == [1, 9]
    assert (a["format"], b["format"], a["per"], b["per"]) == (
        *("decimal2", "decimal2"),
        *("item", "transaction"),
    )


def test_what_the_other_is_computed_from_comes_along(tmp_path: Path) -> None:
    text = MODELS.replace('per = "transaction"', 'format = "text"')
    (step, _) = steps(text, tmp_path, parameters={"kind": "later"})
    assert [one["name"] for one in job_of(step)["values"]] == ["a_flat", "a", "b"]
    assert [one["add"] for one in job_of(step)["values"][1:]] == [{"value": 0, "plus": 5}] * 2


def test_no_rate_is_no_pace_and_no_events_are_no_end(tmp_path: Path) -> None:
    _, timed = steps(MODELS, tmp_path)
    assert (role(timed, "query")["pace"], role(timed, "query")["stop"]) == (
        {"kind": "closed"},
        None,
    )
    assert job_of(timed)["stop"]["seconds"] == 7
    _, counted = steps(MODELS, tmp_path, parameters={"rate": 50, "events": 30})
    assert role(counted, "query")["pace"] == {"kind": "rate", "arrivals": "poisson", "per_s": 50.0}
    assert role(counted, "query")["stop"] == {"operations": 30}
    assert (job_of(counted)["stop"]["seconds"], job_of(counted)["stop"]["roles"]) == (
        None,
        ["query"],
    )


def test_a_headline_can_be_computed(tmp_path: Path) -> None:
    _, step = steps(MODELS, tmp_path, parameters={"metric": "scan"})
    assert step.headline == Headline(metric="scan", role="query", count="statements", each=14)


def test_a_repetition_has_its_own_separator(tmp_path: Path) -> None:
    text = MODELS.replace("a=:a OR a=:b", "[[3 ' OR ': a=:a]] OR a IN ([[2: :b]])")
    (step, _) = steps(text, tmp_path)
    repeats = [one for one in job_of(step)["statements"][0]["pieces"] if "repeat" in one]
    assert [(one["repeat"], one["separator"]) for one in repeats if isinstance(one, dict)] == [
        (3, " OR "),
        (2, ","),
    ]
    assert sql(step, "get") == "SELECT FROM <t> WHERE [3 ' OR '× a=<a>] OR a IN ([2× <b>])"
    assert step.explain["get"] == "SELECT FROM t1 WHERE a=$1 OR a=$2 OR a=$3 OR a IN ($4,$5)"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"a_{kind}"', '"a_{kind}", constant = 1', "key `values.a`: has the maker of another "
         "value; remove `constant` or `value`"),
        ('"a_{kind}"', '"a_flut"', "key `values.a.value`: no value `a_flut`; did you mean "
         "`a_flat`?"),
        ('"a_{kind}"', '"b"', "key `values.a`: is made as itself: a → b → a"),
        ("uniform = [1, 9]", "uniform = [9, 1]", "key `values.a_flat.uniform`: the lower bound 9 "
         "is above the upper bound 1"),
        ("rate = 0", "rate = -1", "key `steps[2].roles.query.pace.per_s`: must be at least 0, but "
         "`{rate}` is -1"),
        ("events = 0", "events = -1", "key `steps[2].roles.query.stop.operations`: must be at "
         "least 0, but `{events}` is -1"),
        ("time = 7", "time = 0", "key `steps[2]`: never ends; give it `seconds`, or one of its "
         "roles a `stop`"),
        ('"{role}"', '"{role}s"', "key `steps[2].headline.role`: no role `querys`; did you mean "
         "`query`?"),
        ('"{metric}"', '"{metric}x"', "key `steps[2].headline.metric`: no headline `qpsx`; did "
         "you mean `qps`?"),
        ("a=:a OR", "[[3 'OR: a=:a]] OR", "key `statements.get`: a repetition begins with a "
         "number, as `[[50:` or `[[50 ' OR ':`, from 1 to 100000, not \"3 'OR\""),
    ],
)  # fmt: skip
def test_what_is_wrong_gets_one_line(old: str, new: str, line: str, tmp_path: Path) -> None:
    assert old in MODELS
    assert complaint(MODELS.replace(old, new), tmp_path) == line


QUEUE = """
[tables.t]
create = "CREATE TABLE {t} (a int)"

[cursors.tail]
start = "SELECT min(a) FROM {t}"
on = "take"
advance = 1
queued = true

[statements]
put = "INSERT INTO {t} VALUES (1)"
take = "DELETE FROM {t} WHERE a = :cursor.tail"

[transactions]
both = { do = ["take", "put"] }

[[steps]]
name = "work"
creates = ["t"]
roles.insert = { run = "put", stop = { operations = 9 } }
roles.delete = { run = "take", pace = { tied = "insert", lead = 2 } }
"""


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        ("lead = 2", "arrivals = 'even'", "pace.arrivals`: a tied role has its partner's arrivals"),
        ('tied = "insert", ', "per_s = 1, ", "pace.lead`: only a tied role has a lead; remove it"),
        ("lead = 2", "per_s = 1", "pace`: needs exactly one of `rows_per_s`, `per_s` and `tied`"),
        ("pace", "stop.rows = 9, pace", "a tied role ends with `insert`; remove its `stop`"),
        ("pace", 'per = "step", pace', "differs from `insert` in `per`; give both the same"),
        ("pace", "connections = 200000, pace", "connections`: at most "),
        ('run = "take", ', "", "needs either `run` or `choose`"),
        ('run = "take"', "choose = {}", "choose`: names no statement"),
        ('run = "take"', 'choose = "all"', "choose`: no choice `all`"),
    ],
)
def test_a_role_that_cannot_be_is_one_line(was: str, now: str, line: str, tmp_path: Path) -> None:
    assert was in QUEUE
    assert line in complaint(QUEUE.replace(was, now, 1), tmp_path)


def test_a_queued_cursor_is_for_the_one_statement_of_a_tied_role(tmp_path: Path) -> None:
    (step,) = steps(QUEUE, tmp_path)
    assert job_of(step)["cursors"][0]["queued"] is True
    (step,) = steps(QUEUE.replace("queued = true", "queued = false"), tmp_path)
    assert "queued" not in job_of(step)["cursors"][0]
    alone = QUEUE.replace('pace = { tied = "insert", lead = 2 }', "stop = { operations = 9 }")
    several = QUEUE.replace('run = "take"', 'run = "both"')
    for text in (alone, several):
        assert complaint(text, tmp_path) == (
            "key `cursors.tail.queued`: no role of a tied pair sends `take` alone in `steps[1]`; "
            "remove it"
        )
