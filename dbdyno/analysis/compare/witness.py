"""Instructions per operation, named beside a verdict and never a part of it. Pure.

A count of instructions scatters by tenths of a percent where throughput scatters by percents. But
fewer instructions need not be faster, and they are counted in an unjudged window.
"""

from __future__ import annotations

from dbdyno.analysis import wording
from dbdyno.model import Cell
from dbdyno.model.metric.counter import INSTRUCTIONS
from dbdyno.model.verdict import Aims


def words(cell: Cell, unit: str, aims: Aims) -> str:
    """What the count says of an arm, with its interval; nothing where there is none.

    `unit`: what the headline counts. A change is one beyond doubt within its family.
    """
    judgement = cell.costs.get(INSTRUCTIONS)
    if judgement is None or judgement.low is None or judgement.high is None:
        return ""
    ends = wording.ends(judgement.ratio, judgement.low, judgement.high)
    amount = wording.amount(judgement.ratio, counted=True)
    said = f"{amount} instructions per {unit}{ends}"
    changed = judgement.q is not None and judgement.q <= aims.level
    return said if changed else f"{said}, which may be chance"
