"""A text of the server as a wrapper of logs has it."""

import re
from dataclasses import dataclass

from dbdyno.capture.log.line_prefix import SEVERITY


@dataclass(frozen=True)
class Message:
    """A line of the server's log, or more, with what stands outside of it."""

    text: str
    time: str = ""  # in ISO 8601, or as %m writes it; empty: not known
    process: str = ""
    detail: str = ""
    whole: bool = True  # False: its end is missing


def head_shape(line: str) -> str | None:
    """What stands before a line's severity, whatever its numbers; None: it has no severity."""
    severity = SEVERITY.search(line)
    return None if severity is None else re.sub(r"\d+", "0", line[: severity.start()])
