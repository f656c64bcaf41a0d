"""Checks the paths through a script: conditionals match, pipelines and transactions end.

pgbench finds the latter when it gets there, and ends its clients; here the step does not begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dbdyno.workload.script.command import Command, Condition, Plain, Send
from dbdyno.workload.script.source import Source
from dbdyno.workload.script.sql import Sql

ENDS = ("COMMIT", "END", "ABORT", "ROLLBACK")
"""How commands begin that end a transaction block."""


@dataclass(frozen=True)
class State:
    """The open constructs at a place: where a pipeline and a transaction block began."""

    pipeline: int | None = None
    block: int | None = None


@dataclass
class _Choice:
    """A conditional that is open: the states before it, and those behind its branches so far."""

    offset: int
    before: frozenset[State]
    behind: frozenset[State] = field(default_factory=frozenset)
    has_else: bool = False


def check(source: Source, commands: Sequence[Command]) -> None:
    """Refuses conditionals that do not match, and pipelines and blocks that are left open."""
    states = frozenset({State()})
    choices: list[_Choice] = []
    for command in commands:
        match command:
            case Condition(word="if"):
                choices.append(_Choice(command.offset, states))
            case Condition() | Plain(word="else" | "endif"):
                states = _next_branch(source, command, choices, states)
            case Plain():
                states = _pipelined(source, command, states)
            case Send():
                if command.into is not None and any(one.pipeline is not None for one in states):
                    word = "aset" if command.into.every else "gset"
                    raise source.error(command.offset, f"no \\{word} within a pipeline")
                states = frozenset(_after(one, command.sql) for one in states)
            case _:
                pass
    if choices:
        raise source.error(choices[-1].offset, "\\if without an \\endif")
    _check_end(source, states)


def _next_branch(
    source: Source,
    command: Condition | Plain,
    choices: list[_Choice],
    states: frozenset[State],
) -> frozenset[State]:
    """The states with which the next branch begins, or what follows the conditional."""
    if not choices:
        raise source.error(command.offset, f"\\{command.word} without an \\if")
    choice = choices[-1]
    choice.behind |= states
    if command.word == "endif":
        choices.pop()
        return choice.behind if choice.has_else else choice.behind | choice.before
    if choice.has_else:
        raise source.error(command.offset, f"\\{command.word} after \\else")
    choice.has_else = command.word == "else"
    return choice.before


def _pipelined(source: Source, command: Plain, states: frozenset[State]) -> frozenset[State]:
    """The states behind \\startpipeline, \\syncpipeline or \\endpipeline."""
    begins = command.word == "startpipeline"
    right = {(one.pipeline is None) == begins for one in states}
    if right != {True}:
        where = "on one path through the conditionals before" if True in right else "here"
        wrong = "a pipeline is open already" if begins else "no pipeline is open"
        raise source.error(command.offset, f"\\{command.word}: {wrong} {where}")
    if command.word == "syncpipeline":
        return states
    opened = command.offset if begins else None
    return frozenset(State(opened, one.block) for one in states)


def _after(state: State, sql: Sql) -> State:
    """The state behind an SQL command, as far as its words tell."""
    block = state.block
    for words in sql.words():
        first = words[0]
        if first in ("BEGIN", "START"):
            block = sql.offset
        elif words[:2] == ("PREPARE", "TRANSACTION") or (first in ENDS and not _goes_on(words)):
            block = None
    return State(state.pipeline, block)


def _goes_on(words: tuple[str, ...]) -> bool:
    """Whether ROLLBACK TO a savepoint, or AND CHAIN, leaves a block open."""
    return "TO" in words or ("CHAIN" in words and "NO" not in words)


def _check_end(source: Source, states: frozenset[State]) -> None:
    for one in states:
        if one.pipeline is not None:
            raise source.error(one.pipeline, "a pipeline that the script does not end")
    blocks = [one.block for one in states]
    if None not in blocks:
        offset = min(block for block in blocks if block is not None)
        sentence = "a transaction that the script does not end; add COMMIT or ROLLBACK"
        raise source.error(offset, sentence)
