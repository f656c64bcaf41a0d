"""Instructions per operation, named beside a verdict and never a part of it. Pure.

A count of instructions scatters by hundredths (callgrind) or tenths (perf) of a percent where
throughput scatters by percents. But fewer instructions need not be faster, and neither counts them
in a judged window.
"""

from collections.abc import Iterable
from dataclasses import replace

from dbdyno.model import Cell, StepComparison
from dbdyno.model.metric.counter import INSTRUCTIONS
from dbdyno.model.profile import NO_SYMBOL
from dbdyno.model.verdict import Aims, Verdict, Word
from dbdyno.model.work import WorkChange, WorkComparison, WorkWord
from dbdyno.parts import number

FUNCTIONS_NAMED = 3
SLOWER_ALL_THE_SAME = "what is left is the kernel, waits, cache misses or the code's layout"
FASTER_ALL_THE_SAME = (
    "what is left is fewer waits, cache misses or calls of the kernel, or code that does more with "
    "an instruction"
)
NOT_WAITED_FOR = "the step waits for something else, or the processor does more in a cycle"
LEFT: dict[tuple[Word, WorkWord], str] = {
    ("slower", "same"): SLOWER_ALL_THE_SAME,
    ("slower", "less"): SLOWER_ALL_THE_SAME,
    ("faster", "same"): FASTER_ALL_THE_SAME,
    ("faster", "more"): FASTER_ALL_THE_SAME,
    ("same", "more"): NOT_WAITED_FOR,
    ("same", "less"): NOT_WAITED_FOR,
}
"""What explains a change of time that counts do not: all that they cannot see."""


def words(cell: Cell, unit: str, aims: Aims) -> str:
    """What perf's count says of an arm, with its interval; nothing where there is none.

    `unit`: what the headline counts. A change is one beyond doubt within its family.
    """
    judgement = cell.costs.get(INSTRUCTIONS)
    if judgement is None or judgement.estimate.low is None:
        return ""
    ends = number.ends(*judgement.told)
    amount = number.amount(judgement.estimate.value, counted=True)
    said = f"{amount} instructions per {unit}{ends}"
    changed = judgement.q is not None and judgement.q <= aims.level
    return said if changed else f"{said}, which may be chance"


def with_counts(
    steps: Iterable[StepComparison], work: WorkComparison
) -> tuple[StepComparison, ...]:
    """The steps, with what callgrind's counts say in place of perf's, where work was counted."""
    changes = {(*change.name, change.arm): change for change in work.changes}
    return tuple(
        replace(
            step,
            cells=tuple(
                _with_count(cell, changes.get((step.workload, step.step, cell.arm)))
                for cell in step.cells
            ),
        )
        for step in steps
    )


def _with_count(cell: Cell, change: WorkChange | None) -> Cell:
    """The cell with a count beside its verdict, if it has both."""
    if cell.verdict is None or change is None or change.ratio is None:
        return cell
    return replace(cell, verdict=replace(cell.verdict, witness=counted(cell.verdict, change)))


def counted(verdict: Verdict, change: WorkChange) -> str:
    """What a count says beside a verdict, and which causes are left where the two disagree."""
    assert change.ratio is not None
    if change.word == "same":
        said = "the same instructions per operation"
    else:
        more = "more" if change.ratio.value > 1 else "fewer"
        said = f"{100 * abs(change.ratio.value - 1):.2f} % {more} instructions per operation"
    named = [
        f"{function.function} {number.signed(function.change)}"
        for function in change.changed
        if function.function != NO_SYMBOL
    ][:FUNCTIONS_NAMED]
    functions = f" ({', '.join(named)})" if named and change.word != "same" else ""
    events = "".join(
        f", {event.word} {event.event} ({event.function or 'no function'})"
        for event in change.events
    )
    left = LEFT.get((verdict.word, change.word), "")
    return f"{said}, counted{functions}{events}{f'; {left}' if left else ''}"
