"""What capture has for each family of engines: a parser of its SQL, and a reader of its counts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbdyno.capture import digest_view, postgres_places, postgres_view
from dbdyno.capture.dialect import Dialect
from dbdyno.capture.drawing import ParameterPlaces
from dbdyno.capture.gather import Query
from dbdyno.capture.log.files import Format
from dbdyno.capture.mysql_sql import MysqlSql
from dbdyno.capture.postgres_sql import PostgresSql
from dbdyno.capture.view import ServerView, ViewedServer
from dbdyno.model import engine as traits
from dbdyno.model.error import DynoError

Wait = Callable[[float], None]


@dataclass(frozen=True)
class Family:
    """What is captured of a family's servers, and how."""

    dialect: Callable[[], Dialect]
    view: Callable[[ViewedServer, float | None, Wait], ServerView]
    engine: str  # that its logs are of where they do not tell
    formats: frozenset[Format]  # of its logs
    typed: Callable[[ViewedServer, Sequence[Query], Dialect], list[Query]] | None = None
    unknown: str = ""  # what logs alone do not tell, in a sentence
    places: Callable[[str], ParameterPlaces] | None = (
        None  # of parameters; None: all sources have values
    )


FAMILIES = (
    Family(
        PostgresSql,
        postgres_view.read,
        "postgres",
        frozenset({"csv", "json", "stderr"}),
        postgres_view.typed,
        "The log does not tell what ALTER ROLE and ALTER DATABASE set for sessions (`search_path`, "
        "`DateStyle` and the like): name the server's DSN beside the log",
        postgres_places.places_of,
    ),
    Family(MysqlSql, digest_view.read, "mysql", frozenset({"slow", "general"})),
)


def family(engine: str, format: Format | None) -> Family:
    """The family of a server's engine; where that is empty, of a log.

    Raises DynoError: the log is of another family, or nothing is captured of the engine.
    """
    if not engine:
        return next(each for each in FAMILIES if format in each.formats)
    server = traits.of(engine)
    for each in FAMILIES:
        if traits.of(each.engine).family == server.family:
            if format is not None and format not in each.formats:
                raise DynoError(f"sources: the log is none of {server.product}'s: name one")
            return each
    raise DynoError(f"source: capture reads no server of {server.product}: name its log")


def places(engine: str) -> Callable[[str], ParameterPlaces] | None:
    """What finds the parameters of an engine's queries; None: none of its sources lacks values."""
    family = traits.of(engine).family
    return next((each.places for each in FAMILIES if traits.of(each.engine).family == family), None)
