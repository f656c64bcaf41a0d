"""`dyno race --only-flipped`: the captured queries that get another plan, by `dyno plans`."""

from pathlib import Path

from dbdyno.cli.exit_status import say
from dbdyno.model.error import DynoError


def steps(folder: Path | None, workload: str | None) -> list[str]:
    """The queries of a workload that get another plan, by a folder of `dyno plans`, and can run.

    Raises DynoError.
    """
    if folder is None:
        return []
    from dbdyno import workload as workloads
    from dbdyno.analysis import plans_only

    loaded = None if workload is None else workloads.load(workload)
    if loaded is None or loaded.application is None:
        raise DynoError("--only-flipped: is of queries of your own: name their folder (--workload)")
    can_run = {step.name for step in loaded.file.steps}
    rows = plans_only.flipped(plans_only.load(folder))
    flips = dict.fromkeys(row.query for row in rows if row.word in ("another plan", "near"))
    names = [query for query in flips if query in can_run]
    if not names:
        raise DynoError(
            f"--only-flipped: {folder}: no query that can run gets another plan: leave it out"
        )
    if untimed := len(flips) - len(names):
        say(f"without values, or with a text that may be cut, and so not timed: {untimed}")
    return names
