"""`[count]` in a plan: what is read, what is refused, and the plans that fill and count."""

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import engine, plan, workload
from dbdyno.engine.settings import ArmSettings
from dbdyno.model import Plan
from dbdyno.model.error import PlanError
from dbdyno.model.size import Capacity
from dbdyno.model.work import Event
from dbdyno.plan import count, shipped_plans
from dbdyno.run.check import counting
from dbdyno.run.ready_plan import ReadyPlan

TEXT = """
[arms.a]
{arm}
[arms.b]
version = "18"
[workload]
name = "sysbench"
steps = ["point-query", "update-index"]
parameters = {{ clients = 4 }}
[count]
{count}
"""


def parsed(arm: str = 'version = "17"', keys: str = "repeats = 3") -> Plan:
    """A plan of two arms that counts."""
    return plan.parse(TEXT.format(arm=arm, count=keys), None)


def test_lengths_may_be_given_by_step() -> None:
    """A step that is not named has what its rate says."""
    wish = parsed(keys='operations = { "point-query" = 60 }\nwarmup = 20').count
    assert wish is not None
    assert wish.lengths("point-query", None) == (20, 60)
    assert not wish.needs_rate("point-query")
    assert wish.lengths("update-index", 4_000.0) == (20, 50)
    assert wish.needs_rate("update-index")


@pytest.mark.parametrize(
    ("per_s", "lengths"),
    [
        (None, (200, 500)), (90_000.0, (200, 500)), (12_000.0, (200, 200)), (800.0, (200, 10)),
        (399.0, (10, 10)), (0.5, (10, 10)),
    ],
)  # fmt: skip
def test_operations_follow_from_the_native_rate(per_s: float | None, lengths: tuple[int, int]):
    """So a heavy statement is counted in seconds, too; a rate's noise seldom changes a number.

    And the warm-up, in which an operation costs more, hardly ever.
    """
    wish = parsed().count
    assert wish is not None
    assert wish.lengths("point-query", per_s) == lengths


def test_writes_that_wait_for_the_disk_have_enough_operations() -> None:
    """MariaDB's counts of ten inserts scattered by 0.14 %, and ten of TPC-B were full pages."""
    wish = parsed().count
    assert wish is not None
    assert wish.lengths("insert", 100.0, engine.of("postgres").counting.counted_writes_s) == (
        10,
        20,
    )
    assert wish.lengths("insert", 200.0, engine.of("mariadb").counting.counted_s) == (40, 100)


@pytest.mark.parametrize(
    ("arm", "keys", "words"),
    [
        ('dsn = "postgresql://u@h:5432/d"', "", "a `dsn`: only servers that dyno starts"),
        ('version = "17"\nstandby = 1', "", "has a standby"),
        ('version = "18"\nsettings = { io_method = "io_uring" }', "", "not io_uring"),
        ('version = "17"', 'steps = ["point-qery"]', "point-query"),
        ('version = "17"', 'operations = { "no-step" = 5 }', "no measured step `no-step`"),
        ('version = "17"', "operations = 0", "count.operations"),
        ('version = "17"', 'warmup = { "point-query" = -1 }', "count.warmup"),
    ],
)
def test_what_cannot_be_counted_is_refused_in_one_line(arm: str, keys: str, words: str) -> None:
    """The line names the key, or the arm."""
    with pytest.raises(PlanError) as refused:
        parsed(arm, keys)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_plans_of_the_pass_have_one_client_and_steady_settings() -> None:
    """Data are kept after the last step that is not measured, and read into the cache."""
    whole = parsed()
    counting = count.counting(whole, ("counter",))
    (use,) = counting.workloads
    assert use.parameters["clients"] == 1
    assert use.save == "post-fill"
    assert use.warm == "prewarm"
    assert not use.restart
    assert counting.schedule.blocks == 3
    assert counting.placement.counter == ("counter",)
    assert all(arm.settings["autovacuum"] == "off" for arm in counting.arms)
    assert not count.filling(whole).placement.counter


def test_a_setting_that_the_plan_names_stays() -> None:
    """What holds work still is added only where the arm says nothing."""
    whole = parsed('version = "17"\nsettings = { autovacuum = "on" }')
    assert count.filling(whole).arms[0].settings["autovacuum"] == "on"


def test_short_timeouts_are_named_in_their_units() -> None:
    """Bare numbers have the server's unit; 0 is none, and a minute is enough."""
    texts = {
        "statement_timeout": "500", "lock_timeout": "0", "transaction_timeout": "1min",
        "authentication_timeout": "30", "work_mem": "4MB",
    }  # fmt: skip
    settled = ArmSettings(values=texts, preset={}, departures=())
    sizing = Capacity(cores=2, memory_bytes=1 << 30, free_disk_bytes=1 << 30)
    prepared = ReadyPlan(
        builds={}, releases={}, steps={"sysbench": {"a": ()}}, sizing=sizing, points={},
        copies={}, copy_bytes={}, disk=(), data_path=Path("/"), device=None, settled={"a": settled},
    )  # fmt: skip
    lines = list(counting.notices(parsed(), prepared))
    assert [line.split(" is short")[0] for line in lines] == [
        "arms.a: statement_timeout = 500",
        "arms.a: authentication_timeout = 30",
    ]


def test_workloads_have_parameters_of_their_own_while_they_are_counted() -> None:
    """Time is measured with the workload's; a name that no workload has is refused."""
    timed = parsed(keys="parameters = { rows = 5_000 }")
    (use,) = count.filling(timed).workloads
    assert use.parameters["rows"] == 5_000
    assert "rows" not in timed.workloads[0].parameters
    with pytest.raises(PlanError, match=r"`count\.parameters\.row`: .*did you mean `rows`"):
        parsed(keys="parameters = { row = 5_000 }")


def refused(name: str, steps: str, keys: str, event: Event, *, family: str = "postgres") -> str:
    """What is said of a plan that is to tell one event more; nothing: it may."""
    text = TEXT.format(arm='version = "17"', count=keys).replace("sysbench", name)
    text = text.replace("parameters = { clients = 4 }", "")
    wanted = plan.parse(text.replace('"point-query", "update-index"', steps), None)
    wanted = replace(wanted, arms=(replace(wanted.arms[0], engine=family),))
    expanded = workload.expand(workload.load(name), {}, family)
    named = [step for step in expanded if step.measured and f'"{step.name}"' in steps]
    try:
        count.refuse_few(wanted, named, event, "leave it out")
    except PlanError as error:
        return str(error)
    return ""


def test_operations_that_are_sure_to_be_too_few_for_events_are_refused_with_what_it_takes() -> None:
    """A query that is sent once has one; of a rate that nobody knows yet there may be enough."""
    assert refused("decisions", '"q2"', "repeats = 2", "system calls") == (
        "step `q2` counts 1 operation, and system calls take 40 to tell one more: count as many, "
        "or leave it out"
    )
    few = 'operations = { "point-query" = 30 }'
    assert "counts 30 operations" in refused("sysbench", '"point-query"', few, "system calls")
    assert refused("sysbench", '"point-query"', "operations = 40", "system calls") == ""
    assert refused("sysbench", '"point-query"', "repeats = 2", "atomics") == ""
    assert "take 80" in refused("sysbench", '"update-index"', "operations = 40", "system calls")
    maria = refused("sysbench", '"update-index"', "repeats = 2", "atomics", family="mariadb")
    assert "counts 500 operations, and atomics take 3,500" in maria


def test_a_preset_that_is_sized_to_the_host_can_be_counted() -> None:
    """Which step fills the tables is asked without the host, and no step is another by its size."""
    text = shipped_plans.named("m5-metal-wal").path.read_text() + "\n[count]\nonly = true\n"
    made = plan.parse(text, None)
    (use,) = made.workloads
    assert count.last_filling(made, use, made.arms[0]) == "fill"
