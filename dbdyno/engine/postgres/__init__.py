"""PostgreSQL, 9.6 to 19, and whatever speaks its protocol and is set up as it is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.builds.compile import Method
from dbdyno.builds.flags import Recipes
from dbdyno.engine import inherited
from dbdyno.engine.counting import CountMethod
from dbdyno.engine.dsn_form import DsnForm
from dbdyno.engine.external import ExternalServer
from dbdyno.engine.footprint import Footprint
from dbdyno.engine.inherited import CacheMemory, InheritedSettings
from dbdyno.engine.interface import Fingerprint, LabServer, Server, Setting
from dbdyno.engine.postgres import (
    build,
    compile,
    config_file,
    counting,
    fetch,
    fingerprint,
    footprint,
    modules,
    planner_lab,
    probe,
    server,
    settings,
)
from dbdyno.engine.postgres.client import PostgresClient
from dbdyno.engine.postgres.dsn import DSN
from dbdyno.engine.postgres.restore import PostgresRestorer
from dbdyno.engine.preset import Settings
from dbdyno.engine.settings import ArmSettings, Demand
from dbdyno.host import account as accounts
from dbdyno.host.account import Account
from dbdyno.host.place import Place
from dbdyno.model import Arm
from dbdyno.model.engine import Traits
from dbdyno.model.size import Capacity, buffer_bytes

MEMORY = CacheMemory(setting="shared_buffers", share=0.4, bytes_of=buffer_bytes)
"""PostgreSQL's manual advises a quarter of the memory, and no more than 40 % (19.4.1)."""


PLANNER = planner_lab.LAB


@dataclass(frozen=True)
class PostgresEngine:
    """An engine of this family (engine.interface)."""

    traits: Traits

    @property
    def client(self) -> PostgresClient:
        """How its servers are asked."""
        return PostgresClient(self.traits.name)

    @property
    def dsn(self) -> DsnForm:
        """How its clients write a server's place."""
        return DSN

    @property
    def counting(self) -> CountMethod:
        """How the work of its servers is counted."""
        return counting.COUNTING

    @property
    def restorer(self) -> PostgresRestorer:
        """By pg_restore, or by psql."""
        return PostgresRestorer()

    @property
    def recipes(self) -> Recipes:
        """The published builds."""
        return Recipes(engine=self.traits.name, published=compile.RECIPES)

    def inspect(self, base_dir: Path, where: str, account: Account) -> Build:
        """The build in a folder. Raises ServerError that begins with `where`."""
        return replace(build.inspect(base_dir, where, account), engine=self.traits.name)

    def bring(self, version: str, where: str, cache: Path | None, account: Account) -> Build:
        """A prebuilt version, fetched where it is not in the cache. Raises ServerError."""
        folder = fetch.fetch(self.traits.name, version, lambda line: None, cache)
        return self.inspect(folder, where, account)

    def fetch(self, version: str, say: Callable[[str], None], *, md5: bool = False) -> Path:
        """A prebuilt version, of a major alone the newest; all have SHA-512. Raises ServerError."""
        return fetch.fetch(self.traits.name, version, say, newest=True)

    def folders(self, cache: Path, root: Path) -> Iterator[Path]:
        """The folders in which distributions and a build from source put it."""
        for pattern in build.INSTALLED:
            yield from sorted(root.glob(pattern))

    def method(self) -> Method:
        """By configure and make."""
        return Method(
            version=compile.version,
            version_files=("configure", "meson.build"),
            steps=compile.steps,
            ignored=lambda said, options: None,  # what configure does not know was refused
            explain=compile.explain,
            again=compile.AGAIN,
            configures=compile.CONFIGURES,
            named=modules.named,
            serves=modules.serves,
        )

    def read_config(self, text: str, source: str, version_num: int) -> Settings:
        """A postgresql.conf. Raises PlanError that begins with `source`."""
        return settings.read_config(text, source, version_num)

    def write_config(self, values: Mapping[str, str]) -> str:
        """Settings as a postgresql.conf."""
        return config_file.written(values)

    def settle(self, arm: Arm, build: Build, host: Capacity, demand: Demand) -> ArmSettings:
        """Preset, plan and lab together. Raises PlanError, HostError."""
        return settings.settle(arm, build.version_num, host, demand)

    def inherited(
        self, written: Mapping[str, str], arm: Arm, build: Build, share: Capacity
    ) -> InheritedSettings:
        """Those of another server's settings that an arm takes. Raises ServerError."""
        account = accounts.choose(arm.engine)
        known = settings.known_names(build, account) if build.made else None
        return inherited.of(written, arm.settings, known, share.memory_bytes, MEMORY)

    def footprint(self, setting: Setting) -> Footprint:
        """The resources of the host that a server with these settings takes."""
        return footprint.PostgresFootprint(setting)

    def fingerprint(self, data_dir: Path, wal_dir: Path | None) -> Fingerprint:
        """Changes with each start of a server in these data. Raises OSError."""
        return fingerprint.read(data_dir)

    def server(self, arm: Arm, build: Build, place: Place, settled: ArmSettings) -> LabServer:
        """A server of the lab, described, not made."""
        client = self.client
        if build.major >= probe.SHARED_SINCE:
            client = replace(client, settle_s=probe.SHARED_SETTLE_S)
        return server.PostgresServer(arm, build, place, settled, client)

    def unmade(self, arm: Arm) -> Server:
        """A server elsewhere."""
        return ExternalServer(arm, self.client)


def of(traits: Traits) -> PostgresEngine:
    """The engine of this family with these traits."""
    return PostgresEngine(traits)
