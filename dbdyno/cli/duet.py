"""`dyno calibrate --duet`: whether duets on this host find slowdowns of a known size."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.cli.exit_status import FAILED, say
from dbdyno.model import Plan

if TYPE_CHECKING:
    from dbdyno.run.blocks import Outcome


def accept(
    plan: Plan,
    planted: Sequence[str],
    blocks: int | None,
    measure: Callable[[Plan], Outcome],
    *,
    as_json: bool = False,
) -> int:
    """Measures the base beside its A/A arm and beside each slowdown, and keeps what came out.

    Returns the exit status: FAILED where steps failed, of which nothing is kept. Raises DynoError.
    """
    import msgspec

    from dbdyno.analysis.compare import duet_acceptance
    from dbdyno.host import duet_acceptance as on_host
    from dbdyno.model.host_facts import HostFacts
    from dbdyno.plan import calibration
    from dbdyno.store import Results

    folders: dict[float, Path] = {}
    for share, one in calibration.duets(plan, planted, blocks).items():
        outcome = measure(one)
        if outcome.failed:
            say(f"{outcome.folder}: steps failed, so nothing is accepted")
            return FAILED
        folders[share] = outcome.folder
    acceptance = duet_acceptance.accepted(folders)
    host = Results.open(folders[0.0]).host() or HostFacts()
    if as_json:
        print(json.dumps(msgspec.to_builtins(acceptance), indent=2))  # noqa: T201
    say(
        f"duets {'are' if acceptance.holds else 'are not'} accepted on this host: {acceptance.text}"
    )
    path = on_host.keep(acceptance, host)
    say(f"kept in {path}; results of duets take note of it when they begin")
    return 0
