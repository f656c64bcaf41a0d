"""The job of a step, as dyno-loadgen takes it and job.json keeps it (contract/README.md).

Its parts are in the files of this folder; loadgen/src/job/ has the same types in Rust.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from dbdyno.model.events import PROTOCOL, Tick
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.model.job.external import EnvironmentVariable, Pattern, Pgbench, Restore, Sysbench
from dbdyno.model.job.fills import Fill
from dbdyno.model.job.programs import Assignment, ConditionalJump, Program, Variable, VariableSleep
from dbdyno.model.job.role import Role
from dbdyno.model.job.statements import Cursor, Piece, Statement
from dbdyno.model.job.values import Value
from dbdyno.model.json import Natural, always
from dbdyno.model.step_run import Extent

SETTLE_S_DEFAULT = 0.2
"""What follows a resumption and counts for nothing, where the job does not say (contract/README.md,
"stop")."""
SETTLE_SHARE_MAX = 0.05
"""Of a turn: what settles is no more than this, as a short turn follows a short pause."""
SENDING = frozenset({"draw", "send", "sleep"})
"""Instructions of programs that are no scripts."""
CONTROL = frozenset(
    {"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE"}
)
"""How commands begin that only say where a transaction begins or ends."""


class JobSegment(Struct, frozen=True, kw_only=True):
    """The part of a job that one generator of several makes."""

    index: Natural
    of: Natural


class StopRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When a step ends: with the quotas of roles, or after a time."""

    roles: tuple[str, ...] = always(())
    seconds: int | float | None = always(None)  # the window of a timed step
    warmup_s: int | float = always(0)
    seconds_max: int | float | None = always(None)
    drain_s_max: int | float | None = None
    settle_s: int | float | None = None  # None: SETTLE_S_DEFAULT


class ClientStagger(Struct, frozen=True, kw_only=True):
    """How clients begin one after the other, as a script starts a process for each."""

    first_s: int | float  # from the first client to the second
    each_s: int | float  # from each further client to the next

    def whole_s(self, clients: int) -> float:
        """From the first client to the last of so many."""
        return self.first_s + (clients - 2) * self.each_s if clients > 1 else 0.0


class Log(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The share of operations that is logged, and how the names of the files begin."""

    share: int | float
    prefix: str | None = None  # None: the step has no folder yet


class Job(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that one step needs.

    What is unset, the server and the seed for example, is told when the step begins.
    """

    protocol: Natural = always(PROTOCOL)
    autostart: bool | UnsetType = UNSET
    seed: Natural | UnsetType = UNSET
    step: str = always("")
    engine: str = always("fake")
    server: Endpoint | UnsetType | None = UNSET
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    character_set: Literal["latin1", "utf8mb4"] = "latin1"
    found_rows: bool = False  # whether an UPDATE counts the rows that it found
    fake: Mapping[str, Any] | UnsetType | None = UNSET  # what the plan plants
    clients: Natural
    apart: ClientStagger | None = None  # None: clients begin together
    threads: Natural = always(0)  # 0: a share of the processors
    processors: tuple[Natural, ...] = ()  # a thread on each, in place of `threads`
    wait: str | None = None
    segment: JobSegment = always(JobSegment(index=0, of=1))
    utc_offset_s: int = always(0)
    tables: Mapping[str, Natural] = field(default_factory=lambda: dict[str, int]())
    table_digits: Mapping[str, Natural] = field(default_factory=dict)
    samples: Mapping[str, str] = field(default_factory=dict)  # paths of files, by their SHA-256
    values: tuple[Value, ...] = always(())
    cursors: tuple[Cursor, ...] = always(())
    # None in these four: no role runs a script.
    variables: tuple[Variable, ...] | None = None
    assignments: tuple[Assignment, ...] | None = None
    branches: tuple[ConditionalJump, ...] | None = None
    sleeps: tuple[VariableSleep, ...] | None = None
    statements: tuple[Statement, ...] = always(())
    programs: tuple[Program, ...] = always(())
    roles: tuple[Role, ...] = always(())
    fills: tuple[Fill, ...] = always(())
    stop: StopRule = always(StopRule())
    private: bool = False  # whether messages of the server go without values
    trace: bool = always(False)
    log: Log | None = None
    capture: tuple[Literal["rows", "notices"], ...] = always(())
    # What follows is empty where dyno-loadgen makes the load.
    driver: Literal["loadgen", "command", "pgbench", "sysbench", "restore"] = "loadgen"
    workload: str = ""  # the path of the workload file
    limit_s: int | float = 0
    command: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # files and programs that `command` does not name by itself
    pattern: Pattern | None = None
    pgbench: Pgbench | None = None
    sysbench: Sysbench | None = None
    restore: Restore | None = None
    program: str = ""
    version: str = ""
    major: int | None = None  # of pgbench's version
    folder: str = ""
    session: str = ""  # the name of the program's sessions on the server
    environment: Mapping[str, str | EnvironmentVariable] = field(default_factory=dict)
    report: str = ""  # what the figures are read from

    @property
    def settle_s(self) -> float:
        """How long after a resumption nothing counts."""
        return SETTLE_S_DEFAULT if self.stop.settle_s is None else self.stop.settle_s

    @property
    def connections(self) -> int:
        """The connections of all roles."""
        return sum(map(self.connections_of, self.roles))

    @property
    def extent(self) -> Extent:
        """How much takes part in the step."""
        return Extent(
            clients=self.clients,
            connections=self.connections,
            tables=sum(max(1, count) for count in self.tables.values()),
        )

    @property
    def statement_names(self) -> frozenset[str]:
        """The names of its statements; a transaction of several has another one."""
        return frozenset(statement.name for statement in self.statements)

    @property
    def planted_names(self) -> frozenset[str]:
        """The names of what a fake server can do something of its own for."""
        return self.statement_names | {cursor.name for cursor in self.cursors}

    @property
    def connects_each(self) -> bool:
        """Whether operations of a role have a connection each, so nobody knows whose they are."""
        return any(role.connect == "each" for role in self.roles)

    def in_turns(self, turn_s: float) -> Job:
        """The same job in turns of `turn_s` seconds, of which a twentieth at most settles."""
        settles_s = settling_s(turn_s)
        if settles_s == SETTLE_S_DEFAULT:
            return self
        return replace(self, stop=replace(self.stop, settle_s=settles_s))

    def role(self, name: str) -> Role | None:
        """The role of a name; None where there is none, as of a bulk load."""
        return next((role for role in self.roles if role.name == name), None)

    def clients_of(self, role: Role) -> int:
        """How many times a role is there: once for each client, or once in all."""
        return self.clients if role.per == "client" else 1

    def connections_of(self, role: Role) -> int:
        """The connections of one role, all clients together."""
        return role.connections * self.clients_of(role)

    def table_names(self, table: str) -> tuple[str, ...]:
        """The names of the tables of a kind, which is called as they are without their numbers."""
        return table_names(table, self.tables[table], self.table_digits.get(table, 1))

    def reports_progress(self, name: str) -> bool:
        """Whether a statement of a role reports its rows while it runs."""
        role = self.role(name)
        programs = [self.programs[choice.program] for choice in role.choose] if role else []
        sent = {number for program in programs for number in program.sends}
        return any(self.statements[number].progress is not None for number in sent)

    @property
    def rolls_back(self) -> bool:
        """Whether operations may end as rolled back."""
        return any(verb == "rolled_back" for program in self.programs for verb, _ in program.code)

    def operation_of(self, number: int) -> str:
        """The name of a program's operation: its own, or that of its only statement."""
        program = self.programs[number]
        sent = [self.statements[number] for number in program.sends]
        alone = len(sent) == 1 and not computes(program, sent[0])
        return sent[0].name if alone else program.name

    def timed_operations(self) -> set[str]:
        """The names of the operations that are timed: a transaction's, not its statements'."""
        return {self.operation_of(number) for number in range(len(self.programs))}


def table_names(table: str, count: int, digits: int) -> tuple[str, ...]:
    """The names of the tables of a kind: pi1, pi2 …; of a count of 0 a single one without a number.

    Numbers have as many digits at least as `digits` says: bench0001.
    """
    return tuple(f"{table}{number:0{digits}}" for number in range(1, count + 1)) or (table,)


def settling_s(turn_s: float) -> float:
    """How long after a resumption nothing counts in turns of `turn_s` seconds."""
    return min(SETTLE_S_DEFAULT, SETTLE_SHARE_MAX * turn_s)


def amounts(tick: Tick, statements: Container[str], named: Container[str] = ()) -> dict[str, int]:
    """The operations, rows and statements of a tick, all clients of its role together.

    `statements`: the names of those (`Job.statement_names`), so that no transaction counts as one.
    `named`: what the headline names of the operations, if it does.
    """
    parts = tick.operations.items()
    if named:
        own = sum(part.count for name, part in parts if name in named)
        return {**amounts(tick, statements), "named": own}
    return {
        "operations": sum(client.count for client in tick.per_client),
        "rows": sum(client.rows or 0 for client in tick.per_client),
        "statements": sum(part.count for name, part in parts if name in statements),
    }


def computes(program: Program, statement: Statement) -> bool:
    """Whether a program of one statement does anything besides, as scripts do."""
    variables = any(
        isinstance(piece, Piece) and piece.variable is not None for piece in statement.pieces
    )
    verbs = {verb for verb, _ in program.code}
    return not verbs <= SENDING or variables or statement.into is not None


def first_words(statement: Statement) -> list[str]:
    """How each command of a statement's SQL begins, in capitals."""
    commands = " ".join(statement.texts).split(";")
    return [command.split()[0].upper() for command in commands if command.strip()]


def is_control(statement: Statement) -> bool:
    """Whether a statement does nothing but begin or end a transaction, by its SQL."""
    words = first_words(statement)
    return bool(words) and CONTROL.issuperset(words)
