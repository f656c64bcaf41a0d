"""Programs of a job: what operations do, instruction by instruction, and what scripts compute."""

from typing import Any, Literal, NamedTuple

from msgspec import Struct

from dbdyno.model.json import Natural, always

Expression = list[Any]
"""A tree of lists: a function's name and its arguments (contract/README.md, "Scripts")."""


class Instruction(NamedTuple):
    """One line of a program: a verb, and the number of what it is about.

    `sleep` has microseconds, `jump` a line.
    """

    verb: str
    number: Natural


class Program(Struct, frozen=True):
    """The instructions of an operation."""

    name: str
    code: tuple[Instruction, ...]

    @property
    def sends(self) -> list[int]:
        """The numbers of the statements that it sends."""
        return [number for verb, number in self.code if verb == "send"]


class FirstClient(Struct, frozen=True):
    """The number of the client, from this one on."""

    first: int


class Initial(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a variable begins with, by the one key that is there."""

    integer: int | None = None
    double: float | None = None
    boolean: bool | None = None
    text: str | None = None
    client: FirstClient | None = None
    seed: Literal["random", "default"] | None = None


class Variable(Struct, frozen=True):
    """A variable of scripts; None: it begins as null."""

    name: str
    initial: Initial | None = always(None)


class Assignment(Struct, frozen=True, kw_only=True):
    """A variable's new value."""

    variable: Natural
    expression: Expression
    place: str


class ConditionalJump(Struct, frozen=True, kw_only=True):
    """Where a program goes on unless an expression is true."""

    unless: Expression
    to: Natural
    place: str


class VariableSleep(Struct, frozen=True, kw_only=True):
    """A sleep of as many units as a variable says."""

    variable: Natural
    unit_us: Natural
    place: str
