"""The pass over an application's queries before the first timed step: their answers, their plans.

All arms are up and at rest. Nothing of it is judged or timed, and what a query does is undone.
"""

from collections.abc import Sequence

from msgspec import structs

from dbdyno import workload
from dbdyno.model import Block, Plan, Step, WorkloadUse
from dbdyno.model.answer import EXPECTED_S, Answer, Answers
from dbdyno.model.own_query import OwnQuery
from dbdyno.run.answers import AnswerCheck, AnswerInquiry
from dbdyno.run.arm import Run
from dbdyno.run.plan_trees import PlanInquiry
from dbdyno.run.progress import Leg

FIRST_BLOCK = 1
LEG = "answers and plans"
RUN_S_MAX = 5.0
"""A query that took longer is not run once more for its plan."""


def go(runs: Sequence[Run], steps: Sequence[Step]) -> None:
    """Asks all queries, of which only some are steps, on each arm that runs; in block 1 alone."""
    first = runs[0]
    queries = asked(first.lab.plan, first.use, first.block)
    able = [run for run in runs if run.able and run.server.client is not None]
    if not queries or not steps or first.lab.part:
        return
    watch = first.lab.watch
    watch.begin(f"{first.of_block} {LEG}", leg(first.lab.plan, first.use, queries))
    base = first.lab.plan.base
    able.sort(key=lambda run: run.arm.name != base)
    folder = steps[0].workload
    answers = answers_of(able, AnswerInquiry(workload=folder, queries=queries), base)
    for run, of_arm in zip(able, answers, strict=True):
        run.lab.results.write_answers(run.block.number, run.arm.name, of_arm)
    able = [run for run in able if still_able(run)]
    slow = {answer.query for of_arm in answers for answer in of_arm.answers if is_slow(answer)}
    trees = PlanInquiry(workload=folder, queries=queries, slow=slow).trees(able)
    for run in able:
        still_able(run)
        of_run = trees[run.arm.name]
        run.lab.results.write_plan_trees(run.block.number, run.arm.name, of_run)
    watch.end(f"{len(queries)} queries asked")


def is_slow(answer: Answer) -> bool:
    """Whether a query takes too long to be run once more for its plan."""
    return answer.outcome == "timed out" or answer.seconds > RUN_S_MAX


def answers_of(runs: Sequence[Run], asking: AnswerInquiry, base: str) -> list[Answers]:
    """The answers of each arm; those of the base with what makes them doubtful."""
    answers = [asking.answers(run) for run in runs]
    if not runs or runs[0].arm.name != base:
        return answers
    checking = AnswerCheck(asking=asking, base=runs[0], answers=answers[0])
    return [
        structs.replace(
            answers[0], open_parts=tuple(checking.left_open(answers[1:])), ordered=checking.ordered
        ),
        *answers[1:],
    ]


def still_able(run: Run) -> bool:
    """Whether the server survived what it was asked; where not, later steps say why."""
    if run.broken is None:
        run.broken = run.server.failure()
    return run.broken is None


def asked(plan: Plan, use: WorkloadUse, block: Block) -> Sequence[OwnQuery]:
    """The queries that are asked in a block, the costliest first; none in most plans."""
    if block.number != FIRST_BLOCK:
        return ()
    application = workload.used(use, plan.path).application
    return () if application is None else application.queries


def leg(plan: Plan, use: WorkloadUse, queries: Sequence[OwnQuery]) -> Leg:
    """The part of the way on which they are asked."""
    return Leg(use.title, "", EXPECTED_S * len(queries) * len(plan.arms))


def legs(plan: Plan, use: WorkloadUse, block: Block) -> list[Leg]:
    """The same as it lies ahead; none where nothing is asked."""
    queries = asked(plan, use, block)
    return [leg(plan, use, queries)] if queries else []
