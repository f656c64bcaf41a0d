"""The commands of a script, parsed one by one: SQL, and what begins with a backslash."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from dbdyno.model.document import suggestion
from dbdyno.workload.script import expression
from dbdyno.workload.script.expression import Node
from dbdyno.workload.script.source import ScriptText
from dbdyno.workload.script.sql import STANDARD, Backslash, Lexer, Sql

BLANK = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n)*")
WORD = re.compile(r"(?:(?!\\\r?\n)[^ \t\r\f\v\n])+")
UNITS_US = {"us": 1, "ms": 1_000, "s": 1_000_000}
SLEEP_US_MAX = 86_400 * 1_000_000
"""A day, as in a transaction of a workload file."""
CONSTANT = re.compile(r"([-+]?[0-9]+)(.*)")
REFUSED = {
    "shell": "it runs a program during the measurement and stops all clients meanwhile",
    "setshell": "it runs a program in the middle of what is measured, and stops all clients "
    "meanwhile; give the value as one of the plan's `variables`",
}
SETRANDOM = "\\setrandom is gone since pgbench 9.6; write \\set NAME random(FIRST, LAST)"
PLAIN = ("else", "endif", "startpipeline", "syncpipeline", "endpipeline")
"""Commands without arguments."""
COMMANDS = ("set", "if", "elif", "sleep", "gset", "aset", *PLAIN)


@dataclass(frozen=True)
class GsetCommand:
    """The variables that keep a statement's result: their names begin with the prefix."""

    prefix: str
    every: bool  # \\aset


@dataclass(frozen=True)
class SqlCommand:
    """An SQL command."""

    sql: Sql
    into: GsetCommand | None = None

    @property
    def offset(self) -> int:
        """Its place in the script."""
        return self.sql.offset


@dataclass(frozen=True)
class SetCommand:
    """A variable's new value."""

    variable: str
    value: Node
    offset: int


@dataclass(frozen=True)
class IfCommand:
    """The beginning of a branch that depends on an expression."""

    word: Literal["if", "elif"]
    value: Node
    offset: int


@dataclass(frozen=True)
class SleepCommand:
    """A wait: of `amount` units, or as many as the variable says."""

    amount: int
    variable: str | None
    unit_us: int
    offset: int


@dataclass(frozen=True)
class PlainCommand:
    """A command without arguments."""

    word: str
    offset: int


Command = SqlCommand | SetCommand | IfCommand | SleepCommand | PlainCommand


@dataclass(frozen=True)
class Word:
    """A word of a backslash command."""

    text: str
    offset: int


def parse(source: ScriptText, token: re.Pattern[str] = STANDARD) -> tuple[Command, ...]:
    """The commands of a script in their order; `token` is of the SQL that it is written in.

    Raises WorkloadError that shows the place.
    """
    lexer = Lexer(source, token)
    commands: list[Command] = []
    for item in lexer.items():
        if isinstance(item, Sql):
            commands.append(SqlCommand(item))
            continue
        words = _Words(source, item)
        name = words.next()
        if name is not None and name.text.lower() in ("gset", "aset"):
            _keep(name, words, commands)
        elif name is not None:
            commands.append(_command(name, words))
        lexer.position = words.end
    if not commands:
        raise source.error(0, "the script has no command")
    return tuple(commands)


class _Words:
    """The words of a backslash command; `end` is where its line ends, once all were taken."""

    def __init__(self, source: ScriptText, backslash: Backslash) -> None:
        self.source = source
        self.offset = backslash.offset
        self.end = backslash.offset + 1

    def next(self) -> Word | None:
        """The next word of the command; None at the end of its line."""
        self.end = _after(BLANK, self.source, self.end)
        match = WORD.match(self.source.text, self.end)
        if match is None:
            return None
        self.end = match.end()
        return Word(match[0], match.start())

    def rest(self) -> list[Word]:
        """All that follow."""
        return list(iter(self.next, None))


def _after(pattern: re.Pattern[str], source: ScriptText, start: int) -> int:
    match = pattern.match(source.text, start)
    return start if match is None else match.end()


def _command(name: Word, words: _Words) -> Command:
    """The command that begins with this word."""
    word, source = name.text.lower(), words.source
    if word == "set":
        return _set(name, words)
    if word in ("if", "elif"):
        value, words.end = expression.parse(source, words.end)
        return IfCommand("if" if word == "if" else "elif", value, words.offset)
    if word == "sleep":
        return _sleep(name, words)
    if word == "setrandom":
        raise source.error(words.offset, SETRANDOM)
    if word in REFUSED:
        raise source.error(words.offset, f"\\{word} is not run here: {REFUSED[word]}")
    if word not in PLAIN:
        remedy = suggestion(word, COMMANDS)
        raise source.error(words.offset, f"no command `\\{name.text}`; {remedy}")
    if extra := words.next():
        raise source.error(extra.offset, f"\\{word} takes no argument")
    return PlainCommand(word, words.offset)


def _set(name: Word, words: _Words) -> SetCommand:
    variable = words.next()
    if variable is None:
        raise words.source.error(words.end, "\\set needs a variable and an expression")
    value, words.end = expression.parse(words.source, words.end)
    return SetCommand(variable.text, value, words.offset)


def _sleep(name: Word, words: _Words) -> SleepCommand:
    """`\\sleep 10 ms`, `\\sleep 10ms`, `\\sleep :n`; seconds where there is no unit."""
    source, arguments = words.source, words.rest()
    if not arguments:
        raise source.error(words.end, "\\sleep needs a number, or a variable, such as :delay")
    if len(arguments) > 2:
        raise source.error(arguments[2].offset, "\\sleep takes a number and a unit, and no more")
    first, unit = arguments[0], arguments[1] if len(arguments) > 1 else None
    amount, variable = 0, None
    if first.text.startswith(":"):
        variable = first.text[1:]
    else:
        match = CONSTANT.fullmatch(first.text)
        if match is None or (match[2] and unit is not None):
            sentence = f"`{first.text}` is not a whole number of time units"
            raise source.error(first.offset, sentence)
        amount = max(0, int(match[1]))
        unit = Word(match[2], first.offset + match.start(2)) if match[2] else unit
    unit_us = _unit_us(unit, source)
    if amount * unit_us > SLEEP_US_MAX:
        raise source.error(first.offset, "\\sleep lasts a day at most")
    return SleepCommand(amount, variable, unit_us, words.offset)


def _unit_us(unit: Word | None, source: ScriptText) -> int:
    if unit is None:
        return UNITS_US["s"]
    if unit.text.lower() not in UNITS_US:
        raise source.error(unit.offset, f"no unit `{unit.text}`; use us, ms or s")
    return UNITS_US[unit.text.lower()]


def _keep(name: Word, words: _Words, commands: list[Command]) -> None:
    """Has the SQL command before \\gset or \\aset keep its result."""
    word, source = name.text.lower(), words.source
    arguments = words.rest()
    if len(arguments) > 1:
        raise source.error(arguments[1].offset, f"\\{word} takes one prefix, and no more")
    before = commands[-1] if commands else None
    if not isinstance(before, SqlCommand) or before.into is not None:
        raise source.error(words.offset, f"\\{word} has to follow an SQL command")
    prefix = arguments[0].text if arguments else ""
    commands[-1] = replace(before, into=GsetCommand(prefix, word == "aset"))


def assigned_in(commands: tuple[Command, ...], names: Collection[str]) -> Iterator[tuple[str, int]]:
    """Those of the names that commands assign, and where: a column's as far as the SQL shows it."""
    for each in commands:
        if isinstance(each, SetCommand) and each.variable in names:
            yield each.variable, each.offset
        elif isinstance(each, SqlCommand) and each.into is not None:
            columns = {each.into.prefix + column for column in each.sql.returned()}
            yield from ((name, each.offset) for name in names if name.lower() in columns)


def names_in(commands: tuple[Command, ...]) -> Iterator[str]:
    """The variables that commands assign or read, each as often as it stands there."""
    for command in commands:
        match command:
            case SqlCommand():
                yield from (use.name for use in command.sql.variables)
            case SetCommand():
                yield command.variable
    yield from computed_in(commands)


def computed_in(commands: tuple[Command, ...]) -> Iterator[str]:
    """The variables that expressions and sleeps take, each as often as it stands there."""
    for command in commands:
        match command:
            case SetCommand() | IfCommand():
                yield from (str(node.value) for node in command.value.variables())
            case SleepCommand(variable=str(variable)):
                yield variable
