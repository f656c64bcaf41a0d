"""A build: a folder of a database server's programs, of a known engine and version."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dbdyno.host import account as accounts
from dbdyno.host.account import Account
from dbdyno.model import version
from dbdyno.model.error import ServerError

VERSION_S_MAX = 20.0
"""How long a program may take to say its version."""
SHARE_LINE = re.compile(r"(?m)^share_path=(.+)$")


@dataclass(frozen=True, kw_only=True)
class Build:
    """A folder of programs that make and run servers of one engine."""

    engine: str
    base_dir: Path
    program: Path  # the server's: bin/postgres, bin/mysqld, sbin/mysqld, bin/mariadbd …
    version: str  # as the program says it: "17.6", "18beta1", "8.4.6", "10.11.14"
    # PostgreSQL's as the server says it: 170006. Else major * 10000 + minor * 100 + patch: 80406.
    version_num: int
    environment: Mapping[str, str] = field(default_factory=dict)  # that its programs need
    image: Path | None = None  # what runs where `program` is a script around it
    made: bool = True  # False: it is still to be built, and its programs cannot be asked

    @property
    def initdb(self) -> Path:
        """PostgreSQL's program that makes a data directory."""
        return self.base_dir / "bin" / "initdb"

    @cached_property
    def major(self) -> int:
        """17 of 17.6; 9 of 9.6; 8 of 8.4.6."""
        return self.version_num // 10000

    @cached_property
    def release(self) -> tuple[int, ...]:
        """The series that features come with: (17,), (9, 6); (8, 4) of MySQL."""
        return version.release_of(self.engine, self.version_num)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the server's program, in hexadecimal; of one not made yet a text."""
        if not self.made:
            return "not made yet"
        return hashlib.sha256((self.image or self.program).read_bytes()).hexdigest()

    def has_extension(self, name: str, account: Account) -> bool:
        """Whether an extension lies where PostgreSQL's initdb says that it looks for them.

        Raises ServerError where it says nothing.
        """
        env = account.options()["env"] | self.environment
        command: list[str | Path] = [self.initdb, "--show", "-D", "/nonexistent"]
        done = accounts.answer(command, account, limit_s=VERSION_S_MAX, env=env)
        found = SHARE_LINE.search(done.stderr + done.stdout)
        if found is None:
            raise ServerError(f"`{self.initdb} --show` names no share_path: {done.stderr[:200]!r}")
        return (Path(found[1]) / "extension" / f"{name}.control").is_file()
