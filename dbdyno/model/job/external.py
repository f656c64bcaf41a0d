"""What a job has of a program that makes the load in place of dyno-loadgen."""

from typing import Literal

from msgspec import Struct


class EnvironmentVariable(Struct, frozen=True):
    """A variable of the program's environment that has the value of one of dyno's own."""

    env: str


class Pattern(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Regular expressions for the lines of a program that knows nothing of dyno.

    `decimal` stands before the fraction of its numbers, `thousands` between groups of their digits.
    Without `result`, which only a step may lack that is not measured, the window ends with the
    program.
    """

    open: str | None = None
    close: str | None = None
    result: str | None = None
    failed: str | None = None
    decimal: str = "."
    thousands: str | None = None


class SuitedQuery(Struct, frozen=True, kw_only=True):
    """A captured query, as far as the data have to suit it."""

    name: str
    role: str | None = None
    names: tuple[str, ...] = ()  # of relations, functions, types and schemas in its text


class Restore(Struct, frozen=True, kw_only=True):
    """The dump that a step puts into the server's database, and how its texts are kept and sorted.

    What is None is as the dump says.
    """

    path: str  # from the root on
    encoding: str | None = None
    locale: str | None = None
    statistics: Literal["same", "own"] = "same"  # of the planner: one sample for all arms, or each
    queries: tuple[SuitedQuery, ...] = ()
    rows: bool = True  # whether rows are restored, or the schema alone


class Script(Struct, frozen=True, kw_only=True):
    """A script of pgbench: a built-in one, or a file by its path from the workload file on."""

    name: str
    builtin: bool
    weight: int


class Pgbench(Struct, frozen=True, kw_only=True):
    """How pgbench is called."""

    program: str  # "newest", "own" or a path
    protocol: Literal["simple", "extended", "prepared"]
    scripts: tuple[Script, ...]
    options: tuple[str, ...]


class Sysbench(Struct, frozen=True, kw_only=True):
    """How sysbench is called."""

    program: str  # its name, or a path
    script: str
    options: tuple[str, ...]
