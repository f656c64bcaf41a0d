"""A configuration file of one's own: what is read of it, and what is refused."""

from pathlib import Path

import pytest

from dbdyno import engine as engines
from dbdyno import plan
from dbdyno.builds import Build
from dbdyno.engine.mysql import settings as mysql_settings
from dbdyno.engine.postgres import settings
from dbdyno.engine.preset import Capacity
from dbdyno.model.error import PlanError

POSTGRES = r"""
# a comment
shared_buffers = 128MB          # another
Work_Mem '8MB'
application_name = 'it''s \'mine\''
my.own = on
shared_buffers = '256MB'
"""
MYSQL = """
[client]
ssl-mode = DISABLED
[mysqld]
innodb-buffer-pool-size = 1G   # half
skip-name-resolve
sql_mode = "no_engine_substitution"
tls_version =
; no comment on what follows
[mysqld-8.4]
mysql_native_password=ON
[mysqld-8.0]
ssl=OFF
"""
HOST = Capacity(cores=8, memory_bytes=32 << 30, free_disk_bytes=None)


def test_a_postgresql_conf_is_read_as_the_server_reads_it():
    read = engines.of("postgres").read_config(POSTGRES, "f", 170000)
    assert dict(read.values) == {
        "shared_buffers": "256MB",
        "work_mem": "8MB",
        "application_name": "it's 'mine'",
        "my.own": "on",
    }
    assert read.departures == ()


def test_a_my_cnf_is_read_in_the_groups_of_the_server_and_its_version():
    read = engines.of("mysql").read_config(MYSQL, "f", 80406)
    assert dict(read.values) == {
        "innodb_buffer_pool_size": "1G",
        "skip_name_resolve": "ON",
        "sql_mode": "no_engine_substitution",
        "tls_version": "",
        "mysql_native_password": "ON",
    }
    assert read.departures == (
        "[client] of f is left out: no group that mysql 8.4 reads",
        "[mysqld-8.0] of f is left out: no group that mysql 8.4 reads",
    )


@pytest.mark.parametrize(
    ("engine", "text", "message"),
    [
        ("postgres", "jit", "f: line 1: `jit` is not a setting: write it as `name = 'value'`"),
        ("postgres", "jit = 'on", "is not a setting"),
        ("mysql", "port = 1", "f: line 1: `port` is in no group"),
        ("mysql", "[mysqld]\n= 3", "f: line 2: `= 3` is not an option"),
    ],
)
def test_what_cannot_be_read_is_one_line(engine: str, text: str, message: str):
    with pytest.raises(PlanError) as raised:
        engines.of(engine).read_config(text, "f", 80406)
    assert message in str(raised.value)


def plan_with(folder: Path, config: str, rest: str = "") -> plan.Plan:
    text = (
        f'[arms.a]\nversion = "17"\nconfig = "{config}"\n{rest}\n[[workloads]]\nname = "sysbench"\n'
    )
    return plan.parse(text, folder / "p.toml")


def test_a_plan_keeps_what_stands_in_the_file(tmp_path: Path):
    (tmp_path / "my.conf").write_text("work_mem = 8MB\n")
    (arm,) = plan_with(tmp_path, "./my.conf").arms
    assert (arm.config, arm.config_text) == ("./my.conf", "work_mem = 8MB\n")


def test_the_plans_settings_are_on_top_of_the_file(tmp_path: Path):
    (tmp_path / "my.conf").write_text("work_mem = 8MB\njit = off\n")
    (arm,) = plan_with(tmp_path, "my.conf", 'settings = { work_mem = "16MB" }').arms
    settled = settings.settle(arm, 170000, HOST)
    assert (settled.values["work_mem"], settled.values["jit"]) == ("16MB", "off")
    assert settled.departures == ("work_mem is 16MB, not 8MB: the plan's settings",)


DEBIAN = """
data_directory = '/var/lib/postgresql/15/main'
hba_file = '/etc/postgresql/15/main/pg_hba.conf'
ident_file = '/etc/postgresql/15/main/pg_ident.conf'
external_pid_file = '/var/run/postgresql/15-main.pid'
port = 5432
unix_socket_directories = '/var/run/postgresql' # comma-separated
ssl = on
ssl_cert_file = '/etc/ssl/certs/ssl-cert-snakeoil.pem'
ssl_key_file = '/etc/ssl/private/ssl-cert-snakeoil.key'
listen_addresses = '*'
shared_buffers = 128MB
log_line_prefix = '%m [%p] %q%u@%d '
cluster_name = '15/main'
include_dir = 'conf.d'
include_if_exists 'none.conf'
work_mem = 4MB
"""
DEBIANS_MARIADB = """
[server]
[mysqld]
pid-file                = /run/mysqld/mysqld.pid
basedir                 = /usr
bind-address            = 127.0.0.1
skip-networking
log-bin                 = /var/log/mysql/mysql-bin.log
slow_query_log_file     = /var/log/mysql/mariadb-slow.log
tmpdir                  = /tmp
port                    = 3306
expire_logs_days        = 10
[galera]
wsrep_on = ON
"""


def test_a_distribution_s_postgresql_conf_is_taken_without_its_places(tmp_path: Path):
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d/20-later.conf").write_text("work_mem = 9MB\njit = off\n")
    (tmp_path / "conf.d/10-first.conf").write_text("work_mem = 8MB\ninclude '../more.conf'\n")
    (tmp_path / "conf.d/.hidden.conf").write_text("nonsense\n")
    (tmp_path / "more.conf").write_text("geqo = off\n")
    (tmp_path / "postgresql.conf").write_text(DEBIAN)
    (arm,) = plan_with(tmp_path, "./postgresql.conf").arms
    settled = settings.settle(arm, 170000, HOST)
    assert settled.preset == {
        "shared_buffers": "128MB",
        "cluster_name": "15/main",
        "work_mem": "4MB",
        "jit": "off",
        "geqo": "off",
    }
    assert settled.values["listen_addresses"] == "127.0.0.1"
    assert settled.departures == (
        "left out of ./postgresql.conf, as dyno says where its servers lie: data_directory, "
        "external_pid_file, hba_file, ident_file, listen_addresses, log_line_prefix, port, ssl, "
        "ssl_cert_file, ssl_key_file, unix_socket_directories",
    )


def test_a_distribution_s_my_cnf_is_taken_with_what_it_includes(tmp_path: Path):
    folder = tmp_path / "mariadb.conf.d"
    folder.mkdir()
    (folder / "50-server.cnf").write_text(DEBIANS_MARIADB)
    (folder / "readme").write_text("nonsense")
    whole = f"[client-server]\nsocket = /run/s.sock\n!includedir {folder}\n[mysqld]\nport = 1\n"
    (tmp_path / "my.cnf").write_text(whole)
    text = (
        '[arms.a]\nengine = "mariadb"\nversion = "10.11"\nconfig = "my.cnf"\n'
        '[[workloads]]\nname = "sysbench"\n'
    )
    (arm,) = plan.parse(text, tmp_path / "p.toml").arms
    program = tmp_path / "mariadbd"
    build = Build(
        engine="mariadb", base_dir=tmp_path, program=program, version="10.11.5", version_num=101105
    )
    settled = mysql_settings.settle(arm, build, HOST)
    assert settled.preset == {"log_bin": "ON", "expire_logs_days": "10"}
    assert settled.values["log_bin"] == "on"
    assert settled.departures == (
        "[galera] of arms.a.config: my.cnf is left out: no group that mariadb 10.11 reads",
        "left out of my.cnf, as dyno says where its servers lie: basedir, bind_address, pid_file, "
        "port, skip_networking, slow_query_log_file, socket, tmpdir",
        "log_bin of my.cnf is on; its files lie where dyno says",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\ninclude = 'more.conf'\n", "more.conf: line 2: `jit` is not a setting"),
        ("include 'none.conf'", "none.conf: cannot be read: No such file"),
        ("include_dir 'none.d'", "my.conf: line 1: `include_dir 'none.d'`: there is no such"),
        ("jit = on\ninclude 'my.conf'", "my.conf: line 2: `include 'my.conf'`: files include each"),
        ("include_if_exists = none.conf\n\njit", "my.conf: line 3: `jit` is not a setting"),
    ],
)
def test_what_is_wrong_with_an_included_file_is_one_line(tmp_path: Path, text: str, message: str):
    (tmp_path / "more.conf").write_text("geqo = off\njit\n")
    (tmp_path / "my.conf").write_text(text)
    with pytest.raises(PlanError) as raised:
        settings.settle(plan_with(tmp_path, "my.conf").arms[0], 170000, HOST)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_all_settings_of_a_plan_that_the_lab_lives_by_are_refused_at_once(tmp_path: Path):
    (arm,) = plan_with(tmp_path, "x10a", 'settings = { hba_file = "a", ident_file = "b" }').arms
    with pytest.raises(PlanError) as raised:
        settings.settle(arm, 170000, HOST)
    assert [line.partition(": ")[0] for line in str(raised.value).splitlines()] == [
        "arms.a.settings.hba_file",
        "arms.a.settings.ident_file",
    ]


@pytest.mark.parametrize(
    ("config", "rest", "message"),
    [
        ("./none.conf", "", "key `arms.a.config`: "),
        ("./my.conf", 'memory = "4GB"', "key `arms.a.memory`: sizes a preset, but there is none"),
        ("x10a_c8r32", 'memory = "4GB"', "`x10a_c8r32` is for c8r32; drop that, or `memory`"),
        ("x11", "", "key `arms.a.config`: there is no preset `x11`: use one of"),
    ],
)
def test_a_config_that_cannot_be_is_one_line(tmp_path: Path, config: str, rest: str, message: str):
    (tmp_path / "my.conf").write_text("jit = off\n")
    with pytest.raises(PlanError) as raised:
        plan_with(tmp_path, config, rest)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
