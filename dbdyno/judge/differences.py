"""The differences between the arms' servers, planned or not."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict

from dbdyno.model import Difference
from dbdyno.model.comparison import OF_SOME
from dbdyno.model.compiler import flags_of
from dbdyno.model.grouping import grouped
from dbdyno.model.plan_record import ArmRecord
from dbdyno.model.server_facts import ServerFacts
from dbdyno.parts.number import few

NAMES_MAX = 12

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
    arms: Sequence[str], servers: Mapping[str, ServerFacts], planned: Sequence[ArmRecord]
) -> tuple[Difference, ...]:
    """In what the arms' servers differ; `planned`: the arms of the plan, which names some of it.

    Named are an arm's version, folder or build, its preset with what that sets, its memory, how its
    cluster is made and reached, and its settings. A new version's changed defaults come with the
    version, a build's compiler and flags with the build; where version and build both differ, they
    are an explanation of their own.
    """
    if len(arms) < 2:
        return ()
    named = {arm.name: arm for arm in planned}
    differing = [*_facts(arms, servers, named)]
    for alike in by_engine(arms, servers):
        differing += _settings(alike, servers, named)
    return tuple(sorted(differing, key=lambda difference: difference.planned))


def _facts(
    arms: Sequence[str], servers: Mapping[str, ServerFacts], named: Mapping[str, ArmRecord]
) -> Iterable[Difference]:
    """Facts of the builds and of how they are set up."""

    def of_servers(read: Callable[[ServerFacts], object]) -> dict[str, object]:
        return {arm: read(servers[arm]) if arm in servers else None for arm in arms}

    def of_plan(read: Callable[[ArmRecord], object]) -> dict[str, object]:
        return {arm: read(named[arm]) if arm in named else None for arm in arms}

    version = of_servers(lambda server: server.version)
    build_name = of_plan(lambda arm: arm.build_name)
    named_build = _differ(build_name)
    with_build = named_build and not _differ(version)
    made_as = _differ(of_plan(lambda arm: arm.initdb))
    # A plan says only what is not the lab's own way; the servers' files say all of it.
    initdb = of_servers(lambda server: asdict(server.initdb) if server.initdb else None)
    transport = of_servers(lambda server: server.transport or None)
    # Connections to servers of the lab's own are all alike, unless they come from other hosts.
    far = any(server.external or server.access for server in servers.values())
    encryption = of_servers(lambda server: server.encryption or None)
    facts = (
        ("engine", of_servers(lambda server: server.engine), True),
        ("version", version, True),
        ("folder", of_plan(lambda arm: arm.base_dir), True),
        ("build", build_name, True),
        ("flags", of_servers(flags_of), with_build),
        (
            "features",
            of_servers(lambda server: server.build.features if server.build else None),
            named_build,
        ),
        ("preset", of_servers(lambda server: server.config), True),
        ("memory", of_plan(lambda arm: arm.memory), True),
        ("fake", of_plan(lambda arm: arm.fake), True),
        ("compiler", of_servers(lambda server: server.compiler), with_build),
        ("initdb", initdb if made_as else {}, True),
        ("transport", transport if _differ(of_plan(lambda arm: arm.transport)) else {}, True),
        ("data checksums", of_servers(lambda server: server.data_checksums), made_as),
        ("block size", of_servers(lambda server: server.block_size), False),
        ("account", of_servers(lambda server: server.user), False),
        ("connections", encryption if far else {}, False),
    )
    alike = list(by_engine(arms, servers))
    for what, values, planned in facts:
        if _differ(values):
            # In what only another engine differs, it differs by being another engine.
            by_itself = any(_differ({arm: values[arm] for arm in of_one}) for of_one in alike)
            yield Difference(what=what, values=_all_words(values), planned=planned or not by_itself)
    texts = of_servers(lambda server: server.version_text)
    names = ("engine", "version", "folder", "build")
    same_build = not any(_differ(values) for what, values, _ in facts if what in names)
    if same_build and _differ(texts):
        yield Difference(what="build", values=_all_words(texts), planned=False)


def _settings(
    arms: Sequence[str], servers: Mapping[str, ServerFacts], named: Mapping[str, ArmRecord]
) -> Iterable[Difference]:
    """Settings that differ, and in one line those that not every version has."""
    settings = {arm: dict(servers[arm].settings or {}) if arm in servers else {} for arm in arms}
    if not all(settings.values()):
        return
    planned = [named.get(arm, ArmRecord(name=arm)) for arm in arms]

    def planned_otherwise(read: Callable[[ArmRecord], object]) -> bool:
        return _differ({arm.name: read(arm) for arm in planned})

    here = [servers[arm] for arm in arms]
    by_version = len({server.version for server in here}) > 1
    new_version = by_version or planned_otherwise(lambda arm: (arm.base_dir, arm.build_name))
    new_preset = len({server.config for server in here}) > 1
    by_preset = new_preset or planned_otherwise(lambda arm: arm.memory)
    by_plan = {name for arm in planned for name in _options(arm.settings)}
    written = by_plan.union(*(_options(server.nondefault) for server in here))
    shared = set.intersection(*(set(names) for names in settings.values())) - MUST_DIFFER
    for name in sorted(shared):
        values = {arm: settings[arm][name] for arm in arms}
        if not _differ(values):
            continue
        default = name not in written
        is_planned = (
            name in by_plan
            or (by_preset and any(name in (server.preset or {}) for server in here))
            or (default and new_version)
            or (name in BY_INITDB and planned_otherwise(lambda arm: arm.initdb))
        )
        what = f"setting {name}" + (" (default)" if default else "")
        yield Difference(what=what, values=_all_words(values), planned=is_planned)
    own = {arm: sorted(set(names) - shared - MUST_DIFFER) for arm, names in settings.items()}
    if any(own.values()):
        values = {arm: names_of(names) for arm, names in own.items()}
        yield Difference(what=OF_SOME, values=_all_words(values), planned=new_version)


def _options(written: Mapping[str, object] | None) -> set[str]:
    """The names of settings, by those that MySQL's options set: `skip-log-bin` sets log_bin."""
    names = (name.replace("-", "_").removeprefix("loose_") for name in written or {})
    return {plain for name in names for plain in (name, name.removeprefix("skip_"))}


def by_engine(arms: Sequence[str], servers: Mapping[str, ServerFacts]) -> Iterable[list[str]]:
    """The arms of each engine that has several: settings of another are other settings."""
    arms_of = grouped((servers[arm].engine if arm in servers else None, arm) for arm in arms)
    return (alike for alike in arms_of.values() if len(alike) > 1)


def _differ(values: Mapping[str, object]) -> bool:
    each = list(values.values())
    return any(value != each[0] for value in each)


def _all_words(values: Mapping[str, object]) -> dict[str, str]:
    return {arm: _words(value) for arm, value in values.items()}


def _words(value: object) -> str:
    if value is None or value == {}:
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={inner}" for key, inner in sorted(value.items()))
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "none"
    return str(value) or "(empty)"


def names_of(names: Sequence[str]) -> str:
    """`a, b and 3 more`; of none `none`."""
    return few(names, NAMES_MAX) or "none"
