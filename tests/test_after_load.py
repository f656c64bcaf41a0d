"""What must fail once tables are loaded is refused before anything starts; no server."""

from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from dbdyno import plan, workload
from dbdyno.engine.limits import Room
from dbdyno.engine.mysql import settings as mysql
from dbdyno.engine.mysql.footprint import MysqlFootprint
from dbdyno.engine.mysql.limits import LIMITS as MYSQL
from dbdyno.engine.postgres import settings as postgres
from dbdyno.engine.postgres.footprint import PostgresFootprint
from dbdyno.engine.preset import Capacity
from dbdyno.engine.settings import Demand
from dbdyno.model import Address, Step
from dbdyno.model.error import HostError
from dbdyno.run import blocks, disk_space
from dbdyno.run.check import after_load
from dbdyno.run.disk_space import DiskLevel, Need
from dbdyno.store import Results

GB = 1 << 30
HOST = Capacity(cores=8, memory_bytes=32 * GB, free_disk_bytes=None)


def steps_of(name: str, engine: str = "postgres", **parameters: int) -> tuple[Step, ...]:
    return workload.expand(workload.load(name), parameters, engine)


@pytest.mark.long
def test_rows_beyond_a_key_s_type_are_refused_with_table_and_column() -> None:
    assert list(after_load.too_large(steps_of("sysbench", rows=2_000_000))) == []
    (line, *_) = after_load.too_large(steps_of("sysbench", rows=3_000_000_000))
    assert line.startswith("sysbench: step `fill`: table `sbtest`: column `id` is int4, which ends")
    assert "2,147,483,647, and its rows have up to 3,000,000,000: load fewer rows" in line
    for name in workload.names():
        assert list(after_load.too_large(steps_of(name))) == [], "as shipped"


def server(engine: str, settings: dict[str, str], *, remote: bool = False) -> mock.Mock:
    """A server with these settings; where it runs elsewhere they are asked for."""
    of = mock.Mock(remote=remote, load_address=Address(host="h", port=1, user="u", database="d"))
    of.name = "my"
    of.client.limits = MYSQL
    of.setting = (lambda name: None) if remote else settings.get
    of.execute = lambda sql: [(k, v) for k, v in settings.items() if f"'{k}'" in sql]
    return of


@pytest.mark.parametrize("remote", [False, True])
def test_tables_without_a_key_are_refused_where_the_server_does(remote: bool) -> None:
    steps = steps_of("pgbench", "mysql")
    on = {"sql_require_primary_key": "ON"}
    (line,) = after_load.without_keys(server("mysql", on, remote=remote), steps)
    assert "step `fill`: table `pgbench_history` has no primary key" in line
    assert (
        "`sql_require_primary_key` of arm my is on: switch it off, or give the table a key" in line
    )
    forced = {"innodb_force_primary_key": "1"}
    assert list(after_load.without_keys(server("mariadb", forced, remote=remote), steps))
    for fine in (
        {},
        {"sql_require_primary_key": "OFF"},
        on | {"sql_generate_invisible_primary_key": "ON"},
    ):
        assert not list(after_load.without_keys(server("mysql", fine, remote=remote), steps))
    assert not list(after_load.without_keys(server("mysql", on), steps_of("sysbench", "mysql")))


def test_more_clients_than_a_server_elsewhere_has_connections_are_refused() -> None:
    of = server("mysql", {}, remote=True)
    room = Room(
        connections=57, why="`max_connections` is 60, of which 3 are taken", mend="raise it"
    )
    of.client.limits = mock.Mock(room=lambda address: room)
    (line,) = after_load.too_many(of, 80)
    assert line == (
        "arm my: the steps need 80 connections and dyno 3; `max_connections` is 60, of which 3 are "
        "taken: use fewer `clients`, or raise it"
    )
    assert not list(after_load.too_many(of, 54))
    of.client.limits = mock.Mock(room=lambda address: None)  # a pooler
    assert not list(after_load.too_many(of, 80))


@pytest.mark.parametrize(("configured", "becomes"), [("60", "90"), ("200", "200"), ("95", "95")])
def test_a_file_s_connections_are_raised_where_they_are_too_few(
    tmp_path: Path, configured: str, becomes: str
) -> None:
    (tmp_path / "my.conf").write_text(f"max_connections = {configured}\n")
    (tmp_path / "my.cnf").write_text(f"[mysqld]\nmax_connections = {configured}\n")
    demand = Demand(connections=80)
    for engine, file, version in (("postgres", "my.conf", "17"), ("mysql", "my.cnf", "8.4")):
        text = f'[arms.a]\nengine = "{engine}"\nversion = "{version}"\nconfig = "{file}"\n'
        (arm,) = plan.parse(f'{text}[[workloads]]\nname = "sysbench"\n', tmp_path / "p").arms
        build = mock.Mock(engine=engine, version_num=80400)
        settled = (
            postgres.settle(arm, 170000, HOST, demand)
            if engine == "postgres"
            else mysql.settle(arm, build, HOST, demand)
        )
        assert settled.values["max_connections"] == becomes


def test_a_step_that_only_reads_needs_no_more_log_than_its_load_writes() -> None:
    footprint = PostgresFootprint({"max_wal_size": "96GB"}.get)
    assert footprint.log_bytes(GB, writes=True) == 96 * GB
    assert footprint.log_bytes(GB, writes=False) < 5 * GB
    assert PostgresFootprint({"max_wal_size": "64MB"}.get).log_bytes(GB, writes=False) == 64 << 20
    assert MysqlFootprint({"innodb_log_file_size": "1G"}.get).log_setting == "innodb_log_file_size"


def test_a_full_disk_names_the_setting_that_asks_for_most(tmp_path: Path) -> None:
    log = Need(
        what=disk_space.WAL, root=tmp_path, bytes=1 << 60, setting="arms.a: max_wal_size = 1EB"
    )
    data = Need(what=disk_space.DATA, root=tmp_path, bytes=GB)
    with pytest.raises(HostError, match=r"write-ahead log \(arms.a: max_wal_size = 1EB\).*: lower"):
        disk_space.refuse_full([data, log], [])
    with pytest.raises(HostError, match="to spare: ask for fewer rows, or set"):
        disk_space.refuse_full([replace(data, bytes=1 << 60)], [])


def test_a_disk_that_others_fill_is_no_arm_s_doing(tmp_path: Path) -> None:
    data, results = tmp_path / "data", tmp_path / "results"
    data.mkdir()
    (data / "rows").write_bytes(b"x" * (1 << 20))
    (level,) = disk_space.levels([data, data / "below", results]).values()
    assert level.own >= 1 << 20 and level.root == data

    def after(grew: int, fell: int, free: int = GB // 2) -> str | None:
        before = {1: DiskLevel(root=data, free=free + fell, own=5 * GB)}
        now = {1: DiskLevel(root=data, free=free, own=5 * GB + grew)}
        return disk_space.taken_by_others(before, now)

    assert after(grew=30 * GB, fell=30 * GB) is None, "the arm's own"
    assert after(grew=0, fell=30 * GB, free=9 * GB) is None, "there is room"
    said = after(grew=2 * GB, fell=30 * GB)
    assert said is not None
    assert said.startswith(f"other programs took 28.0 GB on the disk of `{data}`, which has 0.5 GB")


def test_a_block_whose_disk_others_filled_is_void_and_done_again(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(FAILING)
    taken = [f"other programs took 9.0 GB on the disk of `{tmp_path}`", *[None] * 20]
    with mock.patch.object(disk_space, "taken_by_others", side_effect=taken):
        outcome = blocks.run(plan.load(path), tmp_path, wait=True)
    states = {block.void for block in Results.open(outcome.folder).blocks()}
    assert states == {None, 1}
    assert (outcome.voids, outcome.failed) == (1, 1), "without others it is the arm's"


FAILING = """
[arms.a]
engine = "fake"
fake = { default_us = 100, errors = [{ statement = "insert", every = 5, code = "53100" }] }
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 2000 }
steps = ["l.i0"]
[schedule]
blocks = 1
"""
