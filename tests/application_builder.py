"""A comparison of an application whose queries are planted: what they cost, answer, and how they
are planned. Arms are `old`, the base, and `new`; a query takes a second of the source's time.

    made = compared(timed={"slow": (100, 340)}, answers={"bad": ("fails", "42601 syntax error")})
"""

import math
from collections.abc import Mapping, Sequence

from msgspec import structs

from dbdyno.findings.application import plan as application
from dbdyno.findings.queries import plan as query_changes
from dbdyno.judge import arms_and_blocks, step_cells
from dbdyno.model import Comparison, StepRun
from dbdyno.model.answer_word import AnswerWord
from dbdyno.model.application import ApplicationFacts
from dbdyno.model.golden import RestoreSummary
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.plan_record import ApplicationRecord, PlanRecord, QueryRecord, WorkloadRecord
from dbdyno.model.query_change import AnswerChange, PlanChange, QueryChanges, QueryPlace
from dbdyno.model.work import WorkComparison
from run_builder import NOISE, concluded, plan_of, run

ARMS = ("old", "new")
OF_NEW = {"workload": "w", "base": "old", "arm": "new"}
"""Of every change: the arm and what it is compared with."""


def planned(names: Sequence[str], **changes: object) -> PlanRecord:
    """A plan whose workload `w` is an application with these queries; `changes`: of its record."""
    queries = tuple(
        QueryRecord(name=name, text=f"SELECT {name} FROM f", calls=100, time_s=1.0)
        for name in names
    )
    record = structs.replace(ApplicationRecord(queries=queries), **changes)
    return structs.replace(plan_of(ARMS), workloads=(WorkloadRecord(name="w", application=record),))


def runs_of(name: str, ordinal: int, costs: tuple[float, float], blocks: int) -> list[StepRun]:
    """The runs of a query by the microseconds that a call takes on each arm, of time and of CPU."""
    return [
        run(
            arm,
            block,
            1e6 / took,
            cpu=took,
            metrics={"server_cpu_per_op": took},
            step=name,
            ordinal=ordinal,
        )
        for arm, cost, sign in zip(ARMS, costs, (1, -1), strict=True)
        for block, noise in enumerate(NOISE[:blocks], 1)
        for took in (cost * math.exp(sign * noise),)
    ]


def compared(
    *,
    timed: Mapping[str, tuple[float, float]] | None = None,
    answers: Mapping[str, tuple[AnswerWord, str]] | None = None,
    plans: Mapping[str, PlanChange] | None = None,
    restored: RestoreSummary | None = None,
    record: PlanRecord | None = None,
    blocks: int = 6,
) -> Comparison:
    """The comparison; queries without an answer of their own answer the same."""
    timed, said = timed or {}, dict(answers or {})
    record = record or planned(list(dict.fromkeys([*timed, *said, *(plans or {})])))
    words: dict[str, tuple[AnswerWord, str]] = dict.fromkeys(timed, ("same", "")) | said
    queries = QueryChanges(
        answers=tuple(
            AnswerChange(**OF_NEW, step=name, word=word, detail=detail, calls=1, calls_so=1)
            for name, (word, detail) in words.items()
        ),
        plans=tuple((plans or {}).values()),
    )
    runs = [
        run
        for ordinal, (name, costs) in enumerate(timed.items(), 1)
        for run in runs_of(name, ordinal, costs, blocks)
    ]
    arms = arms_and_blocks.arms(record, None)
    rows = step_cells.rows(record, arms, sorted(runs, key=lambda run: run.block))
    steps = concluded(runs, record, plans=queries.plans).steps if runs else ()
    restores = {} if restored is None else {("w", "new"): restored}
    asked = application.QueryFacts(queries=queries, restores=restores)
    return Comparison(
        title="planted: new against old",
        label=None,
        base="old",
        arms=ARMS,
        blocks=blocks,
        host=HostFacts(),
        generator=None,
        servers={},
        plan=record,
        steps=steps,
        findings={
            "QueryChanges": query_changes.with_effects(queries, steps, WorkComparison()),
            "ApplicationFacts": ApplicationFacts(
                applications=application.results(rows, record, ARMS, asked)
            ),
        },
        differences=(),
        doubts=(),
        incomplete=None,
    )


def place(query: str) -> QueryPlace:
    """A query on the arm."""
    return QueryPlace(workload="w", query=query, arm="new")


def another_plan(query: str, *, cost: float = 100.0) -> PlanChange:
    """A plan that differs for all values."""
    where = "f: Seq Scan → Index Scan f_x; expected 10 rows, read 285,362"
    return PlanChange(
        **OF_NEW,
        step=query,
        word="changed",
        detail=where,
        calls=1,
        calls_so=1,
        base_cost=10.0,
        arm_cost=cost,
    )
