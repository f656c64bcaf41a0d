"""An application's queries, asked of PostgreSQL: answers and plans, each in a transaction that is
rolled back, and rows that values are drawn from (engine.inquiry).

The connection is used by libpq's own calls: values come as the server writes them, and statements
go by the protocol that the application uses.
"""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbdyno.engine.answer_hash import ResultColumn, Rows
from dbdyno.engine.connection import cut_off
from dbdyno.engine.inquiry import (
    DRAWN_ROWS_MAX,
    READ_ROWS_MAX,
    CallError,
    CallOutcome,
    CallPlan,
    MissingRights,
    QueryCall,
)
from dbdyno.engine.postgres import own_rights, plan_form
from dbdyno.engine.postgres.catalog import PostgresCatalog
from dbdyno.engine.postgres.connection import connect
from dbdyno.engine.snapshot import one_line
from dbdyno.model import Address
from dbdyno.model.answer import ROWS_MAX
from dbdyno.model.error import ServerError
from dbdyno.model.literal import literal, taking

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

FIXED = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
    "client_encoding": "UTF8",
}
"""What sessions have before the query's own settings."""
QUIET = {
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_min_duration_statement": "-1",
    "log_statement": "none",
    "auto_explain.log_min_duration": "-1",
}
"""What keeps values out of the server's log, which results keep of the lab's own servers."""
OTHER_SETTINGS: Sequence[tuple[str, Mapping[str, str]]] = (
    (
        "without hashing",
        {"max_parallel_workers_per_gather": "0", "enable_hashjoin": "off", "enable_hashagg": "off"},
    ),
    ("without sorting", {"enable_seqscan": "off", "enable_sort": "off"}),
    (
        "without indexes",
        {"enable_indexscan": "off", "enable_indexonlyscan": "off", "enable_bitmapscan": "off"},
    ),
)
NUMBERS = frozenset({20, 21, 23, 26, 700, 701, 1700})
"""int8, int2, int4, oid, float4, float8 and numeric."""
INEXACT = frozenset({700, 701})
CANCELLED = "57014"
SETTINGS_VERSION_NUM = GENERIC_VERSION_NUM = 120000
"""EXPLAIN (SETTINGS) and plan_cache_mode came with PostgreSQL 12."""
ANALYZE_S_MAX = 300.0
INQUIRY_S_MAX = 3600.0
"""A server that hangs is cut off; its own time limit does not help then."""
CHUNK_ROWS = 500
"""So many rows are taken from the socket at once."""
CHUNKED_VERSION_NUM = 170000
"""The libpq that can do so."""
UNNAMED = b""
COMMON = """
SELECT pg_catalog.format_type(atttypid, NULL), value
FROM pg_catalog.pg_stats AS s
JOIN pg_catalog.pg_attribute AS a ON a.attname = s.attname
 AND a.attrelid = pg_catalog.to_regclass(
  pg_catalog.quote_ident(s.schemaname) || '.' || pg_catalog.quote_ident(s.tablename))
CROSS JOIN LATERAL pg_catalog.unnest(most_common_vals::text::text[]) AS value
WHERE s.tablename IN ({tables}) ORDER BY 1, 2
"""
LOST = "the connection was lost while a query ran"
SET_CONFIG = "SELECT /* dyno */ pg_catalog.set_config({}, {}, true)"
NAMES_OF_TYPES = """SELECT /* dyno */ pg_catalog.format_type(number, NULL)
FROM pg_catalog.unnest({}::pg_catalog.oid[]) WITH ORDINALITY AS inferred (number, place)
ORDER BY place"""
CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class StatementError(Exception):
    """The server refused a statement; of its message the code alone is kept."""

    def __init__(self, code: str, of: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.of = of  # what was refused, where it was not the query

    @property
    def words(self) -> str:
        """The class of the error, with what was refused."""
        return f"{self.of}: {failure(self.code)}" if self.of else failure(self.code)


@contextmanager
def connected(address: Address) -> Iterator[PostgresInquirer]:
    """An inquirer at an address. Raises ServerError where it cannot connect."""
    import psycopg

    try:
        connection = connect(address, "dyno inquiry", {}, prepare_threshold=None)
    except psycopg.Error as error:
        raise ServerError(f"`connect`: {one_line(error)}") from error
    with cut_off(connection, INQUIRY_S_MAX), connection:
        yield PostgresInquirer(connection.pgconn)


@dataclass
class PostgresInquirer:
    """A session of an application's queries (engine.inquiry.Inquirer)."""

    connection: PGconn
    other_settings: Sequence[tuple[str, Mapping[str, str]]] = OTHER_SETTINGS
    _types: dict[int, str] = field(default_factory=dict)  # by number, as they were met
    _numbers: dict[str, int] = field(default_factory=dict)  # of types, by the names in calls
    _within: bool = False  # a transaction is open around those of calls

    # --- Answers ---

    def answer(self, call: QueryCall, rows: Rows, planner: Mapping[str, str]) -> CallOutcome:
        """Runs a call and takes its rows. Raises ServerError where the connection is lost."""
        self._know(call.types)
        try:
            with self._undone(call, planner):
                fields, changed, cut = self._read(call, rows)
        except StatementError as refusal:
            if refusal.code == CANCELLED:
                return CallOutcome(outcome="timed out", code=refusal.code, reason="timed out")
            denied = call.role is not None and refusal.code == own_rights.NO_RIGHT
            of = refusal.of or (f"role `{call.role}`" if denied else "")
            words = StatementError(refusal.code, of).words
            return CallOutcome(outcome="failed", code=refusal.code, reason=words)
        return CallOutcome(
            rows=changed if changed is not None and not fields else rows.count,
            cut=cut,
            columns=rows.columns(self._described(fields)),
            whole=rows.whole,
        )

    def _read(self, call: QueryCall, rows: Rows) -> tuple[list[tuple[str, int]], int | None, bool]:
        """Name and type of each column, how many rows a write has changed, whether more came."""
        from psycopg.pq import ExecStatus

        fields: list[tuple[str, int]] = []
        changed: int | None = None
        begun = False
        for result in self._results(call.text, call):
            if result.status == ExecStatus.COMMAND_OK:
                changed = result.command_tuples
                continue
            if not begun:
                fields = [
                    ((result.fname(place) or b"").decode(), result.ftype(place))
                    for place in range(result.nfields)
                ]
                rows.begin([number in NUMBERS for _, number in fields])
            begun = result.status in (ExecStatus.TUPLES_CHUNK, ExecStatus.SINGLE_TUPLE)
            for row in range(result.ntuples):
                if rows.count == ROWS_MAX:
                    self._stop()
                    return fields, changed, True
                rows.add([result.get_value(row, place) for place in range(len(fields))])
        if call.writes:
            self._do("SET CONSTRAINTS ALL IMMEDIATE")
        return fields, changed, False

    def _described(self, fields: Sequence[tuple[str, int]]) -> list[ResultColumn]:
        unknown = {number for _, number in fields} - set(self._types)
        if unknown:
            listed = ",".join(map(str, sorted(unknown)))
            query = f"SELECT oid, typname FROM pg_catalog.pg_type WHERE oid IN ({listed})"
            self._types |= {int(number or 0): name or "" for number, name in self._texts(query)}
        return [
            ResultColumn(
                name=name,
                type=self._types.get(number, str(number)),
                number=number in NUMBERS,
                inexact=number in INEXACT,
            )
            for name, number in fields
        ]

    # --- Plans ---

    def explain(self, call: QueryCall, *, run: bool = False, generic: bool = False) -> CallPlan:
        """The plan of a call. Raises ServerError where the connection is lost."""
        options = ["FORMAT JSON", "VERBOSE"]
        options += ["SETTINGS"] * (self.connection.server_version >= SETTINGS_VERSION_NUM)
        options += ["ANALYZE", "BUFFERS", "TIMING OFF"] * run
        explain = f"EXPLAIN /* dyno */ ({', '.join(options)}) "
        if generic and self.connection.server_version < GENERIC_VERSION_NUM:
            return CallPlan(unavailable="the server has no plan_cache_mode")
        self._know(call.types)
        try:
            with self._undone(call, {"plan_cache_mode": "force_generic_plan"} if generic else {}):
                if generic:
                    text = explain + self._prepared(call)
                    rows = list(self._texts(text))
                    self._do("DEALLOCATE dyno_inquiry")
                else:
                    rows = list(self._texts(explain + call.text, call))
        except StatementError as refusal:
            return CallPlan(unavailable=f"{refusal.code} {refusal.words}")
        return plan_form.read("".join(row[0] or "" for row in rows))

    def _prepared(self, call: QueryCall) -> str:
        """Prepares the call's text; the EXECUTE of it with its values."""
        types = f"({', '.join(name or 'unknown' for name in call.types)})" if call.types else ""
        self._do(f"PREPARE /* dyno */ dyno_inquiry{types} AS {call.text}")
        values = ", ".join(
            "NULL" if value is None else literal(value) for value in call.values or ()
        )
        return f"EXECUTE dyno_inquiry({values})" if values else "EXECUTE dyno_inquiry"

    @contextmanager
    def anew(self) -> Iterator[None]:
        """ANALYZE in a transaction that is rolled back: its statistics hold in it alone."""
        self._do("BEGIN")
        self._within = True
        try:
            try:
                self._do(f"SET LOCAL statement_timeout = {int(ANALYZE_S_MAX * 1000)}")
                self._do("SAVEPOINT dyno_analyze")
                self._do("ANALYZE")
            except StatementError:
                self._do("ROLLBACK TO SAVEPOINT dyno_analyze")
            yield
        finally:
            self._within = False
            self._do("ROLLBACK")

    # --- Rights ---

    def lacking(self, calls: Mapping[str, QueryCall]) -> MissingRights:
        """The rights that it lacks for these calls, by their names. Raises ServerError."""
        return own_rights.lacking(self._texts, self.explain, calls)

    # --- What is known of the database ---

    @contextmanager
    def catalog(self, call: QueryCall) -> Iterator[PostgresCatalog]:
        """The catalog in a session of a call. Raises ServerError, CallError."""
        try:
            with self._undone(call, {}):
                yield PostgresCatalog(lambda query: list(self._texts(query)))
        except StatementError as refusal:
            raise CallError(refusal.words) from None

    # --- Values that are drawn (engine.inquiry.Drawer) ---

    @property
    def drawer(self) -> PostgresInquirer:
        """Itself."""
        return self

    def parameter_types(self, call: QueryCall) -> Mapping[int, str]:
        """The types of a text's parameters by Parse and Describe. Raises CallError."""
        try:
            with self._undone(call, {}):
                text = call.text.encode(errors="surrogateescape")
                self._taken(lambda: self.connection.send_prepare(UNNAMED, text))
                described = self._taken(lambda: self.connection.send_describe_prepared(UNNAMED))
                inferred = [described.param_type(place) for place in range(described.nparams)]
                listed = literal("{" + ", ".join(map(str, inferred)) + "}")
                rows = list(self._texts(NAMES_OF_TYPES.format(listed)))
        except StatementError as refusal:
            raise CallError(refusal.words) from None
        return {place: name or "" for place, (name,) in enumerate(rows, start=1)}

    def drawn(self, call: QueryCall) -> Sequence[tuple[str | None, ...]]:
        """Rows of a query in an order that a fixed seed draws. Raises CallError."""
        query = f"SELECT * FROM ({call.text}) AS drawn ORDER BY random() LIMIT {DRAWN_ROWS_MAX}"
        try:
            with self._undone(call, {}):
                self._do("SELECT setseed(0.5)")
                return [tuple(row) for row in self._texts(query)]
        except StatementError as refusal:
            raise CallError(refusal.words) from None

    def share(self, table: str) -> float:
        """The per cent of a table that is read for a draw, by the planner's count of its rows."""
        named = f"to_regclass({literal(table)})"
        query = f"SELECT reltuples FROM pg_catalog.pg_class WHERE oid = {named}"
        rows = list(self._texts(query))
        count = float(rows[0][0] or 0) if rows else 0.0
        return 100.0 if count <= READ_ROWS_MAX else 100 * READ_ROWS_MAX / count

    def common(self, tables: Collection[str]) -> Mapping[str, Sequence[str]]:
        """By type the most common values of these tables' columns. Raises ServerError."""
        listed = ", ".join(literal(table) for table in sorted(tables))
        values: dict[str, list[str]] = {}
        for type_, value in self._texts(COMMON.format(tables=listed)) if listed else ():
            values.setdefault(type_ or "", []).append(value or "")
        return values

    def unique(self, relations: Collection[str]) -> Sequence[frozenset[str]]:
        """The columns of each unique index of tables of these names. Raises ServerError."""
        if not relations:
            return ()
        listed = ", ".join(map(literal, sorted(relations)))
        rows = self._texts(
            "SELECT string_agg(attname, '\n') FROM pg_catalog.pg_index "
            "JOIN pg_catalog.pg_class AS c ON c.oid = indrelid "
            "JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey) "
            f"WHERE indisunique AND indpred IS NULL AND c.relname IN ({listed}) GROUP BY indexrelid"
        )
        return [frozenset((row[0] or "").split("\n")) for row in rows]

    def _taken(self, send: Callable[[], None]) -> PGresult:
        """The result of what is sent. Raises StatementError, or ServerError where it is lost."""
        import psycopg
        from psycopg.pq import ExecStatus

        try:
            send()
        except psycopg.Error as error:
            raise ServerError(LOST) from error
        last: PGresult | None = None
        while (result := self._next()) is not None:
            last = result
        if last is None:
            raise ServerError(LOST)
        if last.status != ExecStatus.COMMAND_OK:
            raise StatementError(_code(last))
        return last

    # --- Statements ---

    @contextmanager
    def _undone(self, call: QueryCall, planner: Mapping[str, str]) -> Iterator[None]:
        """A transaction with the session of a call, rolled back at its end."""
        mode = "" if call.writes else " READ ONLY"
        self._do("SAVEPOINT dyno_call" if self._within else f"BEGIN{mode}")
        try:
            self._session(call, planner)
            yield
        finally:
            self._do(
                "ROLLBACK TO SAVEPOINT dyno_call; RELEASE dyno_call" if self._within else "ROLLBACK"
            )

    def _session(self, call: QueryCall, planner: Mapping[str, str]) -> None:
        """Gives the transaction the settings and the role of a call."""
        limit = {"statement_timeout": str(int(call.limit_s * 1000))}
        superuser = self.connection.parameter_status(b"is_superuser") == b"on"
        quiet = QUIET if superuser else {}
        for name, value in (quiet | FIXED | {**call.settings} | limit | {**planner}).items():
            try:
                self._do(SET_CONFIG.format(literal(name), literal(value)))
            except StatementError as refusal:
                raise StatementError(refusal.code, f"setting `{name}`") from None
        if call.role is not None:
            try:
                self._do(taking(call.role, local=True))
            except StatementError as refusal:
                raise StatementError(refusal.code, f"role `{call.role}`") from None

    def _do(self, text: str) -> None:
        for _ in self._results(text):
            pass

    def _texts(self, text: str, call: QueryCall | None = None) -> Iterator[list[str | None]]:
        """The rows of a statement, as texts."""
        for result in self._results(text, call):
            for row in range(result.ntuples):
                values = (result.get_value(row, place) for place in range(result.nfields))
                yield [
                    value if value is None else value.decode(errors="replace") for value in values
                ]

    def _results(self, text: str, call: QueryCall | None = None) -> Iterator[PGresult]:
        """The results of a statement, some rows each, then its end.

        Raises StatementError where the server refuses it, ServerError where it is lost.
        """
        from psycopg.pq import ExecStatus

        self._send(text, call)
        refused: str | None = None
        while (result := self._next()) is not None:
            if result.status in (ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE):
                refused = _code(result)
            elif result.status in (ExecStatus.COPY_IN, ExecStatus.COPY_OUT):
                self.connection.finish()
                raise ServerError("a COPY was sent as a query, which ends the connection")
            elif refused is None:
                yield result
        if refused is not None:
            raise StatementError(refused)

    def _send(self, text: str, call: QueryCall | None) -> None:
        """Sends a statement, with the values of a call. Raises ServerError."""
        import psycopg

        sent = text.encode(errors="surrogateescape")
        try:
            if call is None or call.values is None:
                self.connection.send_query(sent)
            else:
                values = [None if value is None else value.encode() for value in call.values]
                types = [self._numbers.get(name, 0) for name in call.types] or None
                self.connection.send_query_params(sent, values, param_types=types)
            if psycopg.pq.version() >= CHUNKED_VERSION_NUM:
                self.connection.set_chunked_rows_mode(CHUNK_ROWS)
            else:
                self.connection.set_single_row_mode()
        except psycopg.Error as error:
            raise ServerError(LOST) from error

    def _know(self, names: Collection[str]) -> None:
        """Asks for the numbers of types by their names, before calls bind values of them."""
        for name in sorted({name for name in names if name} - set(self._numbers)):
            rows = list(self._texts(f"SELECT pg_catalog.to_regtype({literal(name)})::oid"))
            self._numbers[name] = int(rows[0][0] or 0)  # 0: the server infers it

    def _next(self) -> PGresult | None:
        """The next result, waited for so that the lab's other threads go on."""
        import psycopg

        try:
            poll = select.poll()
            poll.register(self.connection.socket, select.POLLIN)
            while self.connection.flush() == 1:
                poll.poll(10)
            while self.connection.is_busy():
                poll.poll()
                self.connection.consume_input()
            return self.connection.get_result()
        except psycopg.Error as error:
            raise ServerError(LOST) from error

    def _stop(self) -> None:
        """Cancels the statement that runs, and takes what is still under way."""
        self.connection.get_cancel().cancel()
        while self._next() is not None:
            pass


def failure(code: str) -> str:
    """The class of an error by its SQLSTATE, in words: `undefined function`."""
    from psycopg import errors

    try:
        name = errors.lookup(code).__name__
    except KeyError:
        return ""
    return CAPITAL.sub(" ", name).lower()


def _code(result: Any) -> str:
    from psycopg.pq import DiagnosticField

    code = result.error_field(DiagnosticField.SQLSTATE)
    if code is None:
        raise ServerError(LOST)
    return str(code.decode())
