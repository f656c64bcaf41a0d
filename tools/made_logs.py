"""Makes a PostgreSQL log of realistic calls, in each of its formats, as long as one wishes.

Calls are parse, bind and
execute with bound values, of 300 texts by a Zipf-like weight; one in ten is a simple statement.
"""

import csv
import datetime
import io
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

Form = Literal["csv", "json", "stderr"]
TEXTS, SESSIONS = 300, 40
KEYS = (
    *("timestamp", "user", "dbname", "pid", "remote_host", "session_id", "line_num", "ps"),
    *("session_start", "vxid", "txid", "error_severity", "state_code", "message", "detail"),
    *("hint", "internal_query", "internal_position", "context", "statement", "cursor_position"),
    *("file_name", "application_name", "backend_type", "leader_pid", "query_id"),
)
"""Of jsonlog; the columns of csvlog in their order."""
NUMBERS = frozenset({"pid", "line_num", "txid", "query_id"})
SEVERITY, MESSAGE, DETAIL = map(KEYS.index, ("error_severity", "message", "detail"))
BEGINS = datetime.datetime(2026, 11, 26, 10, tzinfo=datetime.UTC)


def texts(draw: random.Random) -> list[str]:
    """Statements with $1 …, some over several lines."""
    made = []
    for number in range(TEXTS):
        table, columns = f"table_{number % 40}", [f"column_{draw.randrange(30)}" for _ in range(5)]
        where = f"{columns[0]} = $1 AND {columns[1]} > $2"
        if number % 10 == 0:
            made.append(f"UPDATE {table} SET {columns[2]} = $1\nWHERE {columns[1]} = $2")
        elif number % 10 == 1:
            made.append(f"INSERT INTO {table} ({columns[0]}, {columns[1]}, x) VALUES ($1, $2, 5)")
        else:
            shown = ", ".join(f"t.{name}" for name in columns)
            joined = f"FROM {table} t JOIN table_{number % 7} j ON j.id = t.{columns[3]}"
            made.append(f"SELECT {shown}, j.name /* {number} */\n{joined}\nWHERE {where} LIMIT 20")
    return made


def rows(seed: int) -> Iterator[list[object]]:
    """Records without end, as csvlog has them."""
    draw = random.Random(seed)
    known = texts(draw)
    weights = [1 / (1 + place) for place in range(TEXTS)]
    lines = [0] * SESSIONS
    milliseconds = 0
    while True:
        for place in draw.choices(range(TEXTS), weights, k=1000):
            session, milliseconds = draw.randrange(SESSIONS), milliseconds + draw.randrange(4)
            at = BEGINS + datetime.timedelta(seconds=milliseconds // 1000)
            second = f"{at:%Y-%m-%d %H:%M:%S}"
            for message, detail in call(known[place], draw):
                lines[session] += 1
                yield [
                    *(f"{second}.{milliseconds % 1000:03d} UTC", "app", "shop", 1000 + session),
                    *(
                        f"10.0.0.9:{40000 + session}",
                        f"6b0a062e.{1000 + session:x}",
                        lines[session],
                    ),
                    *("SELECT", "2026-11-26 09:00:00 UTC", f"{session}/{lines[session]}", 0, "LOG"),
                    *("00000", message, detail, *[""] * 7, "PostgreSQL JDBC Driver"),
                    *("client backend", "", 7_000_000_000 + place),
                ]


def call(text: str, draw: random.Random) -> list[tuple[str, str]]:
    """The messages of one call, each with its detail."""
    number, word = draw.randrange(100_000), f"word {draw.randrange(5000)}"
    if draw.random() < 0.1:
        text = text.replace("$1", str(number)).replace("$2", f"'{word}'")
        return [(f"duration: {draw.random():.3f} ms  statement: {text}", "")]
    detail = f"Parameters: $1 = '{number}', $2 = '{word}'"
    return [
        (f"duration: {draw.random() / 9:.3f} ms  {what} <unnamed>: {text}", bound)
        for what, bound in (("parse", ""), ("bind", detail), ("execute", detail))
    ]


def written(row: Sequence[object], form: Form) -> str:
    """A record in a format."""
    if form == "csv":
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(row)
        return line.getvalue()
    if form == "json":
        pairs = zip(KEYS, row, strict=True)
        return json.dumps({key: value for key, value in pairs if value != ""}) + "\n"
    who = f"user={row[1]},db={row[2]},app={row[22]},client=10.0.0.9"
    prefix = f"{row[0]} [{row[3]}]: [{row[6]}-1] {who} "
    parts = [(row[SEVERITY], row[MESSAGE]), *([("DETAIL", row[DETAIL])] if row[DETAIL] else [])]
    shifted = ((name, str(text).replace("\n", "\n\t")) for name, text in parts)
    return "".join(f"{prefix}{name}:  {text}\n" for name, text in shifted)


def make(path: Path, form: Form, megabytes: int, seed: int = 1) -> None:
    """Writes a log of at least so many megabytes."""
    left = megabytes * 1_000_000
    with path.open("w", encoding="utf-8", newline="") as file:
        for row in rows(seed):
            left -= file.write(written(row, form))
            if left <= 0:
                return
