"""The wheel has completions for bash, zsh and fish, and they name what there is."""

import shlex
import shutil
import subprocess

import pytest

import completions


@pytest.mark.parametrize("shell", completions.FILES)
def test_the_script_of_a_shell_is_current(shell: str) -> None:
    assert completions.FILES[shell].read_text() == completions.script(shell)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["dyno", "plan", "copy", "pgbench-"], {"pgbench-scripts", "pgbench-small"}),
        (["dyno", "workload", "show", "ybi"], {"ybio"}),
        (["dyno", "run", "upgr"], {"upgrade"}),
        (["dyno", "att"], {"attribute"}),
    ],
)
def test_bash_completes_commands_and_names(words: list[str], expected: set[str]) -> None:
    if shutil.which("bash") is None or shutil.which("dyno") is None:
        pytest.skip("no bash, or no `dyno` in PATH: run `make setup`")
    script = f"""
source {shlex.quote(str(completions.FILES["bash"]))}
COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
_dyno_completion dyno
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_shell_reads_its_script(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here: `apt-get install {shell}`")
    subprocess.run([shell, "-n", completions.FILES[shell]], check=True)
