"""The tutorials of docs/ are followed one after the other, in the order of the site, in one folder.

Every command is the page's, and every file that the page says to save. Shorter are only what the
pages call lengths: `--minutes`, the plan's `seconds` and `blocks`, `-T` of pgbench.
"""

import os
import re
import shlex
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

import own_lab
from dbdyno.engine import LabServer
from dbdyno.model import Arm
from server_place import a_place, address, builds, distribution, major, restart_with, started
from test_docs_tried import ROOT, SCRIPT, blocks

pytestmark = pytest.mark.live

NAV = re.compile(r"^ +- [^:]+: (docs/tutorial/\S+\.md)$", re.MULTILINE)
SAVED = re.compile(
    r"[Ss]ave\s+this\s+as\s+`(?P<name>[\w.]+)`.*?```toml\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SHORTER = {
    "--minutes 10": "--minutes 2",
    "--minutes 5": "--minutes 2",
    "-T 60": "-T 5",
    "seconds = 10": "seconds = 2",
    "blocks = 4": "blocks = 2",
}
UNTIL_DECIDED = re.compile(r"^dyno race (?!.*--(?:minutes|count)).*$")
"""A race of the usual five minutes."""
LOG = "/var/lib/postgresql/15/main/log"
MAY_DIFFER = {"dyno race": {0, 1, 3}}
"""Statuses beside 0 that answer a question: `--tolerate` has said no, or not yet."""
SERVED_S_MAX = 30.0


def pages() -> list[str]:
    """The tutorials in the order of the site."""
    return NAV.findall((ROOT / "mkdocs.yml").read_text())


def shorter(text: str) -> str:
    """A command or a file with shorter lengths, and versions that are here."""
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    if UNTIL_DECIDED.match(text):
        text += " --minutes 2"
    here = {str(major(folder)) for folder in builds()}
    others = {version for version in ("16", "17") if version not in here}
    for version in others:
        text = re.sub(rf'(?<=[ "]){version}(?=[ "\n])', min(here, key=int), text)
    return text


def commands(name: str) -> Iterator[str]:
    """The commands of a page."""
    for session in blocks(name, "console"):
        for line in session.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                yield re.sub(r"\s+# .*$", "", line.removeprefix("$ "))


def test_the_site_has_every_tutorial_and_each_has_commands() -> None:
    written = {f"docs/tutorial/{page.name}" for page in (ROOT / "docs/tutorial").glob("*.md")}
    assert set(pages()) == written
    assert all(list(commands(name)) for name in pages())


class Reader:
    """Somebody who follows pages in a folder, with a server whose log may be read."""

    def __init__(self, folder: Path, server: LabServer) -> None:
        self.folder, self.server = folder, server
        programs = folder.parent / "programs"
        programs.mkdir()
        dyno = programs / "dyno"
        dyno.write_text(f'#!/bin/sh\nexec {shlex.join(own_lab.command())} "$@"\n')
        dyno.chmod(0o755)
        where = address(server)
        self.environment: Mapping[str, str] = os.environ | {
            "PATH": f"{programs}:{distribution() / 'bin'}:{os.environ['PATH']}",
            "PGHOST": str(where.host),
            "PGPORT": str(where.port),
            "PGUSER": str(where.user),
            "PGDATABASE": "postgres",
        }

    def read(self, name: str) -> None:
        """Saves the files of a page, and does what it says."""
        text = (ROOT / name).read_text()
        for saved in (*SCRIPT.finditer(text), *SAVED.finditer(text)):
            (self.folder / saved["name"]).write_text(shorter(saved["text"]))
        if "ALTER SYSTEM SET log_min_duration_statement" in text:
            restart_with(
                self.server,
                {
                    "log_min_duration_statement": "0",
                    "log_destination": "csvlog",
                    "logging_collector": "on",
                },
            )
        for command in commands(name):
            self.do(shorter(command))

    def do(self, command: str) -> None:
        """Does a command as a shell does; of a server that goes on it asks a page."""
        assert self.server.data_dir is not None
        command = command.replace(LOG, str(self.server.data_dir / "log"))
        if command.startswith("dyno serve"):
            self.serve(command)
            return
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        allowed = next((s for name, s in MAY_DIFFER.items() if command.startswith(name)), {0})
        said = f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
        assert done.returncode in allowed, said

    def serve(self, command: str) -> None:
        """Starts the pages of results, and looks at their list."""
        serving = subprocess.Popen(
            ["bash", "-c", f"exec {command} --port 0"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert serving.stdout is not None
            line, end_s = "", time.monotonic() + SERVED_S_MAX
            while "http://" not in line and time.monotonic() < end_s:
                line = serving.stdout.readline()
            address_of = re.search(r"http://\S+", line)
            assert address_of is not None, line
            reading = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with reading.open(address_of[0]) as page:
                assert "race-pg12-pg18" in page.read().decode()
        finally:
            serving.terminate()
            with suppress(subprocess.TimeoutExpired):
                serving.wait(SERVED_S_MAX)


@pytest.mark.soak  # twenty minutes
def test_the_tutorials_can_be_followed_one_after_the_other_in_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    arm = Arm(name="source", engine="postgres", base_dir=distribution())
    with a_place() as place, started(arm, place) as server:
        reader = Reader(folder, server)
        for name in pages():
            reader.read(name)
    written = {path.name for path in folder.iterdir()}
    assert written >= {
        *("results", "again.toml", "mine.toml", "one.sql", "many.sql", "shop.dump", "app"),
        *("mine.html", "post.md", "post", "post.html", "charts", "mine.duckdb"),
    }
