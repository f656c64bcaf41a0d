"""`dyno capture`: an application's own queries, from a production server into a folder."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dbdyno.capture.view import ViewedServer

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE…",
        help="A DSN (postgres:// or mysql://), log files or their folder, or both.",
    ),
]
Loss = Annotated[
    bool, typer.Option("--accept-loss", help="Go on where much of a log is not understood.")
]
Monitoring = Annotated[
    bool, typer.Option("--with-monitoring", help="Keep what agents, dumps, replicas … sent.")
]
Statistics = Annotated[
    bool,
    typer.Option(
        "--statistics",
        help="Of a PostgreSQL's DSN: also keep what its planner knows, for `dyno plans`.",
    ),
]
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class ValueOrigin(StrEnum):
    """Where values of parameters come from."""

    LOG = "log"
    NONE = "none"


def capture(
    sources: Sources,
    out: Annotated[Path, typer.Option("--out", help="The folder to write.")],
    values: Annotated[
        ValueOrigin, typer.Option("--values", help="none: no value of the application is kept.")
    ] = ValueOrigin.LOG,
    top: Annotated[
        int, typer.Option("--top", min=1, help="Keep so many queries, those that cost most.")
    ] = 300,
    prefix: Annotated[
        str, typer.Option("--prefix", help="log_line_prefix of a log from stderr.")
    ] = "",
    database: Annotated[
        str, typer.Option("--database", help="Of this database. Default: the DSN's, the busiest.")
    ] = "",
    time: Annotated[
        str | None, typer.Option("--for", metavar="10m", help="Read the view twice, so far apart.")
    ] = None,
    sampled: Annotated[
        float | None,
        typer.Option("--sampled", min=1e-6, max=1.0, help="The share of calls that the log has."),
    ] = None,
    real_clock: Annotated[
        bool, typer.Option("--real-clock", help="Leave now() and its like as they are.")
    ] = False,
    accept_loss: Loss = False,
    with_monitoring: Monitoring = False,
    statistics: Statistics = False,
) -> None:
    """Capture an application's queries from a server's log, its statistics, or both; read only.

    `dyno race … --workload FOLDER` then measures each of them.
    """
    from dbdyno.capture import coverage
    from dbdyno.capture.capturing import CaptureRequest
    from dbdyno.capture.capturing import capture as captured
    from dbdyno.cli.exit_status import say
    from dbdyno.model.error import DynoError

    servers = [source for source in sources if "://" in source]
    if len(servers) > 1:
        raise DynoError("sources: two servers: capture each into a folder of its own")
    seconds = None if time is None else seconds_of(time)
    if seconds is not None and not servers:
        raise DynoError("--for: reads a server's statistics twice: name its DSN, or leave it out")
    engine, server = server_of(servers[0]) if servers else ("", None)
    keeps_values = values is ValueOrigin.LOG
    source = StatisticsCapture(engine, server, texts=keeps_values) if statistics else None
    with logs_of([source for source in sources if "://" not in source]) as logs:
        wish = CaptureRequest(
            logs=logs,
            server=server,
            engine=engine,
            out=out,
            keeps_values=keeps_values,
            top=top,
            prefix=prefix,
            database=database,
            seconds=seconds,
            sampled=sampled,
            real_clock=real_clock,
            accepts_loss=accept_loss,
            with_monitoring=with_monitoring,
            beside=None if source is None else source.keep,
        )
        said = captured(wish, say)
    say(f"{out}: {coverage.summary(said)}; coverage.md has the rest")
    if source is not None:
        source.tell()


class StatisticsCapture:
    """What the planner of the server knows, kept beside the queries."""

    def __init__(self, engine: str, server: ViewedServer | None, *, texts: bool) -> None:
        """Raises DynoError where there is no server whose planner can be followed."""
        from dbdyno.engine import planner_lab
        from dbdyno.model.error import DynoError, PlanError

        if server is None:
            raise DynoError("--statistics: are a server's: name its DSN, too")
        try:
            planner_lab.of(engine)
        except PlanError as error:
            raise PlanError(f"--statistics: {error}: leave it out") from None
        self._engine, self._server, self._texts = engine, server, texts
        self._said: list[str] = []

    def keep(self, folder: Path) -> None:
        """Writes statistics.json into a folder. Raises DynoError."""
        from dbdyno.run import source_plans

        kept = source_plans.keep(self._server, self._engine, folder, texts=self._texts)
        self._said = list(source_plans.summary(kept))

    def tell(self) -> None:
        """Says what was kept, and what was hidden."""
        from dbdyno.cli.exit_status import say

        for line in self._said:
            say(line)


@contextmanager
def logs_of(sources: list[str]) -> Iterator[list[Path]]:
    """The places of logs; standard input (`-`) as a file that nobody else reads, gone afterwards.

    Logs are read more than once, to tell their format, which a pipe does not allow.
    """
    with tempfile.TemporaryDirectory(prefix="dyno-capture-") as folder:
        piped = Path(folder, "standard input")
        if "-" in sources:
            with piped.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        yield [piped if source == "-" else Path(source) for source in sources]


def server_of(text: str) -> tuple[str, ViewedServer]:
    """The engine and the place of a DSN, which may end in ;env=NAME or ;passfile=FILE.

    Raises PlanError in a line.
    """
    from dbdyno.capture.view import ViewedServer
    from dbdyno.engine import dsn
    from dbdyno.model import Arm, Password
    from dbdyno.model.error import PlanError
    from dbdyno.plan.race.arm import of_dsn

    uri, *pairs = text.split(";")
    shown = re.sub(r"(://[^:/@]*):[^@/]*@", r"\1:…@", uri)
    name = f"source `{shown}`"
    keys = dict(pair.partition("=")[::2] for pair in pairs)
    arm = of_dsn(uri, keys, name)
    places = [place for place in arm.access.values() if isinstance(place, dict)]
    place = Password(**places[0]) if places else None
    try:
        address = dsn.address(Arm(name="source", engine=arm.engine, dsn=uri, password=place))
    except PlanError as error:
        raise PlanError(f"{name}: {error}") from error
    return arm.engine, ViewedServer(name, address)


def seconds_of(text: str) -> float:
    """Seconds of `10m`, `90s`, `1h`. Raises DynoError."""
    from dbdyno.model.error import DynoError

    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if match is None or not float(match[1]):
        raise DynoError(f"--for: `{text}` is no time: write 90s, 10m or 1h")
    return float(match[1]) * UNITS[match[2]]
