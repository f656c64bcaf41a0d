"""Steps as they are counted: one connection does a number of operations between marks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from msgspec import structs

from dbdyno.engine.counting import CountMethod
from dbdyno.model import CountRequest, Step
from dbdyno.model.job import Job, StopRule
from dbdyno.model.job.programs import Instruction, Program
from dbdyno.model.job.role import MARKS_BEFORE, ClosedPace, Role, RoleStop, TiedPace, WindowMarks
from dbdyno.model.job.statements import Statement

SECONDS_MAX = 600.0
"""The longest that a counted step may take: all takes 20 to 100 times as long."""
TRIES_MAX = 10
"""Of an operation that has no limit of tries, as a counted step ends with its operations: one
connection waits for no other, so that nothing is tried again."""
COUNTERS = "counters"
"""The statement of a mark whose rows are the server's counters."""
RATE_S = 1.0
"""A step runs so long, natively, to find its rate."""
OPERATIONS_PER_S = 200.0
"""A guess for the progress bar: a point query under the counter on a busy host."""


def uncountable(step: Step) -> str | None:
    """Why a step cannot be counted; None where it can be."""
    if step.job.driver != "loadgen":
        return "is made by another program, which sends no marks"
    closed = [role for role in step.job.roles if isinstance(role.pace, ClosedPace)]
    if not closed:
        return "keeps a rate in time, which a counted server cannot"
    if len(closed) > 1:
        return "has several connections, of which none waits for the others"
    (role,) = closed
    if role.latency_limit_ms is not None:
        return "has a latency limit, which a counted server cannot keep"
    if role.connect != "once":
        return "has a connection for each operation"
    if any(not joins(step.job, tied, role) for tied in followers(step.job, role)):
        return "has roles that depend on each other in more than their number of statements"
    return None


Rates = Mapping[str, float]
"""By step: how many operations a second the base does natively, where that is known."""


def of_arm(
    steps: Sequence[Step], wish: CountRequest, counting: CountMethod, rates: Rates, version_num: int
) -> Iterator[Step]:
    """The steps of one arm, those that are not wanted left out.

    Those that only read come first: what a step has written is work for the next one that reads
    (hint bits, pruning), which real time shares out.
    """
    ahead = [step for step in steps if not step.measured or wish.wants(step.name)]
    first = min(step.ordinal for step in ahead if step.measured)
    loads = [step for step in ahead if step.ordinal < first]
    after = [step for step in ahead if step.ordinal >= first]
    after.sort(key=lambda step: step.writes or not step.measured)
    for step in (*loads, *after):
        if step.measured:
            counted_s = counting.counted_writes_s if step.writes else counting.counted_s
            warmup, operations = wish.lengths(step.name, rates.get(step.name), counted_s)
            if step.writes and wish.warmup is None:
                warmup = max(warmup, counting.warmup_writes)
            yield counted(step, (warmup, operations), counting, version_num)
        else:
            yield unasked(step)


def operations_most(step: Step, wish: CountRequest) -> int:
    """How many operations of a step are counted, whatever its rate."""
    warmup, operations = wish.lengths(step.name, None)
    _, role = on_one_connection(step.job)
    own = warmup + operations if role.stop is None else role.stop.operations
    return own if own < warmup + operations else operations


def timed(steps: Sequence[Step], wish: CountRequest) -> Iterator[Step]:
    """The steps whose rates say how many operations are counted, each for RATE_S.

    Before them come those that are not measured and make what they need, such as an extension.
    """
    rated = []
    for step in steps:
        if step.measured and wish.needs_rate(step.name) and uncountable(step) is None:
            job, role = on_one_connection(step.job)
            if role.stop is None:
                stop = StopRule(seconds=RATE_S, warmup_s=0)
                rated.append(plain(step, structs.replace(job, stop=stop), RATE_S))
    for step in steps if rated else ():
        if not step.measured and step.ordinal < rated[0].ordinal:
            yield unasked(step)
    yield from rated


def plain(step: Step, job: Job, expected_s: float) -> Step:
    """The step with another job, and nothing around it."""
    alone = unasked(step)
    return replace(alone, job=job, expected_s=expected_s, pad_to_s=None, device_gb=0.0, sla=None)


def unasked(step: Step) -> Step:
    """The step without questions about what it left: a scan of each table takes minutes here."""
    return replace(step, conditions=(), invariants=())


def counted(step: Step, lengths: tuple[int, int], counting: CountMethod, version_num: int) -> Step:
    """A step that counts: one connection does some operations between marks.

    `lengths`: the operations before the window, and in it. A mark also asks the server, a build of
    `version_num`, for its counters.
    """
    *before, query = counting.counters(version_num)
    sent = (("mark", counting.mark), *(("flush", sql) for sql in before), (COUNTERS, query))
    job, role = on_one_connection(step.job)
    warmup, operations = lengths
    if role.stop is not None and role.stop.operations < warmup + operations:
        warmup, operations = 0, role.stop.operations
    first = len(job.statements)
    statements = [Statement(name=name, protocol="simple", pieces=(sql,)) for name, sql in sent]
    sends = (Instruction("send", first + place) for place in range(len(statements)))
    mark = Program(name="mark", code=tuple(sends))
    on_error = role.on_error
    if on_error is not None and not on_error.tries:
        on_error = structs.replace(on_error, tries=TRIES_MAX)
    role = structs.replace(
        role,
        on_error=on_error,
        stop=RoleStop(operations=warmup + MARKS_BEFORE + operations + 1),
        marks=WindowMarks(program=len(job.programs), warmup=warmup),
        statement_limit_s=None,  # it is of a server that runs by itself
        session=(*role.session, *counting.unlimited),
    )
    job = structs.replace(
        job,
        statements=(*job.statements, *statements),
        capture=("rows",),
        programs=(*job.programs, mark),
        roles=(role,),
        stop=StopRule(roles=(role.name,), seconds_max=SECONDS_MAX),
    )
    expected_s = (warmup + operations) / OPERATIONS_PER_S
    return plain(step, job, expected_s)


def in_order(step: Step) -> Step:
    """The step with fills by one connection, so that each fill has its rows in the same order."""
    fills = tuple(structs.replace(fill, streams=1) for fill in step.job.fills)
    return replace(step, job=structs.replace(step.job, fills=fills)) if fills else step


# --- One connection ---------------------------------------------------------------------------


def on_one_connection(job: Job) -> tuple[Job, Role]:
    """The role that has no pace, with those that follow it, an operation of each after the other.

    Without think times.

    Roles that keep a rate beside it, such as the writers beside queries, are left out.
    """
    role = next(role for role in job.roles if isinstance(role.pace, ClosedPace))
    tied = followers(job, role)
    # Only a pair of connections has a queue between them.
    cursors = tuple(structs.replace(cursor, queued=False) for cursor in job.cursors)
    # A counted server has nobody to wait for.
    choose = tuple(structs.replace(each, before=None, after=None) for each in role.choose)
    role = structs.replace(role, connections=1, after=(), choose=choose, renew=None)
    if tied:
        programs = [job.programs[each.choose[0].program] for each in (role, *tied)]
        together = reduce(one_after_another, programs)
        choice = structs.replace(role.choose[0], program=len(job.programs))
        job = structs.replace(job, programs=(*job.programs, together))
        role = structs.replace(role, choose=(choice,))
    return structs.replace(job, clients=1, threads=1, cursors=cursors, roles=(role,)), role


def followers(job: Job, role: Role) -> list[Role]:
    """The roles that do an operation for each of another one's."""
    return [
        each for each in job.roles if isinstance(each.pace, TiedPace) and each.pace.to == role.name
    ]


def joins(job: Job, tied: Role, role: Role) -> bool:
    """Whether both roles do one thing, straight on, with the same table."""
    single = len(tied.choose) == 1 and len(role.choose) == 1
    straight = all(
        instruction.verb == "send"
        for each in (tied, role)
        for choice in each.choose
        for instruction in job.programs[choice.program].code
    )
    return single and straight and tied.table == role.table


def one_after_another(first: Program, second: Program) -> Program:
    """A program that does what two do."""
    return Program(name=f"{first.name}, {second.name}", code=(*first.code, *second.code))
