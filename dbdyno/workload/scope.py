"""The context in which a value of the file is read: file, key, parameters and engine.

Everything that turns the file's values into numbers and texts goes through a Scope, so that every
complaint names the file and the key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dbdyno.model.document import suggestion
from dbdyno.model.engine import Traits
from dbdyno.model.error import WorkloadError
from dbdyno.workload.expression import ExpressionError, Value, fill_in, resolve
from dbdyno.workload.schema import BEFORE, EngineSqlForm, RepeatedSqlForm, Texts

TABLE_MARK = "\x00"
"""Stands for `{t}` in SQL whose other braces are filled in; no SQL text can hold it."""
NUMBER_MARK = "\x01"
"""Stands for `{number}`, the table's number, in the same way; SQL has no use for it."""

TURN = "turn"
"""The name that numbers a repetition's turns, from 0."""
VALUE = re.compile(r"(?<![\w\]:]):[A-Za-z_]")

INTEGER_MAX = 2**63 - 1
REPEATED_MAX = 100_000


@dataclass(frozen=True, kw_only=True)
class Scope:
    """A place in a workload file; `engine` is the one whose SQL is taken.

    `version` is the server's release, such as (17,) or (8, 4); None takes the newest SQL.
    `statements` are the file's, which SQL before a job can name; `folder` is where the paths of
    scripts begin.
    """

    source: str
    names: Mapping[str, Value]
    engine: Traits
    version: tuple[int, ...] | None = None
    key: str = ""
    statements: Mapping[str, EngineSqlForm] = field(default_factory=dict)
    folder: Path = Path()

    @property
    def spoken(self) -> str:
        """The key of the engine's own SQL, by which expressions know the engine, too."""
        return self.engine.sql[0]

    def at(self, *keys: str | int) -> Scope:
        """The place of a key within this one; numbers count from 1."""
        key = self.key
        for part in keys:
            if isinstance(part, int):
                key += f"[{part}]"
            else:
                key += f".{part}" if key else part
        return replace(self, key=key)

    def root(self, *keys: str | int) -> Scope:
        """The place of a key of the whole file, with this one's parameters."""
        return replace(self, key="").at(*keys)

    def knowing(self, names: Mapping[str, Value]) -> Scope:
        """The same place with further names."""
        return replace(self, names={**self.names, **names})

    def error(self, sentence: str) -> WorkloadError:
        """A complaint about this place; to be raised."""
        return WorkloadError(f"{self.source}: key `{self.key}`: {sentence}")

    def value(self, written: Value) -> Value:
        """The value with its expressions computed."""
        try:
            return resolve(written, self.names)
        except ExpressionError as reason:
            raise self.error(str(reason)) from None

    def number(
        self, written: Value, *, low: float | None = None, high: float | None = None
    ) -> int | float:
        """A number from `low` to `high`."""
        value = self.value(written)
        if isinstance(value, (str, list)):
            raise self.error(f"must be a number, not {value!r}")
        if not math.isfinite(value):
            raise self.error(f"must be finite, but {_computed(written, value)}")
        if low is not None and value < low:
            raise self.error(f"must be at least {low}, but {_computed(written, value)}")
        if high is not None and value > high:
            raise self.error(f"must be at most {high}, but {_computed(written, value)}")
        return value

    def positive(self, written: Value) -> int | float:
        """A number above 0."""
        value = self.number(written)
        if value <= 0:
            raise self.error(f"must be above 0, but {_computed(written, value)}")
        return value

    def integer(self, written: Value, *, low: int = -INTEGER_MAX - 1) -> int:
        """A whole number of 64 bits, at least `low`."""
        value = self.number(written, low=low)
        if not isinstance(value, int):
            if not value.is_integer():
                sentence = f"must be whole, but {_computed(written, value)}; use round or ceil"
                raise self.error(sentence)
            value = int(value)
        if value > INTEGER_MAX:
            raise self.error(f"must fit into 64 bits, but {_computed(written, value)}")
        return value

    def text(self, written: str) -> str:
        """A text with its braces filled in."""
        try:
            return fill_in(written, self.names)
        except ExpressionError as reason:
            raise self.error(str(reason)) from None

    def sql(self, written: EngineSqlForm) -> list[str]:
        """This engine's SQL: braces filled in, `{t}` and `{number}` as marks."""
        chosen = _chosen(written, self.engine, self.version)
        if chosen is None:
            raise self.error(f"no SQL for engine {self.spoken}; add the key `{self.spoken}`")
        inner = self.knowing({"t": TABLE_MARK, "number": NUMBER_MARK})
        texts: list[str] = []
        for text in [chosen] if isinstance(chosen, str) else chosen:
            texts += [inner._filled(text)] if isinstance(text, str) else inner._repeated(text)
        return texts

    def _filled(self, text: str) -> str:
        if TABLE_MARK in text or NUMBER_MARK in text or not text.strip():
            raise self.error("SQL that is empty or has a NUL or SOH character")
        return self.text(text)

    def _repeated(self, written: RepeatedSqlForm) -> Iterator[str]:
        """The SQL of each turn of a repetition."""
        count = self.at("repeat").integer(written.repeat, low=0)
        if count > REPEATED_MAX:
            raise self.at("repeat").error(f"at most {REPEATED_MAX} times, not {count}")
        if (written.sql is None) == (written.statement is None):
            raise self.error("a repetition needs either `sql` or `statement`")
        for turn in range(count):
            place = self.knowing({TURN: turn})
            if written.statement is None:
                yield place._filled(written.sql or "")
            else:
                yield place._statement(place.text(written.statement))

    def _statement(self, name: str) -> str:
        """The SQL of one of the file's statements, as it stands before a job."""
        if name not in self.statements:
            raise self.error(f"no statement `{name}`; {suggestion(name, self.statements)}")
        text = self.root("statements", name).statement(self.statements[name])
        if VALUE.search(text):
            raise self.error(f"`{name}` has values, which only a step's roles can send")
        return text

    def verbatim(self, written: EngineSqlForm) -> str:
        """This engine's SQL as it was written, which must be one statement."""
        chosen = _chosen(written, self.engine, self.version)
        if not isinstance(chosen, str) or not chosen.strip():
            raise self.error(f"must be one statement for engine {self.spoken}")
        return chosen

    def statement(self, written: EngineSqlForm) -> str:
        """This engine's SQL where it must be one statement."""
        texts = self.sql(written)
        if len(texts) != 1:
            raise self.error(f"must be one statement, not {len(texts)}")
        return texts[0]


def for_table(sql: str, table: str, number: str) -> str:
    """SQL with a table's name and number where their marks are."""
    return sql.replace(TABLE_MARK, table).replace(NUMBER_MARK, number)


def _chosen(
    written: EngineSqlForm, engine: Traits, version: tuple[int, ...] | None
) -> Texts | None:
    """The engine's own SQL for its release; else what it shares with others, if there is any."""
    own = (getattr(written, key) for key in engine.sql)
    choices = (_older(written, engine.sql[0], version), *own, written.any)
    return next((choice for choice in choices if choice is not None), None)


def _older(written: EngineSqlForm, spoken: str, version: tuple[int, ...] | None) -> Texts | None:
    """The SQL under `ENGINE_before_N` with the smallest N above the version, if there is one."""
    if version is None:
        return None
    limits = []
    for key, sql in written.before.items():
        match = BEFORE.fullmatch(key)
        if match and match[1] == spoken:
            limit = tuple(int(part) for part in match[2].split("_"))
            if version < limit:
                limits.append((limit, sql))
    return min(limits, key=lambda pair: pair[0])[1] if limits else None


def _computed(written: Value, value: int | float) -> str:
    return f"`{written}` is {value}" if isinstance(written, str) else f"is {value}"
