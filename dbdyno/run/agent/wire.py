"""The messages between dyno and an agent: a JSON object a line, both ways (docs/howto/hosts.md).

Both are of one version: what a message holds are the types of `model`, as they stand in the code.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from dbdyno import __version__
from dbdyno.model import Json, Plan, error, typed_json
from dbdyno.model.error import DynoError, LabDied, PlanError

PROTOCOL = 1
"""Of the messages; it grows whenever one changes its meaning."""
ALIVE_EVERY_S = 5.0
"""Between two signs of life that dyno sends an agent."""
SILENCE_S_MAX = 90.0
"""Without one for so long the connection is broken: the agent stops what it started."""
FILE_BYTES_MAX = 16 << 20
"""Of a file that goes along with a plan."""
LAST = frozenset({"done", "error", "lost"})
"""The keys of which the last answer to a request has one."""


def line(message: Json) -> bytes:
    """A message as it is sent."""
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def hello() -> Json:
    """The first message of an agent: who it is, and what its clocks say."""
    return {
        "agent": PROTOCOL,
        "version": __version__,
        "code": code(),
        "unix_ns": time.time_ns(),
        "mono_ns": time.monotonic_ns(),
    }


@cache
def code() -> str:
    """A hash of the package's own code, by which builds of one version differ."""
    found = hashlib.sha256()
    for name, content in sorted(_sources(resources.files("dbdyno"), "")):
        found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()[:16]


def _sources(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    """The names and contents of the code below a folder."""
    found = []
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            found += _sources(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith((".py", ".toml")):
            found.append((prefix + entry.name, entry.read_bytes()))
    return found


# --- Plans, files, errors --------------------------------------------------------------------


def plan_json(plan: Plan) -> Json:
    """A plan, exactly; its file by its path from the root, as what it names is found from there."""
    whole = plan if plan.path is None else replace(plan, path=plan.path.absolute())
    keys: Json = typed_json.packed(whole)
    return keys


def file_json(path: Path) -> Json:
    """A file with its mode. Raises PlanError where it cannot be read, or is too large to send."""
    try:
        content, mode = path.read_bytes(), path.stat().st_mode & 0o777
    except OSError as reason:
        raise PlanError(f"{path}: cannot be read: {reason.strerror}") from None
    if len(content) > FILE_BYTES_MAX:
        raise PlanError(
            f"{path}: has {len(content):,} bytes, which is too much to send with a plan: put it "
            "on the host, and name it by its path there"
        )
    return {"content": base64.b64encode(content).decode(), "mode": mode}


def write_file(path: Path, message: Json) -> None:
    """Writes the file that `file_json` read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(message["content"]))
    path.chmod(message["mode"])


def error_json(reason: Exception, hidden: str = "") -> Json:
    """An error that a user can mend, without the folder `hidden` before its paths."""
    kind = LabDied if isinstance(reason, LabDied) else type(reason)
    text = str(reason).replace(hidden, "") if hidden else str(reason)
    return {"kind": kind.__name__, "text": text}


def error_of(message: Json, host: str) -> DynoError:
    """The error that `error_json` wrote, of a host."""
    kind = getattr(error, str(message["kind"]), DynoError)
    assert issubclass(kind, DynoError)
    found: DynoError = kind(f"host {host}: {message['text']}")
    return found
