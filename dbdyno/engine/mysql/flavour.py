"""In what MySQL and MariaDB differ, as far as the lab has to know."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.model import engine

_LEFT_OUT = ("COLUMNSTORE", "CONNECT", "MROONGA", "OQGRAPH", "ROCKSDB", "S3", "SPHINX", "SPIDER")
"""Storage engines of MariaDB."""


@dataclass(frozen=True, kw_only=True)
class Flavour:
    """One of the family. Versions are numbers as `Build.version_num` has them; None: never."""

    programs: tuple[str, ...]  # where the server's may lie in a base directory, its own name first
    oldest: int  # that works
    oldest_source: tuple[int, int]  # that is compiled
    cmake: tuple[str, ...]  # options of the published builds (their scripts, 2025 and 2026)
    # Of sources before a series, the oldest first: their options instead, and more flags for C++.
    cmake_before: Mapping[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)
    cxx_before: Mapping[tuple[int, int], str] = field(default_factory=dict)
    submodules: bool = False  # whether its source has some, which a checkout's archive lacks
    groups: tuple[str, ...]  # of my.cnf that it reads; with `-8.4` behind it, one of that series
    scripts: tuple[str, ...]  # that make a data directory where mysqld itself does not
    script_options: tuple[str, ...] = ()  # as far as the script knows them
    changed: str  # asks which variables a file of options or the command line set
    globals_of: str  # asks for the values that are not the default, of the variables named in IN
    tells_changed_from: int = 0
    initializes_from: int | None = None  # mysqld makes its data directory itself
    validates_from: int | None = None  # mysqld checks options and does nothing else
    finds_itself_from: int | None = None  # it takes its base directory from where it lies
    creates_user_from: int = 0  # before it a grant makes an account
    switch_words_from: int = 0  # before it options are 1 or 0, not ON or OFF
    logs_from: int | None = None  # the binary log is on by default
    caching_from: int | None = None  # it has caching_sha2_password
    native_until: int | None = None  # it has mysql_native_password without being asked for it
    certifies_from: int | None = None  # each start makes a certificate, by seconds of CPU
    samples_from: int | None = None  # its digests keep a text of each statement, with values
    explains_from: int  # EXPLAIN has FORMAT=JSON
    form_from: int | None = None  # explain_json_format_version chooses among its forms
    analyzes: bool = False  # ANALYZE runs any statement and adds its rows to that
    runs_from: int | None = None  # EXPLAIN ANALYZE runs a SELECT, and writes a tree of its own
    waits_from: int  # performance_schema tells of each session what the lab asks
    instrumented: bool  # performance_schema is on by default
    threads: str  # asks for all threads, as the process list has those of connections
    own_thread: str  # asks for the connection's own thread, by the kernel's id
    thread_from: int | None = None  # only from there on, and with performance_schema, it is told
    row_locks: str  # asks for the threads that wait for a row lock
    row_locks_s: float = 0.0  # how long it has to be left alone to tell anything new
    options: Mapping[str, str] = field(default_factory=dict)  # of the lab's own, for it alone


def since(first: int | None, version_num: int) -> bool:
    """Whether a version has what came with the version `first`."""
    return first is not None and version_num >= first


_BEFORE_8_0 = (
    "-DWITH_ZLIB=bundled",
    "-DWITH_UNIT_TESTS=OFF",
    "-DMYSQL_MAINTAINER_MODE=0",
    "-DCMAKE_POLICY_VERSION_MINIMUM=3.5",
)
_MYSQL = Flavour(
    programs=("bin/mysqld", "sbin/mysqld", "libexec/mysqld", "bin/mariadbd", "sbin/mariadbd"),
    oldest=50500,
    oldest_source=(5, 6),
    # Not tried. CMake 4 passes over sources that ask for less than 3.5, as these do. 5.6 is C++ of
    # before 2017, and was published without performance_schema.
    cmake_before={
        (5, 7): (*_BEFORE_8_0, "-DWITH_PERFSCHEMA_STORAGE_ENGINE=0"),
        (8, 0): (*_BEFORE_8_0, "-DWITH_NUMA=ON"),
    },
    cxx_before={(5, 7): "-std=c++11"},
    cmake=(
        "-DWITH_SSL=system",
        "-DWITH_ZLIB=bundled",
        "-DWITH_NUMA=ON",
        "-DWITH_ROUTER=OFF",
        "-DWITH_MYSQLX=OFF",
        "-DWITH_UNIT_TESTS=OFF",
        "-DMYSQL_MAINTAINER_MODE=0",
    ),
    groups=("mysqld", "server"),
    scripts=("mysql_install_db",),
    # Without asking for the host's name, and without a my.cnf of its own.
    script_options=("--force", "--keep-my-cnf"),
    changed="SELECT VARIABLE_NAME FROM performance_schema.variables_info "
    "WHERE VARIABLE_SOURCE NOT IN ('COMPILED', 'DYNAMIC')",
    globals_of="SELECT variable_name, variable_value "
    "FROM performance_schema.global_variables JOIN performance_schema.variables_info "
    "USING (variable_name) WHERE variable_source <> 'COMPILED' AND variable_name IN",
    tells_changed_from=80000,
    initializes_from=50706,
    validates_from=80016,
    finds_itself_from=80000,
    creates_user_from=50700,
    switch_words_from=50600,
    logs_from=80000,
    caching_from=80000,
    native_until=80400,
    samples_from=80000,
    explains_from=50605,
    form_from=80300,
    runs_from=80021,
    waits_from=80000,
    instrumented=True,
    threads="SELECT THREAD_ID, NAME, PROCESSLIST_ID AS connection, PROCESSLIST_COMMAND AS command, "
    "PROCESSLIST_STATE AS state, PROCESSLIST_INFO AS text FROM performance_schema.threads",
    own_thread="SELECT THREAD_OS_ID FROM performance_schema.threads "
    "WHERE PROCESSLIST_ID = CONNECTION_ID()",
    thread_from=50700,
    row_locks="SELECT DISTINCT REQUESTING_THREAD_ID FROM performance_schema.data_lock_waits",
    # The folder that a distribution compiled in need not be there; MariaDB knows no such value.
    options={"secure_file_priv": "NULL"},
)
_MARIADB = Flavour(
    programs=("bin/mariadbd", "sbin/mariadbd", "bin/mysqld", "sbin/mysqld", "libexec/mysqld"),
    oldest=100200,
    oldest_source=(10, 11),
    cmake=(
        *(f"-DPLUGIN_{name}=NO" for name in _LEFT_OUT),
        "-DWITH_SSL=system",
        "-DWITH_PCRE=system",  # else they are downloaded while it is compiled
        "-DWITH_LIBFMT=system",
        "-DWITH_UNIT_TESTS=OFF",
        "-DWITH_MARIABACKUP=OFF",
        "-DWITH_WSREP=OFF",
        "-DMYSQL_MAINTAINER_MODE=OFF",
    ),
    submodules=True,
    groups=("mysqld", "server", "mariadbd", "mariadb", "client-server"),
    scripts=("mariadb-install-db", "mysql_install_db"),
    # Else only the system's root could come in, and the grant tables would hold its name.
    script_options=("--auth-root-authentication-method=normal", "--skip-test-db"),
    changed="SELECT VARIABLE_NAME FROM information_schema.SYSTEM_VARIABLES "
    "WHERE GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', 'AUTO', 'SQL') "
    "AND NOT (GLOBAL_VALUE <=> DEFAULT_VALUE)",
    certifies_from=110401,
    explains_from=100100,
    analyzes=True,
    globals_of="SELECT variable_name, global_value FROM information_schema.system_variables "
    "WHERE global_value_origin NOT IN ('COMPILE-TIME', 'AUTO') "
    "AND NOT (global_value <=> default_value) AND variable_name IN",
    waits_from=100600,
    instrumented=False,
    # performance_schema has no text of what is prepared.
    threads="SELECT t.THREAD_ID, t.NAME, t.PROCESSLIST_ID AS connection, p.COMMAND AS command, "
    "p.STATE AS state, p.INFO AS text FROM performance_schema.threads t "
    "LEFT JOIN information_schema.PROCESSLIST p ON p.ID = t.PROCESSLIST_ID",
    own_thread="SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()",
    row_locks="SELECT t.THREAD_ID FROM information_schema.INNODB_TRX x "
    "JOIN performance_schema.threads t ON t.PROCESSLIST_ID = x.trx_mysql_thread_id "
    "WHERE x.trx_state = 'LOCK WAIT'",
    # Its answer stays as it is until nobody has asked for 0.1 s (CACHE_MIN_IDLE_TIME_NS).
    row_locks_s=0.12,
)
_FLAVOURS = {"mysql": _MYSQL, "mariadb": _MARIADB}


def of(name: str) -> Flavour:
    """The flavour of an engine of this family."""
    return _FLAVOURS[engine.of(name).job]


def told(version: str) -> str:
    """The engine that a server or a program is of, by what it says of its version."""
    return "mariadb" if "mariadb" in version.lower() else "mysql"
