"""Words for each look while a plan runs, and for the reason why it ends."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from dbdyno.model import Cell, Plan, StepComparison
from dbdyno.model.looks import LookProgress, Looks
from dbdyno.model.open_steps import goes_on, open_steps
from dbdyno.model.verdict import shaded
from dbdyno.run.progress import duration
from dbdyno.stats import looks as stats

NAMES_MAX = 6
"""So many open steps are named, the others counted."""


def planned(plan: Plan) -> str:
    """The looks of a plan that is to begin, in a line."""
    if plan.schedule.until_decided:
        limit = plan.schedule.minutes_max
        within = "" if limit is None else f", or {duration(60 * limit)} are over"
        *numbers, last = stats.UNTIL_DECIDED
        listed = f"{', '.join(map(str, numbers))} and {last} blocks"
        return f"after {listed}, until every step is decided{within}"
    first, second, *_ = stats.scheduled(Looks(first=plan.schedule.blocks))
    if plan.schedule.blocks < stats.BLOCKS_MIN:
        return f"none, because one block decides nothing; the first is after {first.blocks}"
    return f"after {blocks_of(first.blocks)}; another after {second.blocks}, if you raise `blocks`"


def of_look(steps: Sequence[StepComparison], looked: LookProgress, plan: Plan) -> Iterator[str]:
    """The decisions at the last look taken: a line, or with several arms one for each.

    Nothing where nothing is judged.
    """
    if not steps:
        return
    after = f"look after {blocks_of(looked.taken[-1].blocks)}"
    arms = [cell.arm for cell in steps[0].cells[1:]]
    ends = plan.schedule.until_decided and not open_steps(steps)
    ending = "" if ends else coming(looked, plan)
    if len(arms) == 1:
        yield f"{after}: {of_arm(arms[0], steps)}{ending}"
        return
    yield f"{after}{ending}"
    yield from (f"  {arm}: {of_arm(arm, steps)}" for arm in arms)


def of_arm(arm: str, steps: Sequence[StepComparison]) -> str:
    """5 of 8 steps decided: 2 slower, 1 faster, 2 same; open: a, b, c."""
    own = [(step, cell) for step in steps for cell in step.cells if cell.arm == arm]
    settled = [cell for _, cell in own if not goes_on(cell)]
    words = Counter(word_of(cell) for cell in settled)
    said = ", ".join(f"{count} {word}" for word, count in words.most_common())
    text = f"{len(settled)} of {len(own)} steps decided" + (f": {said}" if said else "")
    still = [step.step for step, cell in own if goes_on(cell)]
    return f"{text}; open: {named(still)}" if still else text


def word_of(cell: Cell) -> str:
    """The cell's word; a step that is not judged for this arm has none."""
    if cell.tolerated is not None:
        return {"yes": "safe", "no": "not safe", "not yet": "open"}[cell.tolerated.answer]
    return "not judged" if cell.verdict is None else shaded(cell.verdict)


def named(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - NAMES_MAX
    return ", ".join(names[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")


def coming(looked: LookProgress, plan: Plan) -> str:
    """When the next look is, as a part of the line; empty where there is none."""
    if looked.coming is None:
        return ""
    blocks = looked.coming.blocks
    more = "" if blocks <= plan.schedule.blocks else f", with `blocks = {blocks}`"
    return f"; next look after {blocks_of(blocks)}{more}"


def between(looked: LookProgress, complete: int) -> str:
    """Says that a plan ended between two looks."""
    next_one = "" if looked.coming is None else f"; the next is after {looked.coming.blocks}"
    return f"no look after {blocks_of(complete)}{next_one}: until then no step gets a new word"


def after_the_last(block: int) -> str:
    """Says that a plan goes on though the time for its looks is over."""
    return f"the looks ended with block {block}: further blocks give figures and no new word"


# --- Why it ends -----------------------------------------------------------------------------


def decided(complete: int, judged: Sequence[StepComparison]) -> str:
    """Every step is decided, or a loss beyond the tolerance is shown."""
    what = "every step is decided"
    if any(cell.lost for step in judged for cell in step.cells):
        what = "a loss beyond the tolerance is shown"
    return f"{what} after {blocks_of(complete)}"


def nothing_to_decide(complete: int) -> str:
    """No step is compared, as in a plan with the base alone."""
    return f"no step is compared with the base, so {blocks_of(complete)} are enough"


def most_blocks(complete: int, still: Sequence[StepComparison]) -> str:
    """There are no more looks."""
    return f"{blocks_of(complete)} are the most{left_open(still)}"


def time_over(
    minutes: Sequence[float],
    passed: float,
    plan: Plan,
    looked: LookProgress,
    still: Sequence[StepComparison],
) -> str:
    """The time is over, by so much as a further block takes; `passed`: with what is in no block."""
    limit = plan.schedule.minutes_max
    assert limit is not None
    text = (
        f"no time for a further block, about {duration(60 * median(minutes))}: "
        f"{blocks_of(len(minutes))} took {duration(60 * passed)} of "
        f"`minutes_max`, {duration(60 * limit)}{left_open(still)}"
    )
    if looked.looks.last is None and looked.looks.first is None:
        return f"{text}; there are looks still, raise `minutes_max` for them"
    return text


def left_open(still: Sequence[StepComparison]) -> str:
    """The steps that stay open, as a part of the line."""
    return f"; open: {named([step.step for step in still])}" if still else ""


def blocks_of(count: int) -> str:
    """1 block, 6 blocks."""
    return f"{count} block{'s' * (count != 1)}"
