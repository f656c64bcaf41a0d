"""Reads small kernel files under a root, and remembers of each fact why it could not be read."""

from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.host.observe import files

HOST = Path("/")


@dataclass(kw_only=True)
class HostReader:
    """The files of one host. `root` is `/`, or a folder that is laid out like one.

    Facts are named by their place in host.json, with dots between: `swap.used_bytes`.
    """

    root: Path = HOST
    unread: dict[str, str] = field(default_factory=dict)  # fact -> why it is null

    @property
    def here(self) -> bool:
        """Whether this is the host that dyno runs on: no other one can be measured."""
        return self.root == HOST

    def at(self, path: str) -> Path:
        """Where a file of the host lies, `path` being absolute."""
        return self.root / path.lstrip("/")

    def found(self, pattern: str) -> list[Path]:
        """The files of the host that an absolute pattern matches, in the order of their names."""
        return sorted(self.root.glob(pattern.lstrip("/")))

    def text(self, fact: str, path: str) -> str | None:
        """The text of a file; None where it cannot be read, and then `unread` says why."""
        try:
            return files.content(self.at(path)).decode("utf-8", "surrogateescape")
        except OSError as error:
            if error.errno in files.EXHAUSTED:
                raise
            absent = isinstance(error, FileNotFoundError | NotADirectoryError)
            problem = "there is no such file" if absent else str(error.strerror).lower()
            self.nothing(fact, f"{path}: {problem}")
            return None

    def line(self, fact: str, path: str) -> str | None:
        """The text of a one-line file without its end; None where it is missing or empty."""
        found = self.text(fact, path)
        if found is None:
            return None
        if not found.strip():
            self.nothing(fact, f"{path}: is empty")
        return found.strip() or None

    def number(self, fact: str, path: str) -> int | None:
        """The whole number in a one-line file; None where there is none."""
        found = self.line(fact, path)
        if found is None:
            return None
        try:
            return int(found)
        except ValueError:
            self.nothing(fact, f"{path}: holds no number")
            return None

    def value(self, fact: str, path: str) -> int | str | None:
        """A one-line file as a number where it is one, else as it stands."""
        found = self.line(fact, path)
        if found is None:
            return None
        return int(found) if found.lstrip("-").isdigit() else found

    def chosen(self, fact: str, path: str) -> str | None:
        """The chosen word of a file such as `always [madvise] never`; a single word is itself."""
        found = self.line(fact, path)
        return None if found is None else files.bracketed(found)

    def nothing(self, fact: str, reason: str) -> None:
        """Notes why a fact is null."""
        self.unread[fact] = reason
