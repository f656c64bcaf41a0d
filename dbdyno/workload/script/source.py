"""A script's text, and complaints about a place in it: file, line, column and a caret below."""

import re
from dataclasses import dataclass

from dbdyno.model.error import WorkloadError

NO_TAB = re.compile(r"[^\t]")


@dataclass(frozen=True)
class ScriptText:
    """A script by the name that messages and results call it, and its text."""

    name: str
    text: str

    def place(self, offset: int) -> str:
        """A place in words: `mix.sql:3:10`, line and column from 1."""
        return f"{self.name}:{self.line(offset)}:{self.column(offset)}"

    def line(self, offset: int) -> int:
        """The number of the line of a place, from 1."""
        return self.text.count("\n", 0, offset) + 1

    def column(self, offset: int) -> int:
        """The column of a place in its line, from 1."""
        return offset - self._begin(offset) + 1

    def error(self, offset: int, sentence: str) -> WorkloadError:
        """A complaint about a place, with its line and a caret below it; to be raised."""
        begin = self._begin(offset)
        end = self.text.find("\n", offset)
        line = self.text[begin : len(self.text) if end < 0 else end].rstrip("\r")
        below = NO_TAB.sub(" ", line[: offset - begin])
        return WorkloadError(f"{self.place(offset)}: {sentence}\n{line}\n{below}^")

    def _begin(self, offset: int) -> int:
        return self.text.rfind("\n", 0, offset) + 1
