"""How statements are sent: over which connections, by which protocol, with which types."""

from collections.abc import Iterable, Mapping
from typing import get_args

from msgspec.structs import replace

from dbdyno.model.document import suggestion
from dbdyno.model.engine import Traits
from dbdyno.model.job.role import Connect
from dbdyno.model.job.statements import DECLARED_TYPES, Protocol, ResultVariables, Statement
from dbdyno.model.job.values import Format
from dbdyno.workload import schema, sql
from dbdyno.workload.maker_schema import SampleForm
from dbdyno.workload.scope import Scope

PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
CONNECTS: tuple[Connect, ...] = get_args(Connect)
BEGINS = ("BEGIN", "START")
BINDING = ("extended", "prepared")
"""Those that bind parameters, for which PostgreSQL takes types."""

ONCE = "once"
"""In place of a cursor's `resync_every`: read at the step's start alone."""

SYSBENCH: Mapping[Format, str] = {
    "integer": "bigint",
    "decimal2": "double precision",
    "hundredths": "double precision",
    "text": "varchar",
}
"""A value's type by its format, as sysbench has it.

sysbench 1.0.20, `bind_create` in src/lua/internal/sysbench.sql.lua: whatever a script asks for, an
integer is bound as BIGINT, a number with a fraction as DOUBLE, a text as VARCHAR.
"""


def protocol(form: schema.StatementForm, file: schema.WorkloadFile, scope: Scope) -> Protocol:
    """The statement's protocol, or the file's; raises WorkloadError where the engine has none."""
    where = scope.root("protocol") if form.protocol is None else scope.at("protocol")
    written = file.protocol if form.protocol is None else form.protocol
    protocol = _checked(where.text(written), where)
    if form.types is not None and protocol == written != "execute":
        raise scope.at("types").error('only protocol = "execute" has types')
    return protocol


def preparable(protocol: Protocol, first_words: Iterable[str], engine: Traits) -> Protocol:
    """The protocol of statements that begin so: not every server can prepare a BEGIN."""
    begins = any(word.upper() in BEGINS for word in first_words)
    return "simple" if begins and not engine.prepares_begin else protocol


def connect(text: str, scope: Scope) -> Connect:
    """How long a connection lasts. Raises WorkloadError."""
    written = scope.text(text)
    for known in CONNECTS:
        if known == written:
            return known
    raise scope.error(f"no such word as `{written}`; {suggestion(written, CONNECTS)}")


def as_sysbench(file: schema.WorkloadFile, protocol: str, scope: Scope) -> bool:
    """Whether a statement's parameters are bound as sysbench's driver of PostgreSQL does it.

    MySQL's protocol has a type for each parameter, which is sysbench's without being asked.
    """
    wanted = scope.root("sysbench_types").number(file.sysbench_types)
    return bool(wanted) and _binds(protocol, scope.engine)


def formed(statement: Statement, file: schema.WorkloadFile, scope: Scope) -> Statement:
    """The statement with the form in which its values and rows are sent.

    Raises WorkloadError where the file asks for two forms.
    """
    place = scope.root("libpq_texts")
    sysbench = as_sysbench(file, statement.protocol, scope)
    texts = place.number(file.libpq_texts)
    if sysbench and texts:
        raise place.error("rows come as texts or, with `sysbench_types`, in binary; remove one")
    if sysbench:
        return replace(statement, libpq=True)
    return as_pgbench(statement, scope.engine) if texts else statement


def resync_every(cursor: schema.CursorForm, scope: Scope) -> int | None:
    """After more than how many statements a cursor is read again; None: never.

    Raises WorkloadError.
    """
    if scope.value(cursor.resync_every) == ONCE:
        return None
    return scope.integer(cursor.resync_every, low=0)


def with_variables(statement: Statement, columns: Mapping[str, int], scope: Scope) -> Statement:
    """A statement that has variables, and gives them the columns of its row by their names.

    Raises WorkloadError where it is executed by SQL, which binds none.
    """
    if statement.protocol == "execute":
        raise scope.at("protocol").error('"execute" has no variables; use "prepared"')
    if columns:
        statement = replace(statement, into=ResultVariables(columns=columns), place=scope.key)
    return as_pgbench(statement, scope.engine)


def as_pgbench(statement: Statement, engine: Traits) -> Statement:
    """The statement as pgbench sends it: as libpq does, all of it texts.

    Only PostgreSQL's protocol binds parameters in several forms.
    """
    if not _binds(statement.protocol, engine):
        return statement
    return replace(statement, libpq=True, results="text")


def answered_in_text(statement: Statement, engine: Traits) -> Statement:
    """The statement with rows as texts, as most drivers ask for them.

    Some types of PostgreSQL have no other form.
    """
    return replace(statement, results="text") if _binds(statement.protocol, engine) else statement


def _binds(protocol: str, engine: Traits) -> bool:
    """Whether parameters are bound in PostgreSQL's protocol."""
    return protocol in BINDING and "extended" in engine.sends


def sysbench_types(
    pieces: tuple[sql.Piece, ...], formats: Mapping[str, Format], scope: Scope
) -> list[str]:
    """The type that sysbench has for each value; `formats` are by the values' names.

    Raises WorkloadError for a time, which sysbench cannot bind.
    """
    named = []
    for piece in sql.written(pieces):
        if isinstance(piece, sql.CursorPlace):
            named.append(SYSBENCH["integer"])
        elif isinstance(piece, sql.ValuePlace):
            form = formats[piece.name]
            if form not in SYSBENCH:
                raise scope.error(
                    f"sysbench binds no {form}, which `{piece.name}` is; write "
                    'protocol = "simple", or leave out `sysbench_types`'
                )
            named.append(SYSBENCH[form])
    return named


def types(
    form: schema.StatementForm, protocol: str, pieces: tuple[sql.Piece, ...], scope: Scope
) -> list[str]:
    """One SQL type for each value of an `execute`; a single name stands for all of them.

    Raises WorkloadError.
    """
    count = sum(1 for _ in sql.parameters(pieces))
    if protocol != "execute":
        return []
    if form.types is None:
        raise scope.at("types").error('missing; protocol = "execute" needs the values\' SQL types')
    written = [form.types] * count if isinstance(form.types, str) else form.types
    named = [scope.at("types").text(name) for name in written]
    if len(named) != count:
        raise scope.at("types").error(f"has {len(named)} types for {count} values")
    return named


def with_casts(
    pieces: tuple[sql.Piece, ...], samples: Mapping[str, SampleForm], protocol: str, engine: Traits
) -> tuple[sql.Piece, ...]:
    """The pieces with a cast behind each bound value whose type cannot be declared by its name.

    A parameter that is cast has the type of the cast, as if it were declared.
    """
    if not _binds(protocol, engine):
        return pieces
    cast: list[sql.Piece] = []
    for piece in pieces:
        cast.append(piece)
        sample = samples.get(piece.name) if isinstance(piece, sql.ValuePlace) else None
        if sample is not None and not _is_declared(sample.type):
            cast.append(f"::{sample.type}")
    return tuple(cast)


def _is_declared(type_: str) -> bool:
    """Whether a parameter can declare a type: by its name or its OID, or none."""
    return not type_ or type_.isdigit() or type_ in DECLARED_TYPES


def sample_types(
    pieces: tuple[sql.Piece, ...], samples: Mapping[str, SampleForm], protocol: str, engine: Traits
) -> list[str]:
    """The types that values from files declare where they are bound; "": the server infers it.

    None where no value says its type, or none are declared.
    """
    if not _binds(protocol, engine):
        return []
    written = []
    for piece in sql.parameters(pieces):
        sample = samples.get(piece.name) if isinstance(piece, sql.ValuePlace) else None
        type_ = "" if sample is None else sample.type
        written.append(type_ if _is_declared(type_) else "")
    return written if any(written) else []


def progress(form: schema.StatementForm, scope: Scope) -> str | None:
    """The text in its notices in front of the rows that it has done so far, where it has one.

    Raises WorkloadError where the engine sends none while a statement runs.
    """
    if form.progress is None:
        return None
    place = scope.at("progress")
    if "notices" not in scope.engine.can:
        raise place.error(
            f"statements of {scope.engine.product} say nothing while they run; remove it, or give "
            "the engine a statement of its own"
        )
    return place.text(form.progress)


def _checked(written: str, scope: Scope) -> Protocol:
    """The protocol of this name. Refuses what is no protocol, or none of the engine's."""
    protocol = next((protocol for protocol in PROTOCOLS if protocol == written), None)
    if protocol is None:
        raise scope.error(f"no protocol `{written}`; {suggestion(written, PROTOCOLS)}")
    if protocol not in scope.engine.sends:
        theirs = " or ".join(f"`{known}`" for known in PROTOCOLS if known in scope.engine.sends)
        raise scope.error(
            f"`{protocol}` is PostgreSQL's alone; on {scope.spoken} statements are {theirs}"
        )
    return protocol
