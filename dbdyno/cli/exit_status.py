"""The exit statuses of `dyno`, and messages beside results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    BAD_INPUT: "bad input: one line names the file, the key and the remedy",
    NOT_YET: "with `--tolerate` and for `gate`: no larger loss was shown, but not all are excluded "
    "yet; for `bisect`: no answer is sure, or no single commit did it",
    INTERRUPTED: "interrupted: all measurements are kept, and the same command resumes",
}
"""Every status that `dyno` ends with, and when: for help, docs/commands.md and the man page."""


def of_result(folder: Path, comparison: Comparison | None = None) -> int:
    """FAILED where a step of the result failed, whichever command ran it; else DONE.

    An application's query that fails on all arms says nothing of any, so that it is none.
    `comparison`: the folder's, where it is loaded already, which takes seconds.
    """
    from dbdyno.analysis import compare
    from dbdyno.store import Results

    results = Results.open(folder)
    if not results.failed_steps():
        return DONE
    if any(use.application is not None for use in results.plan.workloads):
        return FAILED if (comparison or compare.load(results)).failed else DONE
    return FAILED


def of_comparison(comparison: Comparison, *, as_json: bool) -> int:
    """FAILED where a step failed or a loss was not tolerated, NOT_YET where that is open; or DONE.

    `as_json`: says the answer, which pages and verdicts begin with, beside the JSON.
    """
    from dbdyno.report import tolerate

    answer = tolerate.answer(comparison)
    if answer is not None and as_json:
        say(tolerate.line(comparison))
    return FAILED if comparison.failed else of_answer(answer or "yes")


def words(fail: str | None) -> tuple[str, ...]:
    """The words of `--fail-on`. Raises DynoError: one is none."""
    from dbdyno.report import fail_on

    return () if fail is None else fail_on.parse(fail)


def of_words(comparison: Comparison, of: Sequence[str], fail: str | None) -> int:
    """FAILED where an arm has one of the words of `--fail-on`, written so, which is said; or DONE.

    Raises ResultError where no step of an arm is judged.
    """
    from dbdyno.report import fail_on

    named = fail_on.found(comparison, of) if of else None
    if named is None:
        return DONE
    say(f"--fail-on {fail}: {named}")
    return FAILED


def of_answer(answer: Answer) -> int:
    """FAILED for no, NOT_YET for not yet, DONE for yes."""
    return {"no": FAILED, "not yet": NOT_YET, "yes": DONE}[answer]


def say(text: str) -> None:
    """A line for the person, on standard error."""
    print(text, file=sys.stderr)  # noqa: T201
