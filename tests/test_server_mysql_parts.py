"""What of MySQL servers needs no server: logs, options, names of threads, what builds say."""

import stat
from pathlib import Path

import pytest

from dbdyno.engine import Build
from dbdyno.engine.mysql import build, facts, layout, log, options, settings, thread_kind
from dbdyno.engine.postgres import read_back
from dbdyno.engine.preset import Capacity
from dbdyno.engine.settings import ArmSettings
from dbdyno.host import account
from dbdyno.model import Arm
from dbdyno.model.error import PlanError, ServerError

HOST = Capacity(cores=8, memory_bytes=32 << 30, free_disk_bytes=1 << 40)
LOGS = {
    "MySQL 9.7": "2026-11-22T07:36:56.377509Z 0 [ERROR] [MY-000077] [Server] it is late.",
    "MySQL 5.7": "2026-11-22T07:36:56.377509Z 0 [ERROR] it is late.",
    "MySQL 5.6": "2026-11-22 07:36:56 1234 [ERROR] it is late.",
    "MariaDB": "2026-11-22  7:36:56 0 [ERROR] it is late.",
    "MySQL 5.5": "261122  7:36:56 [ERROR] it is late.",
}


def a_build(engine: str = "mysql", version_num: int = 90704) -> Build:
    base = Path("/opt/it")
    return Build(
        engine=engine,
        base_dir=base,
        program=base / "bin/mysqld",
        version="x",
        version_num=version_num,
    )


def settings_of(build: Build, **options: str) -> ArmSettings:
    arm = Arm(name="a", engine=build.engine, base_dir=build.base_dir, settings=options)
    return settings.settle(arm, build, HOST)


def settled(engine: str = "mysql", version_num: int = 90704, **options: str) -> dict[str, str]:
    return dict(settings_of(a_build(engine, version_num), **options).values)


# --- Logs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", LOGS.values(), ids=LOGS)
def test_a_line_of_each_version_is_an_event_at_its_time(line: str):
    (event,) = log.events([line, "and goes on"])
    assert event.name == "error" and event.text == "it is late.\nand goes on"
    assert event.unix_ms // 1000 == 1_795_333_016


def test_notes_are_no_events_and_many_errors_are_counted():
    note = LOGS["MariaDB"].replace("ERROR", "Note")
    assert log.events([note]) == []
    events = log.events([LOGS["MariaDB"]] * (log.ERRORS_MAX + 3))
    assert len(events) == log.ERRORS_MAX
    assert events[-1].text.endswith("(and 3 more messages)")


def test_why_a_server_did_not_start_is_its_first_telling_error_and_a_remedy():
    said = [
        "2026-11-22T07:36:56Z 0 [ERROR] [MY-010119] [Server] Aborting",
        "2026-11-22T07:36:56Z 0 [ERROR] [MY-010257] [Server] Do you already have another server?",
        "2026-11-22T07:36:56Z 0 [ERROR] [MY-010262] [Server] bind: Address already in use",
    ]
    assert log.reason(said) == (
        "Do you already have another server?; the port is in use: remove "
        "`settings.port`, so that dyno chooses"
    )
    assert log.reason(said[:1]) == "Aborting"
    ready = "2026-11-22T07:36:56Z 0 [System] [MY-010931] [Server] mysqld: ready for connections."
    assert log.reason([ready]) == log.UNSAID
    assert log.reason([]) == log.UNSAID


def test_a_crash_is_told_in_the_words_of_each_engine():
    for line in (
        "2026-11-22T07:36:56Z UTC - mysqld got signal 11 ;",
        "261122  7:36:56 [ERROR] mysqld got signal 6 ;",
        "2026-11-22  7:36:56 0 [ERROR] [FATAL] InnoDB: the end",
    ):
        assert log.crash(["before", line]) == line
    assert log.crash(LOGS.values()) is None


# --- Options -----------------------------------------------------------------------------------


def test_options_are_written_as_the_server_reads_them():
    values = {"a": "1", "b": "x#y", "c": 'say "hi"', "skip_log_bin": "on", "skip_x": "off"}
    values |= {"skip_name_resolve": "ON", "e": ""}
    assert options.text(values, a_build()).splitlines() == [
        "[mysqld]",
        "a = 1",
        'b = "x#y"',
        "c = 'say \"hi\"'",
        "skip_log_bin",
        "skip_name_resolve = ON",
        'e = ""',
    ]
    with pytest.raises(PlanError, match="one line"):
        options.text({"a": "1\nuser = root"}, a_build())


def test_what_a_version_does_not_know_is_left_out_and_said():
    newer = {"innodb_redo_log_capacity": "30G", "innodb_numa_interleave": "ON"}
    kept, said = options.fit(newer, a_build(version_num=80030))
    assert kept == {"innodb_redo_log_capacity": "30G", "loose_innodb_numa_interleave": "ON"}
    assert said == []
    kept, said = options.fit(newer, a_build(version_num=80029))
    assert said == ["innodb_redo_log_capacity = 30G is left out: MySQL has it from 8.0.30 on"]
    _, said = options.fit({"innodb_page_cleaners": "4"}, a_build("mariadb", 101114))
    assert said == ["innodb_page_cleaners = 4 is left out: MariaDB has had none since 10.6"]
    assert "mysqlx" not in settled("mariadb", 101114) and "mysqlx" not in settled(version_num=50744)
    assert settled()["loose_mysqlx"] == "OFF"
    own = settled("mariadb", 101114, **{"loose-innodb-buffer-pool-size-max": "32G"})
    assert own["loose_innodb_buffer_pool_size_max"] == "32G", "older builds pass over it"


def test_the_binary_log_is_on_as_the_version_has_it_or_as_the_plan_says():
    assert settled()["log_bin"] == "on" and settled()["server_id"] == "77"
    assert settled(version_num=50744)["log_bin"] == "off"
    assert settled("mariadb", 101114)["log_bin"] == "off"
    assert settled(log_bin="off")["log_bin"] == "off"
    assert settled(skip_log_bin="on")["log_bin"] == "off"
    assert settled("mariadb", 101114, log_bin="binlog")["log_bin"] == "on"
    with pytest.raises(PlanError, match=r"^arms\.a\.settings\.log_bin: write on or off"):
        settled(log_bin="/fast/binlog")


@pytest.mark.parametrize("name", ["datadir", "loose-socket", "skip_networking", "bind_address"])
def test_what_the_lab_lives_by_cannot_be_set(name: str):
    with pytest.raises(PlanError, match="dyno sets this itself"):
        settled(**{name: "x"})


def test_logs_lie_in_the_folder_that_a_plan_names_and_base_dir_is_told_who_needs_it():
    places = {"folder": Path("/d/a"), "socket": Path("/run/a/mysql.sock"), "port": 7}
    there = layout.MysqlLayout(build=a_build(), wal_dir=Path("/w/a/wal"), **places)
    values = there.with_places({"log_bin": "on"})
    assert values["log_bin"] == "/w/a/wal/binlog"
    assert values["innodb_log_group_home_dir"] == "/w/a/wal"
    assert "basedir" not in values and values["datadir"] == "/d/a/data"
    beside = layout.MysqlLayout(build=a_build("mariadb", 101114), wal_dir=None, **places)
    values = beside.with_places({"log_bin": "off"})
    assert values["skip_log_bin"] == "on" and values["basedir"] == "/opt/it"


def test_values_are_alike_however_they_are_written():
    for one, other in (("23G", "24696061952"), ("on", "ON"), ("1", "TRUE"), ("90", "90.000000"),
                       ("a,B", "b,a"), ("", "NULL")):  # fmt: skip
        assert facts.alike(one, other), (one, other)
    assert not facts.alike("4", "1") and not facts.alike("ROW", "MIXED")


@pytest.mark.parametrize(
    ("written", "held", "unit", "kind", "same"),
    [
        ("1GB", "131072", "8kB", "integer", True),
        ("1GB", "131071", "8kB", "integer", True),
        ("1GB", "65536", "8kB", "integer", False),
        ("1800s", "1800", "s", "integer", True),
        ("30min", "1800", "s", "integer", True),
        ("0.9", "0.9", None, "real", True),
        ("100", "200", None, "integer", False),
        ("true", "on", None, "bool", True),
        ("off", "on", None, "bool", False),
        ("a, b", "a,b", None, "string", True),
        ("lz4", "pglz", None, "enum", False),
    ],
)
def test_postgresql_is_asked_in_its_own_units(
    written: str, held: str, unit: str | None, kind: str, same: bool
):
    assert read_back.alike(written, held, unit, kind) is same


# --- Threads, builds, connections --------------------------------------------------------------


def test_threads_are_known_by_the_kernels_name_or_by_the_servers():
    assert thread_kind.kind_of("ib_pg_flush_co") == "page cleaner"
    assert thread_kind.kind_of("ib_log_wr_notif") == "log notifier"
    assert thread_kind.kind_of("connection") == "connection"
    assert thread_kind.kind_of("mariadbd") is None
    assert thread_kind.kind_of_instrument("thread/innodb/page_cleaner_thread") == "page cleaner"
    assert thread_kind.kind_of_instrument("thread/sql/main") == "other"


def script(folder: Path, says: str, name: str = "bin/mysqld") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.parametrize(
    ("says", "engine", "message"),
    [
        ("mysqld  Ver 8.4.6 for Linux on x86_64 (MySQL)", "mariadb", 'write engine = "mysql"'),
        ("mysqld  Ver 10.11.14-MariaDB for Linux", "mysql", 'write engine = "mariadb"'),
        ("mysqld  Ver 5.1.73 for Linux", "mysql", r"MySQL 5\.1\.73: 5\.5 is the oldest"),
        ("mysqld  Ver 10.1.48-MariaDB for Linux", "mariadb", r"10\.2 is the oldest"),
        ("hello", "mysql", "not a server"),
    ],
)
def test_a_build_of_another_kind_is_one_line(tmp_path: Path, says: str, engine: str, message: str):
    me = account.own_account(0, None)
    with pytest.raises(ServerError, match=rf"^arms\.a\.base_dir: .*{message}"):
        build.inspect(script(tmp_path, says), engine, "arms.a.base_dir", me)


def test_a_folder_without_a_server_says_what_it_lacks(tmp_path: Path):
    with pytest.raises(ServerError, match=r"has neither bin/mysqld, sbin/mysqld nor"):
        build.inspect(tmp_path, "mysql", "arms.a.base_dir", account.own_account(0, None))


def test_a_build_says_its_version_and_which_file_runs(tmp_path: Path):
    image = tmp_path / "root" / "mysqld"
    image.parent.mkdir()
    image.write_bytes(b"the program")
    folder = script(tmp_path, f"{image}  Ver 8.4.6-6 for Linux on x86_64 (Percona Server)")
    found = build.inspect(folder, "mysql", "here", account.own_account(0, None))
    assert (found.version, found.version_num, found.release) == ("8.4.6", 80406, (8, 4))
    assert found.image == image
    assert len(found.sha256) == 64


def test_a_version_is_of_a_series_by_whole_numbers():
    assert build.starts("10.11.14", "10.11") and not build.starts("10.11.14", "10.1")


# --- Threads -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "instrument", "kind"),
    [
        ("ib_io_rd-1", "io_read_thread", "io read"),
        ("ib_io_ibuf", "io_ibuf_thread", "io other"),  # merges of changes: background
        ("ib_par_rd-3", "parallel_read_thread", "parallel read"),
        ("ib_ddl-2", "ddl_thread", "index build"),
        ("ib_par_rseg", "parallel_rseg_init_thread", "innodb other"),
        ("ib_pg_flush_co", "page_flush_coordinator_thread", "page cleaner"),
    ],
)
def test_threads_that_read_and_build_for_sessions_have_kinds_of_their_own(
    name: str, instrument: str, kind: str
):
    assert thread_kind.kind_of(name) == kind
    assert thread_kind.kind_of_instrument(f"thread/innodb/{instrument}") == kind
