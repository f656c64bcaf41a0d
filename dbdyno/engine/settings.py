"""The settings of an arm's PostgreSQL: its preset, its own, the lab's; checked before a start.

A name that the build does not know, a value that it does not take, more memory than there is: each
is one line that names the arm, the key and the remedy, and comes before anything is made.
"""

from __future__ import annotations

import difflib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.engine import log
from dbdyno.engine.preset import arm_config
from dbdyno.host import account as accounts
from dbdyno.host.account import Account
from dbdyno.model import Arm
from dbdyno.model.error import HostError, PlanError, ServerError
from dbdyno.model.size import Capacity

CHECK_S_MAX = 30.0
SPARE_CONNECTIONS = 10
"""Connections beside the load's: the probe's, autovacuum's, those kept for the superuser."""
DEFAULT_CONNECTIONS_MAX = 100
CONNECTIONS = "max_connections"
"""What the lab sets where the steps need more than by default."""
LAB = {
    "listen_addresses": "127.0.0.1",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": log.PREFIX,
}
"""What the lab needs to be so, whatever preset and plan say."""
WANTED = {"log_checkpoints": "on", "log_autovacuum_min_duration": "0"}
"""What the lab wants to see in the log where neither preset nor plan say otherwise."""
RESERVED = frozenset(LAB) | {
    "config_file", "data_directory", "external_pid_file", "hba_file", "ident_file",
    "unix_socket_directories", "log_directory", "log_filename", "include", "include_dir",
    "include_if_exists",
}  # fmt: skip
"""Settings that a plan cannot name, because the lab lives by them."""
FOR_STEPS = " for the steps' connections"
COMPILED_IN = ("io_uring", "lz4", "zstd")
"""Values that a build has only where it was compiled for them."""
NAMED = re.compile(r'parameter "([^"]+)"')


@dataclass(frozen=True, kw_only=True)
class Settled:
    """An arm's settings as they go into its configuration file, and where they come from."""

    values: Mapping[str, str]
    preset: Mapping[str, str]  # what the preset alone asked for
    departures: tuple[str, ...]  # from the published table


@dataclass(frozen=True)
class Cache:
    """The server's own cache of pages, as it is asked for."""

    setting: str
    size: str
    own: bool  # whether the plan's settings say it; else the preset


def settle(arm: Arm, version_num: int, host: Capacity, connections: int = 0) -> Settled:
    """The settings of an arm for `connections` connections of the load.

    Raises PlanError where the plan's own do not go, HostError where they do not fit the host.
    """
    preset = arm_config.of_arm(arm, host, version_num)
    refuse_reserved(arm, preset.values)
    values = {**WANTED, **preset.values, **arm.settings}
    departures = preset.departures + by_plan(arm.settings, preset.values)
    needed = connections_of(arm.name, arm.settings, connections, DEFAULT_CONNECTIONS_MAX)
    if needed is not None:
        values[CONNECTIONS] = str(needed)
    if "shared_buffers" in values:
        cache = Cache("shared_buffers", values["shared_buffers"], "shared_buffers" in arm.settings)
        refuse_too_much_memory(arm.name, cache, host, arm_config.buffer_bytes)
    return Settled(values=values | LAB, preset=preset.values, departures=departures)


def by_plan(own: Mapping[str, str], published: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each setting that the plan gives another value than its preset."""
    return tuple(
        f"{name} is {own[name]}, not {published[name]}: the plan's settings"
        for name in published
        if name in own and own[name] != published[name]
    )


def connections_of(arm: str, own: Mapping[str, str], connections: int, default: int) -> int | None:
    """How many connections the server has to allow; None: those of its `default`, or the plan's.

    `own`: the plan's settings. Raises PlanError where theirs are too few for `connections` of the
    load and the lab's.
    """
    needed, written = connections + SPARE_CONNECTIONS, own.get(CONNECTIONS)
    if written is None:
        return needed if needed > default else None
    where = f"arms.{arm}.settings.{CONNECTIONS}"
    if connections and not written.isdigit():
        raise PlanError(f"{where}: `{written}` is no whole number")
    if connections and int(written) < needed:
        raise PlanError(
            f"{where}: the steps need {connections} and the lab {SPARE_CONNECTIONS} connections: "
            f"make it {needed} or more, or drop the key"
        )
    return None


def refuse_reserved(arm: Arm, configured: Mapping[str, str]) -> None:
    """Raises PlanError where the plan, or a file that it names, sets what the lab lives by."""
    for name in configured:
        if name in RESERVED:
            raise PlanError(
                f"arms.{arm.name}.config: {arm.config} sets {name}, which the lab sets itself: "
                "remove the line"
            )
    for name in arm.settings:
        if name.lower() in RESERVED:
            raise PlanError(
                f"arms.{arm.name}.settings.{name}: the lab sets this itself: drop the key"
            )


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


def text_of(values: Mapping[str, str]) -> str:
    """The settings as PostgreSQL reads them from a configuration file."""
    return "".join(f"{name} = {quoted(value)}\n" for name, value in values.items())


def quoted(value: str) -> str:
    """A value in the quotes of a configuration file."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def verify(
    arm: Arm, build: Build, values: Mapping[str, str], account: Account, folder: Path
) -> None:
    """Lets the build itself read the settings, from a folder in `folder` that is gone afterwards.

    Raises PlanError for the first one that it does not know or does not take.
    """
    with to_read("postgresql.conf", text_of(values), folder) as file:
        said = ask(build, account, ["-D", file.parent, "-C", "shared_buffers"])
    if said is None:
        return
    lines = [*said.splitlines(), ""]
    for line, after in pairwise(lines):
        complaint = line.partition("LOG:  ")[2] or line.partition("FATAL:  ")[2]
        found = NAMED.search(complaint)
        if found is not None:
            hint = after.partition("HINT:  ")[2]
            complaint = complaint.split(" in file ")[0] + (f": {hint}" if hint else "")
            raise complain(arm, build, account, found[1], complaint)
    raise ServerError(
        f"arms.{arm.name}: {build.program} refuses the settings: {' '.join(said.split())}"
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


def ask(build: Build, account: Account, arguments: list[str | Path]) -> str | None:
    """Runs the build's postgres; None where it is content, else what it says."""
    env = account.options()["env"] | build.environment
    done = accounts.run([build.program, *arguments], account, limit_s=CHECK_S_MAX, env=env)
    return None if done.returncode == 0 else done.stderr


def complain(arm: Arm, build: Build, account: Account, name: str, complaint: str) -> PlanError:
    """The error for a setting that the build does not know or whose value it does not take."""
    own = name in arm.settings
    where = f"arms.{arm.name}.settings.{name}" if own else setter(arm, name)
    if where.endswith(FOR_STEPS):
        return PlanError(f"{where}: {complaint}: take fewer `clients`")
    if not complaint.startswith("unrecognized"):
        missing = [one for one in COMPILED_IN if f': "{one}"' in complaint]
        remedy = "; take a build made with it (`dyno server build`, or a distribution's)"
        return PlanError(f"{where}: {complaint}{remedy if missing else ''}")
    near = difflib.get_close_matches(name, known_names(build, account), n=1)
    hint = f"; did you mean `{near[0]}`?" if near else ": drop it"
    return PlanError(f"{where}: PostgreSQL {build.version} has no such setting{hint}")


def setter(arm: Arm, name: str) -> str:
    """Who sets what the plan's `settings` do not: the arm's configuration, or the lab."""
    if arm.config is None or (name == CONNECTIONS and name not in (arm.config_text or "")):
        why = FOR_STEPS if name == CONNECTIONS else ""
        return f"arms.{arm.name}: the lab sets {name}{why}"
    return f"arms.{arm.name}.config: `{arm.config}` sets {name}"


def known_names(build: Build, account: Account) -> list[str]:
    """The names of the settings that the build lists."""
    env = account.options()["env"] | build.environment
    command: list[str | Path] = [build.program, "--describe-config"]
    done = accounts.run(command, account, limit_s=CHECK_S_MAX, env=env)
    return [line.split("\t", 1)[0] for line in done.stdout.splitlines()]
