"""A configuration file of one's own: what is read of it, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno import engine as engines
from dbdyno import plan
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
        ("postgres", "\ninclude 'more.conf'", "f: line 2: `include` reads another file"),
        ("postgres", "include_dir = 'conf.d'", "f: line 1: `include_dir` reads another file"),
        ("postgres", "jit", "f: line 1: `jit` is not a setting: write it as `name = 'value'`"),
        ("postgres", "jit = 'on", "is not a setting"),
        (
            "mysql",
            "[mysqld]\n!includedir /etc/mysql",
            "f: line 2: `!includedir` reads another file",
        ),
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


def test_a_file_cannot_set_what_the_lab_lives_by(tmp_path: Path):
    (tmp_path / "my.conf").write_text("listen_addresses = '*'\n")
    (arm,) = plan_with(tmp_path, "my.conf").arms
    with pytest.raises(PlanError, match=r"my\.conf sets listen_addresses, which dyno sets itself"):
        settings.settle(arm, 170000, HOST)


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
