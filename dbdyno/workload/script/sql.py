"""Cuts a script into SQL commands and the backslashes between them, as pgbench's lexer does.

A command ends with a semicolon outside of quotes, comments, brackets and bodies of SQL functions,
or where a backslash command follows. A comment after `--` before a command is left out; comments
within one go to the server. In quotes a backslash is one (standard strings), or escapes what
follows, as MySQL reads it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from dbdyno.model.engine import Traits
from dbdyno.workload.script.source import ScriptText

LETTER = r"[^\x00-@\[-^`{-\x7f]"
LETTER_OR_DIGIT = r"[^\x00-/:-@\[-^`{-\x7f]"
"""Sets by what they lack: `re` takes long to compile a set of all that is not ASCII."""
NAME = re.compile(rf"{LETTER}{LETTER_OR_DIGIT}*")
"""Characters of a variable's name."""
VARIABLE = re.compile(rf"(?<!:):({NAME.pattern})")
"""A variable in SQL, wherever it stands; `::` is a cast."""
REST = rf"""
    |(?P<comment>/\*)
    |(?P<word>{LETTER}(?:{LETTER_OR_DIGIT}|\$)*)
    |(?P<number>[0-9]{LETTER_OR_DIGIT}*)
    |(?P<escaped>\\[;:])
    |(?P<backslash>\\)
    |(?P<other>.)"""
STANDARD = re.compile(
    rf"""(?P<space>[ \t\n\r\f\v]+|--[^\n]*)
    |(?P<quoted>[eE]'(?:[^'\\]|\\.|'')*'
        |(?:[bBnNxX]|[uU]&)?'(?:[^']|'')*'|(?:[uU]&)?"(?:[^"]|"")*"
        |\$(?P<tag>(?:{NAME.pattern})?)\$.*?\$(?P=tag)\$)
    |(?P<open>'|"|\$(?:{NAME.pattern})?\$){REST}""",
    re.DOTALL | re.VERBOSE,
)
"""A token as PostgreSQL and pgbench read it."""
ESCAPING = re.compile(
    rf"""(?P<space>[ \t\n\r\f\v]+|--(?=\s|\Z)[^\n]*|\#[^\n]*)
    |(?P<quoted>[bBnNxX]?'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`)
    |(?P<open>['"`]){REST}""",
    re.DOTALL | re.VERBOSE,
)
"""A token as MySQL reads it: backslashes escape, `#` begins a comment, names have backticks."""
NAME_QUOTES = {STANDARD: '"', ESCAPING: "`"}
TOKENS = tuple(NAME_QUOTES)
BRACKET = re.compile(r"/\*|\*/")
COPIES = {(way, end) for way in ("FROM", "TO") for end in ("STDIN", "STDOUT")}
"""What in a COPY makes the client a part of it."""
LIST_ENDS = frozenset(
    {
        *("FROM", "INTO", "WHERE", "GROUP", "HAVING", "WINDOW", "UNION", "INTERSECT", "EXCEPT"),
        *("ORDER", "LIMIT", "OFFSET", "FETCH", "FOR", ";"),
    }
)
"""What follows the list of columns that a statement returns."""
AROUND = re.compile(r"(?:\s|--[^\n]*|/\*.*?\*/)*", re.DOTALL)
"""Text that may stand before a command and means nothing."""


@dataclass(frozen=True)
class Use:
    """A variable's place in SQL: from `start` to `end` of the text, `offset` in the script."""

    name: str
    start: int
    end: int
    offset: int
    quoted: bool  # within quotes or a comment


@dataclass(frozen=True)
class Sql:
    """One command as it is sent.

    `parts` are where the commands of a compound begin and end in the text, without blanks and
    comments around them; those that are empty are left out.
    """

    text: str
    offset: int
    variables: tuple[Use, ...]
    parts: tuple[tuple[int, int], ...]
    token: re.Pattern[str] = STANDARD

    def words(self) -> Iterator[tuple[str, ...]]:
        """The words and signs of each part, in capitals, without comments and what closes it."""
        for start, end in self.parts:
            yield tuple(match[0].upper() for match in _tokens(self.text, self.token, start, end))

    def returned(self) -> set[str]:
        """The columns, in small letters, that its parts return, as far as the text shows."""
        lists = (_last_names(_outside_brackets(words)) for words in self.words())
        return {name.lower() for names in lists for name in names}

    def copies(self) -> bool:
        """Whether a part is a COPY from or to the client."""
        return any(
            words[0] == "COPY" and COPIES & set(pairwise(_outside_brackets(words)))
            for words in self.words()
        )


@dataclass(frozen=True)
class Backslash:
    """The place at which a backslash command begins."""

    offset: int


class Lexer:
    """Goes through a script; whoever meets a `Backslash` says by `position` where SQL goes on."""

    def __init__(self, source: ScriptText, token: re.Pattern[str] = STANDARD) -> None:
        self.source = source
        self.token = token
        self.position = 0
        self._brackets = 0  # open ones; a backslash command does not close them
        self._begins = 0  # open BEGIN and CASE of an SQL function's body

    def items(self) -> Iterator[Sql | Backslash]:
        """The commands and backslashes in their order. Raises WorkloadError: a quote is open."""
        while self.position < len(self.source.text):
            command = _Command()
            ended = self._command(command)
            if command.text:
                yield command.finished(self.token)
            if ended is not None:
                yield ended

    def _command(self, command: _Command) -> Backslash | None:
        """Collects one command; returns the backslash that ends it, if one does."""
        text = self.source.text
        while self.position < len(text):
            start = self.position
            match = self.token.match(text, start)
            assert match is not None, "every character is some token"
            self.position, token = match.end(), match.lastgroup
            if token == "backslash":
                return Backslash(start)
            if token == "open":
                raise self.source.error(start, f"the quote {match[0]} is never closed")
            if token == "comment":
                self.position = self._comment_end(start)
                command.add(text[start : self.position], start, quoted=True)
            elif token == "space":
                command.add_space(match[0], start, quoted=not match[0].isspace())
            elif token == "escaped":
                command.add(match[0][1], start + 1, cut=match[0] == r"\;")
            else:
                ends = match[0] == ";" and not self._brackets and not self._begins
                command.add(match[0], start, quoted=match["quoted"] is not None, cut=ends)
                self._count(match, command)
                if ends:
                    return None
        return None

    def _comment_end(self, start: int) -> int:
        end = _comment_end(self.source.text, self.token, start)
        if end is None:
            raise self.source.error(start, "the comment /* is never closed")
        return end

    def _count(self, match: re.Match[str], command: _Command) -> None:
        """Counts brackets, and what an SQL function's body opens and closes."""
        if match["other"]:
            self._brackets += match[0] == "("
            self._brackets -= match[0] == ")" and self._brackets > 0
        elif match["word"]:
            word = match[0].lower()
            command.words.append(word)
            if not command.creates_routine() or self._brackets:
                return
            self._begins += word == "begin" or (word == "case" and self._begins > 0)
            self._begins -= word == "end" and self._begins > 0


class _Command:
    """A command that is being collected."""

    def __init__(self) -> None:
        self.text = ""
        self.words: list[str] = []
        self._starts: list[int] = []  # of each piece in the text
        self._offsets: list[int] = []  # of each piece in the script
        self._quoted: list[bool] = []
        self._cuts: list[int] = []  # the semicolons between commands

    def add(self, text: str, offset: int, *, quoted: bool = False, cut: bool = False) -> None:
        if cut:
            self._cuts.append(len(self.text))
        self._starts.append(len(self.text))
        self._offsets.append(offset)
        self._quoted.append(quoted)
        self.text += text

    def add_space(self, text: str, offset: int, *, quoted: bool) -> None:
        """Blanks and `--` before the command are no part of it."""
        if self.text:
            self.add(text, offset, quoted=quoted)

    def creates_routine(self) -> bool:
        """Whether it began as CREATE [OR REPLACE] FUNCTION or PROCEDURE."""
        words = [word for word in self.words[:4] if word not in ("or", "replace")]
        return words[:1] == ["create"] and words[1:2] in (["function"], ["procedure"])

    def finished(self, token: re.Pattern[str]) -> Sql:
        edges = [-1, *self._cuts, len(self.text)]
        parts = (_part(self.text, a + 1, b) for a, b in pairwise(edges))
        return Sql(
            text=self.text,
            offset=self._offsets[0],
            variables=tuple(self._use(match) for match in VARIABLE.finditer(self.text)),
            parts=tuple((start, end) for start, end in parts if start < end),
            token=token,
        )

    def _use(self, match: re.Match[str]) -> Use:
        piece = bisect_right(self._starts, match.start()) - 1
        offset = self._offsets[piece] + match.start() - self._starts[piece]
        return Use(match[1], match.start(), match.end(), offset, self._quoted[piece])


def _part(text: str, start: int, end: int) -> tuple[int, int]:
    """The same without blanks and comments in front, and blanks behind."""
    match = AROUND.match(text, start, end)
    begin = start if match is None else match.end()
    return begin, begin + len(text[begin:end].rstrip())


def _comment_end(text: str, token: re.Pattern[str], start: int) -> int | None:
    """The end of the comment that begins there; in standard SQL comments nest."""
    if token is ESCAPING:
        return end if (end := text.find("*/", start + 2) + 2) > 1 else None
    depth = 0
    for match in BRACKET.finditer(text, start):
        depth += 1 if match[0] == "/*" else -1
        if not depth:
            return match.end()
    return None


def token_of(engine: Traits) -> re.Pattern[str]:
    """A token of SQL, as the engine reads it."""
    return ESCAPING if engine.backslash_escapes else STANDARD


def named(tables: Iterable[str], text: str, token: re.Pattern[str]) -> set[str]:
    """Those of the tables that SQL names, in whichever case: not in literals and comments."""
    names = set()
    for match in _tokens(text, token, 0, len(text)):
        quoted = match.lastgroup == "quoted" and match[0].startswith(NAME_QUOTES[token])
        variable = VARIABLE.match(text, max(match.start() - 1, 0)) is not None
        if quoted or (match.lastgroup == "word" and not variable):
            names.add(match[0].strip(NAME_QUOTES[token]).lower())
    return {table for table in tables if table.lower() in names}


def _tokens(text: str, token: re.Pattern[str], start: int, end: int) -> Iterator[re.Match[str]]:
    """The tokens between two places of a text, without blanks and comments."""
    while start < end and (match := token.match(text, start, end)):
        start = match.end()
        if match["comment"]:
            start = _comment_end(text, token, match.start()) or end
        elif not match["space"]:
            yield match


def _last_names(words: Iterable[str]) -> Iterator[str]:
    """The last word of each item of a SELECT's or RETURNING's list, where that is a name."""
    last, listed = "", False
    for word in words:
        if listed and (word in LIST_ENDS or word == ","):
            yield last.strip('"`')
            listed = word == ","
        elif word in ("SELECT", "RETURNING"):
            listed = True
        last = word
    if listed:
        yield last.strip('"`')


def _outside_brackets(words: Iterable[str]) -> Iterator[str]:
    depth = 0
    for word in words:
        depth += (word == "(") - (word == ")")
        if not depth:
            yield word
