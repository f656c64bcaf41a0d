"""Runs the canary: small fixed work on an idle machine, whose time tells of noisy neighbours."""

import subprocess
from pathlib import Path

import msgspec

from dbdyno.host.program import unended
from dbdyno.model.error import GeneratorError, LabDied
from dbdyno.model.step_files import CanaryReading

LIMIT_S = 30.0
"""The canary takes about 0.3 s; a machine on which it takes this long is broken."""
DEVICE_BYTES_PER_S_MIN = 5 << 20
"""A device that writes or reads less is waited for no longer."""


def run(directory: Path, loadgen: Path, device_bytes: int = 0) -> CanaryReading:
    """Runs `loadgen canary --dir directory` and returns what it measured (contract/README.md).

    `device_bytes`: also what the device does with a file so large, under `device`. Raises LabDied
    where it fails, is killed, or takes far too long, GeneratorError where it cannot be run or is of
    another version.
    """
    command = [str(loadgen), "canary", "--dir", str(directory)]
    command += ["--device", str(device_bytes)] if device_bytes else []
    limit_s = LIMIT_S + 2 * device_bytes / DEVICE_BYTES_PER_S_MIN
    shown = " ".join(command)
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except OSError as error:
        raise GeneratorError(f"`{shown}` cannot be run: {error.strerror}; reinstall") from error
    except subprocess.TimeoutExpired as error:
        raise LabDied(f"`{shown}` {unended(error)}: check the disk under it (dmesg)") from error
    if ended.returncode != 0:
        said = " ".join(ended.stderr.split()) or f"exit status {ended.returncode}"
        raise LabDied(f"`{shown}` failed: {said}")
    return reading(ended.stdout, shown, device=device_bytes > 0)


def reading(text: str, shown: str, *, device: bool = False) -> CanaryReading:
    """Parses the canary's line; raises GeneratorError where it is not as agreed."""
    try:
        said = msgspec.json.decode(text, type=CanaryReading)
    except ValueError:
        said = None
    if said is None or (device and said.device is None):
        raise GeneratorError(
            f"`{shown}` printed {text.strip()[:200]!r}, not the numbers agreed: "
            "dyno and dyno-loadgen must be of one version, reinstall"
        )
    return said
