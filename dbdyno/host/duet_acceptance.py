"""What `dyno calibrate --duet` found on this host: kept on it, for the results of later duets.

It holds for the machine and the kernel that it was found on.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec

from dbdyno.host import place
from dbdyno.model.error import HostError
from dbdyno.model.host_facts import DuetAcceptance, HostFacts, Machine
from dbdyno.model.json import misfit_words

FILE = "duet-acceptance.json"


class Kept(msgspec.Struct, frozen=True):
    """What the file has: the machine, and what was found on it."""

    host: Machine
    acceptance: DuetAcceptance = msgspec.field(name="found")


def keep(acceptance: DuetAcceptance, host: HostFacts) -> Path:
    """Keeps it, and returns where. Raises HostError where that is not possible."""
    path = place.data_root() / FILE
    kept = msgspec.to_builtins(Kept(host.machine, acceptance))
    new = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(kept, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        raise HostError(f"`{path}` cannot be written: {error.strerror}") from error
    return path


def known(host: HostFacts) -> DuetAcceptance | None:
    """What was found on the host of these facts; None where nothing was, or on another one.

    Raises HostError where the file is damaged.
    """
    path = place.data_root() / FILE
    remedy = "remove it, and run `dyno calibrate --duet` again"
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=Kept)
    except FileNotFoundError:
        return None
    except msgspec.ValidationError as error:
        raise HostError(f"`{path}` cannot be read ({misfit_words(error)}): {remedy}") from error
    except (OSError, ValueError) as error:
        raise HostError(f"`{path}` cannot be read ({error}): {remedy}") from error
    return kept.acceptance if kept.host == host.machine else None
