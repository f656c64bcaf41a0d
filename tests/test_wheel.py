"""The wheel is whole: in an environment that has nothing else, what pages tell is there.

`make soak` makes the wheel and runs this; by itself: `make wheel`, then
`pytest -m soak tests/test_wheel.py`.
"""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import completions
import dbdyno
import test_docs_tried
from completions import SHARE
from dbdyno.plan import shipped_plans

ROOT = Path(__file__).parent.parent
WHEELS = sorted((ROOT / "dist").glob("*.whl"))
READ_FIRST = ("README.md", "docs/install.md", "docs/tutorial/", "docs/howto/")
PARSES = f"""
import json, os, shlex, sys
from functools import cache
from pathlib import Path
from typing import Any
from dbdyno.cli import app
{inspect.getsource(test_docs_tried.root)}
{inspect.getsource(test_docs_tried.parse)}
for words in json.load(sys.stdin):
    parse(words)
"""
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not WHEELS, reason="no wheel in dist/: `make wheel`"),
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment that has the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "pip>=23", WHEELS[-1]]
    subprocess.run(pip, check=True)
    return folder / "bin"


def run(
    command: list[str | Path], folder: Path, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs a command away from the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, text=True
    )


def test_the_commands_of_the_first_pages_are_those_of_the_wheel(programs: Path, tmp_path: Path):
    pages = [page for page in test_docs_tried.PAGES if page.startswith(READ_FIRST)]
    commands = [words for page in pages for words in test_docs_tried.commands(page)]
    assert len(commands) > 50
    done = run([programs / "python", "-c", PARSES], tmp_path, json.dumps(commands))
    assert done.returncode == 0, done.stderr[-1000:]


def test_each_plan_of_the_wheel_is_copied_and_checked(programs: Path, tmp_path: Path) -> None:
    listed = run([programs / "dyno", "plan", "list", "--json"], tmp_path)
    names = [row["name"] for row in json.loads(listed.stdout)]
    assert names == [shipped.name for shipped in shipped_plans.plans()]
    for name in names:
        (tmp_path / name).mkdir()
        copied = run([programs / "dyno", "plan", "copy", name], tmp_path / name)
        assert copied.returncode == 0, copied.stderr
        done = run([programs / "dyno", "check", f"{name}.toml"], tmp_path / name)
        lines = done.stderr.splitlines()
        # Some ask for builds of your own, or for more than this host has: one line says what.
        assert done.returncode == 0 or (done.returncode == 2 and lines), f"{name}: {lines}"
        assert "Traceback" not in done.stderr and "cannot be read" not in done.stderr, name
        assert run([programs / "dyno", "check", name], programs).returncode == done.returncode


def test_the_wheel_names_itself_and_its_generator(programs: Path, tmp_path: Path) -> None:
    dyno, generator = run([programs / "dyno", "--version"], tmp_path).stdout.splitlines()
    assert dyno.startswith(f"dyno {dbdyno.__version__} (wheel in {programs.parent.resolve()}/")
    assert generator.startswith(f"dyno-loadgen {dbdyno.__version__} (")


@pytest.mark.parametrize(
    "path",
    ["man/man1/dyno.1", *(str(path.relative_to(SHARE)) for path in completions.FILES.values())],
)
def test_the_wheel_brings_what_shells_look_for(programs: Path, path: str) -> None:
    assert (programs.parent / "share" / path).read_bytes() == (SHARE / path).read_bytes()
