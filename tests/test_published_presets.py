"""Presets beside the published files of mytools (bench/conf): names, differences, sane sums."""

from collections.abc import Iterator

import pytest

from dbdyno.engine.preset import Capacity, files, parse
from dbdyno.engine.preset import arm_config as config
from dbdyno.engine.preset.files import NUMBER
from dbdyno.engine.preset.show import listing
from dbdyno.model import version
from dbdyno.model.error import PlanError
from dbdyno.model.size import bytes_of

GB = 1 << 30
HOSTS = [
    Capacity(cores=cores, memory_bytes=int(gb * GB), free_disk_bytes=free)
    for cores, gb, free in (
        (1, 0.5, None),
        (2, 1, 20 * GB),
        (8, 32, None),
        (24, 64, None),
        (96, 384, 4096 * GB),
    )
]
VERSIONS = {
    "postgres": ("9.5", "9.6", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19"),
    "mysql": ("5.6.51", "5.7.44", "8.0.11", "8.0.28", "8.0.30", "8.4.6", "9.7.0"),
    "mariadb": ("10.2", "10.3", "10.4", "10.5", "10.6", "10.11", "11.4", "11.8", "12.3"),
}


def values(engine: str, name: str, release: str, host: Capacity = HOSTS[2]) -> dict[str, str]:
    number = version.number_of(engine, release)
    chosen = parse(name, engine)
    return dict(config.render(chosen, capacity=host, version_num=number).values)


def changed(engine: str, name: str, base: str, release: str) -> dict[str, str | None]:
    """The settings that one of two presets has otherwise than the other; None: not at all."""
    of, than = values(engine, name, release), values(engine, base, release)
    return {key: of.get(key) for key in of.keys() | than.keys() if of.get(key) != than.get(key)}


# --- Sums ---------------------------------------------------------------------------------------


def everything(engine: str) -> Iterator[tuple[str, Capacity]]:
    """Each preset with each tag at each size that both have, and sized to hosts; with the host."""
    plain = [tag for tag in files.tags(engine) if NUMBER not in tag.name and tag.settings]
    for listed, preset in files.presets(engine).items():
        name = listed.replace(NUMBER, "16")
        yield from ((name, host) for host in HOSTS)
        for size in preset.sizes:
            own = Capacity(cores=size.cores, memory_bytes=size.memory_bytes, free_disk_bytes=None)
            yield f"{name}_{size.name}", own
            for tag in plain:
                if all(isinstance(of, str) or size.name in of for of in tag.settings.values()):
                    yield f"{name}_{tag.name}_{size.name}", own


@pytest.mark.parametrize("engine", VERSIONS)
@pytest.mark.long
def test_pool_and_log_are_sane_for_every_preset_size_and_version(engine: str) -> None:
    """Not 15 files of 30 GB of redo log, as MariaDB 10.2 to 10.4 once had: 450 GB."""
    for name, host in everything(engine):
        for release in VERSIONS[engine]:
            of = values(engine, name, release, host)
            pool = bytes_of(of["shared_buffers" if engine == "postgres" else POOL])
            pool += bytes_of(of.get("orioledb.main_buffers", "0MB"))
            log = log_bytes(of)
            assert 0.2 < pool / host.memory_bytes < 0.85, (name, release)
            assert 0.125 < log / pool <= 4, (name, release)
            workers = int(of.get("autovacuum_max_workers", "3"))
            vacuum = workers * bytes_of(of.get("autovacuum_work_mem", "0MB"))
            assert pool + vacuum <= host.memory_bytes, (name, release)
            if engine == "postgres":
                assert 32 << 20 <= bytes_of(of.get("min_wal_size", "80MB")) <= log, (name, release)


POOL = "innodb_buffer_pool_size"


def log_bytes(of: dict[str, str]) -> int:
    """All of the write-ahead or redo log between two checkpoints."""
    if "max_wal_size" in of or "innodb_redo_log_capacity" in of:
        return bytes_of(of.get("max_wal_size") or of["innodb_redo_log_capacity"])
    return bytes_of(of["innodb_log_file_size"]) * int(of.get("innodb_log_files_in_group", "1"))


# --- MariaDB ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "before", "since"),
    [
        ("c8r32", ("15", "2G"), "30G"),
        ("c24r64", ("10", "5G"), "50G"),
        ("c32r128", ("10", "10G"), "100G"),
    ],
)
def test_mariadb_has_files_of_the_redo_log_before_10_5_and_one_since(
    size: str, before: tuple[str, str], since: str
) -> None:
    for preset in ("z11a", "z11b", "z11c", "z12a", "z12b"):
        for release in ("10.2", "10.3", "10.4"):
            of = values("mariadb", f"{preset}_{size}", release)
            assert (of["innodb_log_files_in_group"], of["innodb_log_file_size"]) == before
            assert of["innodb_concurrency_tickets"] == "1000000"
            assert "innodb_lru_scan_depth" not in of
        for release in ("10.5", "10.11", "11.4", "12.3"):
            of = values("mariadb", f"{preset}_{size}", release)
            assert (of.get("innodb_log_files_in_group"), of["innodb_log_file_size"]) == (
                None,
                since,
            )
            assert of["innodb_lru_scan_depth"] == "5000"


def test_mariadbs_z11_differ_in_how_files_are_opened_and_from_z12_in_the_log() -> None:
    method = {"innodb_flush_method": "O_DIRECT"}
    assert changed("mariadb", "z11b_c24r64", "z11a_c24r64", "10.2") == method
    assert changed("mariadb", "z11c_c24r64", "z11a_c24r64", "10.11") == {
        "innodb_flush_method": "fsync"
    }
    assert changed("mariadb", "z11c_c32r128", "z11b_c32r128", "11.4.3") == {
        "innodb_data_file_buffering": "ON"
    }
    assert values("mariadb", "z11c", "11.4").get("innodb_flush_method") is None
    written = {"innodb_log_write_ahead_size": "4096"}
    assert changed("mariadb", "z12a_c8r32", "z11a_c8r32", "10.4") == written
    assert changed("mariadb", "z12a_c8r32", "z11a_c8r32", "10.6.20") == written
    isolated = {"innodb_snapshot_isolation": "OFF"}
    assert changed("mariadb", "z12b_c8r32", "z11b_c8r32", "11.4.4") == written | isolated
    assert changed("mariadb", "z12b_c8r32", "z11b_c8r32", "11.7.1") == written
    assert changed("mariadb", "z11b_lwas4k_vector_c32r128", "z11b_c32r128", "11.7.1") == written | {
        "innodb_buffer_pool_size": "84G",
        "mhnsw_max_cache_size": "16G",
    }


@pytest.mark.parametrize(
    ("name", "base", "release", "settings"),
    [
        ("z11d_c32r128", "z11a_c32r128", "10.11", {"innodb_change_buffering": "all"}),
        (
            "z11a1_c32r128", "z11a_c32r128", "10.11",
            {"innodb_buffer_pool_size": "64G", "innodb_log_file_size": "32G"},
        ),
        (
            "z11a1_c32r128", "z11a_c32r128", "10.4",
            {
                "innodb_buffer_pool_size": "64G", "innodb_log_file_size": "4G",
                "innodb_log_files_in_group": "8",
            },
        ),
        (
            "z11a1_c24r64", "z11a_c24r64", "10.11",
            {"innodb_buffer_pool_size": "32G", "innodb_log_file_size": "16G"},
        ),
        ("z12b_ahi1_c8r32", "z12b_c8r32", "12.3", {"innodb_adaptive_hash_index": "ON"}),
        (
            "z12b_vector_c32r128", "z12b_c32r128", "12.3",
            {"innodb_buffer_pool_size": "80G", "mhnsw_max_cache_size": "16G"},
        ),
    ],
)  # fmt: skip
def test_mariadbs_further_files_are_the_published_ones(
    name: str, base: str, release: str, settings: dict[str, str]
) -> None:
    assert changed("mariadb", name, base, release) == settings


def test_mysql_before_8_0_30_has_as_many_files_as_published() -> None:
    for release, files_of in (("5.7.44", ("10", "5G")), ("8.0.28", ("16", "3G"))):
        of = values("mysql", "z11a_c24r64", release)
        assert (of["innodb_log_files_in_group"], of["innodb_log_file_size"]) == files_of


# --- PostgreSQL ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["c8r32", "c24r64", "c32r128", "bee"])
def test_the_predecessors_of_x10a_differ_from_x9a2_in_a_setting_each(size: str) -> None:
    workers: dict[str, str | None] = {"autovacuum_max_workers": "16"}
    expected: dict[str, dict[str, str | None]] = {
        "a": {"autovacuum_vacuum_cost_delay": "1ms"},
        "b": {"autovacuum_vacuum_cost_delay": "0"},
        "c": {"autovacuum_naptime": "1s"},
        "d": workers if size in ("c24r64", "c32r128") else {},
        "e": {"autovacuum_vacuum_scale_factor": "0.01"},
        "f": {"autovacuum_vacuum_insert_scale_factor": "0.01"},
        "g": {"autovacuum_vacuum_cost_limit": "8000"},
    }
    for letter, settings in expected.items():
        assert changed("postgres", f"x9a2{letter}_{size}", f"x9a2_{size}", "16") == settings


@pytest.mark.parametrize(
    ("name", "base", "settings"),
    [
        ("x10b50g_c32r128", "x10b_c32r128", {"shared_buffers": "50GB"}),
        ("x10a50g_c32r128", "x10a_c32r128", {"shared_buffers": "50GB"}),
        ("x10b_walsize_c32r128", "x10b_c32r128", {"min_wal_size": "96GB"}),
        (
            "x10b_walsize16G_c32r128", "x10b_c32r128",
            {"max_wal_size": "16GB", "min_wal_size": "16GB"},
        ),
        (
            "x10b_walsize8G_c24r64", "x10b_c24r64",
            {"max_wal_size": "8GB", "min_wal_size": "8GB"},
        ),
        (
            "x10a_vector_c32r128", "x10a_c32r128",
            {"shared_buffers": "80GB", "maintenance_work_mem": "16GB"},
        ),
        (
            "x10a_vector_c8r32", "x10a_c8r32",
            {"shared_buffers": "16GB", "maintenance_work_mem": "10GB"},
        ),
        ("x10cw16_c8r32", "x10c_c8r32", {"io_workers": "16"}),
        (
            "x10a_oriole_c32r128", "x10a_c32r128",
            {
                "shared_buffers": "1GB", "shared_preload_libraries": "orioledb.so",
                "orioledb.main_buffers": "40GB", "orioledb.undo_buffers": "4GB",
                "orioledb.free_tree_buffers": "512MB", "orioledb.undo_system_buffers": "128MB",
                "orioledb.bgwriter_num_workers": "8",
                "orioledb.checkpoint_completion_ratio": "1.0",
            },
        ),
        (
            "x10a_oriole_zstd7_c32r128", "x10a_oriole_c32r128",
            {
                "orioledb.default_compress": "7", "orioledb.default_primary_compress": "7",
                "orioledb.default_toast_compress": "7",
            },
        ),
        (
            "x10a_pq8_c32r128", "x10a_c32r128",
            {
                "max_parallel_workers": "8", "max_parallel_workers_per_gather": "2",
                "max_parallel_maintenance_workers": "4", "maintenance_work_mem": "1GB",
                "work_mem": "8MB",
            },
        ),
        (
            "x10a_vector_pq4_c32r128", "x10a_vector_c32r128",
            {
                "max_parallel_workers": "8", "max_parallel_workers_per_gather": "2",
                "max_parallel_maintenance_workers": "4", "work_mem": "8MB",
            },
        ),
    ],
)  # fmt: skip
def test_a_published_name_is_the_published_file(name: str, base: str, settings: dict[str, str]):
    release = "17" if name.startswith("x10a") else "18"
    assert changed("postgres", name, base, release) == settings


def test_version_19_has_the_files_of_18_as_its_author_ran_beta_1() -> None:
    """bench/arc/jun26.pn53.ib.pg19b1.my848 of mytools: pg19b1_o2nofp.cx10b_c8r32."""
    later = config.render(
        parse("x10b_c8r32", "postgres"),
        capacity=HOSTS[2],
        version_num=version.number_of("postgres", "19"),
    )
    assert later.departures == ()
    assert later.values == values("postgres", "x10b_c8r32", "18")


def test_mysqls_names_with_the_size_of_the_pool_are_read_as_published() -> None:
    for name in ("z12a", "z12b", "z13a"):
        assert changed("mysql", f"{name}50g_c32r128", f"{name}_c32r128", "9.7") == {
            "innodb_buffer_pool_size": "50G"
        }


def test_x10c_says_that_the_studies_of_its_name_had_16_or_32_workers() -> None:
    assert "io_workers" not in values("postgres", "x10c_c8r32", "18")
    (line,) = (one for one in listing() if one.split()[1:2] == ["x10c"])
    assert "May and June 2025: x10cw16, x10cw32" in line


def test_a_tag_by_sizes_is_sized_to_a_host_and_refused_for_other_sizes() -> None:
    host = Capacity(cores=8, memory_bytes=64 * GB, free_disk_bytes=None)
    of = values("postgres", "x10a_vector", "17", host)
    assert (of["shared_buffers"], of["maintenance_work_mem"]) == ("32GB", "20GB")
    with pytest.raises(PlanError, match="`_vector` is not published for `c24r64`, but for c8r32,"):
        parse("x10a_vector_c24r64", "postgres")
    with pytest.raises(PlanError, match="both set shared_buffers"):
        parse("x10a50g_vector", "postgres")
