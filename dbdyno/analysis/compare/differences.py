"""What the arms differ in, planned or not, and what calls a whole comparison into question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Any

from dbdyno.analysis import wording
from dbdyno.analysis.compare.arm_vs_base import CPU, SESSIONS_CPU, cpu_of
from dbdyno.model import Cell, Difference, Json, StepComparison, StepRun, metric
from dbdyno.model.compiler import for_size

CANARY_SHARE_MAX = 0.10
"""How far the medians of two arms' canaries may lie apart."""
PLACES_MAX = 4
"""So many places of one warning are named, the others counted."""
NAMES_MAX = 12

MUST_DIFFER = frozenset(
    {
        # where a server lies and listens
        "archive_cleanup_command", "cluster_name", "config_file", "data_directory",
        "external_pid_file", "hba_file", "ident_file", "listen_addresses", "log_directory",
        "log_filename", "port", "restore_command", "unix_socket_directories",
        # what the version is, which has a line of its own
        "server_version", "server_version_num",
        # the same of MySQL and MariaDB
        "aria_log_dir_path", "basedir", "character_sets_dir", "datadir", "general_log_file",
        "hostname", "init_file", "innodb_data_home_dir", "innodb_log_group_home_dir",
        "innodb_temp_tablespaces_dir", "innodb_tmpdir", "innodb_undo_directory",
        "innodb_version", "lc_messages_dir", "log_bin_basename", "log_bin_index", "log_error",
        "mysqlx_port", "mysqlx_socket", "pid_file", "plugin_dir", "relay_log_basename",
        "relay_log_index", "report_host", "report_port", "secure_file_priv", "server_uuid",
        "slave_load_tmpdir", "replica_load_tmpdir", "server_id", "slow_query_log_file", "socket",
        "tmpdir",
        "version", "version_comment", "version_source_revision", "wsrep_node_name",
        "wsrep_data_home_dir", "auto_generate_certs",
        # what happens to be so at the moment of asking
        "binlog_snapshot_file", "error_count", "gtid_binlog_pos", "gtid_binlog_state",
        "gtid_current_pos", "gtid_executed", "gtid_purged", "identity", "insert_id",
        "last_gtid", "last_insert_id", "pseudo_thread_id", "rand_seed1", "rand_seed2", "timestamp",
        "warning_count",
        # what the server computes from other settings
        "log_replica_updates", "log_slave_updates",
        "num_os_semaphores", "shared_memory_size", "shared_memory_size_in_huge_pages",
        # what has a line of its own
        "data_checksums",
    }
)  # fmt: skip
"""Settings in which any two servers of one host differ, or which say nothing of their own."""

WHOLE_SERVER = "whole_server_cpu_per_op"

_CANARIES = {
    "canary_cpu_us": "arithmetic",
    "canary_memory_ns": "memory access",
    "canary_fsync_us": "synced writes",
}


# --- Differences -----------------------------------------------------------------------------


def differences(
    arms: Sequence[str], servers: Mapping[str, Json], plan: Json
) -> tuple[Difference, ...]:
    """In what the arms' servers differ; `planned` is what the plan names.

    Named are an arm's version, folder or build, its preset with what that sets, its memory and its
    settings. A new version's changed defaults come with the version, a build's compiler and flags
    with the build; where version and build both differ, they are an explanation of their own.
    """
    if len(arms) < 2:
        return ()
    named = {arm["name"]: arm for arm in plan.get("arms", [])}
    found = [*_facts(arms, servers, named)]
    for alike in _by_engine(arms, servers):
        found += _settings(alike, servers, named)
    return tuple(sorted(found, key=lambda difference: difference.planned))


def _facts(
    arms: Sequence[str], servers: Mapping[str, Json], named: Mapping[str, Json]
) -> Iterable[Difference]:
    """Facts of the builds and of how they are set up."""
    versions = _differ(arms, servers, "version")
    named_build = _differ(arms, named, "build_name")
    build = _differ(arms, named, "base_dir") or named_build
    made = {arm: servers.get(arm, {}).get("build") or {} for arm in arms}
    flags = {arm: {"flags": flags_of(servers.get(arm, {}))} for arm in arms}
    with_build = named_build and not versions
    # Those to servers of the lab's own are all the same: by a unix socket.
    elsewhere = servers if any(one.get("external") for one in servers.values()) else {}
    facts = (
        ("engine", servers, "engine", True),
        ("version", servers, "version", True),
        ("folder", named, "base_dir", True),
        ("build", named, "build_name", True),
        ("flags", flags, "flags", with_build),
        ("features", made, "features", named_build),
        ("preset", servers, "config", True),
        ("memory", named, "memory", True),
        ("fake", named, "fake", True),
        ("compiler", servers, "compiler", with_build),
        ("data checksums", servers, "data_checksums", False),
        ("block size", servers, "block_size", False),
        ("account", servers, "user", False),
        ("connections", elsewhere, "encryption", False),
    )
    alike = list(_by_engine(arms, servers))
    for what, source, key, planned in facts:
        if _differ(arms, source, key):
            # In what only another engine differs, it differs by being another engine.
            planned = planned or not any(_differ(its, source, key) for its in alike)
            yield Difference(what=what, values=_values(arms, source, key), planned=planned)
    same_build = not versions and not build and not _differ(arms, servers, "engine")
    if same_build and _differ(arms, servers, "version_text"):
        values = _values(arms, servers, "version_text")
        yield Difference(what="build", values=values, planned=False)


def flags_of(server: Json) -> str | None:
    """What the compiler of an arm's server was told; None where nobody says.

    `flags` of server.json; older results say it of builds that dyno made alone.
    """
    found = server.get("flags") or (server.get("build") or {}).get("flags")
    return None if found is None else str(found)


def _settings(
    arms: Sequence[str], servers: Mapping[str, Json], named: Mapping[str, Json]
) -> Iterable[Difference]:
    """Settings that differ, and in one line those that not every version has."""
    settings = {arm: dict(servers.get(arm, {}).get("settings") or {}) for arm in arms}
    if not all(settings.values()):
        return
    new_version = any(
        _differ(arms, source, key)
        for source, key in ((servers, "version"), (named, "base_dir"), (named, "build_name"))
    )
    by_preset = _differ(arms, servers, "config") or _differ(arms, named, "memory")
    shared = set.intersection(*(set(its) for its in settings.values())) - MUST_DIFFER
    for name in sorted(shared):
        if not _differ(arms, settings, name):
            continue
        written = [servers[arm].get("nondefault") for arm in arms]
        written += [named.get(arm, {}).get("settings") for arm in arms]
        default = not any(name in _options(its) for its in written)
        planned = (
            any(name in _options(named.get(arm, {}).get("settings")) for arm in arms)
            or (by_preset and any(name in (servers[arm].get("preset") or {}) for arm in arms))
            or (default and new_version)
        )
        what = f"setting {name}" + (" (default)" if default else "")
        yield Difference(what=what, values=_values(arms, settings, name), planned=planned)
    own = {arm: sorted(set(its) - shared - MUST_DIFFER) for arm, its in settings.items()}
    if any(own.values()):
        values = {arm: _names(names) for arm, names in own.items()}
        what = "settings that not all have"
        yield Difference(what=what, values=values, planned=new_version)


def _options(written: Mapping[str, Any] | None) -> set[str]:
    """The names of settings, by those that MySQL's options set: `skip-log-bin` sets log_bin."""
    names = (name.replace("-", "_").removeprefix("loose_") for name in written or {})
    return {plain for name in names for plain in (name, name.removeprefix("skip_"))}


def _by_engine(arms: Sequence[str], servers: Mapping[str, Json]) -> Iterable[list[str]]:
    """The arms of each engine that has several: settings of another are other settings."""
    found: dict[str | None, list[str]] = {}
    for arm in arms:
        found.setdefault(servers.get(arm, {}).get("engine"), []).append(arm)
    return (its for its in found.values() if len(its) > 1)


def _differ(arms: Sequence[str], source: Mapping[str, Json], key: str) -> bool:
    first = source.get(arms[0], {}).get(key)
    return any(source.get(arm, {}).get(key) != first for arm in arms[1:])


def _values(arms: Sequence[str], source: Mapping[str, Json], key: str) -> dict[str, str]:
    return {arm: _words(source.get(arm, {}).get(key)) for arm in arms}


def _words(value: Any) -> str:
    if value is None or value == {}:
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={inner}" for key, inner in sorted(value.items()))
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return str(value) or "(empty)"


def _names(names: Sequence[str]) -> str:
    more = len(names) - NAMES_MAX
    text = ", ".join(names[:NAMES_MAX]) or "none"
    return f"{text} and {more} more" if more > 0 else text


# --- Warnings --------------------------------------------------------------------------------


def warnings(
    arms: Sequence[str],
    runs: Sequence[StepRun],
    servers: Mapping[str, Sequence[Json]],
    boot_ids: Sequence[str | None],
) -> tuple[str, ...]:
    """What calls the comparison into question; `servers`: each arm's server.json of every block."""
    last = {arm: its[-1] for arm, its in servers.items() if its}
    return (
        *_toolchains(arms, last),
        *_sizes(arms, last),
        *_changed_servers(servers),
        *_boots(boot_ids),
        *_canaries(arms, runs),
        *_unmeasured_failures(runs),
        *_older(runs),
        *_of_steps(runs),
    )


def other_ways(steps: Sequence[StepComparison], margin: float) -> tuple[str, ...]:
    """Arms whose whole server took more CPU for an operation, or less, where the operation's own
    CPU says the reverse, and both are apart by more than the margin.
    """
    found = [
        words
        for step in steps
        for cell in step.cells[1:]
        if (words := _other_way(step, cell, margin)) is not None
    ]
    more = f"; and {len(found) - PLACES_MAX} more" if len(found) > PLACES_MAX else ""
    subject = "CPU of the whole server goes the other way"
    return (f"{subject}: {'; '.join(found[:PLACES_MAX])}{more}",) if found else ()


def _other_way(step: StepComparison, cell: Cell, margin: float) -> str | None:
    own, whole = (cell.ratios.get(name) for name in (cpu_of(step.cells), WHOLE_SERVER))
    if own is None or whole is None or (own.value - 1) * (whole.value - 1) >= 0:
        return None
    if abs(math.log(whole.value / own.value)) <= math.log1p(margin):
        return None
    return (
        f"{step.step} {cell.arm}: {wording.amount(own.value)} CPU per operation, with the server's"
        f" background, other roles and what ended {wording.amount(whole.value)}"
    )


def _older(runs: Sequence[StepRun]) -> Iterable[str]:
    """Steps of which some blocks are of a version that did not tell whom helpers served."""
    known = [run for run in runs if run.metrics.get(SESSIONS_CPU) is not None]
    steps: dict[str, list[StepRun]] = {}
    for run in known:
        steps.setdefault(run.step, []).append(run)
    mixed = [
        step
        for step, its in steps.items()
        if cpu_of(its) == SESSIONS_CPU and any(run.metrics.get(CPU) is not None for run in its)
    ]
    if mixed:
        yield (
            f"CPU without helpers: {wording.listed(mixed)}: an earlier dyno measured some blocks "
            "and did not tell whose parallel workers were; CPU is that of sessions alone in all "
            "blocks"
        )


def _toolchains(arms: Sequence[str], servers: Mapping[str, Json]) -> Iterable[str]:
    """Prebuilt servers of two majors come from two toolchains: then it is both that differ."""
    for one, other in combinations([arm for arm in arms if arm in servers], 2):
        pair = [servers[one], servers[other]]
        versions = {server.get("version") for server in pair}
        compilers = {server.get("compiler") for server in pair}
        if pair[0].get("engine") != pair[1].get("engine"):
            continue  # of two engines nobody asks what the compiler does
        if len(versions) == 2 and len(compilers) == 2 and None not in compilers:
            yield (
                f"build and version: {one} was compiled by {pair[0]['compiler']}, {other} by "
                f"{pair[1]['compiler']}; what differs between them is of build and version together"
            )


def _sizes(arms: Sequence[str], servers: Mapping[str, Json]) -> Iterable[str]:
    """Servers compiled for size beside others: prebuilt ones are, nobody's own build is."""
    for alike in _by_engine([arm for arm in arms if arm in servers], servers):
        flags = {arm: flags_of(servers[arm]) for arm in alike}
        small = [arm for arm in alike if for_size(flags[arm])]
        others = [arm for arm in alike if arm not in small]
        if small and others:
            by = f"`{flags[others[0]]}`" if flags[others[0]] else "flags that are not told"
            yield (
                f"compiled for size: {_names(small)} by `{flags[small[0]]}`, {_names(others)} by "
                f"{by}; what differs between them is of the build, too: build all by one recipe"
            )


def _changed_servers(servers: Mapping[str, Sequence[Json]]) -> Iterable[str]:
    """An arm whose server was another one in some blocks, such as a `17` that became newer."""
    for arm, its in servers.items():
        for key in ("version", "version_text"):
            values = list(dict.fromkeys(str(server.get(key)) for server in its))
            if len(values) > 1:
                yield f"changed server: {arm} was not the same in all blocks: {', '.join(values)}"
                break


def _boots(boot_ids: Sequence[str | None]) -> Iterable[str]:
    count = len(set(boot_ids))
    if count > 1:
        yield f"rebooted: the blocks were measured in {count} boots of the machine"


def _canaries(arms: Sequence[str], runs: Sequence[StepRun]) -> Iterable[str]:
    """The idle machine itself was faster for one arm than for another."""
    for name, what in _CANARIES.items():
        medians = {}
        for arm in arms:
            values = [run.metrics.get(name) for run in runs if run.arm == arm]
            known = [value for value in values if value is not None]
            if known:
                medians[arm] = median(known)
        if len(medians) < 2:
            continue
        slow, fast = max(medians, key=medians.__getitem__), min(medians, key=medians.__getitem__)
        if medians[slow] > medians[fast] * (1 + CANARY_SHARE_MAX):
            row = metric.by_name(name)
            slowest, fastest = (
                f"{medians[arm]:,.{row.digits}f} {row.unit} beside {arm}" for arm in (slow, fast)
            )
            yield f"canary: on the idle machine {what} took {slowest}, {fastest} (medians)"


def _unmeasured_failures(runs: Sequence[StepRun]) -> Iterable[str]:
    """Maintenance that failed: what follows it ran on another state, or not at all."""
    for run in runs:
        if not run.measured and run.status == "failed":
            yield f"failed: {run.step} of {run.arm} in block {run.block}: {run.reason}"


def _of_steps(runs: Sequence[StepRun]) -> Iterable[str]:
    """The warnings of all steps, one line for each subject, with the places."""
    places: dict[str, list[str]] = {}
    for run in runs:
        for text in run.warnings:
            subject, _, details = text.partition(": ")
            place = f"{run.step} {run.arm} block {run.block}"
            places.setdefault(subject, []).append(f"{place}: {details}" if details else place)
    for subject, its in places.items():
        more = len(its) - PLACES_MAX
        ending = f"; and {more} more" if more > 0 else ""
        yield f"{subject}: {'; '.join(its[:PLACES_MAX])}{ending}"
