"""A call: one statement of one session as a log tells it."""

from typing import Literal

from msgspec import Struct

Way = Literal["simple", "extended", "prepared"]
"""How a statement came: as a text with its values in it, bound, or bound to a kept statement."""


class Call(Struct, frozen=True, kw_only=True):
    """A statement that a session ran, or that failed (`error`)."""

    end_s: float  # seconds since 1970; its start is `duration_s` before
    duration_s: float | None  # parse, bind and execute together; None: not logged
    session: str
    database: str = ""
    user: str = ""
    account: str = ""  # of MySQL and MariaDB, whose accounts are no roles of queries
    application: str = ""
    text: str
    values: tuple[str | None, ...] | None = (
        None  # as `Dialect.bound` reads them; None: none, or not known
    )
    types: tuple[str, ...] = ()  # of $1 …, where the statement's PREPARE names them
    way: Way = "simple"
    rows: int | None = None
    further: bool = False  # one more fetch of the call before: adds time, is no call
    error: str = ""  # SQLSTATE, or a word where the log has none
    query_id: int = 0
    nested: bool = False  # a stored routine ran it
    cut: bool = False  # the log may have lost the text's end

    @property
    def start_s(self) -> float:
        """When it began, in seconds since 1970; without a duration when it ended."""
        return self.end_s - (self.duration_s or 0.0)
