"""Roles of a job: connections that do the same at the same pace, and what follows errors."""

from typing import Literal

from msgspec import Struct

from dbdyno.model.json import Natural, always

Connect = Literal["once", "each"]
"""A connection for the whole step, or one for each operation."""
Arrivals = Literal["even", "burst", "poisson"]
"""How operations that are due at a rate are spread over a second."""
TableBy = Literal["own", "by_connection", "in_turn", "uniform"]
"""How one of several tables is chosen."""


class ConstantThinkTime(Struct, frozen=True, tag_field="kind", tag="constant"):
    """A think time that is always as long."""

    us: Natural


class ExponentialThinkTime(Struct, frozen=True, kw_only=True, tag_field="kind", tag="exponential"):
    """A think time drawn from the exponential distribution, and cut."""

    mean_us: Natural
    max_us: Natural


ThinkTime = ConstantThinkTime | ExponentialThinkTime
"""How long a connection is idle because nobody has anything for it to do."""
ChoiceRule = Literal["random", "deficit", "deck", "in_order"]
"""How one of several programs is taken."""


class Choice(Struct, frozen=True, omit_defaults=True):
    """A program, by its number, how often it is chosen, and what its user takes around it."""

    program: Natural
    weight: Natural
    before: ThinkTime | None = None
    after: ThinkTime | None = None


class TableUse(Struct, frozen=True):
    """The kind of table that an operation goes to, and how one of several is chosen."""

    of: str
    by: TableBy


class ClosedPace(Struct, frozen=True, tag_field="kind", tag="closed"):
    """Each operation begins when the one before has ended."""


class RatePace(Struct, frozen=True, kw_only=True, tag_field="kind", tag="rate"):
    """So many operations are due each second, of each client where there is one role for each."""

    arrivals: Arrivals = always("even")
    per_s: int | float


class TiedPace(Struct, frozen=True, kw_only=True, tag_field="kind", tag="tied"):
    """An operation is due with each of another role, at most `lead` before it."""

    to: str
    lead: Natural = always(1)


Pace = ClosedPace | RatePace | TiedPace
"""When a role's operations are due."""


class RoleStop(Struct, frozen=True):
    """The operations of each client after which a role has done its part."""

    operations: Natural


class WindowMarks(Struct, frozen=True):
    """Operations of another program that cut a window out of a connection's operations.

    MARKS_BEFORE of them after the warm-up, and one at the end.
    """

    program: Natural
    warmup: Natural


MARKS_BEFORE = 3
"""The marks before a window: between the last two lies nothing, which is the cost of a mark."""


class ConnectionRenewal(Struct, frozen=True):
    """How connections are made anew after each pause.

    `binds`: so often a new one has each prepared statement planned for values, without executing
    it. `ask`: SQL that the old one sends last, and whose rows are told; it calls the first
    prepared statement `dyno_prepared`.
    """

    binds: Natural
    ask: str


class ErrorReaction(Struct, frozen=True, kw_only=True):
    """What follows an error of a statement."""

    retry: tuple[str, ...] = ()  # codes after which the operation is tried again
    tries: Natural = 1  # 0: without limit
    otherwise: Literal["fail_step", "count", "count_retryable"] = "fail_step"


class Role(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Connections that do the same at the same pace.

    None in `on_error` and `on_lost`: a program makes the load, and they are up to it.
    """

    name: str
    per: Literal["client", "step"]
    connections: Natural  # for each client, or of the step
    choose: tuple[Choice, ...] = always(())
    choice: ChoiceRule = "random"
    table: TableUse | None = always(None)
    pace: Pace
    stop: RoleStop | None = always(None)
    after: tuple[str, ...] = always(())  # roles whose end it waits for
    latency_limit_ms: int | float | None = None
    endpoint: str | None = None  # None: the job's `server`
    session: tuple[str, ...] = ()  # SQL that each connection sends before all else
    statement_limit_s: int | float | None = None  # None: as the server says
    on_error: ErrorReaction | None = None
    on_lost: Literal["fail_step", "reconnect"] | None = None
    connect: Connect = "once"
    renew: ConnectionRenewal | None = None  # None: its connections last
    queue: Literal["role", "thread"] = "role"
    marks: WindowMarks | None = None

    @property
    def thinks(self) -> bool:
        """Whether its connections are idle between operations, as users think."""
        return any(choice.before or choice.after for choice in self.choose)

    @property
    def does_what_it_can(self) -> bool:
        """Whether each operation follows the one before at once."""
        return isinstance(self.pace, ClosedPace) and not self.thinks

    @property
    def mark_count(self) -> int:
        """How many of its operations are marks."""
        return 0 if self.marks is None else MARKS_BEFORE + 1

    @property
    def skips(self) -> bool:
        """Whether it leaves out what missed its latency limit before it could begin."""
        paced = isinstance(self.pace, RatePace) and self.pace.arrivals in ("even", "poisson")
        return self.latency_limit_ms is not None and paced
