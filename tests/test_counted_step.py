"""Steps as they are counted: which roles stay, what they do on one connection, what is refused."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from dbdyno import engine, workload
from dbdyno.model import CountRequest, Step, WorkloadUse
from dbdyno.model.job.role import MARKS_BEFORE, ErrorReaction, TiedPace
from dbdyno.plan import count, counted_step
from dbdyno.plan.workload_use import HOST_CHECKED

SMALL: dict[str, Any] = {"clients": 1, "rows": 10_000, "rates": [100], "seconds": 10}
LENGTHS = (20, 100)


def step(name: str) -> Step:
    """A step of the Insert Benchmark."""
    use = workload.used(WorkloadUse(name="insert-benchmark"), None)
    steps = workload.expand(use, {**HOST_CHECKED, **SMALL}, "postgres")
    return next(step for step in steps if step.name == name)


def counted(name: str) -> Step:
    """The step as it is counted."""
    counting = engine.of("postgres").counting
    return counted_step.counted(step(name), LENGTHS, counting, 180000)


def test_deletes_follow_inserts_on_one_connection() -> None:
    """An operation is the insert, then its delete; a mark is one statement more."""
    (role,) = counted("l.i1").job.roles
    job = counted("l.i1").job
    program = job.programs[role.choose[0].program]
    sent = [job.statements[number].name for number in program.sends]
    assert sent == ["insert", "delete"]
    assert role.stop is not None
    assert role.stop.operations == 20 + MARKS_BEFORE + 100 + 1
    assert role.marks is not None
    mark = job.programs[role.marks.program]
    assert [job.statements[number].name for number in mark.sends] == ["mark", "flush", "counters"]
    assert job.capture == ("rows",)
    assert not any(cursor.queued for cursor in job.cursors)


def test_queries_are_counted_without_the_writers_beside_them() -> None:
    """Those keep a rate in time, which a counted server cannot."""
    (role,) = counted("qr100").job.roles
    assert role.name == "query"
    assert counted_step.uncountable(step("qr100")) is None


def test_a_call_that_is_counted_has_no_time_limit() -> None:
    """It takes 20 to 100 times as long as on the server that the limit is of."""
    made = step("qr100")
    roles = tuple(structs.replace(role, statement_limit_s=1.0) for role in made.job.roles)
    limited = replace(made, job=structs.replace(made.job, roles=roles))
    counting = engine.of("postgres").counting
    (role,) = counted_step.counted(limited, LENGTHS, counting, 180000).job.roles
    assert role.statement_limit_s is None


def test_tries_without_limit_have_one_while_they_are_counted() -> None:
    """The generator asks for an end in time of those, and a counted step ends by operations."""
    made = step("qr100")
    forever = ErrorReaction(retry=("40001",), tries=0)
    roles = tuple(structs.replace(role, on_error=forever) for role in made.job.roles)
    endless = replace(made, job=structs.replace(made.job, roles=roles))
    counting = engine.of("postgres").counting
    (role,) = counted_step.counted(endless, LENGTHS, counting, 180000).job.roles
    assert role.on_error == structs.replace(forever, tries=counted_step.TRIES_MAX)


def test_nobody_asks_what_a_counted_load_left() -> None:
    """Conditions of `orders` read whole tables, under the counter for minutes."""
    use = workload.used(WorkloadUse(name="orders"), None)
    steps = workload.expand(use, HOST_CHECKED, "postgres")
    assert any(step.conditions for step in steps)
    counting = engine.of("postgres").counting
    made = list(counted_step.of_arm(steps, CountRequest(), counting, {}, 180000))
    assert [step.name for step in made] == [step.name for step in steps]
    assert not any(step.conditions or step.invariants for step in made)


def test_an_amount_of_work_below_the_wish_is_counted_whole() -> None:
    """One operation makes the indexes: there is nothing to warm up."""
    (role,) = counted("l.x").job.roles
    assert role.stop is not None
    assert role.marks is not None
    assert (role.stop.operations, role.marks.warmup) == (MARKS_BEFORE + 1 + 1, 0)


@pytest.mark.parametrize(
    ("name", "words"), [("cleanup", "several connections"), ("qr100", "keeps a rate")]
)
def test_what_has_no_single_connection_is_refused(name: str, words: str) -> None:
    """Two roles that nobody paces; writers alone, where the queries are gone."""
    whole = step(name)
    if name == "qr100":
        roles = tuple(role for role in whole.job.roles if role.name != "query")
        whole = replace(whole, job=structs.replace(whole.job, roles=roles))
    assert words in (counted_step.uncountable(whole) or "")


def test_roles_that_share_no_table_do_not_join() -> None:
    """Another table's deletes are no part of an insert."""
    whole = step("l.i1")
    roles = tuple(
        structs.replace(role, table=None) if isinstance(role.pace, TiedPace) else role
        for role in whole.job.roles
    )
    whole = replace(whole, job=structs.replace(whole.job, roles=roles))
    assert "depend on each other" in (counted_step.uncountable(whole) or "")


def test_the_step_that_fills_is_named_and_not_counted() -> None:
    """No state is kept before it; a kept state makes all before it part of the fill."""
    use = WorkloadUse(name="insert-benchmark")
    steps = workload.expand(workload.used(use, None), {**HOST_CHECKED, **SMALL}, "postgres")
    assert [each.name for each in count.filling_steps(use, steps)] == ["l.i0"]
    saved = replace(use, save="post-l.x")
    assert [each.name for each in count.filling_steps(saved, steps)] == ["l.i0", "l.x"]


@pytest.mark.parametrize(("wish", "warmup"), [(CountRequest(), 300), (CountRequest(warmup=7), 7)])
def test_mariadb_writes_for_a_while_before_its_window(wish: CountRequest, warmup: int) -> None:
    """Its first inserts take new pages; a plan's own number stays."""
    use = workload.used(WorkloadUse(name="sysbench"), None)
    steps = workload.expand(use, {**HOST_CHECKED, "clients": 1}, "mariadb", steps=("insert",))
    counting = engine.of("mariadb").counting
    (step,) = (
        each
        for each in counted_step.of_arm(steps, wish, counting, {"insert": 150.0}, 101105)
        if each.measured
    )
    (role,) = step.job.roles
    assert role.marks is not None
    assert role.stop is not None
    assert role.marks.warmup == warmup
    assert role.stop.operations == warmup + MARKS_BEFORE + 100 + 1


def test_only_what_lasts_for_a_time_has_a_rate() -> None:
    """An amount of work is counted up to its own number of operations."""
    steps = [step("l.i1"), step("qr100")]
    (timed,) = counted_step.timed(steps, CountRequest())
    assert timed.name == "qr100"
    assert timed.job.stop.seconds == counted_step.RATE_S
    assert [role.name for role in timed.job.roles] == ["query"]
    assert not list(counted_step.timed(steps, CountRequest(operations=60)))


def test_what_a_rate_needs_comes_before_it() -> None:
    """An extension that is made after the state that is kept, and nothing that comes later."""
    ordered = [
        replace(step("l.i0"), ordinal=8, measured=False),
        replace(step("qr100"), ordinal=9),
        replace(step("l.i0"), ordinal=10, measured=False),
    ]
    assert [timed.ordinal for timed in counted_step.timed(ordered, CountRequest())] == [8, 9]
    assert not list(counted_step.timed(ordered, CountRequest(operations=60)))
