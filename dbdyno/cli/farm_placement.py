"""Where clients and sessions run in a branch's races in time: as its file says, or by one trial.

The trial is made once for a branch and kept, because an operation costs something else by another
placement: the levels of one history are all of the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dbdyno.model.error import HostError, ServerError
from dbdyno.model.placement import PlacementTrial
from dbdyno.store.file import made, read_struct_if_there, write_json

if TYPE_CHECKING:
    from dbdyno.farm.file import Branch, Farm

FOLDER = "placements"


class BranchTrial(Struct, frozen=True, kw_only=True):
    """The trial of a branch."""

    trial: PlacementTrial | None  # None: its races cannot be placed


def placed(farm: Farm, branch: Branch, text: str, path: Path, *, elsewhere: bool) -> str:
    """The text of a race's plan, with a placement. Raises HostError: the trial fails.

    `elsewhere`: blocks run on other hosts, of which a trial here says nothing.
    """
    from dbdyno.plan.race.text import in_schedule, quoted, with_placement

    if branch.placement is not None:
        return in_schedule(text, f"placement = {quoted(branch.placement)}")
    if elsewhere:
        return text
    kept = farm.folder / FOLDER / f"{branch.name}.json"
    tried = read_struct_if_there(kept, BranchTrial)
    if tried is None:
        tried = BranchTrial(trial=trial_of(text, path))
        write_json(made(kept.parent) / kept.name, tried)
    return text if tried.trial is None else with_placement(text, tried.trial)


def trial_of(text: str, path: Path) -> PlacementTrial | None:
    """The trial of a plan; None where it cannot be placed. Raises HostError."""
    from dbdyno import plan as plans
    from dbdyno.cli import measuring
    from dbdyno.host.lock import HostLock
    from dbdyno.run import placement_trial

    if not measuring.can_be_placed(text, path):
        return None
    try:
        with HostLock(plan=f"dyno watch: placement of {path.parent.name}", wait=True):
            return placement_trial.measured(plans.parse(text, path))
    except ServerError as error:
        raise HostError(f"the trial of a placement: {error}") from None
