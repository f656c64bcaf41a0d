"""What no repetition changes: arms without a server or without data, steps that fail on all arms.

Such a plan ends after the first try, and not after as many as it has blocks.
"""

from collections.abc import Iterator, Mapping, Sequence

from dbdyno.model import Plan
from dbdyno.model.step_files import StepRecord
from dbdyno.store import BlockFolder, Results
from dbdyno.store.folder import RunFolder

NOT_STARTED = "its server did not start"


def refused(block: BlockFolder) -> dict[str, str]:
    """By arm why it has no server, or no data to measure on, in this block."""
    reasons: dict[str, str] = {}
    for run in block.runs():
        first = next(iter(failures(run)), None)
        if run.server() is None:
            reasons[run.arm] = first[1] if first else NOT_STARTED
        elif (
            first is not None
            and not first[0].measured
            and not any(
                folder.step().measured and folder.failed() is None for folder in run.steps()
            )
        ):
            reasons[run.arm] = f"{first[0].name}: {first[1]}"
    return reasons


def failures(run: RunFolder) -> Iterator[tuple[StepRecord, str]]:
    """The steps of a run that failed, in their order, each with its reason."""
    for folder in run.steps():
        if (failure := folder.failed()) is not None and failure.status == "failed":
            yield folder.step(), failure.reason or "it failed"


def said(reasons: Mapping[str, str]) -> list[str]:
    """A line for each reason, with the arms that have it."""
    return [
        reason
        if reason.startswith("arm ")
        else f"{', '.join(arm for arm in reasons if reasons[arm] == reason)}: {reason}"
        for reason in dict.fromkeys(reasons.values())
    ]


def nothing_left(plan: Plan, results: Results, before: int) -> list[str]:
    """Why further blocks compare nothing, a line each; none where they do.

    `before`: so many blocks were complete before this command, which may have mended what failed.
    """
    done = [block for block in results.blocks() if block.state == "done"]
    if len(done) <= before or len(plan.arms) < 2:
        return []
    reasons = refused(done[-1])
    others = [arm.name for arm in plan.arms if arm.name != plan.base]
    if plan.base in reasons or all(arm in reasons for arm in others):
        return said(reasons)
    return _all_failed(done[-1].runs())


def _all_failed(runs: Sequence[RunFolder]) -> list[str]:
    """The reasons where every measured step failed on every arm."""
    steps = [folder for run in runs for folder in run.steps() if folder.step().measured]
    if not steps or any(folder.failed() is None for folder in steps):
        return []
    return said({run.arm: reason for run in runs for _, reason in list(failures(run))[:1]})
