"""Checks the paths through a script: conditionals match, pipelines and transactions end.

pgbench finds the latter when it gets there, and ends its clients. Here the step does not begin
where no path goes on; where one does, the step fails when another is taken.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dbdyno.workload.script.command import Command, IfCommand, PlainCommand, SqlCommand
from dbdyno.workload.script.source import ScriptText
from dbdyno.workload.script.sql import Sql

ENDS = ("COMMIT", "END", "ABORT", "ROLLBACK")
"""How commands begin that end a transaction block."""


@dataclass(frozen=True)
class FlowState:
    """The open constructs at a place: where a pipeline and a transaction block began."""

    pipeline: int | None = None
    block: int | None = None


@dataclass
class _OpenStates:
    """A conditional that is open: the states before it, and those behind its branches so far."""

    offset: int
    before: frozenset[FlowState]
    behind: frozenset[FlowState] = field(default_factory=frozenset)
    has_else: bool = False


def check(source: ScriptText, commands: Sequence[Command]) -> None:
    """Refuses conditionals that do not match, and pipelines and blocks that are left open."""
    states = frozenset({FlowState()})
    choices: list[_OpenStates] = []
    for command in commands:
        match command:
            case IfCommand(word="if"):
                choices.append(_OpenStates(command.offset, states))
            case IfCommand() | PlainCommand(word="else" | "endif"):
                states = _next_branch(source, command, choices, states)
            case PlainCommand() | SqlCommand():
                going = _behind(command, states)
                if states and not going and not choices:
                    raise source.error(command.offset, _wrong(command))
                states = going
            case _:
                pass
    if choices:
        raise source.error(choices[-1].offset, "\\if without an \\endif")
    _check_end(source, states)


def _next_branch(
    source: ScriptText,
    command: IfCommand | PlainCommand,
    choices: list[_OpenStates],
    states: frozenset[FlowState],
) -> frozenset[FlowState]:
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


def _behind(
    command: PlainCommand | SqlCommand, states: frozenset[FlowState]
) -> frozenset[FlowState]:
    """The states behind a command of pipelines, or of SQL; none of those in which it fails."""
    if isinstance(command, SqlCommand):
        going = (state for state in states if command.into is None or state.pipeline is None)
        return frozenset(after for state in going for after in _after(state, command.sql))
    begins = command.word == "startpipeline"
    going = (state for state in states if (state.pipeline is None) == begins)
    if command.word == "syncpipeline":
        return frozenset(going)
    return frozenset(FlowState(command.offset if begins else None, state.block) for state in going)


def _wrong(command: PlainCommand | SqlCommand) -> str:
    """Why a command cannot be where no path through the script lets it be."""
    if isinstance(command, SqlCommand):
        every = command.into is not None and command.into.every
        return f"no \\{'aset' if every else 'gset'} within a pipeline"
    where = (
        "a pipeline is open already" if command.word == "startpipeline" else "no pipeline is open"
    )
    return f"\\{command.word}: {where} here"


def _after(state: FlowState, sql: Sql) -> Iterator[FlowState]:
    """The states behind an SQL command, as far as its words tell: a variable may be any."""
    block = state.block
    for words in sql.words():
        first = words[0]
        if first in ("BEGIN", "START"):
            block = sql.offset
        elif words[:2] == ("PREPARE", "TRANSACTION"):
            block = None
        elif first in ENDS:
            # ROLLBACK TO a savepoint, or AND CHAIN, leaves a block open.
            if "TO" not in words and ("CHAIN" not in words or "NO" in words):
                block = None
        elif first == ":":
            yield FlowState(state.pipeline, None)
    yield FlowState(state.pipeline, block)


def _check_end(source: ScriptText, states: frozenset[FlowState]) -> None:
    """Refuses a script that no path leaves with all closed; none may be left at all."""
    if any(state.pipeline is None and state.block is None for state in states):
        return
    for state in states:
        if state.pipeline is not None:
            raise source.error(state.pipeline, "a pipeline that the script does not end")
    for offset in sorted(state.block for state in states if state.block is not None):
        sentence = "a transaction that the script does not end; add COMMIT or ROLLBACK"
        raise source.error(offset, sentence)
