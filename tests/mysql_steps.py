"""Steps of workloads on a server of MySQL or MariaDB, and what its general log has of them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dbdyno.engine import Server
from dbdyno.model import Json, Step
from step_load import load

DATABASE = "ib"
LITERAL = r"(?:'[^']*'|-?\d+(?:\.\d+)?)"
"""What stands in the place of a parameter where the log has a prepared statement's execution."""


class Sent(NamedTuple):
    """An entry of the general log."""

    session: int
    command: str  # `Query`: a text; `Prepare`; `Execute`: of a prepared statement, with its values
    sql: str


@dataclass(frozen=True)
class Seen:
    """A step as it was made, how it ended, and what its connections sent."""

    step: Step
    last: Json
    sent: tuple[Sent, ...]

    def texts(self, *commands: str) -> list[str]:
        """What was sent by these commands; by all, where none is named."""
        return [one.sql for one in self.sent if not commands or one.command in commands]

    def sessions(self) -> Iterator[list[Sent]]:
        """What each connection sent, in its order."""
        for session in dict.fromkeys(one.session for one in self.sent):
            yield [one for one in self.sent if one.session == session]


def logging(server: Server) -> Iterator[Server]:
    """The server with an empty database; meanwhile it logs what it is sent; for a fixture."""
    ((output,),) = server.execute("SELECT @@GLOBAL.log_output")
    server.execute("SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = 1")
    server.create_database(DATABASE)
    yield server
    server.execute("SET GLOBAL general_log = 0", f"SET GLOBAL log_output = '{output}'")


def run(server: Server, step: Step) -> Seen:
    """Runs a step by the generator; what the log says of its connections."""
    server.execute(*step.setup, database=DATABASE)
    last, sessions = load(server, step)
    return Seen(step, last, tuple(one for one in logged(server) if one.session in sessions))


def logged(server: Server, during: Callable[[], None] = lambda: None) -> tuple[Sent, ...]:
    """What the log has, which is empty afterwards; `during` is called before."""
    during()
    rows = server.execute("SELECT thread_id, command_type, argument FROM mysql.general_log")
    server.execute("TRUNCATE mysql.general_log")
    return tuple(Sent(int(row[0]), text(row[1]), " ".join(text(row[2]).split())) for row in rows)


def text(value: str | bytes) -> str:
    """A text that some versions have as bytes."""
    return value.decode("latin1") if isinstance(value, bytes) else value


def form(sql: str) -> str:
    """SQL with `T` for the number of its table, and `?×n` for a list of parameters."""
    sql = re.sub(r"sbtest\d+", "sbtestT", sql)
    return re.sub(r"\?(, \?)+", lambda found: f"?×{found[0].count(',') + 1}", sql)


def is_execution(sql: str, prepared: str) -> bool:
    """Whether it is a prepared statement with literals in the places of its parameters."""
    return re.fullmatch(LITERAL.join(map(re.escape, prepared.split("?"))), sql) is not None


def totals(seen: Mapping[str, Seen], name: str, role: str) -> tuple[int, int]:
    """Operations and rows of a role in a step, from its start to its end."""
    found = seen[name].last["totals"][role]
    return found["count"], found["rows"]
