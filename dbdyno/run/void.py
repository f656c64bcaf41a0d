"""Finds outside disturbances of a block in its readings, which make it void (docs/plan.md).

Looked at are the measured windows of all arms, each from its start to its end. Of an arm with a
`dsn` nothing is known, as its server may run here or elsewhere.
"""

from collections.abc import Iterator

from dbdyno.model import Void
from dbdyno.model.disturbance import CAUSES, Cause, Disturbance, of_window
from dbdyno.store import BlockFolder, StepFolder

Windows = list[tuple[str, Disturbance]]
"""Disturbances with their windows: `point-query of pg18`."""


def disturbances(block: BlockFolder, limits: Void) -> Windows:
    """The disturbances of the block's windows beyond the limits."""
    steps = [step for run in block.runs() for step in run.steps()]
    return [window for step in steps for window in _of_step(step, limits)]


def _of_step(step: StepFolder, limits: Void) -> Iterator[tuple[str, Disturbance]]:
    """The disturbances of a step's window; none if it is not measured, or did not end well."""
    if (step.path / "failed.json").exists():
        return
    record = step.step()
    if not record.measured or record.remote:
        return
    ends = {reading.moment: reading for reading in step.host()}
    if "open" in ends and "close" in ends:
        for disturbance in of_window(ends["open"], ends["close"], limits):
            yield f"{record.name} of {record.arm}", disturbance


def lines(windows: Windows) -> dict[Cause, str]:
    """By cause, in words: the most disturbed window, and how many others there are."""
    said: dict[Cause, str] = {}
    for cause in dict.fromkeys(disturbance.cause for _, disturbance in windows):
        of_cause = [window for window in windows if window[1].cause == cause]
        where, largest = max(of_cause, key=lambda window: window[1].amount)
        more = len(of_cause) - 1
        ending = f"; and in {more} more window{'s' if more > 1 else ''}" if more else ""
        said[cause] = f"{CAUSES[cause]}: {largest.within(where)}{ending}"
    return said
