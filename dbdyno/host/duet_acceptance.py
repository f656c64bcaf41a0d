"""What `dyno calibrate --duet` found on this host: kept on it, for the results of later duets.

It holds for the machine and the kernel that it was found on.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from dbdyno.host import place
from dbdyno.model import Json
from dbdyno.model.error import HostError

FILE = "duet-acceptance.json"
HOST_KEYS = ("kernel", "cpu", "memory_bytes")
"""Facts of the host that have to be the same."""


def keep(found: Json, host: Json) -> Path:
    """Keeps it, and returns where. Raises HostError where that is not possible."""
    path = place.data_root() / FILE
    text = json.dumps({"host": _host(host), "found": found}, indent=1, allow_nan=False)
    new = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text + "\n", encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        raise HostError(f"`{path}` cannot be written: {error.strerror}") from error
    return path


def known(host: Json) -> Json | None:
    """What was found on the host of these facts; None where nothing was, or on another one.

    Raises HostError where the file is damaged.
    """
    path = place.data_root() / FILE
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        same = written["host"] == json.loads(json.dumps(_host(host)))
        return dict(written["found"]) if same else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = "remove it, and run `dyno calibrate --duet` again"
        raise HostError(f"`{path}` cannot be read ({error}): {remedy}") from error


def _host(host: Json) -> Json:
    return {key: host.get(key) for key in HOST_KEYS}
