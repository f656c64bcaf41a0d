"""Writes the completions of bash, zsh and fish that the wheel installs; a test compares.

python tools/completions.py
"""

from pathlib import Path

SHARE = Path(__file__).parent.parent / "dbdyno.data" / "data" / "share"
FILES = {
    "bash": SHARE / "bash-completion" / "completions" / "dyno",
    "zsh": SHARE / "zsh" / "site-functions" / "_dyno",
    "fish": SHARE / "fish" / "vendor_completions.d" / "dyno.fish",
}
"""Where each shell looks for them, below a prefix such as ~/.local."""


def script(shell: str) -> str:
    """What a shell completes `dyno` by: it asks dyno itself."""
    from typer._completion_shared import get_completion_script

    text: str = get_completion_script(prog_name="dyno", complete_var="_DYNO_COMPLETE", shell=shell)
    return text.strip() + "\n"


if __name__ == "__main__":
    for name, path in FILES.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script(name), encoding="utf-8")
