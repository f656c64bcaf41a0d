"""The settings of an arm's PostgreSQL: its preset, its own, the lab's; checked before a start.

A name that the build does not know, a value that it does not take, more memory than there is: each
is one line that names the arm, the key and the remedy, and comes before anything is made.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.engine import log
from dbdyno.engine.postgres import config_file, initdb
from dbdyno.engine.preset import Settings, arm_config, study
from dbdyno.engine.preset.config_file import without_places
from dbdyno.engine.settings import (
    CONNECTIONS,
    FOR_STEPS,
    ArmSettings,
    Cache,
    Demand,
    by_plan,
    connections_of,
    refuse_too_much_memory,
    setter,
    to_read,
)
from dbdyno.host import account as accounts
from dbdyno.host.account import Account
from dbdyno.model import Arm
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.size import Capacity

CHECK_S_MAX = 30.0
NOTHING = Demand()
DEFAULT_CONNECTIONS_MAX = 100
FILE = "dyno.conf"
"""The settings file that a server's own includes."""
LAB = {
    "listen_addresses": "127.0.0.1",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": log.PREFIX,
}
"""The settings that the lab needs, whatever preset and plan say."""
WANTED = {"log_checkpoints": "on", "log_autovacuum_min_duration": "0"}
"""The log settings that the lab wants where neither preset nor plan say otherwise."""
RESERVED = frozenset(LAB) | {
    "config_file", "data_directory", "external_pid_file", "hba_file", "ident_file",
    "unix_socket_directories", "log_directory", "log_filename", "include", "include_dir",
    "include_if_exists",
}  # fmt: skip
"""Settings that a plan cannot name, because the lab lives by them."""
PLACES = RESERVED | {
    "port", "stats_temp_directory", "unix_socket_group", "unix_socket_permissions", "ssl",
    "ssl_cert_file", "ssl_key_file", "ssl_ca_file", "ssl_crl_file", "ssl_crl_dir",
    "ssl_dh_params_file", "krb_server_keyfile", "log_file_mode", "syslog_facility", "syslog_ident",
}  # fmt: skip
"""Settings of a file that say where another server lies: they are left out."""
FOR_STANDBY: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "wal_level": (lambda value: value != "minimal", "replica"),
    "max_wal_senders": (lambda value: value != "0", "10"),
    "max_replication_slots": (lambda value: value != "0", "10"),
}
"""What a primary of standbys needs: whether a value is enough, and what it becomes if not."""
COMPILED_IN = ("io_uring", "lz4", "zstd")
"""Values that a build has only where it was compiled for them."""
NAMED = re.compile(r'parameter "([^"]+)"')


def settle(arm: Arm, version_num: int, host: Capacity, demand: Demand = NOTHING) -> ArmSettings:
    """The settings of an arm for what the steps demand of its server.

    Raises PlanError where the plan's own do not go, HostError where they do not fit the host.
    """
    preset = arm_config.of_arm(arm, host, version_num, read_config)
    refuse_reserved(arm)
    if arm.config_text is not None:
        preset = without_places(preset, arm.config, PLACES)
    values = {**WANTED, **preset.values, **arm.settings}
    departures = preset.departures + by_plan(arm.settings, preset.values)
    configured = preset.values.get(CONNECTIONS, DEFAULT_CONNECTIONS_MAX)
    needed = connections_of(arm.name, arm.settings, demand.connections, configured)
    if needed is not None:
        values[CONNECTIONS] = str(needed)
    if arm.standby:
        departures += for_standby(arm, values)
    if "shared_buffers" in values:
        cache = Cache("shared_buffers", values["shared_buffers"], "shared_buffers" in arm.settings)
        refuse_too_much_memory(arm.name, cache, host, arm_config.buffer_bytes)
    made = study.initdb_of(arm, preset)
    initdb.refuse_unfit(arm, made, version_num, values)
    return ArmSettings(
        values=values | LAB,
        preset=preset.values,
        departures=departures,
        initdb=made,
        transport=study.transport_of(arm, preset, demand.workloads),
    )


def for_standby(arm: Arm, values: dict[str, str]) -> tuple[str, ...]:
    """Makes `values` such that the arm's standbys can follow; how they depart, in sentences.

    Raises PlanError where the plan itself rules standbys out.
    """
    said = []
    for name, (fits, needed) in FOR_STANDBY.items():
        value = values.get(name)
        if value is not None and fits(value):
            continue
        if name in arm.settings:
            raise PlanError(
                f"arms.{arm.name}.settings.{name}: a standby cannot follow with `{value}`: "
                f'write "{needed}", or remove `standby`'
            )
        if value is not None:
            said.append(f"{name} = {needed}, where the preset has {value}: a standby needs it")
        values[name] = needed
    return tuple(said)


def read_config(text: str, source: str, version_num: int) -> Settings:
    """A postgresql.conf. Raises PlanError that begins with `source`."""
    return config_file.read(text, source)


def refuse_reserved(arm: Arm) -> None:
    """Raises PlanError with a line for each setting of the plan that the lab lives by."""
    lines = [
        f"arms.{arm.name}.settings.{name}: dyno sets this itself: remove the key"
        for name in arm.settings
        if name.lower() in RESERVED
    ]
    if lines:
        raise PlanError("\n".join(lines))


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

    Raises PlanError with a line for each that it does not know or does not take.
    """
    with to_read("postgresql.conf", text_of(values), folder) as file:
        said = ask(build, account, ["-D", file.parent, "-C", "shared_buffers"])
    if said is None:
        return
    refused: dict[str, PlanError] = {}
    for line, after in pairwise([*said.splitlines(), ""]):
        complaint = line.partition("LOG:  ")[2] or line.partition("FATAL:  ")[2]
        found = NAMED.search(complaint)
        if found is not None:
            hint = after.partition("HINT:  ")[2]
            complaint = complaint.split(" in file ")[0] + (f": {hint}" if hint else "")
            refused[found[1]] = complain(arm, build, account, found[1], complaint)
    if refused:
        raise PlanError("\n".join(map(str, refused.values())))
    raise ServerError(
        f"arms.{arm.name}: {build.program} refuses the settings: {' '.join(said.split())}"
    )


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
        return PlanError(f"{where}: {complaint}: use fewer `clients`")
    if not complaint.startswith("unrecognized"):
        missing = [one for one in COMPILED_IN if f': "{one}"' in complaint]
        command = f"dyno server build postgres {build.version}"
        remedy = f"; use a build made with it (`{command}`, or a distribution's)"
        return PlanError(f"{where}: {complaint}{remedy if missing else ''}")
    near = difflib.get_close_matches(name, known_names(build, account), n=1)
    hint = f"; did you mean `{near[0]}`?" if near else ": drop it"
    return PlanError(f"{where}: PostgreSQL {build.version} has no such setting{hint}")


def known_names(build: Build, account: Account) -> list[str]:
    """The names of the settings that the build lists."""
    env = account.options()["env"] | build.environment
    command: list[str | Path] = [build.program, "--describe-config"]
    done = accounts.answer(command, account, limit_s=CHECK_S_MAX, env=env)
    return [line.split("\t", 1)[0] for line in done.stdout.splitlines()]
