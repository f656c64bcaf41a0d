"""What a step does before its window: warm-ups of work, roles that others wait for, cursors."""

from pathlib import Path

import pytest

from dbdyno.model.job.values import Value
from dbdyno.workload import explain_literals
from workload_reader import complaint, job_of, role, steps

LEAD_IN = """
[parameters]
lead = 1

[tables.t]
create = "CREATE TABLE {t} (a int)"

[values]
price = { uniform = [5, 5], format = "hundredths" }

[statements]
put = "INSERT INTO {t} VALUES (:price)"
nothing = "SELECT 1"

[transactions.wait]
do = ["nothing", { sleep_s = 3 }, "nothing"]

[[steps]]
name = "work"
creates = ["t"]
warmup_s = "{3*lead}"
stop = "insert"
roles.wait = { when = "{lead}", per = "step", run = "wait", stop = { operations = 1 } }

[steps.roles.insert]
run = "put"
after = ["wait"]
pace = { rows_per_s = 10 }
stop = { rows = 100 }
"""


def test_a_step_that_its_work_ends_can_warm_up(tmp_path: Path) -> None:
    (step,) = steps(LEAD_IN, tmp_path)
    assert job_of(step)["stop"] == {
        "roles": ["insert"],
        "seconds": None,
        "warmup_s": 3,
        "seconds_max": None,
    }
    assert role(step, "insert")["after"] == ["wait"]
    assert step.nominal_s == 3 + 10


def test_a_role_that_when_omits_is_waited_for_by_none(tmp_path: Path) -> None:
    (step,) = steps(LEAD_IN, tmp_path, parameters={"lead": 0})
    assert [one["name"] for one in job_of(step)["roles"]] == ["insert"]
    assert role(step, "insert")["after"] == []
    assert step.nominal_s == 10
    wrong = LEAD_IN.replace('after = ["wait"]', 'after = ["wiat"]')
    line = complaint(wrong, tmp_path, parameters={"lead": 0})
    assert line.startswith("key `steps[1].roles.insert.after`: no role `wiat`; ")


def test_a_program_or_a_bulk_load_does_not_warm_up_without_an_end(tmp_path: Path) -> None:
    program = """
[[steps]]
name = "work"
driver = "command"
command = ["true"]
warmup_s = 3
roles.query = {}
"""
    assert complaint(program, tmp_path) == (
        "key `steps[1].warmup_s`: a program warms up only before its `seconds`"
    )
    load = """
[tables.t]
create = "CREATE TABLE {t} (a int)"
fill = { rows = 1, columns = { a = ":row" } }

[[steps]]
name = "work"
creates = ["t"]
fills = ["t"]
warmup_s = 3
"""
    assert complaint(load, tmp_path) == (
        "key `steps[1].warmup_s`: a step with `fills` does nothing else; remove it"
    )


@pytest.mark.parametrize(
    ("number", "text"), [(12_345, "123.45"), (7, "0.07"), (-7, "-0.07"), (0, "0.00")]
)
def test_hundredths_are_explained_as_they_are_sent(number: int, text: str) -> None:
    values = [Value(name="price", format="hundredths", constant=number)]
    assert explain_literals.literal(values, 0, 0, 1) == text
