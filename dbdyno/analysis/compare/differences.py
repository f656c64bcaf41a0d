"""The differences between the arms' servers, planned or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbdyno.model import Difference, Json
from dbdyno.model.compiler import flags_of

NAMES_MAX = 12
OF_SOME = "settings that not all have"
"""What a difference in the names of settings is called."""

MUST_DIFFER = frozenset(
    {
        # where a server lies and listens
        "archive_cleanup_command", "cluster_name", "config_file", "data_directory",
        "external_pid_file", "hba_file", "ident_file", "listen_addresses", "log_directory",
        "log_filename", "port", "restore_command", "ssl_cert_file", "ssl_key_file",
        "unix_socket_directories",
        # what the version is, which has a line of its own
        "server_version", "server_version_num",
        # the same of MySQL and MariaDB
        "aria_log_dir_path", "basedir", "bind_address", "character_sets_dir", "datadir",
        "general_log_file", "hostname", "init_file", "innodb_data_home_dir",
        "innodb_log_group_home_dir", "innodb_temp_tablespaces_dir", "innodb_tmpdir",
        "innodb_undo_directory",
        "innodb_version", "lc_messages_dir", "log_bin_basename", "log_bin_index", "log_error",
        "mysqlx_port", "mysqlx_socket", "pid_file", "plugin_dir", "relay_log_basename",
        "relay_log_index", "report_host", "report_port", "secure_file_priv", "server_uuid",
        "slave_load_tmpdir", "replica_load_tmpdir", "server_id", "slow_query_log_file", "socket",
        "ssl_cert", "ssl_key", "tmpdir",
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


BY_INITDB = frozenset(
    {
        "default_text_search_config", "lc_collate", "lc_ctype", "lc_monetary", "lc_numeric",
        "lc_time", "max_wal_size", "min_wal_size", "wal_segment_size",
    }
)  # fmt: skip
"""Settings that follow from a locale or from the size of WAL segments."""


def differences(
    arms: Sequence[str], servers: Mapping[str, Json], plan: Json
) -> tuple[Difference, ...]:
    """In what the arms' servers differ; `planned` is what the plan names.

    Named are an arm's version, folder or build, its preset with what that sets, its memory, how its
    cluster is made and reached, and its settings. A new version's changed defaults come with the
    version, a build's compiler and flags with the build; where version and build both differ, they
    are an explanation of their own.
    """
    if len(arms) < 2:
        return ()
    named = {arm["name"]: arm for arm in plan.get("arms", [])}
    found = [*_facts(arms, servers, named)]
    for alike in by_engine(arms, servers):
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
    # Those to servers of the lab's own are all the same, unless they come from other hosts.
    far = any(server.get("external") or server.get("access") for server in servers.values())
    elsewhere = servers if far else {}
    # A plan says only what is not the lab's own way; the servers' files say all of it.
    made_as = servers if _differ(arms, named, "initdb") else {}
    reached = servers if _differ(arms, named, "transport") else {}
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
        ("initdb", made_as, "initdb", True),
        ("transport", reached, "transport", True),
        ("data checksums", servers, "data_checksums", bool(made_as)),
        ("block size", servers, "block_size", False),
        ("account", servers, "user", False),
        ("connections", elsewhere, "encryption", False),
    )
    alike = list(by_engine(arms, servers))
    for what, source, key, planned in facts:
        if _differ(arms, source, key):
            # In what only another engine differs, it differs by being another engine.
            planned = planned or not any(_differ(its, source, key) for its in alike)
            yield Difference(what=what, values=_values(arms, source, key), planned=planned)
    same_build = not versions and not build and not _differ(arms, servers, "engine")
    if same_build and _differ(arms, servers, "version_text"):
        values = _values(arms, servers, "version_text")
        yield Difference(what="build", values=values, planned=False)


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
            or (name in BY_INITDB and _differ(arms, named, "initdb"))
        )
        what = f"setting {name}" + (" (default)" if default else "")
        yield Difference(what=what, values=_values(arms, settings, name), planned=planned)
    own = {arm: sorted(set(its) - shared - MUST_DIFFER) for arm, its in settings.items()}
    if any(own.values()):
        values = {arm: names_of(names) for arm, names in own.items()}
        yield Difference(what=OF_SOME, values=values, planned=new_version)


def _options(written: Mapping[str, Any] | None) -> set[str]:
    """The names of settings, by those that MySQL's options set: `skip-log-bin` sets log_bin."""
    names = (name.replace("-", "_").removeprefix("loose_") for name in written or {})
    return {plain for name in names for plain in (name, name.removeprefix("skip_"))}


def by_engine(arms: Sequence[str], servers: Mapping[str, Json]) -> Iterable[list[str]]:
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


def names_of(names: Sequence[str]) -> str:
    """`a, b and 3 more`; of none `none`."""
    more = len(names) - NAMES_MAX
    text = ", ".join(names[:NAMES_MAX]) or "none"
    return f"{text} and {more} more" if more > 0 else text
