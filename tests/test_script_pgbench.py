"""Scripts before pgbench itself: what it refuses before it has a server, the lab refuses, too."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from dbdyno.model.error import WorkloadError
from dbdyno.run.driver.pgbench import client
from pgbench_expressions import EXPRESSIONS
from pgbench_facts import FACTS, Fact
from script_reader import compiled

pytestmark = pytest.mark.skipif(
    client.newest() is None, reason="no pgbench here: `apt-get install postgresql`"
)


def pgbench_refuses(script: str, protocol: str, folder: Path) -> str | None:
    """What pgbench says where it does not get as far as to ask for a server."""
    found = client.newest()
    assert found is not None
    path = folder / "mix.sql"
    path.write_text(script)
    ended = subprocess.run(
        [found.path, "-n", "-t", "1", "-M", protocol, "-f", path, "-h", folder, "nowhere"],
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert ended.returncode == 1
    return None if "connection to server" in ended.stderr else ended.stderr


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_pgbench_gives_the_verdict_of_the_list(fact: Fact, tmp_path: Path) -> None:
    said = pgbench_refuses(fact.script, fact.protocol, tmp_path)
    assert (said is not None) == (fact.pgbench == "start"), said


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_pgbench_understands_the_expressions_of_the_list(text: str, tmp_path: Path) -> None:
    assert pgbench_refuses(f"\\set x {text}\n", "simple", tmp_path) is None


BEFORE = ("-", "+", "~", "not", "not not", "- -", "")
OPERANDS = ("1", "2.5", ":x", "null", "true", "(1 = 2)", "pi()", "least(1, :x)")
BEHIND = ("is null", "is not true", "isnull", "notnull", "is 1", "")
BETWEEN = (
    *("+", "-", "*", "/", "%", "|", "#", "&", "<<", ">>", "<", "<=", "=", "<>", "!=", ">=", ">"),
    *("and", "or", ",", "is", "then", ""),
)
"""What drawn expressions are made of; little of it is wrong by itself."""


def drawn(generator: random.Random) -> str:
    """An expression that may be right."""

    def rarely(words: tuple[str, ...]) -> str:
        return generator.choice(words) if generator.random() < 0.3 else ""

    def operand() -> str:
        return f"{rarely(BEFORE)} {generator.choice(OPERANDS)} {rarely(BEHIND)}"

    rest = [f"{generator.choice(BETWEEN)} {operand()}" for _ in range(generator.randint(0, 3))]
    return " ".join([operand(), *rest])


@pytest.mark.long
def test_drawn_expressions_get_the_same_verdict(tmp_path: Path) -> None:
    """What is right goes in one go; pgbench stops at the first that it refuses."""
    generator = random.Random(18)
    verdicts = {text: accepted(text) for text in (drawn(generator) for _ in range(1_000))}
    good = [text for text, fine in verdicts.items() if fine]
    bad = [text for text, fine in verdicts.items() if not fine]
    assert len(good) > 300, "of those that are right"
    assert len(bad) > 200, "of those that are wrong"
    together = "".join(f"\\set y {text}\n" for text in good)
    assert pgbench_refuses(together, "simple", tmp_path) is None
    for text in bad[:100]:
        assert pgbench_refuses(f"\\set y {text}\n", "simple", tmp_path), text


def accepted(text: str) -> bool:
    try:
        compiled(f"\\set x 1\n\\set y {text}\n")
    except WorkloadError:
        return False
    return True
