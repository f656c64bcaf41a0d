"""Builds many small results of one host, a day after another, with planted throughputs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno import store
from dbdyno.analysis.across import work
from dbdyno.analysis.across.work import Index
from dbdyno.model import Json
from dbdyno.store import Results
from result_builder import build
from result_planted import UNIX_NS, plant

DAY_NS = 24 * 3600 * 1_000_000_000
STEP = "l.i0"
VERSIONS: Mapping[str, Json] = {
    "16": {"version": "16.9", "version_num": 160009},
    "17": {"version": "17.6", "version_num": 170006},
    "18": {"version": "18.0", "version_num": 180000},
}


def result(
    parent: Path,
    day: int,
    *,
    version: str = "17",
    faster: float = 1.0,
    arms: Sequence[str] = ("nightly",),
    steps: Sequence[str] = (STEP,),
    blocks: int = 1,
) -> Path:
    """A result of this day, whose first arm has this version and is so much faster than planted."""
    made = build(
        parent,
        name=f"day-{day:04d}",
        arms=arms,
        steps=steps,
        blocks=blocks,
        planted=lambda arm, step, block: plant(step, faster=faster if arm == arms[0] else 1.0),
        servers={arms[0]: {**VERSIONS[version], "version_text": f"PostgreSQL {version}"}},
    )
    for order in made.glob("blocks/*/order.json"):
        change(order, started_unix_ns=UNIX_NS + day * DAY_NS)
    return made


def change(path: Path, **to: object) -> None:
    """Other values in a JSON file."""
    store.write_json(path, json.loads(path.read_text()) | to)


def indexes(parent: Path) -> list[Index]:
    """The results in a folder, indexed by their names."""
    return [work.index(one.folder.name, one) for one in Results.within(parent)]
