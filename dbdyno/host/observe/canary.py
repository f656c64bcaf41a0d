"""Runs the canary: small fixed work on an idle machine, whose time tells of noisy neighbours."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from dbdyno.model import Json
from dbdyno.model.error import GeneratorError, LabDied

LIMIT_S = 30.0
"""The canary takes about 0.3 s; a machine on which it takes this long is broken."""
KEYS = ("cpu_us", "memory_ns", "fsync_us_p50", "fsync_us_max")


def run(directory: Path, loadgen: Path) -> Json:
    """Runs `loadgen canary --dir directory` and returns what it measured (contract/README.md).

    Raises LabDied where it fails, is killed, or takes longer than LIMIT_S, GeneratorError where it
    cannot be run or is of another version.
    """
    command = [str(loadgen), "canary", "--dir", str(directory)]
    shown = " ".join(command)
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except OSError as error:
        raise GeneratorError(f"`{shown}` cannot be run: {error.strerror}; reinstall") from error
    except subprocess.TimeoutExpired as error:
        raise LabDied(
            f"`{shown}` did not end within {LIMIT_S:.0f} s: look at the disk under it (dmesg)"
        ) from error
    if ended.returncode != 0:
        said = " ".join(ended.stderr.split()) or f"exit status {ended.returncode}"
        raise LabDied(f"`{shown}` failed: {said}")
    return reading(ended.stdout, shown)


def reading(text: str, shown: str) -> Json:
    """Parses the canary's line; raises GeneratorError where it is not as agreed."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or any(
        not isinstance(found.get(key), int | float) for key in KEYS
    ):
        raise GeneratorError(
            f"`{shown}` printed {text.strip()[:200]!r}, not the four numbers agreed: "
            "dyno and dyno-loadgen must be of one version, reinstall"
        )
    return found
