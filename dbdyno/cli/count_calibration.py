"""`dyno calibrate --count`: how far counts of one build repeat on this host."""

import json
from pathlib import Path

from dbdyno.cli.exit_status import FAILED, say
from dbdyno.model import Plan


def keep(plan: Plan, folder: Path, *, as_json: bool = False) -> int:
    """Says how far the counts of a base repeat, and keeps it for later intervals.

    Returns the exit status: FAILED where steps failed, of which nothing is kept. Raises DynoError.
    """
    import msgspec

    from dbdyno.findings.work import repeatability
    from dbdyno.host import count_scatter
    from dbdyno.model import engine
    from dbdyno.model.host_facts import HostFacts
    from dbdyno.store import Results

    results = Results.open(folder)
    if results.failed_steps():
        say(f"{folder}: steps failed, so nothing is kept")
        return FAILED
    steps = list(repeatability.steps(results))
    scatter = repeatability.pooled(steps)
    if as_json:
        print(json.dumps(msgspec.to_builtins(scatter), indent=2))  # noqa: T201
    else:
        print("\n".join(step.words for step in steps))  # noqa: T201
    family = engine.of(plan.arms[0].engine).family
    path = count_scatter.keep(family, scatter, results.host() or HostFacts())
    say(f"kept in {path}; counts that begin from now on have their intervals by it")
    return 0
