"""The doubts of a run or of a comparison in words, as tests compare them."""

from dbdyno.model import Comparison, StepRun
from dbdyno.model.doubt import Doubt, DoubtSubject


def doubted(of: StepRun | Comparison) -> tuple[str, ...]:
    """Each doubt's subject and words, those of several blocks once."""
    doubts = of.doubts if isinstance(of, StepRun) else flat(of)
    return tuple(dict.fromkeys(str(doubt) for doubt in doubts))


def flat(comparison: Comparison) -> list[Doubt]:
    """The doubts of a comparison, one for each block."""
    return [
        Doubt(
            subject=group.subject,
            words=item.words,
            workload=item.workload,
            ordinal=item.ordinal,
            step=item.step,
            arm=group.arm,
            block=block,
        )
        for group in comparison.doubts
        for item in group.items
        for block in item.blocks or (None,)
    ]


def void_blocks(comparison: Comparison) -> list[Doubt]:
    """Those of void blocks."""
    return [doubt for doubt in flat(comparison) if doubt.subject is DoubtSubject.VOID]
