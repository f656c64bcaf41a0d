"""How far counts scatter on this host: kept on it, for intervals of later counts.

Each family of servers has a scatter of its own, on the machine and the kernel that it was found on:
between repeats by `dyno calibrate --count`, between fills by every pass that had several.
"""

import json
import os

import msgspec
from msgspec import structs

from dbdyno.host import place
from dbdyno.model.error import HostError
from dbdyno.model.host_facts import CountScatter, HostFacts, Machine
from dbdyno.model.json import misfit_words

FILE = "count-scatter.json"
REMEDY = "remove it, and run `dyno calibrate` with `--count` again"


class ScatterFile(msgspec.Struct, frozen=True):
    """What the file has: the machine, and by family what was found on it."""

    host: Machine
    families: dict[str, CountScatter] = {}


def keep(family: str, scatter: CountScatter, host: HostFacts) -> str:
    """Keeps a family's scatter beside the others', and returns where. Raises HostError.

    What is known of the fills of other versions and steps stays.
    """
    path = place.data_root() / FILE
    kept = read()
    others = kept.families if kept is not None and kept.host == host.machine else {}
    before = others.get(family, CountScatter())
    scatter = structs.replace(scatter, fills={**before.fills, **scatter.fills})
    text = msgspec.to_builtins(ScatterFile(host.machine, {**others, family: scatter}))
    new = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(text, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        raise HostError(f"`{path}` cannot be written: {error.strerror}") from error
    return str(path)


def known(family: str, host: HostFacts) -> CountScatter | None:
    """The scatter of a family on the host of these facts; None where none was found on it.

    Raises HostError where the file is damaged.
    """
    kept = read()
    return None if kept is None or kept.host != host.machine else kept.families.get(family)


def read() -> ScatterFile | None:
    """What is kept here. Raises HostError where the file is damaged."""
    path = place.data_root() / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=ScatterFile)
    except FileNotFoundError:
        return None
    except msgspec.ValidationError as error:
        raise HostError(f"`{path}` cannot be read ({misfit_words(error)}): {REMEDY}") from error
    except (OSError, ValueError) as error:
        raise HostError(f"`{path}` cannot be read ({error}): {REMEDY}") from error
