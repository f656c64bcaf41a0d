"""What pages tell a reader to do is done here, as far as it goes without a server.

Commands are parsed by the commands themselves, plans are read as `dyno run` reads them.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import docs_site
import own_lab
from dbdyno import plan
from dbdyno.cli import app
from dbdyno.farm import file as farm_file
from dbdyno.model import document
from dbdyno.model.error import PlanError
from dbdyno.plan import gate

ROOT = Path(__file__).parent.parent
PAGES = [name for name in docs_site.pages() if name != "CHANGELOG.md"]
FENCE = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(
    r"`(?P<name>[\w.-]+\.sql)`:\n\n```sql\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
INCOMPLETE = ("MissingParameter", "BadOptionUsage", "NoArgsIsHelpError")  # of click
NO_COMMANDS = {"dyno waits"}  # the name of a connection
# The other pages that show TOML are of workload files (test_workload.py, test_contributing.py).
OF_PLANS = [name for name in PAGES if "workload" not in name and name != "CONTRIBUTING.md"]
ARM = '[arms.pg17]\nversion = "17"\n'
WORKLOAD = '[[workloads]]\nname = "insert-benchmark"\n'


def blocks(name: str, *kinds: str) -> Iterator[str]:
    for found in FENCE.finditer((ROOT / name).read_text()):
        if found["kind"] in kinds:
            yield found["text"]


def commands(name: str) -> Iterator[list[str]]:
    """The words of each `dyno …` in a page's sessions and scripts, up to what the shell takes."""
    for session in blocks(name, "console"):
        whole = session.replace("\\\n", " ")
        lines = (line for line in whole.splitlines() if line.startswith("$ "))
        yield from of_script("\n".join(line.removeprefix("$ ") for line in lines))
    for script in blocks(name, "sh"):
        yield from of_script(script)


def of_script(text: str) -> Iterator[list[str]]:
    bare = re.sub(r"(^|\s)#.*$", "", text.replace("\\\n", " "), flags=re.MULTILINE)
    lexer = shlex.shlex(bare, posix=True, punctuation_chars="|&;<>()\n")
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if not set(word) <= set("|&;<>()\n"):
            words.append(word)
            continue
        if words and Path(words[0]).name == "dyno":
            yield words[1:]
        words = []


@cache
def root() -> Any:
    import typer

    return typer.main.get_command(app)


def parse(words: list[str]) -> None:
    """Parses a command as `dyno` does, and does not run it."""
    command, rest = root(), words
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    unknown = hasattr(command, "commands") and rest and not rest[0].startswith("-")
    assert not unknown, f"no such command: {' '.join(rest)}"
    # Such an option acts as it is parsed: --install-completion writes to the home directory.
    acting = {name for one in command.params if one.callback for name in one.opts} | {"--help"}
    with command.make_context(" ".join(words), [word for word in rest if word not in acting]):
        pass


QUERY = '[queries.select]\ntext = "query.sql"\ncalls = 1\n'
"""A captured application of one query."""


@pytest.mark.parametrize("name", PAGES)
def test_a_command_of_a_page_is_one_of_the_program(name: str) -> None:
    for words in commands(name):
        try:
            parse(words)
        except Exception as error:  # of click, which says what is wrong with the words
            pytest.fail(f"{name}: dyno {shlex.join(words)}: {error}")


@pytest.mark.parametrize("name", PAGES)
def test_a_command_in_a_sentence_is_one_of_the_program(name: str) -> None:
    """In `dyno run` the plan may be left out, and the value of an option that is named."""
    for found in re.finditer(r"`(dyno [^`\n]+)`", FENCE.sub("", (ROOT / name).read_text())):
        text = "" if found[1] in NO_COMMANDS else found[1]
        for words in of_script(re.sub(r"[\[\]\\]", "", text)):
            try:
                parse(words)
            except Exception as error:
                if type(error).__name__ not in INCOMPLETE:
                    pytest.fail(f"{name}: {found[1]}: {error}")


def test_a_command_that_is_none_is_found() -> None:
    text = "cd x && bin/dyno run --outt 'a b' p.toml | tee log  # a comment's\ndyno nosuch x\n"
    misspelt, unknown = of_script(text)
    assert misspelt == ["run", "--outt", "a b", "p.toml"]
    with pytest.raises(Exception, match="outt"):
        parse(misspelt)
    with pytest.raises(AssertionError, match="nosuch"):
        parse(unknown)


@pytest.mark.parametrize("name", OF_PLANS)
def test_a_plan_of_a_page_is_valid(name: str, tmp_path: Path) -> None:
    """What is only a part of a plan is made whole by an arm and a workload."""
    shutil.copytree(ROOT / "dbdyno/plan/shipped" / "scripts", tmp_path / "scripts")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "query.sql").write_text("SELECT 1")
    (tmp_path / "app" / "workload.toml").write_text(QUERY)
    for script in SCRIPT.finditer((ROOT / name).read_text()):
        (tmp_path / script["name"]).write_text(script["text"])
    for text in blocks(name, "toml"):
        if text.startswith(f"# {gate.FILE}"):
            document.read(gate.GateForm, text, name, PlanError)
            continue
        if text.startswith("# farm.toml"):
            farm_file.parse(text, tmp_path / "farm.toml")
            continue
        with_arm = text if "[arms." in text else text + ARM
        whole = with_arm if "workload" in text else with_arm + WORKLOAD
        plan.parse(whole, tmp_path / "page.toml")


FAKES = """
base = "release"
arms.release = { engine = "fake", fake = { service_us = { insert = 500 }, jitter = 0.02 } }
arms.head = { engine = "fake", fake = { service_us = { insert = 600 }, jitter = 0.02 } }
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 20_000 }
steps = ["l.i0"]
[schedule]
blocks = 3
[verdict]
tolerate = 0.05
"""


@pytest.mark.long
def test_the_script_for_ci_ends_with_1_where_a_step_lost_more_than_is_tolerated(tmp_path: Path):
    """The script of its plan as it stands, on simulated servers: nothing is built."""
    (tmp_path / "nightly.toml").write_text(FAKES)
    programs = tmp_path / "programs"
    programs.mkdir()
    dyno = f'[ "$1" = server ] || exec {shlex.join(own_lab.command())} "$@"'
    (programs / "dyno").write_text(f"#!/bin/sh\n{dyno}\n")
    (programs / "dyno").chmod(0o755)
    script = next(text for text in blocks("docs/howto/ci.md", "sh") if "nightly" in text)
    done = subprocess.run(
        ["bash", *([] if script.startswith("#!") else ["-e"]), "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert "safe at 5 %: no (more is lost in l.i0 by " in done.stderr
    assert {"nightly.html", "nightly.json"} <= {path.name for path in tmp_path.iterdir()}
