"""What pages tell a reader to do is done here, as far as it goes without a server.

Commands are parsed by the commands themselves, plans are read as `dyno run` reads them.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import docs_site
from dbdyno import plan
from dbdyno.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [name for name in docs_site.pages() if name != "CHANGELOG.md"]
FENCE = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(
    r"`(?P<name>[\w.-]+\.sql)`:\n\n```sql\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
# The other pages that show TOML are of workload files, which test_workload.py reads.
OF_PLANS = [name for name in PAGES if "workload" not in name]
ARM = '[arms.pg17]\nversion = "17"\n'
WORKLOAD = '[[workloads]]\nname = "insert-benchmark"\n'


def blocks(name: str, *kinds: str) -> Iterator[str]:
    for found in FENCE.finditer((ROOT / name).read_text()):
        if found["kind"] in kinds:
            yield found["text"]


def commands(name: str) -> Iterator[list[str]]:
    """The words of each `dyno …` in a page's sessions and scripts, up to what the shell takes."""
    for session in blocks(name, "console"):
        lines = (line for line in session.splitlines() if line.startswith("$ "))
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


def parse(words: list[str]) -> None:
    """Parses a command as `dyno` does, and does not run it."""
    import typer

    command = typer.main.get_command(app)
    rest = words
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]  # type: ignore[attr-defined]
    asks_for_more = hasattr(command, "commands") and not any(word.startswith("-") for word in rest)
    assert not asks_for_more, f"no such command: {' '.join(rest)}"
    with command.make_context(" ".join(words), list(rest)):
        pass


@pytest.mark.parametrize("name", PAGES)
def test_a_command_of_a_page_is_one_of_the_program(name: str) -> None:
    for words in commands(name):
        try:
            parse(words)
        except Exception as error:  # of click, which says what is wrong with the words
            pytest.fail(f"{name}: dyno {shlex.join(words)}: {error}")


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
    shutil.copytree(ROOT / "plans" / "scripts", tmp_path / "scripts")
    for script in SCRIPT.finditer((ROOT / name).read_text()):
        (tmp_path / script["name"]).write_text(script["text"])
    for text in blocks(name, "toml"):
        with_arm = text if "[arms." in text else text + ARM
        whole = with_arm if "workload" in text else with_arm + WORKLOAD
        plan.parse(whole, tmp_path / "page.toml")
