"""Asks a server for its own state while a window is open, over a connection of its own.

Only where the plan asks for it (`[observe] status`). What the questions cost the server is the
owner `lab:status`, and no session's that is measured.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Protocol

from dbdyno.engine.wait_sampler import said
from dbdyno.model.server_status import StatusLook, WalFiles

APPLICATION = "dyno status"
STATEMENT_S_MAX = 5.0
WAL_COLUMNS = list(WalFiles.__struct_fields__)
TEXT_MAX = 1 << 20
"""Characters of an answer that are kept."""


class Connection(Protocol):
    """A connection by Python's database interface (PEP 249)."""

    def cursor(self) -> Any:
        """A cursor."""

    def close(self) -> None:
        """Ends the connection."""


class Status:
    """A server's own state, question by question; what fails once is asked no more."""

    def __init__(
        self,
        connection: Connection,
        questions: Mapping[str, str],
        pid: int,
        broken: tuple[type[Exception], ...],
    ) -> None:
        """`questions`: SQL by part; `pid`: the server's process, or thread, that answers.

        `broken`: what the connection raises of the server's refusals, and of its end.
        """
        self.pid = pid
        self._connection, self._broken = connection, broken
        self._questions = dict(questions)

    def looks(self) -> Iterator[StatusLook]:
        """The answers of this moment."""
        for part, sql in tuple(self._questions.items()):
            begun_ns = time.monotonic_ns()
            answer: dict[str, Any]
            try:
                answer = self._answer(sql)
            except self._broken as error:
                del self._questions[part]
                answer = {"failed": said(error)}
            took_us = (time.monotonic_ns() - begun_ns) // 1000
            yield StatusLook(mono_ns=begun_ns, part=part, took_us=took_us, **answer)

    def _answer(self, sql: str) -> dict[str, Any]:
        cursor = self._connection.cursor()
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
        if names == WAL_COLUMNS:
            ((files, size),) = rows
            return {"wal": WalFiles(files=files, bytes=size)}
        return {"text": as_text(names, rows)[:TEXT_MAX]}

    def close(self) -> None:
        """Ends the connection, which may be gone."""
        with suppress(*self._broken):
            self._connection.close()


def as_text(names: list[str], rows: Any) -> str:
    """Rows with a tab between values, under the columns' names, as mysql's batch mode has them."""
    lines = ["\t".join(names)]
    lines += ["\t".join("" if value is None else str(value) for value in row) for row in rows]
    return "\n".join(lines)
