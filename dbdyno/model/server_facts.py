"""The facts of an arm's server as it ran, as server.json has them (docs/results.md).

None is a fact that nobody tells; a field that may be UNSET is one that only some servers have.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from dbdyno.model.plan import Initdb

Settings = Mapping[str, str | None]
"""Settings of a server by their names."""


class BuildFacts(Struct, frozen=True, kw_only=True):
    """What a result says of a build that dyno made."""

    name: str | None = None
    key: str | None = None
    recipe: str | None = None
    flags: str | None = None
    options: tuple[str, ...] | None = None
    configure: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    source: Mapping[str, Any] | None = None
    compiler: str | None = None


class AccessFacts(Struct, frozen=True):
    """Where a server listens for load from other hosts, and which of them it lets in."""

    address: str
    clients: tuple[str, ...]


class ServerFacts(Struct, frozen=True, kw_only=True):
    """The facts of a server."""

    engine: str | None = None
    version: str | None = None
    version_text: str | None = None  # in full, as the server says it
    version_num: int | None = None
    compiler: str | None = None
    block_size: int | None = None
    settings: Settings | None = None  # all that the server has
    nondefault: Settings | None = None
    data_checksums: str | None = None
    base_dir: str | None = None
    build: BuildFacts | UnsetType | None = UNSET  # None: dyno did not make it
    flags: str | None = None  # what the compiler was told
    data_dir: str | None = None
    config: str | None = None  # a preset's name
    preset: Settings | None = None  # what the preset asked for
    user: str | None = None  # the account
    transport: str | UnsetType = UNSET
    encryption: str | UnsetType = UNSET  # of connections; else why they have none
    initdb_s: float | None = None
    copy_s: float | None = None  # of a golden copy
    start_s: float | None = None
    access: AccessFacts | UnsetType = UNSET
    initdb: Initdb | UnsetType = UNSET
    departures: tuple[str, ...] = ()  # from the configuration, a sentence each
    external: str | UnsetType = UNSET  # host and port of a server elsewhere
    fake: Mapping[str, Any] | UnsetType = UNSET  # what a plan plants
    rested_s: float | UnsetType = UNSET  # how long no server had run before
