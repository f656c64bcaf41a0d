"""`dyno host prepare`: puts this very dyno on another host, which needs no network for it.

There it lies in a folder for its version, ~/.local/share/dbdyno/VERSION-CODE, and a link in
~/.local/bin. Nothing else is changed, and root is not needed.
"""

import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from dbdyno import __version__
from dbdyno.host.child import last_line
from dbdyno.model import Host
from dbdyno.model.error import HostError
from dbdyno.run.agent import packing, wire
from dbdyno.run.agent.session import OPTIONS, AgentSession, ssh_words

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The series of Python that the libraries here are compiled for."""
COMPRESSION = 6
ROOM_FACTOR = 2.5
"""Wheels, what is unpacked of them, and the environment, as a multiple of the wheels."""

LOOK = """
export PATH="$HOME/.local/bin:$PATH"
command -v python{python} || echo none
uname -m
folder=$HOME/.local/share
mkdir -p "$folder" "$HOME/.local/bin" && [ -w "$folder" ] && [ -w "$HOME/.local/bin" ] && echo yes
df -Pk "$folder" | tail -n 1 | awk '{{ print $4 }}'
"""
"""Says where Python is, the machine's kind, whether we may write, and how much room there is."""

INSTALL = """
set -eu
folder=$HOME/.local/share/dbdyno/{name}
rm -rf "$folder"
mkdir -p "$folder"
trap 'status=$?; [ $status = 0 ] || rm -rf "$folder"' EXIT
tar -xz -C "$folder"
cd "$folder"
export UV_CACHE_DIR=$folder/cache UV_NO_CONFIG=1
./uv --quiet venv --offline --no-python-downloads --python {python} environment
./uv --quiet pip install --offline --no-index --no-deps --python environment/bin/python \\
    wheels/*.whl
environment/bin/dyno --version >/dev/null
rm -rf wheels cache uv
ln -sfn "$folder/environment/bin/dyno" "$HOME/.local/bin/dyno"
"""
"""Unpacks what comes, installs it, and makes it the host's dyno; leaves nothing where it fails."""


def prepare(ssh: str, say: Callable[[str], None]) -> bool:
    """Puts dyno on a host, unless it has this very one; returns whether it had to.

    `ssh` is its name for OpenSSH. Raises HostError in one line: a host that cannot be reached, has
    no Python of this series, no room, or no folder that we may write.
    """
    host = Host(name=ssh, ssh=ssh)
    if is_there(host):
        return False
    uv = shutil.which("uv")
    if uv is None:
        raise HostError("no `uv` in PATH, which installs dyno there: `pip install uv`")
    with tempfile.TemporaryDirectory(prefix="dyno-prepare-") as scratch:
        say(f"{ssh}: packing what is installed here")
        wheels = packing.wheels(Path(scratch))
        python = looked(ssh, sum(path.stat().st_size for path in wheels))
        archive = packed(Path(scratch), wheels, Path(uv))
        say(f"{ssh}: sending {archive.stat().st_size / 1e6:,.0f} MB")
        install(ssh, python, archive)
    with AgentSession(host):  # which refuses another one
        pass
    return True


def is_there(host: Host) -> bool:
    """Whether the host has this very dyno. Raises HostError where it cannot be reached at all."""
    try:
        with AgentSession(host):
            return True
    except HostError:
        run(host.name, "true")
        return False


def looked(ssh: str, wheels_bytes: int) -> str:
    """The Python there, after a look whether it can be prepared. Raises HostError."""
    python, machine, *rest = run(ssh, LOOK.format(python=PYTHON)).split("\n")
    own = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()
    if machine != own:
        raise HostError(f"`{ssh}` is of kind {machine}, this machine of {own}: install dyno there")
    if python == "none":
        raise HostError(
            f"`{ssh}` has no Python {PYTHON}, for which the libraries here are made: install it "
            "there"
        )
    if rest[0] != "yes":
        raise HostError(f"`{ssh}`: ~/.local/share and ~/.local/bin cannot be written: make them so")
    needed, free = wheels_bytes * ROOM_FACTOR, int(rest[1]) * 1024
    if free < needed:
        raise HostError(
            f"`{ssh}`: ~/.local/share has {free / 1e9:.1f} GB left, dyno needs {needed / 1e9:.1f}"
        )
    return python


def packed(folder: Path, wheels: list[Path], uv: Path) -> Path:
    """The archive that is sent: the wheels, and what installs them."""
    path = folder / "dyno.tar.gz"
    with tarfile.open(path, mode="w:gz", compresslevel=COMPRESSION) as archive:
        archive.add(uv, "uv")
        for wheel in wheels:
            archive.add(wheel, f"wheels/{wheel.name}")
    return path


def install(ssh: str, python: str, archive: Path) -> None:
    """Sends the archive and installs what is in it. Raises HostError."""
    name = f"{__version__}-{wire.code()}"
    script = INSTALL.format(name=name, python=shlex.quote(python))
    with archive.open("rb") as content:
        done = subprocess.run(
            words(ssh, script), stdin=content, capture_output=True, text=True, errors="replace"
        )
    if done.returncode:
        raise HostError(f"`{ssh}`: dyno cannot be installed: {reason(done.stderr.strip())}")


def run(ssh: str, script: str) -> str:
    """The output of a script there, stripped. Raises HostError where it fails."""
    done = subprocess.run(words(ssh, script), capture_output=True, text=True, check=False)
    if done.returncode:
        raise HostError(
            f"`{ssh}` cannot be reached or used: {reason(done.stderr)}: make `ssh {ssh}` work "
            "without a password, then run the same command"
        )
    return done.stdout.strip()


def reason(said: str) -> str:
    """Why a program failed, by the last thing that it said."""
    return last_line(said.splitlines()) or "no reason given"


def words(ssh: str, script: str) -> list[str]:
    """The command that runs a script of sh on a host, whatever its login shell is."""
    return [*ssh_words(), *OPTIONS, "--", ssh, f"exec sh -c {shlex.quote(script)}"]
