"""Workload files of the tests: expands them, and reads statements and roles of their jobs."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dbdyno import workload
from dbdyno.model import Json, Step
from dbdyno.model.error import WorkloadError

SMALL = """
[parameters]
clients = 1
n = 10

[tables.t]
create = "CREATE TABLE {t} (a int)"

[values]
a = { uniform = [1, "{n}"] }

[statements]
put = "INSERT INTO {t} VALUES [[{n}: (:a)]]"

[[steps]]
name = "load"
creates = ["t"]
roles.insert = { run = "put", stop = { rows = 100 } }
"""


def steps(text: str, tmp_path: Path, engine: str = "postgres", **more: Any) -> tuple[Step, ...]:
    path = tmp_path / "w.toml"
    path.write_text(text)
    loaded = workload.load(str(path), fill=more.pop("fill", None))
    return workload.expand(loaded, more.pop("parameters", {}), engine, **more)


def complaint(text: str, tmp_path: Path, **more: Any) -> str:
    with pytest.raises(WorkloadError) as raised:
        steps(text, tmp_path, **more)
    line = str(raised.value)
    assert "\n" not in line
    return line.removeprefix(f"{tmp_path}/w.toml: ")


def job_of(step: Step) -> Json:
    """A step's job as dyno-loadgen takes it."""
    written: Json = msgspec.json.decode(msgspec.json.encode(step.job))
    return written


def sql(step: Step, name: str) -> str:
    """A statement of a job as readable text."""

    def text(pieces: list[Any]) -> str:
        out = ""
        for piece in pieces:
            match piece:
                case str():
                    out += piece
                case {"value": number}:
                    out += f"<{job_of(step)['values'][number]['name']}>"
                case {"cursor": number}:
                    out += f"<cursor {job_of(step)['cursors'][number]['name']}>"
                case {"table": kind}:
                    out += f"<{kind}>"
                case {"number": kind}:
                    out += f"<number of {kind}>"
                case {"repeat": count, "separator": separator, "pieces": inner}:
                    between = "" if separator == "," else f" '{separator}'"
                    out += f"[{count}{between}× {text(inner)}]"
        return out

    (found,) = [one for one in job_of(step)["statements"] if one["name"] == name]
    return text(found["pieces"])


def role(step: Step, name: str) -> Json:
    (found,) = [one for one in job_of(step)["roles"] if one["name"] == name]
    return dict(found)
