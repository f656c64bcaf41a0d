"""The settings of an arm's PostgreSQL: its preset, its own, the lab's; checked before a start.

A name that the build does not know, a value that it does not take, more memory than there is: each
is one line that names the arm, the key and the remedy, and comes before anything is made.
"""

from __future__ import annotations

import difflib
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from dbdyno.error import HostError, PlanError, ServerError
from dbdyno.model import Arm
from dbdyno.server import account as accounts
from dbdyno.server import config, log
from dbdyno.server.account import Account
from dbdyno.server.fetch import Build

CHECK_S_MAX = 30.0
SPARE_CONNECTIONS = 10
"""Connections beside the load's: the probe's, autovacuum's, those kept for the superuser."""
DEFAULT_CONNECTIONS_MAX = 100
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
NAMED = re.compile(r'parameter "([^"]+)"')


@dataclass(frozen=True, kw_only=True)
class Host:
    """What a server can have of the host."""

    cores: int
    memory_bytes: int
    free_disk_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class Settled:
    """An arm's settings as they go into its configuration file, and where they come from."""

    values: Mapping[str, str]
    preset: Mapping[str, str]  # what the preset alone asked for
    departures: tuple[str, ...]  # from the published table


def settle(arm: Arm, version_num: int, host: Host, connections: int = 0) -> Settled:
    """The settings of an arm for `connections` connections of the load.

    Raises PlanError where the plan's own do not go, HostError where they do not fit the host.
    """
    refuse_reserved(arm)
    preset = config.Settings(values={}, departures=())
    if arm.config is not None:
        preset = render(arm, arm.config, version_num, host)
    values = {**WANTED, **preset.values, **arm.settings}
    departures = preset.departures + tuple(
        f"{name} is {arm.settings[name]}, not {preset.values[name]}: the plan's settings"
        for name in preset.values
        if name in arm.settings and arm.settings[name] != preset.values[name]
    )
    needed = connections + SPARE_CONNECTIONS
    if "max_connections" not in arm.settings and needed > DEFAULT_CONNECTIONS_MAX:
        values["max_connections"] = str(needed)
    elif connections and int_of(arm, "max_connections", DEFAULT_CONNECTIONS_MAX) < needed:
        raise PlanError(
            f"arms.{arm.name}.settings.max_connections: the steps need {connections} and the "
            f"lab {SPARE_CONNECTIONS} connections: make it {needed} or more, or drop the key"
        )
    refuse_too_much_memory(arm, values, host)
    return Settled(values=values | LAB, preset=preset.values, departures=departures)


def render(arm: Arm, preset: str, version_num: int, host: Host) -> config.Settings:
    """The arm's preset, sized to the plan's memory or the host's. PlanErrors name the arm."""
    try:
        memory_bytes = config.bytes_of(arm.memory) if arm.memory else host.memory_bytes
    except PlanError as error:
        raise PlanError(f"arms.{arm.name}.memory: {error}") from error
    try:
        return config.render(preset, host.cores, memory_bytes, host.free_disk_bytes, version_num)
    except PlanError as error:
        raise PlanError(f"arms.{arm.name}.{error}") from error


def refuse_reserved(arm: Arm) -> None:
    """Raises PlanError where the plan sets what the lab lives by."""
    for name in arm.settings:
        if name.lower() in RESERVED:
            raise PlanError(
                f"arms.{arm.name}.settings.{name}: the lab sets this itself: drop the key"
            )


def int_of(arm: Arm, name: str, default: int) -> int:
    """A whole number among the plan's settings. Raises PlanError where it is none."""
    text = arm.settings.get(name, str(default))
    if not text.isdigit():
        raise PlanError(f"arms.{arm.name}.settings.{name}: `{text}` is no whole number")
    return int(text)


def refuse_too_much_memory(arm: Arm, values: Mapping[str, str], host: Host) -> None:
    """Raises HostError where shared_buffers are more than the host has memory."""
    own = "shared_buffers" in arm.settings
    if "shared_buffers" not in values:
        return
    try:
        wanted = config.buffer_bytes(values["shared_buffers"])
    except PlanError as error:
        raise PlanError(f"arms.{arm.name}.settings.shared_buffers: {error}") from error
    if wanted > host.memory_bytes:
        key = "settings.shared_buffers" if own else "memory"
        raise HostError(
            f"arms.{arm.name}.{key}: shared_buffers of {values['shared_buffers']} do not fit the "
            f"host's {host.memory_bytes / (1 << 30):.1f} GB of memory: ask for less"
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
    place = Path(tempfile.mkdtemp(prefix="settings-", dir=folder))
    try:
        place.chmod(0o755)
        file = place / "postgresql.conf"
        file.write_text(text_of(values))
        file.chmod(0o644)
        said = ask(build, account, ["-D", place, "-C", "shared_buffers"])
    finally:
        shutil.rmtree(place)
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
        f"arms.{arm.name}: {build.postgres} refuses the settings: {' '.join(said.split())}"
    )


def ask(build: Build, account: Account, arguments: list[str | Path]) -> str | None:
    """Runs the build's postgres; None where it is content, else what it says."""
    env = account.options()["env"] | build.environment
    done = accounts.run([build.postgres, *arguments], account, limit_s=CHECK_S_MAX, env=env)
    return None if done.returncode == 0 else done.stderr


def complain(arm: Arm, build: Build, account: Account, name: str, complaint: str) -> PlanError:
    """The error for a setting that the build does not know or whose value it does not take."""
    where = f"arms.{arm.name}.settings.{name}"
    if name not in arm.settings:
        where = f"arms.{arm.name}.config: `{arm.config}` sets {name}"
    if not complaint.startswith("unrecognized"):
        return PlanError(f"{where}: {complaint}")
    near = difflib.get_close_matches(name, known_names(build, account), n=1)
    hint = f"; did you mean `{near[0]}`?" if near else ": drop it"
    return PlanError(f"{where}: PostgreSQL {build.version} has no such setting{hint}")


def known_names(build: Build, account: Account) -> list[str]:
    """The names of the settings that the build lists."""
    env = account.options()["env"] | build.environment
    command: list[str | Path] = [build.postgres, "--describe-config"]
    done = accounts.run(command, account, limit_s=CHECK_S_MAX, env=env)
    return [line.split("\t", 1)[0] for line in done.stdout.splitlines()]
