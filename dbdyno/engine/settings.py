"""The settings of an arm's server, of whichever engine: where they come from, what does not go.

A value that does not go, more memory than there is: each is one line that names the arm, the key
and the remedy, and comes before anything is made.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.model import Arm, Initdb, Transport, engine, version
from dbdyno.model.error import HostError, PlanError
from dbdyno.model.size import Capacity

SPARE_CONNECTIONS = 10
"""Connections beside the load's: the probe's, autovacuum's, those kept for the superuser."""
CONNECTIONS = "max_connections"
"""The setting that the lab raises where the steps need more than by default."""
LEFT_OUT = "not kept: it may hold a secret"
SECRETS = frozenset(
    {"primary_conninfo", "archive_command", "restore_command", "archive_cleanup_command"}
    | {"recovery_end_command", "ssl_passphrase_command"}
    | {"wsrep_sst_auth", "hashicorp_key_management_token"}
    | {"init_connect", "init_slave", "init_replica"}
)
"""Settings of PostgreSQL, MySQL and MariaDB whose values are commands, SQL or credentials."""
SECRET_WORDS = re.compile(r"password|passphrase|secret|token|api_key|credential", re.IGNORECASE)
"""In names of settings that extensions and applications define."""
FOR_STEPS = " for the steps' connections"


@dataclass(frozen=True, kw_only=True)
class Demand:
    """A plan's wishes for an arm's server, beside its settings."""

    connections: int = 0  # of the load, in the largest step
    waits: bool = False  # whether sessions are sampled for what they wait for
    places: bool = False  # whether each session is put on the processor of its client
    workloads: tuple[str, ...] = ()  # by name, for which a preset's studies differ


@dataclass(frozen=True, kw_only=True)
class ArmSettings:
    """An arm's settings as they go into its configuration file, and where they come from."""

    values: Mapping[str, str]
    preset: Mapping[str, str]  # what the preset alone asked for
    departures: tuple[str, ...]  # from the published table
    initdb: Initdb = field(default_factory=Initdb)
    transport: Transport = "socket"
    inherited: Mapping[str, str] = field(default_factory=dict)  # those that are the source's


@dataclass(frozen=True)
class Cache:
    """The server's own cache of pages, as it is asked for."""

    setting: str
    size: str
    own: bool  # whether the plan's settings say it; else the preset


def untried(build: Build) -> tuple[str, ...]:
    """A sentence where a server is newer than the versions that dyno knows."""
    traits = engine.of(build.engine)
    tried = traits.tried or traits.newest
    newest = version.series(traits.name, version.bound(tried))
    if version.release_of(traits.name, build.version_num) <= newest:
        return ()
    return (
        f"not tried with {traits.product} {build.version}: presets and statistics are those for "
        f"{tried}",
    )


def by_plan(own: Mapping[str, str], published: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each setting that the plan gives another value than its preset."""
    return tuple(
        f"{name} is {own[name]}, not {published[name]}: the plan's settings"
        for name in published
        if name in own and own[name] != published[name]
    )


def connections_of(
    arm: str, own: Mapping[str, str], connections: int, configured: str | int
) -> int | None:
    """How many connections the server has to allow; None: as `configured`, or as the plan says.

    `configured`: by the preset, the file or the server's default. `own`: the plan's settings.
    Raises PlanError where theirs are too few for `connections` of the load and the lab's.
    """
    needed, written = connections + SPARE_CONNECTIONS, own.get(CONNECTIONS)
    if written is None:
        return needed if not str(configured).isdigit() or needed > int(configured) else None
    where = f"arms.{arm}.settings.{CONNECTIONS}"
    if connections and not written.isdigit():
        raise PlanError(f"{where}: `{written}` is not a whole number")
    if connections and int(written) < needed:
        raise PlanError(
            f"{where}: the steps need {connections} and the lab {SPARE_CONNECTIONS} connections: "
            f"make it {needed} or more, or remove the key"
        )
    return None


def refuse_too_much_memory(
    arm: str, cache: Cache, host: Capacity, bytes_of: Callable[[str], int]
) -> None:
    """Raises HostError where the server's cache is more than the host has memory.

    `bytes_of` reads its size as the server does, and raises PlanError where it is none.
    """
    try:
        wanted = bytes_of(cache.size)
    except PlanError as error:
        raise PlanError(f"arms.{arm}.settings.{cache.setting}: {error}") from error
    if wanted > host.memory_bytes:
        key = f"settings.{cache.setting}" if cache.own else "memory"
        raise HostError(
            f"arms.{arm}.{key}: {cache.setting} of {cache.size} is more than the host's "
            f"{host.memory_bytes / (1 << 30):.1f} GB of memory: ask for less"
        )


@contextmanager
def to_read(name: str, text: str, folder: Path) -> Iterator[Path]:
    """A file that every account can read, alone in a folder in `folder`; both are gone after."""
    place = Path(tempfile.mkdtemp(prefix="settings-", dir=folder))
    try:
        place.chmod(0o755)
        file = place / name
        file.write_text(text)
        file.chmod(0o644)
        yield file
    finally:
        shutil.rmtree(place)


def without_secrets(values: Mapping[str, str]) -> dict[str, str]:
    """A server's settings for server.json, in which those that may hold a secret say so instead."""
    return {
        name: LEFT_OUT if value and may_hold_secret(name) else value
        for name, value in values.items()
    }


def may_hold_secret(name: str) -> bool:
    """Whether a setting's value may have a password or a key in it: by its name alone."""
    own, _, of_extension = name.partition(".")
    return own in SECRETS or bool(of_extension and SECRET_WORDS.search(of_extension))


def setter(arm: Arm, name: str) -> str:
    """Says who sets what the plan's `settings` leave open: the arm's configuration, or the lab."""
    if arm.config is None or (name == CONNECTIONS and name not in (arm.config_text or "")):
        why = FOR_STEPS if name == CONNECTIONS else ""
        return f"arms.{arm.name}: the lab sets {name}{why}"
    return f"arms.{arm.name}.config: `{arm.config}` sets {name}"
