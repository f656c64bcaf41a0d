"""Each promise of SECURITY.md names the tests that attack it; they are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "SECURITY.md").read_text()


def test_the_tests_that_promises_name_are_there() -> None:
    named = re.findall(r"(?:loadgen/)?tests/[\w/.]+", PAGE)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name.rstrip(".")).exists()] == []


def test_each_promise_names_a_test() -> None:
    promises = PAGE.split("## What dyno promises")[1].split("## ")[0]
    for promise in re.split(r"\n(?=\*\*|- )", promises.strip()):
        assert "tests/" in promise or promise.startswith("**Another account of this machine**")
