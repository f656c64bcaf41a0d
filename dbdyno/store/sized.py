"""What the pilot's blocks took, and what it came to, as files have it (docs/results.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from dbdyno.model import Json
from dbdyno.verdict import Sized, Sizing


@dataclass(frozen=True, kw_only=True)
class Took:
    """How long a block took, by the lab's monotonic clock."""

    took_s: float  # from its begin to its end
    steps_s: Mapping[str, Mapping[str, float]]  # of it each step: by workload and step, all arms


def to_json(sizing: Sizing) -> Json:
    """The sizing as the object that is written."""
    return asdict(sizing)


def from_json(written: Json) -> Sizing:
    """The same read again, of an object that was checked; keys of a newer version are let go."""
    steps = tuple(Sized(**_known(Sized, one)) for one in written["steps"])
    return Sizing(**_known(Sizing, written) | {"steps": steps})


def _known(of: type[Sized] | type[Sizing], written: Json) -> Json:
    return {field.name: written[field.name] for field in fields(of)}
