"""How a MySQL arm lies on the disk: its folders, its file of options, the command that starts it.

data_root/<arm>/dyno.cnf         the options: the only file of options that mysqld reads
data_root/<arm>/accounts.sql     what the first start runs: the account of the lab
data_root/<arm>/data/            the data directory, with redo log and binary log
data_root/<arm>/temporary/       sorts of index builds, temporary tables
wal_root/<arm>/wal/              redo log and binary log, where the plan names a folder for them
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.engine.mysql import flavour, options
from dbdyno.engine.mysql.flavour import since
from dbdyno.host import data_folder
from dbdyno.host.account import Account

SOCKET = "mysql.sock"
BINARY_LOG = "binlog"
SHAPING = re.compile(
    r"character_set_.*|collation_.*|default_.*|explicit_defaults_for_timestamp|sql_mode"
    r"|lower_case_table_names|table_.*_encryption|innodb_(?:autoinc|change_buffer|checksum|compress"
    r"|data_|default_|doublewrite|file_|fill_|large_prefix|page_|stats_|strict_|undo_).*"
)
"""Options that determine what data a fill leaves, or how they lie."""


def shapes(option: str) -> bool:
    """Whether an option determines what data a fill leaves, or how they lie."""
    plain = option.lower().replace("-", "_").removeprefix("loose_")
    return SHAPING.fullmatch(plain) is not None


@dataclass(frozen=True, kw_only=True)
class MysqlLayout:
    """The places of one arm."""

    build: Build
    folder: Path
    wal_dir: Path | None  # None: in the data directory
    socket: Path
    port: int

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def temporary(self) -> Path:
        """The folder of temporary files."""
        return self.folder / "temporary"

    @property
    def options(self) -> Path:
        """The file of options."""
        return self.folder / "dyno.cnf"

    @property
    def accounts(self) -> Path:
        """The statements that the first start runs."""
        return self.folder / "accounts.sql"

    def command(self, *, first: bool) -> list[str | Path]:
        """The command that starts the server; `first`: with data that were just made."""
        command: list[str | Path] = [self.build.program, f"--defaults-file={self.options}"]
        return [*command, f"--init-file={self.accounts}"] if first else command

    def write(self, values: Mapping[str, str], user: str, account: Account) -> None:
        """Writes the files of options and of accounts, which are the account's then."""
        account.give(self.options, options.text(self.with_places(values), self.build))
        account.give(self.accounts, accounts_of(user, self.build))

    def with_places(self, values: Mapping[str, str]) -> dict[str, str]:
        """The options with this arm's folders, socket and port."""
        placed = dict(values)
        binary = placed.pop("log_bin", "off")
        if binary == "on":
            placed["log_bin"] = str((self.wal_dir or self.data) / BINARY_LOG)
        else:
            placed["skip_log_bin"] = "on"
        if self.wal_dir is not None:
            placed["innodb_log_group_home_dir"] = str(self.wal_dir)
        placed.setdefault("tmpdir", str(self.temporary))
        if finds_not_itself(self.build):
            placed["basedir"] = str(self.build.base_dir)
        return placed | {
            "datadir": str(self.data),
            "socket": str(self.socket),
            "port": str(self.port),
            "pid_file": str(self.data / "mysqld.pid"),
        }

    def readdress_binary_log(self, account: Account) -> None:
        """Lets a copied index of binary logs name the files where they lie now."""
        folder = self.wal_dir or self.data
        index = f"{BINARY_LOG}.index"
        try:
            lines = data_folder.read(folder, index).decode().splitlines()
        except FileNotFoundError:
            return
        names = [Path(line).name for line in lines if line]
        account.write(folder / index, "".join(f"{folder / name}\n" for name in names))


def finds_not_itself(build: Build) -> bool:
    """Whether mysqld has to be told its base directory: MySQL takes its own place since 8.0."""
    return not since(flavour.of(build.engine).finds_itself_from, build.version_num)


def accounts_of(user: str, build: Build) -> str:
    """The statements that give the lab its account, for the socket alone; a line each.

    The account needs no password, as no other one enters the socket's folder. The plugin is the
    server's own choice: with an empty password caching_sha2_password, too, asks for nothing.
    """
    name = f"'{user}'@'localhost'"
    lines = ["SET sql_log_bin = 0;"]
    if build.version_num >= flavour.of(build.engine).creates_user_from:
        lines.append(f"CREATE USER IF NOT EXISTS {name};")
    # 5.6 makes the account by the grant.
    lines.append(f"GRANT ALL PRIVILEGES ON *.* TO {name} WITH GRANT OPTION;")
    return "\n".join(lines) + "\n"
