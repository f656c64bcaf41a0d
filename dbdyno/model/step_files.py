"""The files of a step: step.json says what it is (docs/results.md).

Older results lack the keys that have a default; keys that nothing here names are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from dbdyno.model.events import PROTOCOL
from dbdyno.model.find import Probed
from dbdyno.model.step import Headline, Sla


class StepRecord(Struct, frozen=True, kw_only=True):
    """What judging needs of step.json, which has all of a `Step` but its job."""

    workload: str
    ordinal: int
    name: str
    measured: bool
    headline: Headline | None = None
    sla: Sla | None = None
    roles: Mapping[str, str] = {}  # role -> kind in the published tables
    group: str | None = None
    probed: Probed | None = None
    solo: bool = False
    arm: str = ""
    block: int = 0
    remote: bool = False  # whether its server runs on a host that is not the lab's
    protocol: int = PROTOCOL
