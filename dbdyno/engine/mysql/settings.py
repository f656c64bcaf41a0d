"""The options of an arm's MySQL or MariaDB: its preset, its own, the lab's; checked before a start.

An option that the build does not know, a value that it does not take, more memory than there is:
each is one line that names the arm, the key and the remedy, and comes before anything is made.
"""

import difflib
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

from dbdyno.builds import Build
from dbdyno.engine.mysql import config_file, flavour, instruments, layout, options
from dbdyno.engine.mysql.flavour import since
from dbdyno.engine.preset import Settings, arm_config, study
from dbdyno.engine.preset.config_file import without_places
from dbdyno.engine.settings import (
    CONNECTIONS,
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
from dbdyno.model import Arm, engine, version
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.size import Capacity

NOTHING = Demand()
CHECK_S_MAX = 30.0
HELP = ("--verbose", "--help")
DEFAULT_CONNECTIONS_MAX = 151
POOL, TLS = "innodb_buffer_pool_size", "ssl"
THREADS, OF_POOL = "thread_handling", "pool-of-threads"
"""The option, and the value by which sessions of MariaDB have no thread of their own."""
LAB = {
    "bind_address": "127.0.0.1",
    "skip_name_resolve": "ON",
    "local_infile": "ON",
    "mysqlx": "OFF",
}
"""The options that the lab needs, whatever preset and plan say: the loopback only, and LOAD DATA
LOCAL for fills. `mysqlx` would listen on a port of its own."""
SERVER_ID = "77"
"""The origin that binary logs name, as the published files do; 5.7 wants one for them."""
RESERVED = frozenset(LAB) | {
    "secure_file_priv", "datadir", "basedir",
    "socket", "pid_file", "log_error", "user", "daemonize", "init_file",
    "skip_grant_tables", "skip_networking", "log_bin_index", "innodb_data_home_dir",
    "innodb_log_group_home_dir", "innodb_undo_directory", "defaults_file", "log_timestamps",
}  # fmt: skip
"""Options that a plan cannot name, because the lab lives by them."""
PLACES = RESERVED | {
    "port", "tmpdir", "innodb_tmpdir", "slave_load_tmpdir", "replica_load_tmpdir", "plugin_dir",
    "lc_messages_dir", "character_sets_dir", "relay_log", "relay_log_index", "relay_log_info_file",
    "log_basename", "slow_query_log_file", "general_log_file", "chroot", "ssl_ca", "ssl_capath",
    "ssl_cert", "ssl_key", "ssl_crl", "ssl_crlpath", "mysqlx_socket", "mysqlx_port",
    "mysqlx_bind_address", "admin_address", "admin_port", "innodb_doublewrite_dir",
    "innodb_temp_tablespaces_dir", "innodb_directories", "innodb_buffer_pool_filename",
    "aria_log_dir_path",
}  # fmt: skip
"""Options of a file that say where another server lies: they are left out."""
BINARY_LOG = ("log_bin", "skip_log_bin", "disable_log_bin")
SIZE = re.compile(r"(\d+)([KMGTPE]?)", re.IGNORECASE)
NAMED = re.compile(
    r"unknown variable '([^'=]+)|ignoring option '--([^'=]+)|"
    r"(?:to|variable|option) '(?:--)?([a-z][\w-]+)"
)
"""The places in mysqld's complaints that name the option."""


def settle(arm: Arm, build: Build, host: Capacity, demand: Demand = NOTHING) -> ArmSettings:
    """The options of an arm for what the steps demand of its server.

    Raises PlanError where the plan's own do not go, HostError where they do not fit the host.
    """
    own = {options.canonical(name): value for name, value in arm.settings.items()}
    preset = arm_config.of_arm(arm, host, build.version_num, partial(read_config, arm.engine))
    refuse_reserved(arm)
    if arm.config_text is not None:
        preset = of_file(arm, preset)
    published = {options.canonical(name): value for name, value in preset.values.items()}
    known, left_out = options.fit(published, build)
    known = {options.canonical(name): value for name, value in known.items()}
    departures = (*preset.departures, *left_out, *by_plan(own, published))
    values = binary_log(arm, {**known, **own}, build)
    values, told = instrumented(arm, own, values, build) if demand.waits else (values, ())
    if demand.places:
        refuse_unplaced(arm.name, values, build)
    configured = published.get(CONNECTIONS, DEFAULT_CONNECTIONS_MAX)
    needed = connections_of(arm.name, own, demand.connections, configured)
    if needed is not None:
        values[CONNECTIONS] = str(needed)
    if POOL in values:
        refuse_too_much_memory(arm.name, Cache(POOL, values[POOL], POOL in own), host, amount)
    transport = study.transport_of(arm, preset, demand.workloads)
    loose = {options.canonical(name) for name in arm.settings if options.is_loose(name)}
    values = {options.LOOSE * (name in loose) + name: value for name, value in values.items()}
    return ArmSettings(
        values=values | labs(build),
        preset=preset.values,
        departures=(*departures, *told),
        transport=transport,
    )


def uncertified(settled: ArmSettings, build: Build) -> ArmSettings:
    """Settings without the certificate that no session by a socket needs, and how that departs.

    MariaDB draws a key of 4,096 bits for it at each start: seconds, on a busy host minutes.
    """
    certifies = since(flavour.of(build.engine).certifies_from, build.version_num)
    named = {options.canonical(name) for name in settled.values}
    if not certifies or settled.transport != study.OWN or {TLS, f"skip_{TLS}"} & named:
        return settled
    return replace(
        settled,
        values={**settled.values, TLS: "OFF"},
        departures=(*settled.departures, f"{TLS} is OFF, not ON: sessions come by the socket"),
    )


def refuse_unplaced(arm: str, values: Mapping[str, str], build: Build) -> None:
    """Raises PlanError where no thread is a session's own, or the server does not say which is."""
    known, setting = flavour.of(build.engine), instruments.SETTING
    where = f'schedule.placement: "together" cannot place the sessions of arm {arm}'
    if values.get(THREADS) == OF_POOL:
        raise PlanError(f'{where}: {THREADS} is {OF_POOL}; write "free"')
    if known.thread_from is None:
        return
    if not since(known.thread_from, build.version_num):
        raise PlanError(f'{where}: its version does not tell their threads; write "free"')
    if values.get(setting, "on").lower() in options.OFF:
        raise PlanError(f'{where}: {setting} is off, which tells their threads; write "free"')


def instrumented(
    arm: Arm, own: Mapping[str, str], values: Mapping[str, str], build: Build
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The options with performance_schema on, which samples of waits need, and how that departs.

    Raises PlanError where the plan's own switch it off.
    """
    before = values.get(instruments.SETTING)
    known = flavour.of(build.engine)
    why = instruments.unfit(known, build.engine, build.version_num)
    if why is not None:
        raise PlanError(f"observe.waits: the server of arm {arm.name}: {why}, or remove the key")
    by_default = "on" if known.instrumented else "off"
    if (before or by_default).lower() in options.ON:
        return dict(values), ()
    if instruments.SETTING in own:
        raise PlanError(
            f"arms.{arm.name}.settings.{instruments.SETTING}: `observe.waits` needs it on: "
            "remove one of the two keys"
        )
    instead = "the default" if before is None else before
    told = f"{instruments.SETTING} is ON, not {instead}: `[observe] waits`"
    return {**values, instruments.SETTING: "ON"}, (told,)


def labs(build: Build) -> dict[str, str]:
    """The lab's own options, as far as the build's version knows them."""
    known, _ = options.fit({**LAB, **flavour.of(build.engine).options}, build)
    return known


def read_config(name: str, text: str, source: str, version_num: int) -> Settings:
    """A my.cnf, as an engine of this version reads it. Raises PlanError that names `source`."""
    series = version.text(version.of_number(name, version_num)[:2])
    plain = flavour.of(name).groups
    groups = {*plain, *(f"{group}-{series}" for group in plain)}
    return config_file.read(text, source, groups=groups, who=f"{name} {series}")


def is_of(names: Container[str], option: str) -> bool:
    """Whether an option, however it is written, is one of these, or switches one of them off."""
    name = options.canonical(option)
    return name in names or name.removeprefix("skip_") in names


def refuse_reserved(arm: Arm) -> None:
    """Raises PlanError with a line for each option of the plan that the lab lives by."""
    lines = [
        f"arms.{arm.name}.settings.{name}: dyno sets this itself: drop the key"
        for name in arm.settings
        if is_of(RESERVED, name)
    ]
    if lines:
        raise PlanError("\n".join(lines))


def of_file(arm: Arm, preset: Settings) -> Settings:
    """The options of a file of the plan's without the places of another server's files."""
    places = [name for name in preset.values if is_of(PLACES, name)]
    rest = without_places(preset, arm.config, places)
    moved = [name for name in rest.values if name in BINARY_LOG and "/" in rest.values[name]]
    said = tuple(f"{name} of {arm.config} is on; its files lie where dyno says" for name in moved)
    values = {**rest.values, **dict.fromkeys(moved, "ON")}
    return replace(rest, values=values, departures=rest.departures + said)


def binary_log(arm: Arm, values: Mapping[str, str], build: Build) -> dict[str, str]:
    """The options with `log_bin` as on or off; where the files lie is the lab's to say.

    Raises PlanError for a value that names a place.
    """
    rest = {name: value for name, value in values.items() if name not in BINARY_LOG}
    kept = since(flavour.of(build.engine).logs_from, build.version_num)
    for name in values:
        if name not in BINARY_LOG:
            continue
        if "/" in values[name]:
            raise PlanError(
                f"arms.{arm.name}.settings.{name}: write on or off: the lab says where the "
                "binary log lies"
            )
        # A bare name, as published files have it, switches it on; so does an option without value.
        kept = (values[name].lower() not in options.OFF) == (name == "log_bin")
    rest["log_bin"] = "on" if kept else "off"
    if kept:
        rest.setdefault("server_id", SERVER_ID)
    return rest


def amount(text: str) -> int:
    """A number as mysqld reads it: `23G` are 23 times 2^30. Raises PlanError where it is none."""
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise PlanError(
            f"`{text}` is not a size: write a whole number, with K, M, G or T behind it"
        )
    return int(found[1]) << (10 * " KMGTPE".index(found[2].upper() or " "))


def asked(values: Mapping[str, str]) -> dict[str, str]:
    """The options that the preset and the plan set, without the lab's own."""
    return {
        name: value for name, value in values.items() if options.canonical(name) not in RESERVED
    }


# --- Asking the build ------------------------------------------------------------------------


def verify(
    arm: Arm, build: Build, values: Mapping[str, str], account: Account, folder: Path
) -> None:
    """Lets the build itself read the options, from a folder in `folder` that is gone afterwards.

    All but `log_bin`: old versions would look for its files. Raises PlanError for the first one
    that the build does not know or does not take.
    """
    read = {name: value for name, value in values.items() if name != "log_bin"}
    with to_read("my.cnf", options.text(read, build), folder) as file:
        said = ask(build, account, file)
    refused = {
        name: complain(arm, build, account, name, complaint)
        for complaint in said
        if (name := named(complaint, values)) is not None
    }
    if refused:
        raise PlanError("\n".join(map(str, refused.values())))
    if said:
        raise ServerError(f"arms.{arm.name}: {build.program} refuses the options: {said[0]}")


def ask(build: Build, account: Account, file: Path) -> list[str]:
    """The complaint of the build's mysqld about a file of options; nothing if it is content.

    MySQL has had a way to ask just this since 8.0.16. Before it, and in MariaDB, options are read
    for a help text, and a value that is none is passed over with a warning.
    """
    validates = since(flavour.of(build.engine).validates_from, build.version_num)
    how = ["--validate-config"] if validates else HELP
    done = run(build, account, file, how)
    bad = [line for line in done.stderr.splitlines() if "[ERROR]" in line]
    bad += [line for line in done.stderr.splitlines() if "ignoring option" in line]
    if done.returncode == 0 and not bad:
        return []
    texts = [line.rpartition("] ")[2] for line in bad] or [" ".join(done.stderr.split())[-300:]]
    return [text for text in texts if text]


def has_option(
    name: str, build: Build, values: Mapping[str, str], account: Account, folder: Path
) -> bool:
    """Whether the program, with the plugins that these options load, has one of this name.

    A storage engine that is a plugin has, which switches it off.
    """
    with to_read("my.cnf", options.text(values, build), folder) as file:
        done = run(build, account, file, HELP)
    return re.search(rf"^ *--{re.escape(name.lower())}(\[| |$)", done.stdout, re.M) is not None


def run(build: Build, account: Account, file: Path, how: Sequence[str]) -> CompletedProcess[str]:
    """What the program says that reads these options and does not start a server."""
    env = account.options()["env"] | build.environment
    command: list[str | Path] = [build.program, f"--defaults-file={file}", *placed(build), *how]
    return accounts.run(command, account, limit_s=CHECK_S_MAX, env=env)


def placed(build: Build) -> list[str]:
    """Tells a build that does not find its messages by itself where it lies."""
    return [f"--basedir={build.base_dir}"] if layout.finds_not_itself(build) else []


def named(complaint: str, values: Mapping[str, str]) -> str | None:
    """The option that a complaint is about; None where it names none that was written."""
    for groups in NAMED.findall(complaint):
        for word in filter(None, groups):
            name = options.canonical(word)
            if name in map(options.canonical, values):
                return name
    return None


def complain(arm: Arm, build: Build, account: Account, name: str, complaint: str) -> PlanError:
    """The error for an option that the build does not know or whose value it does not take."""
    own = {options.canonical(written): written for written in arm.settings}
    where = f"arms.{arm.name}.settings.{own[name]}" if name in own else setter(arm, name)
    known = known_names(build, account)
    if name in known:
        return PlanError(
            f"{where}: {engine.of(build.engine).product} {build.version} says: {complaint}"
        )
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean `{near[0]}`?" if near else ": drop it"
    reason = options.why_not(name, build)
    if reason is not None:
        hint = f": {reason}"
    return PlanError(
        f"{where}: {engine.of(build.engine).product} {build.version} has no such option{hint}"
    )


def known_names(build: Build, account: Account) -> list[str]:
    """The names of the options that the build lists with their values."""
    env = account.options()["env"] | build.environment
    command: list[str | Path] = [
        build.program,
        "--no-defaults",
        *placed(build),
        "--verbose",
        "--help",
    ]
    if build.engine == "mysql" and options.why_not("secure_file_priv", build) is None:
        # A folder that a distribution compiled in need not be there.
        command.insert(2, "--secure-file-priv=NULL")
    done = accounts.answer(command, account, limit_s=CHECK_S_MAX, env=env)
    _, _, listed = done.stdout.partition("\n------")
    return [options.canonical(line.split(" ", 1)[0]) for line in listed.splitlines()[1:] if line]
