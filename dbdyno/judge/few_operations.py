"""Withholds the word where operations are too few for what their rate would say.

Where operations count in the window in which they end (other programs as the load, results of older
versions), each connection may have one at each edge of a window, or of a turn, of which only a part
lies within. Where all begin together that is no noise: all blocks have the same error, and no
interval shows it. Operations that count where they begin have no such error (Evidence.in_window);
where none began, there is no rate.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from dbdyno.judge.pairing import PairedRuns
from dbdyno.judge.step_cells import StepRow
from dbdyno.model.doubt import DoubtSubject
from dbdyno.model.verdict import Aims
from dbdyno.stats import few_operations


def checked(rows: Sequence[StepRow], aims: Aims) -> tuple[StepRow, ...]:
    """The rows; an arm has no word where its operations or the base's are too few."""
    return tuple(
        replace(row, faced={arm: _checked(row, faced, aims) for arm, faced in row.faced.items()})
        for row in rows
    )


def _checked(row: StepRow, faced: PairedRuns, aims: Aims) -> PairedRuns:
    text = "" if row.step.headline is None else _said(faced, row.step.headline, aims.margin)
    if not text:
        return faced
    return replace(faced, said="; ".join(filter(None, (faced.said, text))), withheld=True)


def _said(faced: PairedRuns, headline: str, margin: float) -> str:
    """Why there is no word; empty where the operations are enough."""
    runs = (*faced.runs, *faced.base_runs)
    for run in runs:
        if run.window.slow:
            continue
        if run.ending.status == "ok" and run.window.seconds and run.window.counted is None:
            missing = DoubtSubject.NO_OPERATION
            return next((str(doubt) for doubt in run.doubts if doubt.subject is missing), "")
    # The share of what counts that may lie across the edges of a window; 0: none does.
    own, base = (
        median(run.window.edge_share or 0.0 for run in side) if side else 0.0
        for side in (faced.runs, faced.base_runs)
    )
    ratio = faced.compared(headline).interval
    if ratio is None or own + base == 0.0:
        return ""
    change, edges = abs(math.log(ratio.value)), math.log1p(own + base)
    if edges < change or change + edges <= math.log1p(margin):
        return ""
    seconds = median(run.window.seconds or 0.0 for run in runs)
    counts = [run.window.counted for run in runs if run.window.counted is not None]
    count = median(counts) if counts else 0.0
    enough_s = few_operations.for_edges_s(seconds, own + base, max(change, margin))
    return (
        f"too few operations: of {count:,.0f} in a window, {100 * (own + base):.1f} % may"
        f" lie across its edges, which is more than they differ; `seconds = {enough_s:,.0f}` would"
        " do"
    )
