"""Presets: the published table, sized to a host, for a version."""

from __future__ import annotations

import pytest

from dbdyno.error import PlanError
from dbdyno.server import config

GB = 1 << 30


def test_a_host_of_the_published_size_gets_the_published_file():
    settings = config.render("x10a", 8, 32 * GB, None, 170006)
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
    older = config.render("x10a", 8, 32 * GB, None, 170006)
    newer = config.render("x10b", 8, 32 * GB, None, 180000)
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
    assert config.render(name, 8, 32 * GB, None, 180000).values["io_method"] == method
    settings = config.render(name, 8, 32 * GB, None, 170000)
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
    settings = config.render("x10a", 8, 32 * GB, None, version_num)
    assert not unknown & settings.values.keys()
    left_out = {one.split(" ")[0] for one in settings.departures if "is left out" in one}
    assert left_out == unknown


def test_what_9_6_does_not_allow_is_lowered_and_said():
    settings = config.render("x10a", 8, 32 * GB, None, 90624)
    assert settings.values["bgwriter_lru_maxpages"] == "1000"
    assert "bgwriter_lru_maxpages is 1000, not 2000: the most before 10" in settings.departures
    newer = config.render("x10b", 8, 32 * GB, None, 90624)
    assert "x10b is published for versions from 18, this is 9.6" in newer.departures


@pytest.mark.parametrize(
    ("cores", "memory_gb", "workers", "delay"),
    [(2, 4, "4", "100ms"), (8, 16, "4", "100ms"), (24, 64, "8", "50ms"), (48, 128, "8", "50ms")],
)
def test_what_is_not_computed_comes_from_the_nearest_published_size(
    cores: int, memory_gb: int, workers: str, delay: str
):
    values = config.render("x10a", cores, memory_gb * GB, None, 170000).values
    assert (values["autovacuum_max_workers"], values["bgwriter_delay"]) == (workers, delay)


def test_sizes_follow_memory_and_say_how_they_depart():
    settings = config.render("x10a", 2, 1 * GB, None, 170000)
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
    settings = config.render("x10a", 8, 32 * GB, 100 * GB, 170000)
    assert settings.values["max_wal_size"] == "20GB"
    assert settings.values["min_wal_size"] == "10GB"
    assert any(one.endswith("at most 0.2 of the free disk") for one in settings.departures)


def test_two_arms_get_the_same_log_size_though_the_free_disk_differs_a_little():
    sizes = {
        config.render("x10a", 8, 32 * GB, 100 * GB - used, 170000).values["max_wal_size"]
        for used in (0, 4096, 300 << 20, 1 << 30)
    }
    assert len(sizes) <= 2  # a boundary may lie between, never one for each


def test_the_log_is_never_smaller_than_the_server_allows():
    values = config.render("x10a", 1, 64 << 20, 10 << 20, 170000).values
    assert values["max_wal_size"] == "64MB"
    assert values["min_wal_size"] == "32MB"


def test_an_unknown_preset_is_named_beside_those_there_are():
    with pytest.raises(PlanError, match="no preset `x99`: take one of x10a, x10b"):
        config.render("x99", 8, GB, None, 170000)


@pytest.mark.parametrize("name", config.names())
def test_each_preset_shows_as_a_configuration_file(name: str):
    lines = config.show(name, cores=8, memory="32GB").splitlines()
    settings = [line for line in lines if not line.startswith("#")]
    assert "shared_buffers = '23GB'" in settings
    assert all(" = '" in line and line.endswith("'") for line in settings)


def test_a_preset_shows_for_this_host_where_nothing_is_said():
    assert config.show("x10a").startswith("# x10a: ")


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
    with pytest.raises(PlanError, match="is no size"):
        config.bytes_of(text)


def test_shared_buffers_without_a_unit_count_pages():
    assert config.buffer_bytes("16384") == 128 << 20
    assert config.buffer_bytes("128MB") == 128 << 20


@pytest.mark.parametrize("amount", [1 << 10, 300 << 20, 3 * GB, 40 * GB, 2 << 40])
def test_a_size_that_is_written_reads_back(amount: int):
    assert config.bytes_of(config.text_of(amount)) == amount
