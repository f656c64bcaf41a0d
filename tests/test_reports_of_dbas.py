"""Logs and dumps as DBAs report that tools misread them: each is read right, or refused in a line.

Every input is written here, after a public report of what a server, a service or a tool leaves.
Most logs stand for one session, so that all of them have to give the same queries. Shapes that
services and collectors give to a log are those of log_shapes.py.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from command import dyno

READ = "SELECT name FROM goods WHERE id = $1"
WRITE = "UPDATE goods SET stock = $1 WHERE id = $2"
CALLS = {READ: [[5], [6], [7]], WRITE: [[1, 8], [2, 9]]}
"""The queries of the session, and their values."""


@dataclass(frozen=True)
class Entry:
    """A call as a log has it."""

    number: int
    sql: str
    parameters: str = ""  # of a bound call, as DETAIL has them

    @property
    def at(self) -> str:
        """When it ended."""
        return f"2026-11-26 10:00:{self.number:02d}"

    @property
    def words(self) -> str:
        """The message, without its severity."""
        kind = "execute <unnamed>" if self.parameters else "statement"
        return f"duration: {self.number}.125 ms  {kind}: {self.sql}"

    def prefix(self, form: str) -> str:
        """The beginning of its line."""
        return form.format(at=self.at, n=self.number, pid=4711)


SESSION = (
    Entry(1, "SELECT name FROM goods WHERE id = 5"),
    Entry(2, "UPDATE goods\n  SET stock = 1\n  WHERE id = 8"),
    Entry(3, "SELECT name FROM goods WHERE id = 6"),
    Entry(4, "UPDATE goods\n  SET stock = 2\n  WHERE id = 9"),
    Entry(5, "SELECT name FROM goods WHERE id = 7"),
)
BOUND = (
    Entry(1, READ, "$1 = '5'"),
    Entry(2, "UPDATE goods\n  SET stock = $1\n  WHERE id = $2", "$1 = '1', $2 = '8'"),
    Entry(3, READ, "$1 = '6'"),
    Entry(4, "UPDATE goods\n  SET stock = $1\n  WHERE id = $2", "$1 = '2', $2 = '9'"),
    Entry(5, READ, "$1 = '7'"),
)
"""The same, by the extended protocol."""


def stderr(form: str, goes_on: str = "\t", head: str = "LOG:  {}") -> str:
    """The session as stderr has it, after this prefix."""
    return "".join(
        each.prefix(form) + head.format(each.words).replace("\n", f"\n{goes_on}") + "\n"
        for each in SESSION
    )


def bound_stderr(form: str) -> str:
    """The session by the extended protocol."""
    return "".join(
        each.prefix(form)
        + f"LOG:  {each.words}\n".replace("\n  ", "\n\t  ")
        + each.prefix(form)
        + f"DETAIL:  parameters: {each.parameters}\n"
        for each in BOUND
    )


def before_each_line(text: str, form: str) -> str:
    """The text's lines after what a collector puts before each."""
    return "".join(f"{form}{line}\n" for line in text.splitlines())


def lines_apart(form: str, field: str) -> str:
    """Each line of the log as an entry of its own, as Cloud Logging cuts long statements."""
    lines = stderr(form).splitlines()
    return "".join(
        json.dumps({field: line, "timestamp": f"2026-11-26T10:00:{number:02d}.5Z"}) + "\n"
        for number, line in enumerate(lines)
    )


def csv_row(each: Entry, application: str = "web") -> str:
    """A record of csvlog of 13."""
    at = f"{each.at}.000 UTC"
    detail = f'"parameters: {each.parameters}"' if each.parameters else ""
    return (
        f'{at},"app","shop",4711,"10.0.0.3:4000",5d9d80de.6174,{each.number},"SELECT",{at},3/2,0,'
        f'LOG,00000,"{each.words}",{detail},,,,,,,,"{application}"\n'
    )


def csv(session: Sequence[Entry] = SESSION, **more: str) -> str:
    """The session as csvlog of 13."""
    return "".join(csv_row(each, **more) for each in session)


def plan(each: Entry) -> str:
    """What auto_explain logs of a call, in the text form."""
    return (
        f"duration: {each.number}.125 ms  plan:\nQuery Text: {each.sql}\n"
        "Seq Scan on goods  (cost=0.00..1.00 rows=1 width=4)"
    )


def slow() -> str:
    """The session as a slow log of MariaDB or Percona Server has it."""
    begin = (
        "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (MariaDB Server). started with:\n"
        "Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n"
    )
    return begin + "".join(
        f"# Time: 261126 10:00:{each.number:02d}\n# User@Host: app[app] @ localhost [127.0.0.1]\n"
        "# Thread_id: 4371  Schema: shop  QC_hit: No\n"
        f"# Query_time: 0.00{each.number}125  Lock_time: 0.000020  Rows_sent: 1  Rows_examined: 1\n"
        f"# Rows_affected: 0  Bytes_sent: 98\nSET timestamp=17641512{each.number:02d};\n"
        f"{each.sql};\n"
        for each in SESSION
    )


RDS = "{at} UTC:10.0.0.3(40120):app@shop:[{pid}]:"
PLAIN = "{at}.000 UTC [{pid}] app@shop "
CLOUD = "{at}.061 UTC [{pid}]: [{n}-1] db=shop,user=app "


@dataclass(frozen=True)
class Report:
    """A log that tools were reported to misread, and what is to come of it."""

    name: str
    log: str
    file: str = "server.log"
    options: tuple[str, ...] = ()
    refused: str = ""  # what the line says; empty: the session's queries come out


REPORTS = (
    Report("pgbadger 347: RDS with an address and a port in the prefix", bound_stderr(RDS)),
    Report("RDS by way of CloudWatch and S3: the service's time before each line",
           before_each_line(stderr(RDS), "2026-11-26T10:00:09.000Z ")),
    Report("pgbadger 578: a prefix without time and session",
           stderr("user=app,db=shop,app=psql,client=[local] "),
           refused="log_line_prefix"),
    Report("pgbadger 681: statements and durations apart, by log_statement and log_duration",
           "".join(each.prefix(PLAIN) + f"LOG:  statement: {each.sql}\n".replace("\n  ", "\n\t  ")
                   + each.prefix(PLAIN) + "LOG:  duration: 0.189 ms\n" for each in SESSION)),
    Report("pgbadger 227: a prefix with %q in its middle, named by --prefix",
           stderr("{at} UTC [{pid}-{n}] app@shop [my app] "),
           options=("--prefix", "%t [%p-%l] %q%u@%d [%a] ")),
    Report("pgbadger 638: a prefix that ends in %q after a session",
           stderr("{at} UTC [{pid}]: db=shop,user=app,app=web,client=::1 session=6033.48-{n}-{at} "
                  "UTC "),
           options=("--prefix", "%t [%p]: db=%d,user=%u,app=%a,client=%h session=%c-%l-%s %q")),
    Report("pgbadger 627: Cloud SQL cuts a statement into an entry a line",
           lines_apart(CLOUD, "textPayload"), "log.json"),
    Report("Azure: a prefix that ends in the application's name",
           stderr("{at} UTC [{pid}]: user=app,db=shop,client=10.0.0.3,app=my app ")),
    Report("pgreplay 17: csvlog of RDS with an application of colons and brackets",
           csv(BOUND, application="Passenger AppPreloader: /app (forking...)"), "log.csv"),
    Report("pgbadger 342: a record of csvlog that ends amid its parameters",
           csv() + csv_row(BOUND[0])[:230] + "\n", "log.csv", options=("--accept-loss",)),
    Report("pgbadger 825: plans of auto_explain in csvlog",
           "".join(csv_row(each).replace(each.words, plan(each)) for each in SESSION), "log.csv"),
    Report("RDS for MySQL by way of CloudWatch: a record of the slow log an event",
           json.dumps({"events": [{"timestamp": 1, "message": f"# Time{part}".rstrip("\n")}
                                  for part in slow().split("# Time")[1:]]}),
           "events.json"),
)  # fmt: skip


def texts(folder: Path) -> dict[str, Any]:
    """By its text, in single blanks, the values of each query of a folder."""
    file = tomllib.loads((folder / "workload.toml").read_text())
    return {
        " ".join((folder / query["text"]).read_text().rstrip(";\n").split()): sorted(
            [int(value) for value in each["values"]]
            for each in map(json.loads, (folder / query["values"]).read_text().splitlines())
            for _ in range(each["weight"])
        )
        if "values" in query
        else []
        for query in file["queries"].values()
    }


def database(folder: Path) -> str:
    """The database whose queries a folder has."""
    file = tomllib.loads((folder / "workload.toml").read_text())
    return str(file["description"].split(", captured")[0])


def captured(path: Path, options: Sequence[str]) -> str:
    """What `dyno capture` says of a log, and that it is a line where it refuses."""
    done = dyno("capture", path, *options, "--out", path.parent / "app")
    if done.returncode:
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name.split(":")[0])
def test_a_log_of_a_report_is_read_right_or_refused_by_its_cause(report: Report, tmp_path: Path):
    path = tmp_path / report.file
    path.write_text(report.log)
    said = captured(path, report.options)
    if report.refused:
        assert re.search(report.refused, said)
        assert not (tmp_path / "app").exists()
        return
    assert (tmp_path / "app").is_dir(), said
    assert texts(tmp_path / "app") == CALLS
    assert database(tmp_path / "app") == "shop"
