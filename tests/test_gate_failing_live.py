"""A gate whose head, or base, fails on a real server: no, or not yet, with what failed."""

import shutil
from pathlib import Path

import pytest

import command
import read_steps
from dbdyno.cli import gating
from server_place import ends

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        shutil.which("valgrind") is None, reason="no valgrind here: `apt-get install valgrind`"
    ),
]
DIVIDED = read_steps.text().replace("SELECT id FROM", "SELECT id / {by} FROM").replace(
    "{by}", "current_setting('dyno.divisor')::int"
)  # fmt: skip
WELL, READS = "dyno.divisor=1", "default_transaction_read_only=on"


@pytest.mark.parametrize(
    ("base", "head", "status", "said"),
    [
        (WELL, "dyno.divisor=0", 1, "division by zero"),  # while it is counted
        (f"{WELL};{READS}", WELL, 3, "the base failed: "),  # while its data are filled
    ],
)
def test_a_head_that_fails_is_no_and_a_base_that_does_is_not_yet(
    base: str, head: str, status: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is counted, or while its data are filled."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gating, "REPEATS", 2)
    (tmp_path / "reads.toml").write_text(DIVIDED)
    build = ends()[-1]
    ended = command.dyno(
        "gate", f"{build};{base}", f"{build};{head}", "--time", "off", "--workload", "./reads.toml",
        "--steps", "one", "--operations", "80", "--out", tmp_path / "out",
    )  # fmt: skip
    assert ended.returncode == status, ended.stderr
    assert said in " ".join(ended.stdout.split())
    assert "Traceback" not in ended.stderr
