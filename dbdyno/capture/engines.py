"""What capture has for each family of engines: a parser of its SQL, and a reader of its counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dbdyno.capture import digest_view, postgres_view
from dbdyno.capture.dialect import Dialect
from dbdyno.capture.log.files import Format
from dbdyno.capture.mysql_sql import MysqlSql
from dbdyno.capture.postgres_sql import PostgresSql
from dbdyno.capture.view import Place, View
from dbdyno.model import engine as traits
from dbdyno.model.error import DynoError

Wait = Callable[[float], None]


@dataclass(frozen=True)
class Family:
    """What is captured of a family's servers, and how."""

    dialect: Callable[[], Dialect]
    view: Callable[[Place, float | None, Wait], View]
    engine: str  # that its logs are of where they do not tell
    formats: frozenset[Format]  # of its logs


FAMILIES = {
    "postgres": Family(
        PostgresSql, postgres_view.read, "postgres", frozenset({"csv", "json", "stderr"})
    ),
    "mysql": Family(MysqlSql, digest_view.read, "mysql", frozenset({"slow", "general"})),
}
"""By the name of the family."""


def family(engine: str, format: Format | None) -> Family:
    """The family of a server's engine, or of a log; of the engine where both are empty.

    Raises DynoError: the log is of another family, or nothing is captured of the engine.
    """
    if not engine:
        return next(each for each in FAMILIES.values() if format in each.formats)
    name = traits.of(engine).family
    if name not in FAMILIES:
        raise DynoError(f"source: capture reads no server of `{engine}`: name its log")
    if format is not None and format not in FAMILIES[name].formats:
        product = traits.of(engine).product
        raise DynoError(f"sources: the log is none of {product}'s, as the server is: name one")
    return FAMILIES[name]
