"""An arm of engine `fake`: the server is a part of dyno-loadgen with a virtual clock.

There is nothing to start and nothing to ask; what it does is planted in the plan
(contract/README.md, **fake**).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.engine.fake.sampler import FakeSampler
from dbdyno.engine.interface import HostSampler, Keeper, Server
from dbdyno.host.observe.sampler import ReadingSink
from dbdyno.model import Address, Arm, Json, can
from dbdyno.model.engine import Capability, Traits
from dbdyno.model.error import PlanError
from dbdyno.model.host_facts import Storage
from dbdyno.model.job import Job
from dbdyno.model.server_facts import ServerFacts

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
"""The keys for the fake sampler (dbdyno.engine.fake.sampler), not for the job."""


class FakeServer:
    """A server that is always well; it takes every statement and returns no rows."""

    remote = False
    drops_any = True
    client = None
    standbys = None
    made = None
    keeper: Keeper | None = None
    entrance = None

    def __init__(self, arm: Arm) -> None:
        """Raises PlanError where the arm plants something unknown."""
        self.name = arm.name
        self.engine = arm.engine
        self.plants = FakePlants(arm.fake)
        self._arm = arm
        for key in arm.fake:
            if key not in DEFAULTS and key not in SAMPLER_KEYS:
                known = ", ".join(f"`{name}`" for name in sorted(DEFAULTS.keys() | SAMPLER_KEYS))
                raise PlanError(f"arms.{arm.name}.fake.{key}: unknown key: there are {known}")

    def can(self, what: Capability) -> bool:
        """As `can` of its arm: nothing."""
        return can(self._arm, what)

    def setting(self, name: str) -> str | None:
        """The plan's settings; a fake ignores them."""
        return self._arm.settings.get(name)

    def check(self) -> None:
        """Nothing can be wrong that was not seen when it was made."""

    def start(self) -> None:
        """The fake server is there at once."""

    def facts(self) -> ServerFacts:
        """server.json: that it is a fake, and what is planted."""
        return ServerFacts(
            engine=self.engine,
            version=self._arm.version or "fake",
            config=self._arm.config,
            preset={},
            settings=self._arm.settings,
            nondefault=self._arm.settings,
            fake=self._arm.fake,
        )

    def address(self) -> Address | None:
        """None: it answers only in dyno-loadgen itself."""
        return None

    load_address: Address | None = None

    def execute(
        self, *statements: str, database: str | None = None, limit_s: float = 0.0
    ) -> list[tuple[Any, ...]]:
        """Takes everything, returns no rows."""
        return []

    def create_database(self, name: str) -> None:
        """Its tables exist when a statement names them."""

    def use_database(self, name: str) -> None:
        """Its tables exist when a statement names them."""

    def stop(self, crash: bool = False) -> None:
        """Ends with the load, as it is a part of what makes it."""

    def failure(self) -> str | None:
        """None: it is always well."""
        return None

    def sampler(self, kept: ReadingSink, *, device: Storage | None, foreign: bool) -> HostSampler:
        """The sampler that writes the costs that the plan plants into `kept`."""
        return FakeSampler(kept, self._arm.fake)


@dataclass(frozen=True)
class FakePlants:
    """What a plan plants (engine.interface.Plants); `keys`: the arm's `fake`."""

    keys: Mapping[str, Any]

    @property
    def names(self) -> list[tuple[str, str]]:
        """The keys that plant something for a statement or cursor, each with its name."""
        named = [(key, name) for key in PLANTED_BY_NAME for name in self.keys.get(key, ())]
        return [*named, *(("errors", error["statement"]) for error in self.keys.get("errors", ()))]

    def of_job(self, job: Job) -> Json:
        """The planted facts of a job's statements and cursors, with the defaults."""
        plants = {key: self.keys.get(key, value) for key, value in DEFAULTS.items()}
        names = job.planted_names
        for key in PLANTED_BY_NAME:
            plants[key] = {name: value for name, value in plants[key].items() if name in names}
        errors = [error for error in plants["errors"] if error["statement"] in names]
        return plants | {"errors": errors}


@dataclass(frozen=True)
class FakeEngine:
    """An engine of this family: its servers are not made, and `can` says that it has no more."""

    traits: Traits

    def unmade(self, arm: Arm) -> Server:
        """The server of an arm."""
        return FakeServer(arm)


def of(traits: Traits) -> FakeEngine:
    """The engine of this family with these traits."""
    return FakeEngine(traits)
