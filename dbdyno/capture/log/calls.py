"""Makes calls of a log's records: texts, times and values of one session belong together.

An extended call is three lines (parse, bind, execute), each with a time; it is counted by its
execute, and its time is the sum. With `log_statement` the text and the time are two lines.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from msgspec import structs

from dbdyno.capture.call import Call, Way
from dbdyno.capture.dialect import Dialect
from dbdyno.capture.log.plans import NESTED, plan_of, types_of
from dbdyno.capture.log.record import Record
from dbdyno.capture.log.tally import Tally

FAILURES = frozenset({"ERROR", "FATAL", "PANIC"})
VALUE = re.compile(r"(?:, |: )?\$(\d+) = (?:(NULL)|'((?:[^']|'')*)')", re.DOTALL)
PARAMETERS = ("parameters: ", "Parameters: ")
"""How the line of values begins: to 16, and from 17 on."""
PREPARED = "prepare: "
STATE = re.compile(r"[0-9A-Z]{5}")
DURATION_S_MAX = 1e8
"""Years: a longer call is a damaged record."""
UNNAMED = "<unnamed>"
CUT = "..."
"""How a value ends that `log_parameter_max_length` cut."""
TIME = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)? ?: ?\d+[.,]\d+ \w+")
"""How a message with a time begins in other languages."""


@dataclass
class LogSession:
    """What a session's lines have said that belongs to a later one."""

    before_s: float = 0.0  # of parse and bind
    waiting: Call | None = None  # a text whose time is to come
    plan: str = ""  # of the call whose time comes next


@dataclass
class CallReader:
    """Makes calls of records; counts in `tally` what cannot be used."""

    dialect: Dialect
    tally: Tally
    plans: bool = False  # whether plans of auto_explain are all that the log has of calls
    sessions: dict[str, LogSession] = field(default_factory=dict)

    def calls(self, records: Iterable[Record]) -> Iterator[Call]:
        """The calls, each when its last line is read."""
        for record in records:
            self.tally.records += 1
            if record.severity == "LOG":
                call = self.of_log(record)
            elif record.severity in FAILURES and record.statement:
                call = self.failed(record)
            else:
                continue
            if call is not None:
                yield call
        for session in self.sessions.values():
            if session.waiting is not None:
                yield self.without_time(session.waiting)

    def of_log(self, record: Record) -> Call | None:
        """The call that a line ends; None: none does."""
        message, duration_s = record.message, None
        if message.startswith("duration: "):
            end = message.find(" ms", 10)
            try:
                duration_s = float(message[10:end]) / 1000
            except ValueError:
                return None
            if not 0 <= duration_s <= DURATION_S_MAX:
                return None
            message = message[end + 5 :]
            if not message:
                return self.bare(record, duration_s)
        elif TIME.match(message):
            self.tally.translated += 1
            return None
        what, _, text = message.partition(": ")
        if what == "statement":
            return self.text(record, duration_s, text, "simple")
        if what.startswith("execute "):
            further = what.startswith("execute fetch from ")
            name = what.removeprefix("execute ").removeprefix("fetch from ")
            way: Way = "extended" if name.startswith(UNNAMED) else "prepared"
            call = self.text(record, duration_s, text, way)
            return structs.replace(call, further=True) if call is not None and further else call
        if duration_s is not None and what.startswith(("parse ", "bind ")):
            self.session(record).before_s += duration_s
        elif duration_s is not None and message.startswith("plan:"):
            self.tally.plans += 1
            if NESTED.search(record.context):
                self.tally.nested += 1
                return None
            if self.plans:
                return self.planned(record, duration_s, message)
            self.session(record).plan = message
        return None

    def planned(self, record: Record, duration_s: float, message: str) -> Call | None:
        """The call of a plan of auto_explain, whose time is that of its execution."""
        plan = plan_of(message)
        if plan is None:
            return None
        bound = structs.replace(record, detail=PARAMETERS[0] + plan.values if plan.values else "")
        way: Way = "extended" if plan.values or "$1" in plan.text else "simple"
        return self.text(bound, duration_s, plan.text, way)

    def session(self, record: Record) -> LogSession:
        """The session of a record."""
        session = self.sessions.get(record.session)
        if session is None:
            session = self.sessions[record.session] = LogSession()
        return session

    def bare(self, record: Record, duration_s: float) -> Call | None:
        """A time alone: that of the text before, or of a parse or bind."""
        session = self.session(record)
        if session.waiting is None:
            self.tally.bare_durations += 1
            session.before_s += duration_s
            return None
        call, session.waiting = session.waiting, None
        duration_s, session.before_s = duration_s + session.before_s, 0.0
        self.tally.texts_with_time += 1
        return structs.replace(call, end_s=record.end_s, duration_s=duration_s)

    def text(self, record: Record, duration_s: float | None, text: str, way: Way) -> Call | None:
        """A statement's text: a call if it has its time, else when its time comes."""
        session = self.session(record)
        call = self.call(record, text, way)
        if session.plan and call.values and not call.types:
            call = structs.replace(call, types=types_of(session.plan, call.values))
        session.plan = ""
        if duration_s is None:
            before, session.waiting = session.waiting, call
            return None if before is None else self.without_time(before)
        duration_s, session.before_s = duration_s + session.before_s, 0.0
        session.waiting = None
        self.tally.texts_with_time += 1
        return structs.replace(call, duration_s=duration_s)

    def without_time(self, call: Call) -> Call:
        """The call, whose time never came."""
        self.tally.texts_without_time += 1
        return call

    def call(self, record: Record, text: str, way: Way) -> Call:
        """The call of a record, without its time; of EXECUTE what it ran."""
        values: tuple[str | None, ...] | None = None
        types: tuple[str, ...] = ()
        detail = record.detail
        if detail.startswith(PARAMETERS):
            values = values_of(detail)
            self.tally.cut_values += values is None
        elif detail.startswith(PREPARED):
            ran = self.dialect.executed(text, detail.removeprefix(PREPARED))
            if ran is not None:
                text, values, types, way = ran.text, ran.values, ran.types, "prepared"
        return Call(
            end_s=record.end_s,
            duration_s=None,
            session=record.session,
            database=record.database,
            user=record.user,
            application=record.application,
            text=text,
            values=values,
            types=types,
            way=way,
            query_id=record.query_id,
            cut=record.lost,
        )

    def failed(self, record: Record) -> Call:
        """The call that an error ended."""
        session = self.session(record)
        session.waiting, session.before_s = None, 0.0
        call = self.call(record, record.statement, "simple")
        return structs.replace(call, values=None, error=state_of(record))


def state_of(record: Record) -> str:
    """The SQLSTATE of an error; its severity where the log has none."""
    return record.sqlstate if STATE.fullmatch(record.sqlstate) else record.severity


def values_of(detail: str) -> tuple[str | None, ...] | None:
    """The bound values of a call; None: a value is cut, or the line is another than expected."""
    values: list[str | None] = []
    at = len(PARAMETERS[0])
    while at < len(detail):
        match = VALUE.match(detail, at)
        if match is None or int(match[1]) != len(values) + 1:
            return None
        at = match.end()
        value = None if match[2] else match[3].replace("''", "'")
        if value is not None and value.endswith(CUT):
            return None
        values.append(value)
    return tuple(values)
