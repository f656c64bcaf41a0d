"""MySQL 5.6 and 5.7, which are not tried: their builds, their set-up, what of presets they know."""

from dataclasses import replace
from pathlib import Path

import pytest

from command import dyno
from dbdyno.engine import Build
from dbdyno.engine.mysql import compile, initialize, options, settings
from dbdyno.engine.mysql.layout import MysqlLayout
from dbdyno.model.error import ServerError
from test_build_flags import a_tree
from test_server_mysql_parts import a_build, settings_of, settled

O2NOFP = compile.RECIPES["rel_o2nofp"]
SSL = "-DWITH_SSL=/opt/openssl"
BOOST = "-DWITH_BOOST=/opt/boost"


def test_5_6_is_built_as_published(tmp_path: Path) -> None:
    assert compile.version(a_tree(tmp_path / "my", (5, 6, 51)), "x", "mysql") == "5.6.51"
    found = compile.arguments("mysql", O2NOFP, (5, 6))
    assert "-DCMAKE_C_FLAGS=-g1 -fno-omit-frame-pointer" in found
    assert "-DCMAKE_CXX_FLAGS=-g1 -fno-omit-frame-pointer -std=c++11" in found
    assert "-DWITH_PERFSCHEMA_STORAGE_ENGINE=0" in found
    assert not [one for one in found if "WITH_SSL" in one or "NUMA" in one or "ROUTER" in one]
    plain = compile.arguments("mysql", compile.RECIPES["def"], (5, 6))
    assert plain[0] == "-DCMAKE_CXX_FLAGS=-std=c++11"


def test_5_7_is_built_as_published(tmp_path: Path) -> None:
    assert compile.version(a_tree(tmp_path / "my", (5, 7, 44)), "x", "mysql") == "5.7.44"
    found = compile.arguments("mysql", O2NOFP, (5, 7))
    assert "-DCMAKE_CXX_FLAGS=-g1 -fno-omit-frame-pointer" in found
    assert {"-DWITH_NUMA=ON", "-DWITH_ZLIB=bundled", "-DWITH_UNIT_TESTS=OFF"} <= set(found)
    assert not [one for one in found if "WITH_SSL" in one or "PERFSCHEMA" in one]
    newest = compile.arguments("mysql", O2NOFP)
    assert compile.arguments("mysql", O2NOFP, (8, 0)) == newest
    assert "-DWITH_SSL=system" in newest


@pytest.mark.parametrize(
    ("series", "given", "said"),
    [
        ((5, 6), (), r"MySQL 5\.6 needs an OpenSSL of its own, 1\.0\.2: .*--configure=-DWITH_SSL="),
        ((5, 7), (), r"MySQL 5\.7 needs an OpenSSL of its own, 1\.1\.1"),
        ((5, 7), (SSL,), r"MySQL 5\.7 needs Boost 1\.59: .*--configure=-DWITH_BOOST="),
    ],
)
def test_a_library_that_no_system_has_any_more_is_asked_for(
    tmp_path: Path, series: tuple[int, int], given: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ServerError, match=said):
        compile.refuse_without_libraries(tmp_path, series, given)


def test_nothing_is_asked_for_where_it_is_given_or_not_needed(tmp_path: Path) -> None:
    compile.refuse_without_libraries(tmp_path, (5, 6), (SSL,))
    compile.refuse_without_libraries(tmp_path, (5, 7), (SSL, BOOST))
    compile.refuse_without_libraries(tmp_path, (8, 0), ())
    compile.refuse_without_libraries(tmp_path, (11, 8), ())
    (tmp_path / "boost").mkdir()
    compile.refuse_without_libraries(tmp_path, (5, 7), (SSL,))


@pytest.mark.parametrize(
    ("engine", "known", "given"),
    [
        ("mysql", "--force --keep-my-cnf", ["--force", "--keep-my-cnf"]),
        ("mysql", "--force", ["--force"]),
        (
            "mariadb",
            "--auth-root-authentication-method=*)",
            ["--auth-root-authentication-method=normal"],
        ),
    ],
)
def test_a_script_is_given_the_options_that_it_knows(
    tmp_path: Path, engine: str, known: str, given: list[str]
) -> None:
    base_dir = tmp_path / "base"
    script = base_dir / "scripts" / "mysql_install_db"
    script.parent.mkdir(parents=True)
    script.write_text(known)
    layout = a_layout(replace(a_build(engine, version_num=50619), base_dir=base_dir), tmp_path)
    command = initialize.command("a", layout)
    assert command[0] == script
    assert command[4:] == given


def test_a_build_without_a_script_begins_from_the_data_that_it_has(tmp_path: Path) -> None:
    build = replace(a_build(version_num=50509), base_dir=tmp_path / "base")
    layout = a_layout(build, tmp_path)
    with pytest.raises(ServerError, match="no `mysql_install_db`, which makes data directories"):
        initialize.command("a", layout)
    (build.base_dir / "data" / "mysql").mkdir(parents=True)
    assert initialize.command("a", layout)[-2:] == [build.base_dir / "data", layout.data]


def a_layout(build: Build, folder: Path) -> MysqlLayout:
    """The places of an arm with this build."""
    return MysqlLayout(
        build=build, folder=folder, wal_dir=None, socket=folder / "mysql.sock", port=7
    )


def test_a_value_of_the_lab_s_own_is_written_from_the_version_that_has_it() -> None:
    assert settled(version_num=50634)["secure_file_priv"] == "NULL"
    assert "secure_file_priv" not in settled(version_num=50633)


@pytest.mark.parametrize(
    ("version_num", "own", "ssl"),
    [(101105, {}, None), (110405, {}, "OFF"), (110405, {"ssl": "ON"}, "ON")],
)
def test_no_start_of_mariadb_makes_a_certificate_that_nobody_needs(
    version_num: int, own: dict[str, str], ssl: str | None
) -> None:
    build = a_build("mariadb", version_num)
    made = settings.uncertified(settings_of(build, **own), build)
    assert made.values.get("ssl") == ssl


def shown(name: str, version: str) -> str:
    """What `dyno config show` says."""
    size = ("--cores", "8", "--memory", "32G", "--engine", "mysql")
    ended = dyno("config", "show", name, "--version", version, *size)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_presets_of_5_7_have_what_it_knows_and_say_what_it_does_not() -> None:
    text = shown("z12a", "5.7.44")
    for line in (
        "innodb_page_cleaners = 4",
        "innodb_log_files_in_group = 15",
        "innodb_log_file_size = 2G",
        "ssl = OFF",
        "performance_schema = 1",
        "default_authentication_plugin = mysql_native_password",
    ):
        assert f"\n{line}\n" in text
    for name in ("innodb_redo_log_capacity", "innodb_idle_flush_pct", "innodb_use_fdatasync"):
        assert f"\n{name} =" not in text
    assert "\n# innodb_idle_flush_pct = 1 is left out: new in version 8.0.18\n" in text


def test_switches_of_5_5_are_numbers() -> None:
    values = {"innodb_doublewrite": "ON", "innodb_flush_method": "O_DIRECT"}
    text = options.text(values, a_build(version_num=50509))
    assert text == "[mysqld]\ninnodb_doublewrite = 1\ninnodb_flush_method = O_DIRECT\n"
    assert "innodb_doublewrite = ON\n" in options.text(values, a_build(version_num=50600))


def test_presets_of_5_5_keep_within_what_it_takes() -> None:
    text = shown("z12a", "5.5.9")
    assert "\n# innodb_log_file_size is 256M, not 2G: the most before 5.6.3\n" in text
    assert "\ninnodb_log_file_size = 256M\n" in text
    assert "\ninnodb_purge_threads = 1\n" in text
    for name in ("innodb_flush_neighbors", "innodb_flush_method", "ssl"):
        assert f"\n{name} =" not in text


def test_a_tag_s_value_that_a_version_does_not_know_is_left_out() -> None:
    text = shown("z12a_dwDO", "5.7.44")
    assert "\n# innodb_doublewrite = DETECT_ONLY is left out: the value is new in 8.0.30\n" in text
    assert "\ninnodb_doublewrite" not in text
    assert "\ninnodb_doublewrite = DETECT_ONLY\n" in shown("z12a_dwDO", "8.0.30")
