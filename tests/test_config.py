"""Presets: the published table, sized to a host, for a version."""

import os
from pathlib import Path

import pytest

from dbdyno.engine import Build, preset
from dbdyno.engine.postgres import settings as settings_of_postgres
from dbdyno.engine.preset import Capacity, files, parse
from dbdyno.engine.preset import arm_config as config
from dbdyno.engine.preset.show import listing, show
from dbdyno.host.account import Account
from dbdyno.model import Arm
from dbdyno.model.error import PlanError

GB = 1 << 30
LARGE = Capacity(cores=8, memory_bytes=32 * GB, free_disk_bytes=None)
"""The host of the published files."""


def rendered(
    preset: str, cores: int, memory_bytes: int, free_disk_bytes: int | None, version_num: int
) -> config.Settings:
    return config.render(
        parse(preset, "postgres"),
        capacity=Capacity(cores=cores, memory_bytes=memory_bytes, free_disk_bytes=free_disk_bytes),
        version_num=version_num,
    )


def test_a_host_of_the_published_size_gets_the_published_file():
    settings = rendered("x10a", 8, 32 * GB, None, 170006)
    assert settings.departures == ()
    assert settings.values == {
        "huge_pages": "off",
        "max_parallel_workers_per_gather": "0",
        "max_parallel_workers": "0",
        "synchronous_commit": "off",
        "wal_sync_method": "fdatasync",
        "wal_level": "replica",
        "full_page_writes": "on",
        "wal_compression": "off",
        "track_io_timing": "on",
        "bgwriter_lru_maxpages": "2000",
        "checkpoint_timeout": "1800s",
        "checkpoint_completion_target": "0.9",
        "checkpoint_warning": "1800s",
        "log_checkpoints": "on",
        "log_autovacuum_min_duration": "0",
        "autovacuum_naptime": "10s",
        "autovacuum_vacuum_cost_delay": "1ms",
        "autovacuum_vacuum_cost_limit": "4000",
        "autovacuum_vacuum_scale_factor": "0.05",
        "autovacuum_vacuum_insert_scale_factor": "0.05",
        "jit": "off",
        "shared_buffers": "23GB",
        "max_wal_size": "40GB",
        "min_wal_size": "20GB",
        "bgwriter_delay": "100ms",
        "autovacuum_max_workers": "4",
        "autovacuum_work_mem": "256MB",
        "vacuum_buffer_usage_limit": "256MB",
    }


def test_x10b_is_x10a_with_synchronous_reads_on_18():
    older = rendered("x10a", 8, 32 * GB, None, 170006)
    newer = rendered("x10b", 8, 32 * GB, None, 180000)
    assert newer.departures == ()
    assert dict(newer.values) == {
        name: value
        for name, value in {**older.values, "io_method": "sync"}.items()
        if name != "vacuum_buffer_usage_limit"  # the published files of 16 and 18 lack it
    }


@pytest.mark.parametrize(
    ("name", "method"), [("x10b", "sync"), ("x10c", "worker"), ("x10d", "io_uring")]
)
def test_the_variants_differ_in_how_they_read(name: str, method: str):
    assert rendered(name, 8, 32 * GB, None, 180000).values["io_method"] == method
    settings = rendered(name, 8, 32 * GB, None, 170000)
    assert "io_method" not in settings.values
    assert f"io_method = {method} is left out: new in version 18" in settings.departures
    assert f"{name} is published for versions from 18, this is 17" in settings.departures


@pytest.mark.parametrize(
    ("version_num", "unknown"),
    [
        (170000, set()),
        (120022, {"autovacuum_vacuum_insert_scale_factor"}),
        (100023, {"autovacuum_vacuum_insert_scale_factor", "jit"}),
        (90624, {"autovacuum_vacuum_insert_scale_factor", "jit", "max_parallel_workers"}),
    ],
)
def test_what_a_version_does_not_know_is_left_out_and_said(version_num: int, unknown: set[str]):
    settings = rendered("x10a", 8, 32 * GB, None, version_num)
    assert not unknown & settings.values.keys()
    left_out = {one.split(" ")[0] for one in settings.departures if "is left out" in one}
    assert left_out == unknown


def test_what_9_6_does_not_allow_is_lowered_and_said():
    settings = rendered("x10a", 8, 32 * GB, None, 90624)
    assert settings.values["bgwriter_lru_maxpages"] == "1000"
    assert "bgwriter_lru_maxpages is 1000, not 2000: the most before 10" in settings.departures
    newer = rendered("x10b", 8, 32 * GB, None, 90624)
    assert "x10b is published for versions from 18, this is 9.6" in newer.departures


@pytest.mark.parametrize(
    ("cores", "memory_gb", "workers", "delay"),
    [(2, 4, "4", "100ms"), (8, 16, "4", "100ms"), (24, 64, "8", "50ms"), (48, 128, "8", "50ms")],
)
def test_what_is_not_computed_comes_from_the_nearest_published_size(
    cores: int, memory_gb: int, workers: str, delay: str
):
    values = rendered("x10a", cores, memory_gb * GB, None, 170000).values
    assert (values["autovacuum_max_workers"], values["bgwriter_delay"]) == (workers, delay)


def test_sizes_follow_memory_and_say_how_they_depart():
    settings = rendered("x10a", 2, 1 * GB, None, 170000)
    assert settings.values["shared_buffers"] == "737MB"  # 0.72 of 1 GB
    assert settings.values["max_wal_size"] == "1289MB"  # 1.75 of that
    assert settings.values["min_wal_size"] == "644MB"
    assert settings.values["autovacuum_work_mem"] == "16MB"
    assert settings.departures == (
        "autovacuum_work_mem is 16MB, not 256MB: at most 1/64 of the memory",
        "shared_buffers is 737MB, not the 23GB of c8r32: 0.72 of memory",
        "max_wal_size is 1289MB, not the 40GB of c8r32: 1.75 of shared_buffers",
        "min_wal_size is 644MB, not the 20GB of c8r32: 0.5 of max_wal_size",
    )


def test_the_write_ahead_log_takes_at_most_a_fifth_of_the_free_disk():
    settings = rendered("x10a", 8, 32 * GB, 100 * GB, 170000)
    assert settings.values["max_wal_size"] == "20GB"
    assert settings.values["min_wal_size"] == "10GB"
    assert any(one.endswith("at most 0.2 of the free disk") for one in settings.departures)


def test_two_arms_get_the_same_log_size_though_the_free_disk_differs_a_little():
    sizes = {
        rendered("x10a", 8, 32 * GB, 100 * GB - used, 170000).values["max_wal_size"]
        for used in (0, 4096, 300 << 20, 1 << 30)
    }
    assert len(sizes) <= 2  # a boundary may lie between, never one for each


def test_the_log_is_never_smaller_than_the_server_allows():
    values = rendered("x10a", 1, 64 << 20, 10 << 20, 170000).values
    assert values["max_wal_size"] == "64MB"
    assert values["min_wal_size"] == "32MB"


def test_an_unknown_preset_is_named_beside_those_there_are():
    with pytest.raises(
        PlanError, match=r"no preset `x99`: use one of a27, a28, m5\.metal, x10a, x10b"
    ):
        rendered("x99", 8, GB, None, 170000)


LISTED = [(engine, name) for engine in files.engines() for name in files.presets(engine)]


@pytest.mark.parametrize(("engine", "listed"), LISTED)
def test_each_preset_shows_as_a_configuration_file(engine: str, listed: str):
    name = listed.replace("<n>", "8")
    shown = show(name, capacity=LARGE, engine=engine).splitlines()
    assert shown[0].startswith(f"# {name}: ")
    settings = [line for line in shown if line[0] not in "#["]
    if engine == "postgres":
        assert all(" = '" in line and line.endswith("'") for line in settings)
    else:
        pool = "16G" if listed == "z11a1" else "23G"
        assert f"innodb_buffer_pool_size = {pool}" in settings


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("4GB", 4 * GB),
        ("512MB", 512 << 20),
        ("1.5GB", 3 * GB // 2),
        ("8kB", 8192),
        ("1 TB", 1 << 40),
    ],
)
def test_sizes_are_read_as_the_server_reads_them(text: str, amount: int):
    assert config.bytes_of(text) == amount


@pytest.mark.parametrize("text", ["", "4", "GB", "4gb", "-1GB", "4 GiB", "1GB; rm"])
def test_what_is_no_size_is_refused(text: str):
    with pytest.raises(PlanError, match="is not a size"):
        config.bytes_of(text)


def test_shared_buffers_without_a_unit_count_pages():
    assert config.buffer_bytes("16384") == 128 << 20
    assert config.buffer_bytes("128MB") == 128 << 20


@pytest.mark.parametrize("amount", [1 << 10, 300 << 20, 3 * GB, 40 * GB, 2 << 40])
def test_a_size_that_is_written_reads_back(amount: int):
    assert config.bytes_of(config.text_of(amount)) == amount


def of_mysql(name: str, version_num: int, engine: str = "mysql", gb: int = 32) -> config.Settings:
    return config.render(
        parse(name, engine),
        capacity=Capacity(cores=8, memory_bytes=gb * GB, free_disk_bytes=None),
        version_num=version_num,
    )


def test_mysql_of_the_published_size_gets_the_published_file():
    settings = of_mysql("z12a", 90700)
    assert settings.departures == ()
    assert dict(settings.values) == {
        "sql_mode": "no_engine_substitution,no_unsigned_subtraction",
        "default_tmp_storage_engine": "MyISAM",
        "long_query_time": "5",
        "log_bin": "ON",
        "max_binlog_size": "256M",
        "server_id": "77",
        "binlog_format": "ROW",
        "innodb_file_per_table": "1",
        "innodb_data_file_path": "ibdata1:512M:autoextend",
        "slow_query_log": "1",
        "performance_schema": "1",
        "character_set_server": "latin1",
        "collation_server": "latin1_swedish_ci",
        "eq_range_index_dive_limit": "10",
        "innodb_fast_shutdown": "1",
        "innodb_doublewrite": "ON",
        "innodb_flush_method": "O_DIRECT_NO_FSYNC",
        "innodb_autoinc_lock_mode": "2",
        "innodb_flush_neighbors": "0",
        "innodb_buffer_pool_load_at_startup": "OFF",
        "innodb_buffer_pool_dump_at_shutdown": "OFF",
        "innodb_purge_threads": "4",
        "innodb_flush_log_at_trx_commit": "2",
        "sync_binlog": "0",
        "innodb_dedicated_server": "ON",
        "innodb_buffer_pool_size": "23G",
        "innodb_max_dirty_pages_pct_lwm": "80",
        "innodb_max_dirty_pages_pct": "90",
        "innodb_idle_flush_pct": "1",
        "innodb_io_capacity": "10000",
        "innodb_io_capacity_max": "20000",
        "innodb_adaptive_hash_index": "OFF",
        "innodb_page_cleaners": "4",
        "innodb_read_io_threads": "4",
        "innodb_write_io_threads": "4",
        "innodb_buffer_pool_instances": "4",
        "innodb_redo_log_capacity": "30G",
        "innodb_log_writer_threads": "OFF",
        "innodb_max_purge_lag": "500000",
        "innodb_max_purge_lag_delay": "1000000",
        "innodb_doublewrite_pages": "128",
        "innodb_numa_interleave": "ON",
        "innodb_log_buffer_size": "64M",
        "innodb_change_buffering": "all",
        "innodb_change_buffer_max_size": "25",
        "innodb_use_fdatasync": "ON",
    }


def test_before_8_0_30_the_redo_log_is_files_of_one_size():
    older, newer = of_mysql("z12a", 80029).values, of_mysql("z12a", 80030).values
    assert (older["innodb_log_files_in_group"], older["innodb_log_file_size"]) == ("15", "2G")
    assert "innodb_redo_log_capacity" not in older
    assert "innodb_log_file_size" not in newer
    assert newer["innodb_redo_log_capacity"] == "30G"


@pytest.mark.parametrize(
    ("version_num", "has"),
    [
        (80039, {"ssl": "OFF", "default_authentication_plugin": "mysql_native_password"}),
        (80406, {"mysql_native_password": "ON"}),
        (90700, {}),
    ],
)
def test_how_accounts_log_in_is_said_in_the_words_of_the_version(
    version_num: int, has: dict[str, str]
):
    values = of_mysql("z12a", version_num).values
    names = ("ssl", "default_authentication_plugin", "mysql_native_password")
    assert {name: values[name] for name in names if name in values} == has


def test_5_6_is_left_without_what_it_does_not_know_and_each_is_said():
    settings = of_mysql("z12a", 50651)
    left_out = {one.split(" ")[0] for one in settings.departures if "is left out" in one}
    assert left_out == {
        "innodb_page_cleaners",
        "innodb_dedicated_server",
        "innodb_idle_flush_pct",
        "innodb_doublewrite_pages",
        "innodb_use_fdatasync",
    }
    assert not left_out & settings.values.keys()
    assert settings.values["innodb_file_format"] == "Barracuda"
    assert "performance_schema" not in settings.values


def test_z11a_is_z12a_without_the_larger_buffers():
    only = of_mysql("z12a", 90700).values.items() - of_mysql("z11a", 90700).values.items()
    assert {name for name, _ in only} == {
        "innodb_doublewrite_pages",
        "innodb_log_buffer_size",
        "innodb_change_buffering",
        "innodb_change_buffer_max_size",
        "innodb_numa_interleave",
        "innodb_use_fdatasync",
    }


def test_mariadb_has_files_of_its_own():
    ten, eleven = (of_mysql("z12b", number, "mariadb").values for number in (101114, 110803))
    assert (ten["innodb_log_file_size"], eleven["innodb_log_file_size"]) == ("30G", "30G")
    assert ten["innodb_flush_method"] == "O_DIRECT"
    assert "innodb_flush_method" not in eleven
    assert eleven["innodb_log_file_buffering"] == "ON"
    assert "innodb_redo_log_capacity" not in ten
    assert of_mysql("z12c", 120300, "mariadb").values["binlog_storage_engine"] == "innodb"


def test_a_buffer_pool_is_whole_chunks_in_each_instance():
    assert of_mysql("z12a", 90700, gb=4).values["innodb_buffer_pool_size"] == "2560M"
    assert of_mysql("z12a", 90700, gb=1).values["innodb_buffer_pool_size"] == "640M"


def test_a_named_size_is_the_published_column_whatever_the_host():
    settings = rendered("x10a_c24r64", 2, GB, 10 * GB, 170000)
    assert settings.departures == ()
    assert settings.values["shared_buffers"] == "48GB"
    assert settings.values["max_wal_size"] == "64GB"
    assert rendered("x10a_bee", 2, GB, None, 170000).values["shared_buffers"] == "10GB"


@pytest.mark.parametrize(
    ("tags", "changed"),
    [
        ("wm4", {"work_mem": "4GB"}),
        ("pq8", {
            "max_parallel_workers": "8", "max_parallel_workers_per_gather": "2",
            "max_parallel_maintenance_workers": "4", "maintenance_work_mem": "1GB",
            "work_mem": "8MB",
        }),
        ("walsize", {"min_wal_size": "40GB"}),
        ("fpw0_wallz4", {"full_page_writes": "off", "wal_compression": "lz4"}),
        ("sync1_comp1_fpi0", {
            "synchronous_commit": "on", "wal_compression": "on", "full_page_writes": "off",
        }),
        ("50g", {"shared_buffers": "50GB"}),
        ("pgss", {"shared_preload_libraries": "pg_stat_statements"}),
    ],
)  # fmt: skip
def test_tags_change_what_they_say(tags: str, changed: dict[str, str]):
    plain = rendered("x10a", 8, 32 * GB, None, 170006).values
    tagged = rendered(f"x10a_{tags}", 8, 32 * GB, None, 170006).values
    assert dict(tagged.items() - plain.items()) == changed
    assert plain.keys() <= tagged.keys()


def test_the_tags_of_the_mysql_matrix_set_what_the_study_says():
    values = of_mysql("z12a_bl0_sync1_dwDO", 90700).values
    assert values["log_bin"] == "OFF"
    assert (values["innodb_flush_log_at_trx_commit"], values["sync_binlog"]) == ("1", "1")
    assert values["innodb_doublewrite"] == "DETECT_ONLY"


def test_a_number_in_a_name_is_put_in():
    values = rendered("x10cw8", 8, 32 * GB, None, 180000).values
    assert (values["io_method"], values["io_workers"]) == ("worker", "8")


def test_19_has_no_number_of_io_workers_and_it_is_said():
    settled = rendered("x10cw8", 8, 32 * GB, None, 190000)
    assert settled.values["io_method"] == "worker" and "io_workers" not in settled.values
    assert any("io_workers" in line for line in settled.departures)


def test_a_tag_that_the_version_does_not_know_is_left_out_and_said():
    settings = of_mysql("z12a_nocb", 110803, "mariadb")
    assert "innodb_change_buffering" not in settings.values
    gone = "innodb_change_buffering = none is left out: gone in version 11.0"
    assert gone in settings.departures


@pytest.mark.parametrize(
    ("name", "engine", "message"),
    [
        ("x10a_wm", "postgres", "`x10a_wm`: no tag `_wm`; did you mean `wm4`?"),
        ("x10a_bl0", "postgres", "`_bl0` is a tag of mysql and mariadb, not of postgres"),
        ("z12a_fpi0", "mysql", "`_fpi0` is a tag of postgres, not of mysql"),
        ("z12a_gtid", "mariadb", "`_gtid` is a tag of mysql, not of mariadb"),
        ("z12a_synk1", "mysql", "no tag `_synk1`; did you mean `sync1`?"),
        ("x10a", "mysql", "`x10a` is a preset of postgres; mysql has z11a, z11b"),
        ("x10a_fpi0_fpw0", "postgres", "`_fpi0` and `_fpw0` both set full_page_writes: keep one"),
        ("x10a_c8r32_bee", "postgres", "names 2 hosts' sizes: keep one"),
        ("z12a_c8r16", "mysql", "not published for `c8r16`, but for c8r32, c24r64, c32r128"),
        ("x10cw0", "postgres", "there is no preset `x10cw0`"),
    ],
)
def test_a_name_that_means_nothing_is_one_line(name: str, engine: str, message: str):
    with pytest.raises(PlanError) as caught:
        preset.parse(name, engine)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "release", "first"),
    [
        ("z12b", "10.11", "for mariadb 10.11"),
        ("z12b", "8.4", "for mysql 8.4"),
        ("x10a", None, "for postgres 17"),
    ],
)
def test_a_preset_is_shown_for_the_version_that_is_asked_for(
    name: str, release: str | None, first: str
):
    shown = show(name, capacity=LARGE, release=release)
    assert first in shown.splitlines()[1]


def test_the_list_names_presets_tags_and_sizes():
    lines = list(listing())
    assert any(line.startswith("mariadb   z12c      12.3+") for line in lines)
    assert any("_wm<n>" in line for line in lines)


def test_a_file_that_is_shown_names_no_file_of_the_binary_log():
    for name, line in (("z12a", "log_bin"), ("z12a_bl0", "skip_log_bin")):
        assert line in show(name, capacity=LARGE).splitlines()


# --- What a build refuses ----------------------------------------------------------------------

LABS = "the lab sets max_connections for the steps' connections"
REFUSED = """\
#!/bin/sh
echo '2026-01-01 00:00:00.000 UTC [1] FATAL:  300010 is outside the valid range for parameter \
"max_connections" (1 .. 262143)' >&2
exit 1
"""


@pytest.mark.parametrize(
    ("config", "text", "settings", "begins", "ends"),
    [
        (None, None, {}, f"arms.a: {LABS}: 300010", "(1 .. 262143): use fewer `clients`"),
        ("x10a", None, {}, f"arms.a: {LABS}: 300010", "(1 .. 262143): use fewer `clients`"),
        ("./my.conf", "max_connections = 300010\n", {},
         "arms.a.config: `./my.conf` sets max_connections: 300010", "(1 .. 262143)"),
        (None, None, {"max_connections": "300010"},
         "arms.a.settings.max_connections: 300010", "(1 .. 262143)"),
    ],
)  # fmt: skip
def test_who_sets_what_a_build_refuses_is_named(
    tmp_path: Path,
    *,
    config: str | None,
    text: str | None,
    settings: dict[str, str],
    begins: str,
    ends: str,
):
    program = tmp_path / "postgres"
    program.write_text(REFUSED)
    program.chmod(0o755)
    build = Build(
        engine="postgres", base_dir=tmp_path, program=program, version="18.6", version_num=180006
    )
    arm = Arm(name="a", engine="postgres", config=config, config_text=text, settings=settings)
    account = Account(name="me", uid=os.geteuid(), gid=os.getegid(), other=False)
    with pytest.raises(PlanError) as caught:
        settings_of_postgres.verify(arm, build, {"max_connections": "300010"}, account, tmp_path)
    assert str(caught.value).startswith(begins)
    assert str(caught.value).endswith(ends)
