"""MySQL and MariaDB: servers with InnoDB; in what the two differ stands in `flavour`."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.builds.compile import Method
from dbdyno.builds.flags import Recipes
from dbdyno.engine import inherited
from dbdyno.engine.counting import CountMethod
from dbdyno.engine.dsn_form import CERTIFICATE, HOST, KEY, MODE, ROOT, DsnForm
from dbdyno.engine.external import ExternalServer
from dbdyno.engine.footprint import Footprint
from dbdyno.engine.inherited import CacheMemory, InheritedSettings
from dbdyno.engine.interface import Fingerprint, LabServer, Server, Setting
from dbdyno.engine.mysql import (
    build,
    compile,
    config_file,
    counting,
    fetch,
    flavour,
    footprint,
    options,
    server,
    settings,
)
from dbdyno.engine.mysql.client import MysqlClient
from dbdyno.engine.mysql.restore import MysqlRestorer
from dbdyno.engine.preset import Settings
from dbdyno.engine.settings import ArmSettings, Demand
from dbdyno.host import account as accounts
from dbdyno.host import data_folder
from dbdyno.host.account import Account
from dbdyno.host.place import Place
from dbdyno.model import Arm
from dbdyno.model.engine import Traits
from dbdyno.model.size import Capacity

MEMORY = CacheMemory(setting=settings.POOL, share=0.6, bytes_of=settings.amount, short=True)
"""MySQL's manual takes up to 80 % on a machine of its own (17.8.3.1); here load runs beside it."""


@dataclass(frozen=True)
class MysqlEngine:
    """An engine of this family (engine.interface)."""

    traits: Traits

    @property
    def client(self) -> MysqlClient:
        """How its servers are asked."""
        return MysqlClient(self.traits.name, flavour.of(self.traits.name))

    @property
    def dsn(self) -> DsnForm:
        """How its clients write a server's place."""
        return DsnForm(
            schemes=(self.traits.name,),
            port=3306,
            keys={
                "socket": HOST,
                "ssl-mode": MODE,
                "ssl-ca": ROOT,
                "ssl-cert": CERTIFICATE,
                "ssl-key": KEY,
            },
            modes={
                "preferred": "prefer",
                "required": "require",
                "verify_ca": "verify-ca",
                "verify_identity": "verify-full",
            },
            no_tls="disabled",
            ignored={
                "charset": "dyno speaks utf8mb4",
                "connect-timeout": "dyno waits 10 seconds for a connection",
                "compression": "dyno compresses nothing",
                "compression-algorithms": "dyno compresses nothing",
                "connection-attributes": "dyno names its connections itself",
                "auth-method": "dyno answers the method that the server asks for",
                "tls-version": "dyno speaks TLS 1.2 and 1.3",
                "tls-versions": "dyno speaks TLS 1.2 and 1.3",
            },
            refused={"password": "contains a password, which results would keep: remove it"},
        )

    @property
    def counting(self) -> CountMethod:
        """How the work of its servers is counted."""
        return counting.of(self.traits.name)

    @property
    def restorer(self) -> MysqlRestorer:
        """By the client of either."""
        return MysqlRestorer()

    @property
    def recipes(self) -> Recipes:
        """The published builds."""
        name, published = self.traits.name, compile.PUBLISHED[self.traits.job]
        return Recipes(engine=name, published=published, own=compile.OWN)

    def inspect(self, base_dir: Path, where: str, account: Account) -> Build:
        """The build in a folder. Raises ServerError that begins with `where`."""
        return build.inspect(base_dir, self.traits.name, where, account)

    def bring(self, version: str, where: str, cache: Path | None, account: Account) -> Build:
        """The newest build of a version that is here, fetched or installed. Raises ServerError."""
        return build.installed(self.traits.name, version, where, cache, account)

    def fetch(self, version: str, say: Callable[[str], None], *, md5: bool = False) -> Path:
        """Brings a build from the official archive. Raises ServerError."""
        return fetch.fetch(self.traits.name, version, say, md5=md5)

    def folders(self, cache: Path, root: Path) -> Iterator[Path]:
        """The usual paths."""
        found = build.folders(self.traits.name, cache, root)
        return (path for path in found if not path.is_relative_to(cache))

    def method(self) -> Method:
        """By cmake."""
        return Method(
            version=partial(compile.version, engine=self.traits.name),
            version_files=compile.OF_VERSION,
            steps=partial(compile.steps, engine=self.traits.name),
            ignored=compile.ignored,
            explain=compile.explain,
        )

    def read_config(self, text: str, source: str, version_num: int) -> Settings:
        """A my.cnf. Raises PlanError that begins with `source`."""
        return settings.read_config(self.traits.name, text, source, version_num)

    def write_config(self, values: Mapping[str, str]) -> str:
        """Options as a my.cnf."""
        return config_file.written(values)

    def settle(self, arm: Arm, build: Build, host: Capacity, demand: Demand) -> ArmSettings:
        """Preset, plan and lab together. Raises PlanError, HostError."""
        return settings.settle(arm, build, host, demand)

    def inherited(
        self, written: Mapping[str, str], arm: Arm, build: Build, share: Capacity
    ) -> InheritedSettings:
        """Those of another server's settings that an arm takes. Raises ServerError."""
        known = None
        if build.made:
            known = settings.known_names(build, accounts.choose(arm.engine))
        canonical = {options.canonical(name): value for name, value in written.items()}
        own = [options.canonical(name) for name in arm.settings]
        return inherited.of(canonical, own, known, share.memory_bytes, MEMORY)

    def footprint(self, setting: Setting) -> Footprint:
        """The resources of the host that a server with these options takes."""
        return footprint.MysqlFootprint(setting)

    def fingerprint(self, data_dir: Path, wal_dir: Path | None) -> Fingerprint:
        """Changes with each start of a server in these data. Raises OSError."""
        return fingerprint_of(data_dir, wal_dir)

    def server(self, arm: Arm, build: Build, place: Place, settled: ArmSettings) -> LabServer:
        """A server of the lab, described, not made."""
        return server.MysqlServer(arm, build, place, settled, self.client)

    def unmade(self, arm: Arm) -> Server:
        """A server elsewhere."""
        return ExternalServer(arm, self.client)


def of(traits: Traits) -> MysqlEngine:
    """The engine of this family with these traits."""
    return MysqlEngine(traits)


# --- By what a data directory of InnoDB is known again -----------------------------------------


HEAD_BYTES = 64 << 10
"""Of InnoDB's redo log: its header and both of its checkpoints lie there, in all versions."""
REDO = ("#innodb_redo/#ib_redo*", "ib_logfile*")
"""Since MySQL 8.0.30 (spare files are named otherwise while they are empty), and before it."""


def fingerprint_of(data_dir: Path, wal_dir: Path | None) -> Fingerprint:
    """The fingerprint of a data directory. Raises OSError where its files are missing.

    Any start of a server leaves its traces in the heads of files; a hash of these is kept beside a
    golden copy and compared before the copy is used.
    """
    found = hashlib.sha256()
    for path in [data_dir / "ibdata1", *redo_files(wal_dir or data_dir)]:
        head = data_folder.read(path.parent, path.name, HEAD_BYTES)
        found.update(path.name.encode() + b"\0" + head)
    return Fingerprint(major=None, sha256=found.hexdigest(), of="redo log")


def redo_files(folder: Path) -> list[Path]:
    """InnoDB's redo log files in a folder, by name."""
    return sorted(path for pattern in REDO for path in folder.glob(pattern))
