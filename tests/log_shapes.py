"""One log in every shape in which people have it: of services, tools and systems."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

WHO = "user=app,db=shop,app=web,client=10.0.0.1 "
TIME = "2026-11-26 10:00:00.{:03d} UTC"


@dataclass(frozen=True)
class Said:
    """A message of the server, with its detail."""

    number: int
    process: int
    message: str
    detail: str = ""

    def line(self, begin: str = f"{TIME} [{{}}]: {WHO}") -> str:
        """The message as stderr has it behind this prefix, with the detail as a further line."""
        head = begin.format(*(self.number, self.process)[: begin.count("{")])
        parts = [("LOG", self.message), *([("DETAIL", self.detail)] if self.detail else [])]
        return "".join(
            f"{head}{name}:  {text}\n".replace("\n", "\n\t")[:-1] for name, text in parts
        )


SELECT = "SELECT a,\n    b FROM t\nWHERE a = $1 AND b = $2"
BOUND = "Parameters: $1 = '4', $2 = 'it''s ä'"
LOG = [
    Said(1, 71, f"duration: 0.100 ms  parse <unnamed>: {SELECT}"),
    Said(2, 72, "duration: 2.000 ms  statement: DELETE FROM t\nWHERE a = 5"),
    Said(3, 71, f"duration: 0.200 ms  bind <unnamed>: {SELECT}", BOUND),
    Said(4, 71, f"duration: 0.700 ms  execute <unnamed>: {SELECT}", BOUND),
    Said(5, 60, "checkpoint starting: time"),
    Said(6, 72, "duration: 3.000 ms  statement: DELETE FROM t\nWHERE a = 6"),
]
PLAIN = "".join(each.line() for each in LOG)
LINES = PLAIN.splitlines()
ISO = "2026-11-26T10:00:00.{:03d}Z"


def stamped() -> Iterator[tuple[str, str]]:
    """Each message with a time in ISO 8601."""
    for each in LOG:
        yield ISO.format(each.number), each.line()


def entries(key: str, *, own: bool = True) -> list[dict[str, object]]:
    """An entry for each line of a message, as services keep them."""
    begin = f"{TIME} [{{}}]: [1-1] {WHO}" if own else f"[{{1}}]: [1-1] {WHO}"
    made: list[dict[str, object]] = []
    for each in LOG:
        head = begin.format(each.number, each.process)
        parts = [("LOG", each.message), *([("DETAIL", each.detail)] if each.detail else [])]
        for name, text in parts:
            value = f"{head}{name}:  {text}"
            made.append({key: value, "timestamp": ISO.format(each.number), "severity": "INFO"})
    return made


def by_line(made: list[dict[str, object]]) -> str:
    return "".join(json.dumps(each) + "\n" for each in made)


def google_json() -> str:
    made = entries("message")
    return by_line([{"jsonPayload": each, "timestamp": each["timestamp"]} for each in made])


def azure() -> str:
    """Flexible server: values in a field of their own, a prefix that ends in the application."""
    begin = f"{TIME} [{{}}]: [1-1] user=app,db=shop,client=10.0.0.1, app=web"
    return by_line(
        [
            {
                "category": "PostgreSQLLogs",
                "time": ISO.format(each.number),
                "properties": {
                    "errorLevel": "LOG",
                    "sqlerrcode": "00000",
                    "message": begin.format(each.number, each.process) + f"LOG:  {each.message}",
                    "detail": each.detail,
                },
            }
            for each in LOG
        ]
    )


def azure_apart() -> str:
    """Single server: the prefix and the severity in fields of their own."""
    begin = f"{TIME} [{{}}]: {WHO}"
    return by_line(
        [
            {
                "properties": {
                    "prefix": begin.format(each.number, each.process),
                    "errorLevel": "LOG",
                    "message": each.message,
                    "detail": each.detail,
                }
            }
            for each in LOG
        ]
    )


def operator() -> str:
    """CloudNativePG, with a message of the operator itself."""
    made: list[dict[str, object]] = [
        {"level": "info", "ts": 1.5, "logger": "pg_controldata", "msg": "hello"}
    ]
    for each in LOG:
        record = {
            "log_time": TIME.format(each.number),
            "user_name": "app",
            "database_name": "shop",
            "process_id": str(each.process),
            "session_id": f"6b0a062e.{each.process}",
            "error_severity": "LOG",
            "sql_state_code": "00000",
            "message": each.message,
            "detail": each.detail,
            "application_name": "web",
            "query_id": "0",
        }
        made.append({"level": "info", "logger": "postgres", "msg": "record", "record": record})
    return by_line(made)


def docker() -> str:
    """Docker's json-file, which cuts long lines."""
    made = []
    for number, line in enumerate(LINES):
        parts = [line[:50], f"{line[50:]}\n"] if len(line) > 50 else [f"{line}\n"]
        made += [{"log": part, "stream": "stderr", "time": ISO.format(number)} for part in parts]
    return by_line(made)


def container(lines: list[str] | None = None) -> str:
    """CRI's lines, of which long ones come in parts."""
    made = ""
    for number, line in enumerate(lines or LINES):
        time, parts = ISO.format(number), [line[:50], line[50:]] if len(line) > 50 else [line]
        made += "".join(
            f"{time} stderr {'F' if part is parts[-1] else 'P'} {part}\n" for part in parts
        )
    return made


def operator_in_container() -> str:
    return container(operator().splitlines())


def exported() -> str:
    """S3's export of CloudWatch: a time before each event, whose further lines have none."""
    return "".join(f"{time} {line}" for time, line in stamped())


def chunks(begin: str, *, tab: str = "#011", own: str = WHO) -> str:
    """Syslog: numbered messages in numbered parts, those of two sessions through each other."""
    made: list[tuple[int, str]] = []
    for each in LOG:
        number = 0
        head = begin.format(each.number, each.process)
        for line in each.line(own).splitlines():
            parts = [line[:60], line[60:]] if len(line) > 60 else [line]  # what syslog cuts
            for part in parts:
                number += 1
                text = part.replace("\t", tab)
                place = each.number * 10 + (number > 1) * (15 if each.process == 72 else 5)
                made.append((place, f"{head}[{each.number}-{number}] {text}\n"))
    return "".join(text for _, text in sorted(made, key=lambda pair: pair[0]))


def syslog() -> str:
    return "Nov 26 10:00:00 db1 sshd[5]: LOG IN\n" + chunks("Nov 26 10:00:0{} db1 postgres[{}]: ")


def syslog_new() -> str:
    return chunks("<134>1 2026-11-26T10:00:00.{:03d}Z db1 postgres {} - - ")


def syslog_exact() -> str:
    """rsyslog's own times, and a prefix that has its time and process itself."""
    made = ""
    for each in LOG:
        lines = each.line(f"{TIME} [{{}}] {WHO}").splitlines()
        head = f"2026-11-26T10:00:00.{each.number:06d}+00:00 db1 postgres[{each.process}]: "
        for number, line in enumerate(lines):
            made += f"{head}[{each.number}-{number + 1}] {line}\n".replace("\t", "#011")
    return made


def heroku() -> str:
    made = ""
    for each in LOG:
        for number, (name, text) in enumerate([("LOG", each.message), ("DETAIL", each.detail)]):
            if text:
                head = f"{ISO.format(each.number)} app[postgres.{each.process}]: [GREEN] "
                line = f"[{each.number}-{number + 1}]  sql_error_code = 00000 {name}:  {text}\n"
                made += head + line.replace("\n", "\n\t")[:-1]
    return made


def journal() -> str:
    """journald's JSON, where a line that is no plain text is a list of its bytes."""
    made: list[dict[str, object]] = []
    for each in LOG:
        for line in each.line().splitlines():
            text: object = line if line.isascii() else list(line.encode())
            time = str(1795687200000000 + each.number * 1000)
            made.append(
                {"MESSAGE": text, "_PID": str(each.process), "__REALTIME_TIMESTAMP": time}
                | {"SYSLOG_IDENTIFIER": "postgres"}
            )
    return by_line(made)


def journal_short() -> str:
    return "".join(f"Nov 26 10:00:00 db1 postgres[7]: {line}\n" for line in LINES)


def journal_iso() -> str:
    return "".join(f"2026-11-26T10:00:00+0000 db1 postgres[7]: {line}\n" for line in LINES)


def verbose() -> str:
    """log_error_verbosity = verbose."""
    location = f"{TIME.format(9)} [71]: {WHO}LOCATION:  exec_simple_query, postgres.c:1234\n"
    return "".join(each.line().replace("LOG:  ", "LOG:  00000: ") + location for each in LOG)


SHAPES: dict[str, Callable[[], str]] = {
    "Cloud SQL": lambda: by_line(entries("textPayload")),
    "Cloud SQL without times": lambda: by_line(entries("textPayload", own=False)),
    "Cloud SQL, jsonPayload": google_json,
    "Cloud SQL, a list": lambda: json.dumps(entries("textPayload")[::-1], indent=2),
    "AlloyDB, textPayload": lambda: by_line(entries("textPayload")).replace(
        "LOG:  ", "LOG:  [postgres.c:1671]  "
    ),
    "AlloyDB": lambda: PLAIN.replace("LOG:  ", "LOG:  [postgres.c:1671]  "),
    "CloudWatch": lambda: json.dumps({"events": entries("message")}, indent=4),
    "S3": exported,
    "Azure": azure,
    "Azure, single server": azure_apart,
    "CloudNativePG": operator,
    "CloudNativePG in a container": operator_in_container,
    "Docker": docker,
    "CRI": container,
    "docker compose": lambda: "".join(f"db-1  | {line}\n" for line in LINES),
    "syslog": syslog,
    "syslog, tabs kept": lambda: chunks("Nov 26 10:00:0{} db1 postgres[{}]: ", tab="\t"),
    "syslog, RFC 5424": syslog_new,
    "rsyslog": syslog_exact,
    "Heroku": heroku,
    "journald": journal,
    "journalctl": journal_short,
    "journalctl -o short-iso": journal_iso,
    "verbose": verbose,
    "blank lines": lambda: PLAIN.replace("\n2026", "\n\n2026"),
    "RDS without tabs": lambda: PLAIN.replace("\t", "        "),
    "Windows": lambda: PLAIN.replace("\n", "\r\n"),
}
