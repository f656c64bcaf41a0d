"""What roles choose from: think times, decks, operations that roll back, headlines that name."""

from pathlib import Path

import pytest

from dbdyno.model import Headline, events
from dbdyno.model.headlines import unit_of
from dbdyno.model.job.role import Choice, ConstantThinkTime, ExponentialThinkTime
from dbdyno.run.step_progress import StepMeter
from workload_reader import complaint, steps

MIX = """
[parameters]
waits = 1

[tables.t]
numbered = false
create = "CREATE TABLE t (a int)"

[statements]
put = "INSERT INTO t VALUES (1)"
get = "SELECT a FROM t"

[values]
spoiled = { uniform = [1, 100], per = "transaction" }

[transactions.order]
do = [
    "BEGIN", "put",
    { when = ":spoiled <= 10", do = ["ROLLBACK", { end = "rolled_back" }] },
    "COMMIT",
]

[choices.mix]
order = { weight = 10, before_s = "{18*waits}", after_s = { mean = "{12*waits}", cap = 120 } }
get = 1

[[steps]]
name = "run"
seconds = 1
creates = ["t"]
headline = { metric = "opm", role = "users", count = { operations = ["order"] } }
roles.users = { choose = "mix", choice = "deck" }
metrics.grown = { query = "SELECT count(*) FROM t", change = "minute" }
"""


def test_entries_have_think_times_and_a_rule(tmp_path: Path) -> None:
    (step,) = steps(MIX, tmp_path)
    (role,) = step.job.roles
    think = ExponentialThinkTime(mean_us=12_000_000, max_us=120_000_000)
    assert role.choose == (Choice(0, 10, ConstantThinkTime(18_000_000), think), Choice(1, 1))
    assert (role.choice, role.thinks, role.does_what_it_can) == ("deck", True, False)
    (step,) = steps(MIX.replace("waits = 1", "waits = 0"), tmp_path)
    assert not step.job.roles[0].thinks


def test_an_end_is_an_instruction_and_its_operation_is_known_to_roll_back(tmp_path: Path) -> None:
    (step,) = steps(MIX, tmp_path)
    verbs = [verb for verb, _ in step.job.programs[0].code]
    assert verbs == [*("draw", "send", "send", "set", "unless"), *("send", "rolled_back", "send")]
    assert step.job.branches is not None
    assert step.job.branches[0].to == 7
    assert step.job.rolls_back
    plain = MIX.replace(', { end = "rolled_back" }', "")
    assert not steps(plain, tmp_path)[0].job.rolls_back


def test_a_headline_counts_what_it_names_by_the_minute(tmp_path: Path) -> None:
    (step,) = steps(MIX, tmp_path)
    assert step.headline == Headline(
        metric="opm", role="users", count="operations", operations=("order",)
    )
    meter = StepMeter(step)
    part = events.TickPart(count=0, rows=0, retries=0, max_us=0, response=None)
    counts = {"order": 3, "get": 7, "put": 4, "BEGIN": 4}
    tick = events.Tick(
        mono_ns=2, tick=1, active_ns=500_000_000, measured=True, role="users",
        per_client=[events.ClientCounts(10, 0, 0, 0)], late_us_max=0, backlog=0,
        operations={name: _counted(part, count) for name, count in counts.items()},
    )  # fmt: skip
    rates = meter.rates(tick) if meter.take(tick) else {}
    assert rates == {"unit": "orders/min", "rate": 360.0, "rate_so_far": 360.0}
    assert meter.counted().amount("operations") == 3
    assert meter.counted().operations == 10
    assert unit_of(step.headline) == "orders/min"


def _counted(part: events.TickPart, count: int) -> events.TickPart:
    return events.TickPart(count=count, rows=0, retries=0, max_us=part.max_us, response=None)


def test_a_metric_may_be_asked_twice(tmp_path: Path) -> None:
    (step,) = steps(MIX, tmp_path)
    assert [metric.change for metric in step.metrics] == ["minute"]
    (step,) = steps(MIX.replace('change = "minute"', "change = true"), tmp_path)
    assert [metric.change for metric in step.metrics] == ["second"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('choice = "deck"', 'choice = "deck", pace = { per_s = 2 }',
         "`steps[1].roles.users.pace`: `before_s` and `after_s` are of users, who wait"),
        ('choice = "deck"', 'choice = "dec"', "no rule `dec`; did you mean `deck`?"),
        ("weight = 10", "weight = 10_000",
         "`steps[1].roles.users.choose`: a deck has a card for each weight, 10001 in all"),
        ("cap = 120", "cap = 11",
         "`choices.mix.order.after_s.cap`: is below the mean of 12 s; give at least that"),
        ('"{18*waits}"', "-1", "`choices.mix.order.before_s`: must be at least 0"),
        ('"{18*waits}"', "86_401", "must be at most 86400"),
        ('operations = ["order"]', 'operations = ["put"]',
         "`steps[1].headline.count.operations`: role `users` has no operation `put`"),
        ('metric = "opm"', 'metric = "seconds"', "a step with `seconds` always takes that long"),
        ('metric = "opm"', 'metric = "opm", each = 2', "needs a rate of operations"),
        ('end = "rolled_back"', 'end = "back"', "no outcome `back`; there are `rolled_back`"),
        ('change = "minute"', "change = true, text = true", "goes with a `query` for a number"),
        ('change = "minute"', 'change = "day"', "change"),
    ],
)  # fmt: skip
def test_what_does_not_fit_gets_one_line(tmp_path: Path, old: str, new: str, line: str) -> None:
    said = complaint(MIX.replace(old, new), tmp_path)
    assert line in said
    assert "\n" not in said
