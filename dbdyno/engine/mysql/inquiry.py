"""An application's queries, asked of MySQL and MariaDB (engine.inquiry): answers and plans.

Each call has a session of its own, whose transaction is rolled back; values stand in its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dbdyno.engine.answer_hash import ResultColumn, Rows
from dbdyno.engine.connection import cut_off
from dbdyno.engine.inquiry import (
    CALL_S_MAX,
    CallError,
    CallOutcome,
    CallPlan,
    MissingRights,
    QueryCall,
)
from dbdyno.engine.mysql import flavour, plan_form
from dbdyno.engine.mysql.catalog import MysqlCatalog
from dbdyno.engine.mysql.connection import ConnectionSocket, connect, told
from dbdyno.model import Address
from dbdyno.model.answer import ROWS_MAX
from dbdyno.model.error import ServerError
from dbdyno.model.literal import of_setting

if TYPE_CHECKING:
    import pymysql
    from pymysql.cursors import Cursor

SESSION = (
    "SET SESSION sql_mode = @@GLOBAL.sql_mode",  # as those have it who send the queries
    "SET SESSION time_zone = '+00:00'",
)
LIMITS = (
    "/*!50708 SET SESSION max_execution_time = {milliseconds} */",
    "/*M!100101 SET SESSION max_statement_time = {seconds} */",
)
READS = " /*!50605 READ ONLY */"  # before, a server has no such transactions
OTHER_SETTINGS: Sequence[tuple[str, Mapping[str, str]]] = (
    ("without merging indexes", {"optimizer_switch": "index_merge=off,mrr=off"}),
    ("without materialising", {"optimizer_switch": "materialization=off,semijoin=off"}),
    ("without conditions in indexes", {"optimizer_switch": "index_condition_pushdown=off"}),
)
TIMED_OUT = frozenset({"3024", "1969", "1317"})
LOST = frozenset({2006, 2013, 2014, 2055})
"""Numbers of PyMySQL's own errors of a connection that is gone."""
NO_RIGHT = frozenset({"1044", "1142", "1143", "1227", "1345", "1356", "1370"})
"""Denied: a database, a table, a column, a privilege, a view's tables, a view, a routine."""
READ_ONLY, ANY_READ_ONLY = "1792", "25006"
INEXACT = frozenset({4, 5})
NUMBERS = frozenset({0, 1, 2, 3, 4, 5, 8, 9, 13, 246})
"""The protocol's numbers of types; 4 and 5 are FLOAT and DOUBLE, 0 and 246 DECIMAL."""


@contextmanager
def connected(address: Address) -> Iterator[MysqlInquirer]:
    """An inquirer at an address. Raises ServerError where it cannot connect."""
    inquirer = MysqlInquirer(address)
    with inquirer.session(None, {}):
        pass
    yield inquirer


@dataclass(frozen=True)
class MysqlInquirer:
    """Sessions of an application's queries (engine.inquiry.Inquirer)."""

    address: Address
    other_settings: Sequence[tuple[str, Mapping[str, str]]] = OTHER_SETTINGS
    drawer: None = None

    def answer(self, call: QueryCall, rows: Rows, planner: Mapping[str, str]) -> CallOutcome:
        """Runs a call and takes its rows. Raises ServerError where the connection is lost."""
        import pymysql
        from pymysql.cursors import SSCursor

        try:
            with self.session(call, planner) as connection, connection.cursor(SSCursor) as cursor:
                cursor.execute(call.text)
                cut = False
                described = cursor._result if cursor.description else None  # type: ignore[attr-defined]
                fields = [] if described is None else list(described.fields)
                rows.begin([field.type_code in NUMBERS for field in fields])
                for row in cursor if fields else ():
                    if rows.count == ROWS_MAX:
                        cut = True
                        break
                    rows.add([_bytes(value) for value in row])
                count = rows.count if fields else max(0, cursor.rowcount)
        except pymysql.MySQLError as error:
            return _failed(error)
        return CallOutcome(
            rows=count,
            cut=cut,
            columns=rows.columns([_described(field, call) for field in fields]),
            whole=rows.whole,
        )

    def explain(self, call: QueryCall, *, run: bool = False, generic: bool = False) -> CallPlan:
        """The plan of a call; `run`: with a run's rows, of MySQL those of a SELECT alone."""
        import pymysql

        if generic:
            return CallPlan(unavailable="each execution is planned for its values")
        try:
            with self.session(call, {}) as connection, connection.cursor() as cursor:
                return _explained(cursor, _version(connection), call, run=run)
        except pymysql.MySQLError as error:
            failed = _failed(error)
            return CallPlan(unavailable=f"{failed.code} {failed.reason}")

    def lacking(self, calls: Mapping[str, QueryCall]) -> MissingRights:
        """The rights that it lacks for these calls, by their names. Raises ServerError."""
        refused = [
            name
            for name, call in calls.items()
            if self.explain(call).unavailable.partition(" ")[0] in NO_RIGHT
        ]
        with self.session(None, {}) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT CURRENT_USER(), DATABASE()")
            ((account, database),) = cursor.fetchall()
        name, _, host = account.rpartition("@")
        writes = any(call.writes for call in calls.values())
        verbs = "SELECT, INSERT, UPDATE, DELETE" if writes else "SELECT"
        grant = f"GRANT {verbs} ON `{database}`.* TO '{name}'@'{host}'"
        return MissingRights(
            user=account, refused=tuple(refused), grants=(grant,) if refused else ()
        )

    @contextmanager
    def catalog(self, call: QueryCall) -> Iterator[MysqlCatalog]:
        """The catalog in a session of a call. Raises ServerError, CallError."""
        import pymysql

        try:
            with self.session(call, {}) as connection, connection.cursor() as cursor:
                yield MysqlCatalog(cursor)
        except pymysql.MySQLError as error:
            raise CallError(_failed(error).reason) from None

    @contextmanager
    def anew(self) -> Iterator[None]:
        """Nothing: ANALYZE TABLE cannot be undone."""
        yield

    @contextmanager
    def session(
        self, call: QueryCall | None, planner: Mapping[str, str]
    ) -> Iterator[pymysql.Connection[Any]]:
        """A session of a call in a transaction that is rolled back.

        Raises pymysql.MySQLError, and ServerError where it does not connect.
        """
        import pymysql

        try:
            connection = connect(self.address, "dyno inquiry", conv={})
        except pymysql.MySQLError as error:
            raise ServerError(f"`connect`: error {error.args[0]}") from error
        with (
            cut_off(ConnectionSocket(connection), 2 * CALL_S_MAX),
            connection,
            connection.cursor() as cursor,
        ):
            limit_s = CALL_S_MAX if call is None else call.limit_s
            limits = {"milliseconds": int(limit_s * 1000), "seconds": limit_s}
            settings = {} if call is None else {**call.settings, **planner}
            own = [f"SET SESSION {name} = {of_setting(value)}" for name, value in settings.items()]
            # Limits of the source's sessions and of their roles end nothing here.
            for statement in (*SESSION, *own, *(text.format_map(limits) for text in LIMITS)):
                cursor.execute(statement)
            if call is not None:
                cursor.execute("START TRANSACTION" + ("" if call.writes else READS))
            yield connection
            # The connection ends with the block, and with it the transaction.


def _version(connection: pymysql.Connection[Any]) -> tuple[str, int]:
    version = told(str(connection.get_server_info()))  # type: ignore[no-untyped-call]
    assert version is not None, "a server that let us in has a version"
    return version


def _explained(cursor: Cursor, version: tuple[str, int], call: QueryCall, *, run: bool) -> CallPlan:
    """The plan of a call in a session of its own. Raises pymysql.MySQLError.

    MariaDB explains and runs at once; MySQL runs a SELECT alone and tells rows in another form.
    """
    engine, number = version
    able = flavour.of(engine)
    if number < able.explains_from:
        return CallPlan(unavailable="the version tells no plan as JSON")
    if flavour.since(able.form_from, number):
        cursor.execute("SET SESSION explain_json_format_version = 1")
    command = "ANALYZE" if run and able.analyzes else "EXPLAIN"
    explained = plan_form.read(_told(cursor, f"{command} FORMAT=JSON {call.text}"))
    runs = run and flavour.since(able.runs_from, number) and not call.writes
    if explained.root is None or not runs:
        return explained
    tree = _told(cursor, f"EXPLAIN ANALYZE FORMAT=TREE {call.text}")
    return replace(explained, root=plan_form.with_rows(explained.root, tree))


def _told(cursor: Cursor, statement: str) -> str:
    """The one text that a statement gives."""
    cursor.execute(statement)
    row = cursor.fetchone()
    return "null" if row is None else str(row[0])


def _described(field: Any, call: QueryCall) -> ResultColumn:
    """A column; a name that a literal gave, as MySQL does, is none."""
    named = bool(field.org_name) or field.name in call.own_text
    return ResultColumn(
        name=field.name if named else "an expression",
        type=str(field.type_code),
        number=field.type_code in NUMBERS,
        inexact=field.type_code in INEXACT,
    )


def _bytes(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return str(value).encode(errors="surrogateescape")


def _failed(error: pymysql.MySQLError) -> CallOutcome:
    """An error by its number and the name of that; its text may have values."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    if number in LOST or not number:
        raise ServerError("the connection was lost while a query ran") from None
    code = str(number)
    if code in TIMED_OUT:
        return CallOutcome(outcome="timed out", code=code, reason="timed out")
    if code == READ_ONLY:
        return CallOutcome(outcome="failed", code=ANY_READ_ONLY, reason="it writes")
    return CallOutcome(outcome="failed", code=code, reason=failure(number))


def failure(number: int) -> str:
    """The name of an error by its number, in words: `parse error`."""
    from pymysql.constants import ER

    names = (name for name, value in vars(ER).items() if value == number and name.isupper())
    return next(names, "").replace("_", " ").lower()
