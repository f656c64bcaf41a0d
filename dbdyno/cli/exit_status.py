"""The exit statuses of `dyno`, and messages beside results."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dbdyno.model import Comparison
    from dbdyno.model.tolerance import Answer

DONE = 0
FAILED = 1
BAD_INPUT = 2
NOT_YET = 3
INTERRUPTED = 130
MEANINGS = {
    DONE: "done",
    FAILED: "finished, but steps failed; with `--fail-on`: a verdict was found; for "
    "`verify`: files are damaged; with `--tolerate` and for `gate`: a larger loss was shown",
    BAD_INPUT: "bad input: one line names the file, the key and the remedy; or nothing could be "
    "compared, as all failed on both sides",
    NOT_YET: "with `--tolerate` and for `gate`: no larger loss was shown, but not all are excluded "
    "yet; for `bisect`: no answer is sure, or no single commit did it",
    INTERRUPTED: "interrupted: all measurements are kept, and the same command resumes",
}
"""Every status that `dyno` ends with, and when: for help, docs/commands.md and the man page."""


def of(
    comparison: Comparison,
    folder: Path | None = None,
    *,
    fail: str | None = None,
    as_json: bool = False,
) -> int:
    """The status of a command that has shown a comparison; says what makes it none that is green.

    `folder`: its results, where the command has measured them, whose every failed step counts;
    `fail`: the words of --fail-on; `as_json`: says the answer, which pages begin with, beside JSON.
    """
    from dbdyno.parts import tolerate
    from dbdyno.report import fail_on

    of_words = words(fail)
    nothing = fail_on.uncompared(comparison, of_words)
    if nothing is not None and (of_words or len(comparison.arms) > 1):
        say(f"dyno: nothing was compared: {nothing}")
        return BAD_INPUT
    answer = tolerate.answer(comparison)
    if answer is not None and as_json:
        say(tolerate.line(comparison))
    if named := fail_on.found(comparison, of_words):
        say(f"--fail-on {fail}: {named}")
    if named or comparison.failed or (folder is not None and _has_failed(comparison, folder)):
        return FAILED
    return of_answer(answer or "yes")


def _has_failed(comparison: Comparison, folder: Path) -> bool:
    """Whether a step of the result failed, in whichever block or pass, whichever command ran it.

    An application's query that fails on all arms says nothing of any, so that it is none.
    """
    from dbdyno.model.work import WorkComparison
    from dbdyno.store import Results

    results = Results.open(folder)
    own = any(use.application is not None for use in results.plan.workloads)
    counts = comparison.of(WorkComparison).changes
    if own:
        return any(change.failed_arm == change.arm for change in counts)
    return results.failed_steps() > 0


def words(fail: str | None) -> tuple[str, ...]:
    """The words of `--fail-on`. Raises DynoError: one is none."""
    from dbdyno.report import fail_on

    return () if fail is None else fail_on.parse(fail)


def of_answer(answer: Answer) -> int:
    """FAILED for no, NOT_YET for not yet, DONE for yes."""
    return {"no": FAILED, "not yet": NOT_YET, "yes": DONE}[answer]


@contextmanager
def interruptible(
    kept: str = "everything measured is kept, the same command goes on",
) -> Iterator[None]:
    """Ends `dyno` where a person interrupts what stands within, and says what is kept of it."""
    import typer

    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted; {kept}")
        raise typer.Exit(INTERRUPTED) from None


def say(text: str) -> None:
    """A line for the person, on standard error."""
    print(text, file=sys.stderr)  # noqa: T201


def sayer(*, quiet: bool) -> Callable[[str], None]:
    """Takes lines of progress: `say`, or nothing is said."""
    return (lambda text: None) if quiet else say
