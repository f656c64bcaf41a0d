"""How a statement is sent: by which protocol, with which types, and what it says meanwhile."""

from __future__ import annotations

from dbdyno.model import Json
from dbdyno.model.document import suggestion
from dbdyno.workload import sql
from dbdyno.workload.schema import Statement, WorkloadFile
from dbdyno.workload.scope import Scope

PROTOCOLS = ("simple", "extended", "prepared", "execute")


def protocol(form: Statement, file: WorkloadFile, scope: Scope) -> str:
    """The statement's protocol, or the file's; raises WorkloadError where the engine has none."""
    where = scope.root("protocol") if form.protocol is None else scope.at("protocol")
    written = file.protocol if form.protocol is None else form.protocol
    protocol = where.text(written)
    if form.types is not None and protocol == written != "execute":
        raise scope.at("types").error('only protocol = "execute" has types')
    _check(protocol, where)
    return protocol


def types(form: Statement, protocol: str, pieces: tuple[sql.Piece, ...], scope: Scope) -> list[str]:
    """One SQL type for each value; a single name stands for all of them. Raises WorkloadError."""
    count = sum(
        not isinstance(p, (str, sql.TableHere, sql.NumberHere)) for p in sql.written(pieces)
    )
    if protocol != "execute":
        return []
    if form.types is None:
        raise scope.at("types").error('missing; protocol = "execute" needs the values\' SQL types')
    named = [form.types] * count if isinstance(form.types, str) else form.types
    if len(named) != count:
        raise scope.at("types").error(f"has {len(named)} types for {count} values")
    return named


def progress(form: Statement, scope: Scope) -> Json:
    """The text in its notices in front of the rows that it has done so far, where it has one.

    Raises WorkloadError where the engine sends none while a statement runs.
    """
    if form.progress is None:
        return {}
    place = scope.at("progress")
    if "notices" not in scope.engine.can:
        raise place.error(
            f"statements of {scope.engine.product} say nothing while they run; remove it, or give "
            "the engine a statement of its own"
        )
    return {"progress": place.text(form.progress)}


def _check(protocol: str, scope: Scope) -> None:
    """Refuses what is no protocol, or none of the engine's."""
    if protocol not in PROTOCOLS:
        raise scope.error(f"no protocol `{protocol}`; {suggestion(protocol, PROTOCOLS)}")
    if protocol not in scope.engine.sends:
        theirs = " or ".join(f"`{one}`" for one in PROTOCOLS if one in scope.engine.sends)
        raise scope.error(
            f"`{protocol}` is PostgreSQL's alone; on {scope.spoken} statements are {theirs}"
        )
