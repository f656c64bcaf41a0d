"""MySQL and MariaDB from their archives: found, verified, unpacked, and nothing half-done kept."""

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from archive_site import HERE, Site, served, write
from dbdyno import cli
from dbdyno.builds import maven
from dbdyno.engine import installed
from dbdyno.engine.mysql import archive, fetch, verify
from dbdyno.engine.mysql.archive import TargetMachine
from dbdyno.host import place
from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from mysql_place import SETTINGS, build_of
from server_place import a_place, started

MINIMAL = "mysql-9.7.2-linux-glibc2.28-x86_64-minimal.tar.xz"


@pytest.fixture(name="site")
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with served(tmp_path / "site") as site:
        for variable in archive.VARIABLES.values():
            monkeypatch.setenv(variable, f"{site.address}/")
        monkeypatch.setenv(maven.VARIABLE, f"{site.address}/maven")
        monkeypatch.setattr(archive, "PATCH_MAX", 3)
        monkeypatch.setattr(archive, "this_machine", lambda: HERE)
        monkeypatch.setattr(verify, "has_key", lambda _: False)
        yield site


@pytest.fixture(name="cache")
def _cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of our own, which the servers' account can enter."""
    with a_place("mysql") as made:
        monkeypatch.setattr(place, "cache_root", lambda: made.cache_root)
        yield made.cache_root


def fetched(engine: str, version: str) -> tuple[str, list[str]]:
    """Where a fetch put its server, below the cache, and what it said."""
    said: list[str] = []
    folder = fetch.fetch(engine, version, said.append, md5=True)
    return str(folder.relative_to(place.cache_root())), said


def refused(engine: str, version: str) -> str:
    """The one line of a fetch that fails."""
    with pytest.raises(ServerError) as caught:
        fetched(engine, version)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def left(cache: Path, engine: str = "mysql") -> list[str]:
    """What lies in the cache of an engine."""
    return sorted(one.name for one in (cache / engine).glob("*") if one.name != ".lock")


# --- Which release -----------------------------------------------------------------------------


def test_the_newest_of_a_series_is_found_though_mysql_has_no_list(site: Site, cache: Path):
    site.put("mysql", "9.7.1", old=True)
    site.put("mysql", "9.7.2")
    site.put("mysql", "9.70.3")
    path, said = fetched("mysql", "9.7")
    assert path == "mysql/9.7.2"
    assert said[0] == f"bringing {site.address}/Downloads/MySQL-9.7/{MINIMAL}"
    assert fetched("mysql", "9.7.1")[0] == "mysql/9.7.1"
    assert installed.locate(Arm(name="a", engine="mysql", version="9.7"), cache).version == "9.7.2"


def test_a_series_whose_releases_are_all_old_is_found(site: Site, cache: Path):
    site.put("mysql", "9.5.0", old=True)
    assert fetched("mysql", "9.5")[0] == "mysql/9.5.0"
    assert left(cache) == ["9.5.0"]


def test_mariadbs_newest_is_the_highest_of_its_list(site: Site, cache: Path):
    for version in ("11.8.2", "11.8.10", "11.80.1", "11.4.99"):
        site.put("mariadb", version)
    assert fetched("mariadb", "11.8") == (
        "mariadb/11.8.10",
        [
            f"bringing {site.address}/mariadb-11.8.10/bintar-linux-systemd-x86_64/"
            "mariadb-11.8.10-linux-systemd-x86_64.tar.gz",
            "verified by its SHA-256",
        ],
    )
    arm = Arm(name="a", engine="mariadb", version="11.8")
    assert installed.locate(arm, cache).version == "11.8.10"


def test_an_exact_version_that_is_here_needs_no_network(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    site.put("mysql", "9.7.2")
    fetched("mysql", "9.7.2")
    assert fetched("mysql", "9.7") == ("mysql/9.7.2", [])
    monkeypatch.setenv("DYNO_MYSQL_ARCHIVE", "http://127.0.0.1:1")
    assert fetched("mysql", "9.7.2") == ("mysql/9.7.2", [])
    assert site.asked.count(MINIMAL) == 1


@pytest.mark.parametrize(
    ("version", "machine", "names"),
    [
        ("5.7.44", HERE, ["linux-glibc2.12-x86_64.tar.gz"]),
        (
            "8.4.3",
            TargetMachine(name="x86_64", glibc=(2, 17)),
            ["linux-glibc2.17-x86_64-minimal.tar.xz", "linux-glibc2.12-x86_64.tar.xz"],
        ),
        (
            "9.7.2",
            TargetMachine(name="aarch64", glibc=(2, 28)),
            [
                "linux-glibc2.28-aarch64-minimal.tar.xz",
                "linux-glibc2.17-aarch64-minimal.tar.xz",
                "linux-glibc2.28-aarch64.tar.xz",
                "linux-glibc2.12-aarch64.tar.xz",
            ],
        ),
    ],
)
def test_names_fit_the_series_the_machine_and_its_c_library(
    version: str, machine: TargetMachine, names: list[str]
):
    assert archive.mysql_names(version, machine) == [f"mysql-{version}-{end}" for end in names]


def test_the_makers_own_sites_are_asked_where_nothing_else_is_named(
    monkeypatch: pytest.MonkeyPatch,
):
    for engine, variable in archive.VARIABLES.items():
        monkeypatch.delenv(variable, raising=False)
        assert archive.address(engine) == archive.ADDRESSES[engine]


def test_a_machine_without_builds_is_told_what_else_there_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive.platform, "machine", lambda: "riscv64")
    with pytest.raises(ServerError, match="the archives have no builds for riscv64"):
        archive.this_machine()


@pytest.mark.parametrize(
    ("engine", "version", "says"),
    [
        ("mysql", "9", "there is no MySQL `9`: write `9.7` for the newest 9.7, or all three"),
        ("mysql", "../9.7", "there is no MySQL `../9.7`"),
        ("mysql", "5.1", "MySQL 5.1: 5.5 is the oldest that works"),
        ("mariadb", "10.1", "MariaDB 10.1: 10.2 is the oldest that works"),
        ("mysql", "9.9", "no MySQL 9.9 for x86_64 and glibc 2.36 is at `http"),
        ("mysql", "9.7.99", "no MySQL 9.7.99 for x86_64"),
        ("mariadb", "11.9", "no MariaDB 11.9 for x86_64"),
        ("mariadb", "11.8.99", "no MariaDB 11.8.99 for x86_64"),
    ],
)
def test_an_unknown_version_is_one_line(
    site: Site, cache: Path, engine: str, version: str, says: str
):
    assert refused(engine, version).startswith(says)
    assert left(cache, engine) == []


def test_a_site_out_of_reach_is_one_line_with_the_setting(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    for engine, variable in archive.VARIABLES.items():
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
        said = refused(engine, "11.8")
        assert "cannot be reached: [Errno 111] Connection refused: check the network" in said
        assert said.endswith(f"or name a mirror by `{variable}`")


# --- Verified ----------------------------------------------------------------------------------


def test_an_md5_alone_is_refused_before_anything_comes_unless_asked_for(site: Site, cache: Path):
    site.put("mysql", "9.7.2")
    with pytest.raises(ServerError, match=r"nothing but an MD5 would .*--recv-keys BCA43.*--md5"):
        fetch.fetch("mysql", "9.7", lambda line: None)
    assert left(cache) == []


def test_a_server_that_is_brought_is_open_to_all_and_without_its_tests(site: Site, cache: Path):
    site.put("mysql", "9.7.2")
    _, said = fetched("mysql", "9.7")
    tree = cache / "mysql" / "9.7.2"
    assert sorted(one.name for one in tree.iterdir()) == ["bin", "share"]
    assert (tree / "bin" / "mysqld").stat().st_mode & 0o777 == 0o755
    assert (tree / "share" / "errmsg").stat().st_mode & 0o777 == 0o644
    assert said[1].startswith("verified by its MD5 alone, and the address has no TLS: for its sig")
    assert verify.key_of("9.7.2") in said[1]
    assert said[1].endswith("), remove the folder and fetch again")  # what is here is kept
    assert left(cache) == ["9.7.2"]


@pytest.mark.parametrize(("engine", "title"), [("mysql", "MD5"), ("mariadb", "SHA-256")])
def test_a_wrong_checksum_is_not_unpacked(site: Site, cache: Path, engine: str, title: str):
    tarball = site.put(engine, "11.8.2")
    with tarball.open("ab") as file:
        file.write(b"x")
    said = refused(engine, "11.8")
    assert f"has the {title} " in said
    assert "it is not unpacked" in said
    assert left(cache, engine) == []


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("text", [None, "<html>please log in</html>"])
def test_a_missing_checksum_is_never_accepted(
    site: Site, cache: Path, engine: str, text: str | None
):
    tarball = site.put(engine, "11.8.2")
    sums = tarball.parent / ("sha256sums.txt" if engine == "mariadb" else f"{tarball.name}.md5")
    if text is None:
        sums.unlink()
    else:
        sums.write_text(text)
    said = refused(engine, "11.8")
    assert "nothing verifies the archive" in said or " of the archive: " in said
    assert left(cache, engine) == []


def test_a_checksum_of_another_file_does_not_count():
    text = f"{'a' * 64}  ./mariadb-11.8.2.tar.gz\n{'b' * 64}  mariadb-11.8.20.tar.gz\n"
    assert verify.published_sum(text, "mariadb-11.8.2.tar.gz", 64) == "a" * 64
    assert verify.published_sum(text, "mariadb-11.8.20.tar.gz", 64) == "b" * 64
    assert verify.published_sum(text, "mariadb-11.8.200.tar.gz", 64) is None
    assert verify.published_sum("ABCDEF01" * 4, "any", 32) == "abcdef01" * 4


@pytest.mark.parametrize(
    ("version", "ends"),
    [
        ("5.6.51", "5072E1F5"),
        ("5.7.36", "5072E1F5"),
        ("5.7.44", "3A79BD29"),
        ("8.0.27", "5072E1F5"),
        ("8.0.28", "3A79BD29"),
        ("8.0.35", "3A79BD29"),
        ("8.0.36", "A8D3785C"),
        ("8.2.0", "3A79BD29"),
        ("8.4.0", "A8D3785C"),
        ("9.7.2", "A8D3785C"),
    ],
)
def test_the_key_is_the_one_that_the_manual_names_for_a_version(version: str, ends: str):
    assert verify.key_of(version).endswith(ends)


class Signer:
    """A keyring of our own, and what it signs."""

    def __init__(self) -> None:
        self.fingerprint = self.new("build@example.com")
        self.other = self.new("other@example.com")

    def new(self, name: str) -> str:
        """Makes a key and returns its fingerprint."""
        self.gpg("--passphrase", "", "--quick-generate-key", name, "ed25519", "sign", "never")
        listed = self.gpg("--with-colons", "--list-keys", name)
        return next(line for line in listed.splitlines() if line.startswith("fpr")).split(":")[9]

    def sign(self, tarball: Path, key: str) -> None:
        """Writes the signature beside a tarball."""
        self.gpg("--yes", "--armor", "-u", key, "-o", f"{tarball}.asc", "--detach-sign", tarball)

    def gpg(self, *arguments: str | Path) -> str:
        """What gpg answers."""
        command = ["gpg", "--batch", "--pinentry-mode", "loopback", *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(name="signer")
def _signer(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Signer]:
    if shutil.which("gpg") is None:
        pytest.skip("no gpg here: `apt-get install gpg`")
    with a_place() as made:  # a short path: gpg's agent listens on a socket in it
        home = made.data_root / "gnupg"
        home.mkdir(mode=0o700)
        monkeypatch.setenv("GNUPGHOME", str(home))
        signer = Signer()
        monkeypatch.setattr(verify, "has_key", HAS_KEY)
        monkeypatch.setattr(verify, "KEYS", {signer.fingerprint: ()})
        yield signer
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=True)


HAS_KEY = verify.has_key


def test_a_signature_is_what_counts_where_the_key_is_here(site: Site, cache: Path, signer: Signer):
    tarball = site.put("mysql", "9.7.2")
    Path(f"{tarball}.md5").unlink()
    signer.sign(tarball, signer.fingerprint)
    assert fetched("mysql", "9.7")[1][1] == "verified by the signature of MySQL's release key"
    assert left(cache) == ["9.7.2"]


def test_a_signature_of_another_key_or_another_file_or_none_is_refused(
    site: Site, cache: Path, signer: Signer
):
    tarball = site.put("mysql", "9.7.2")
    assert f"{MINIMAL}.asc`: no such file, so nothing verifies the arch" in refused("mysql", "9.7")
    signer.sign(tarball, signer.other)
    assert "has no valid signature of MySQL's release key" in refused("mysql", "9.7")
    signer.sign(tarball, signer.fingerprint)
    write(tarball, "mysql", {"bin/mysqld": "#!/bin/sh\necho evil\n"})
    site.publish(tarball)
    assert "BAD signature" in refused("mysql", "9.7")
    assert left(cache) == []


# --- Whole or not at all -----------------------------------------------------------------------


@pytest.mark.parametrize("content", ["no archive", None])
def test_an_archive_without_a_server_is_refused(site: Site, cache: Path, content: str | None):
    tarball = site.put("mysql", "9.7.2")
    if content is None:
        write(tarball, "mysql", {"share/errmsg": ""})
    else:
        tarball.write_text(content)
    site.publish(tarball)
    said = refused("mysql", "9.7")
    assert "holds no server of MySQL" in said or "cannot be unpacked" in said
    assert left(cache) == []


# --- That runs here ----------------------------------------------------------------------------

LACKS = (
    "echo 'mysqld: error while loading shared libraries: {}: cannot open shared object file: "
    "No such file or directory' >&2; exit 127"
)


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("libaio.so.1", "apt-get install libaio1, or libaio1t64 and a link of that name"),
        ("libnuma.so.1", "apt-get install libnuma1"),
        ("libodd.so.3", "install the package that has it"),
    ],
)
def test_a_library_that_is_missing_is_named_by_the_fetch_and_by_plans(
    site: Site, cache: Path, library: str, package: str
):
    site.put("mysql", "9.7.2", script=LACKS.format(library))
    program = cache / "mysql" / "9.7.2" / "bin" / "mysqld"
    says = f"`{program}` needs the library {library}: {package}"
    assert refused("mysql", "9.7").startswith(f"mysql 9.7.2: {says}")
    with pytest.raises(ServerError) as caught:
        installed.locate(Arm(name="a", engine="mysql", version="9.7.2"), cache)
    assert str(caught.value).startswith(f"arms.a.version: {says}")
    assert left(cache) == ["9.7.2"]  # whole: it runs once the library is here


def test_a_version_that_is_not_here_names_the_command(cache: Path):
    with pytest.raises(
        ServerError, match=r": run `dyno server fetch mysql 9\.6`, or name its folder"
    ):
        installed.locate(Arm(name="a", engine="mysql", version="9.6"), cache)


def test_the_command_prints_the_folder_alone(site: Site, cache: Path):
    site.put("mariadb", "11.8.2")
    ended = CliRunner().invoke(cli.app, ["server", "fetch", "mariadb", "11.8"])
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.splitlines()[-1] == str(cache / "mariadb" / "11.8.2")


def test_an_engine_that_nobody_brings_is_refused():
    ended = CliRunner().invoke(cli.app, ["server", "fetch", "fake", "1"])
    assert str(ended.exception) == (
        "no engine `fake` can be fetched: there are `postgres`, `mysql`, `mariadb`"
    )


@pytest.mark.live
def test_a_real_server_is_brought_and_runs(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    real = build_of("mysql")
    monkeypatch.setattr(archive, "PATCH_MAX", int(real.version.rpartition(".")[2]) + 1)
    tarball = site.put("mysql", real.version)
    with tarfile.open(tarball, "w") as made:  # compressing it would take a quarter of a minute
        made.add(real.base_dir, arcname=f"mysql-{real.version}")
    site.publish(tarball)
    series = real.version.rpartition(".")[0]
    path, _ = fetched("mysql", series)
    assert path == f"mysql/{real.version}"
    arm = Arm(name="a", engine="mysql", version=series, settings=SETTINGS)
    with a_place("mysql") as ours, started(arm, replace(ours, cache_root=cache)) as server:
        assert server.execute("SELECT @@basedir")[0][0].startswith(str(cache / path))
