"""An arm of engine `fake`: the server is a part of dyno-loadgen with a virtual clock.

There is nothing to start and nothing to ask; what it does is planted in the plan
(contract/README.md, **fake**).
"""

from __future__ import annotations

from typing import Any

from dbdyno.engine.unmanaged import Unseen
from dbdyno.model import Address, Arm, Json
from dbdyno.model.error import PlanError

DEFAULTS: Json = {
    "service_us": {},
    "default_us": 100,
    "jitter": 0.0,
    "rows": {},
    "stalls": [],
    "errors": [],
    "lost_at_s": None,
    "cursor": {},
}
"""The keys of a job's `fake`, and what stands there where the plan says nothing."""
PLANTED_BY_NAME = ("service_us", "rows", "cursor")
"""Of these, the keys under which a value stands for a statement's or cursor's name."""
SAMPLER_KEYS = frozenset(
    {"server_cpu_us", "server_switches", "server_read_bytes", "server_write_bytes", "cores"}
    | {"foreign_share"}
)
"""What the plan plants for the fake sampler (dbdyno.engine.fake.sampler), not for the job."""
NOTHING_OF = (
    *("version_text", "version_num", "compiler", "block_size", "base_dir", "data_dir"),
    *("data_checksums", "initdb_s", "copy_s", "start_s", "user"),
)
"""The keys of server.json that a fake has no value for."""


class FakeServer(Unseen):
    """A server that is always well; it takes every statement and returns no rows."""

    engine = "fake"
    remote = False
    drops_any = True
    threads = False

    def __init__(self, arm: Arm) -> None:
        """Raises PlanError where the arm plants something unknown."""
        self.name = arm.name
        self._arm = arm
        for key in arm.fake:
            if key not in DEFAULTS and key not in SAMPLER_KEYS:
                known = ", ".join(f"`{one}`" for one in sorted(DEFAULTS.keys() | SAMPLER_KEYS))
                raise PlanError(f"arms.{arm.name}.fake.{key}: unknown key: there are {known}")

    @property
    def job_fake(self) -> Json | None:
        """The job's `fake` (contract/README.md): what the plan plants, with the defaults."""
        return {key: self._arm.fake.get(key, value) for key, value in DEFAULTS.items()}

    def setting(self, name: str) -> str | None:
        """What the plan set; it has no effect on a fake."""
        return self._arm.settings.get(name)

    def check(self) -> None:
        """Nothing can be wrong that was not seen when it was made."""

    def has_extension(self, name: str) -> bool:
        """It has none."""
        return False

    def start(self) -> None:
        """It is there at once."""

    def facts(self) -> Json:
        """server.json: that it is a fake, and what is planted."""
        return dict.fromkeys(NOTHING_OF) | {
            "engine": "fake",
            "version": self._arm.version or "fake",
            "config": self._arm.config,
            "preset": {},
            "departures": [],
            "settings": dict(self._arm.settings),
            "nondefault": dict(self._arm.settings),
            "fake": dict(self._arm.fake),
        }

    def address(self, *, tcp: bool = False) -> Address | None:
        """None: it answers only in dyno-loadgen itself."""
        return None

    def execute(
        self, *statements: str, database: str | None = None, limit_s: float = 0.0
    ) -> list[tuple[Any, ...]]:
        """Takes everything, returns no rows."""
        return []

    def create_database(self, name: str) -> None:
        """Its tables exist when a statement names them."""

    def use_database(self, name: str) -> None:
        """Its tables exist when a statement names them."""
