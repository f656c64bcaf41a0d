"""The gate's action and component: valid by published schemas, and their script does the steps."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "action" / "gate"
TEMPLATE = ROOT / "templates" / "gate.yml"
GITHUB, GITLAB = re.findall(
    r"^```yaml\n(.*?)^```$", (ROOT / "docs/howto/ci.md").read_text(), re.MULTILINE | re.DOTALL
)
DYNO = """#!/bin/sh
echo "$@" >>calls
[ "$1" = gate ] || exit 0
mkdir -p gate/results/count-a gate/results/other
touch gate/results/count-a/plan.json
echo answer >gate/gate.md
exit 3
"""
"""Stands in for dyno: a gate that is not sure."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("github-actions", (ROOT / "action.yml").read_text()),
        ("github-workflows", GITHUB),
        ("gitlab-ci", TEMPLATE.read_text().partition("\n---\n")[2]),
        ("gitlab-ci", GITLAB),
        ("citation-file-format", (ROOT / "CITATION.cff").read_text()),
    ],
    ids=["action", "workflow", "component", "include", "citation"],
)
def test_a_file_of_a_service_is_valid_by_its_published_schema(
    schema: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / "file.yml").write_text(text)
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*check, tmp_path / "file.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_users_part_of_a_gate_is_ten_lines() -> None:
    assert len(GITHUB.splitlines()) <= 11 and len(GITLAB.splitlines()) <= 5


def test_the_component_has_the_functions_of_the_script() -> None:
    text = SCRIPT.read_text()
    functions = text[text.index("HOME_OF_DYNO=${") : text.index("comment() {")].rstrip()
    lines = [line.strip() for line in TEMPLATE.read_text().splitlines()]
    wanted = [line.strip() for line in functions.splitlines()]
    begin = lines.index(wanted[0])
    assert lines[begin : begin + len(wanted)] == wanted


def test_the_action_calls_steps_that_the_script_has() -> None:
    called = re.findall(r'action/gate" (\w+)', (ROOT / "action.yml").read_text())
    assert called == ["install", "run", "report", "comment"]
    assert all(f"\n{step}() {{" in SCRIPT.read_text() for step in called)
    done = subprocess.run([SCRIPT, "runs"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        2, "action/gate: `runs`: write install, run, report or comment\n",
    )  # fmt: skip


def test_the_steps_end_as_the_gate_does_and_keep_its_answer(tmp_path: Path) -> None:
    programs = tmp_path / "dyno" / "bin"
    programs.mkdir(parents=True)
    for name, text in (("dyno", DYNO), ("gh", '#!/bin/sh\necho gh "$@" >>calls\n')):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = os.environ | {
        "HOME_OF_DYNO": str(tmp_path / "dyno"), "BASE": "a", "HEAD": "b c", "NUMBER": "7",
        "GATE_OPTIONS": "--minutes 20", "PATH": f"{programs}:{os.environ['PATH']}",
    }  # fmt: skip

    def step(name: str) -> int:
        return subprocess.run([SCRIPT, name], cwd=tmp_path, env=environment).returncode

    assert step("comment") == 0, "without an answer there is nothing to write"
    assert [step("run"), step("report"), step("comment")] == [3, 0, 0]
    assert (tmp_path / "calls").read_text().splitlines() == [
        "gate a b c --wait --out gate/results --minutes 20 --markdown gate/gate.md "
        "--junit gate/gate.xml --json",
        "report gate/results/count-a --html gate/count-a.html",
        "gh pr comment 7 --body-file gate/gate.md --edit-last --create-if-none",
    ]


def test_the_component_ends_as_the_gate_does_after_its_report(tmp_path: Path) -> None:
    """GitLab puts the lines of `script` one after the other, and stops at the first that fails."""
    body = TEMPLATE.read_text().partition("\n    - |\n")[2].partition("\n  allow_failure:")[0]
    lines = [re.sub(r"^    - ", "", line) for line in body.splitlines()]
    script = "set -e\n" + "\n".join(line.removeprefix("      ") for line in lines)
    programs = tmp_path / "dyno" / "bin"
    programs.mkdir(parents=True)
    (programs / "dyno").write_text(DYNO)
    (programs / "dyno").chmod(0o755)
    bare = script.replace("\ninstall\n", "\n")  # which asks for root and a network
    assert bare != script
    done = subprocess.run(
        ["bash", "-c", bare], cwd=tmp_path,
        env=os.environ | {"HOME_OF_DYNO": str(tmp_path / "dyno"), "BASE": "a", "HEAD": "b"},
    )  # fmt: skip
    assert done.returncode == 3
    assert "report gate/results/count-a --html gate/count-a.html" in (
        (tmp_path / "calls").read_text().splitlines()
    )
