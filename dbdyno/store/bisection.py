"""The folder of a search: bisect.json, and below `tests` a plan and a result folder of each test.

OUT/<name>/bisect.json                 the question, what was tested, what follows from it
OUT/<name>/tests/007-1a2b3c4d5e.toml   the plan of the test of commit 7
OUT/<name>/tests/007-1a2b3c4d5e/       its results (docs/results.md)
OUT/<name>/report.html                 the answer, written at the end of each command
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dbdyno.model import Json
from dbdyno.model.bisection import Bisection, Commit, Question
from dbdyno.model.error import ResultError
from dbdyno.store.file import made, read_format, write_json

FORMAT = 1
FILE = "bisect.json"
TESTS = "tests"
REPORT = "report.html"
FREE = ("command", "minutes", "host", "processor")
"""Of a question: what a search keeps from its first command, whatever a later one says."""


@dataclass(frozen=True)
class BisectionFolder:
    """The folder of one search."""

    folder: Path

    @property
    def report(self) -> Path:
        """The page of the answer."""
        return self.folder / REPORT

    def plan_of(self, index: int, commit: Commit, number: int = 1, layout: int = 0) -> Path:
        """The file of a test's plan; its results lie beside it, in a folder of its name.

        `number`: of the counts of one commit, each of which is a plan of its own. `layout`: with
        which the commit and the one before it are built.
        """
        again = f"-{number}" if number > 1 else f"-layout-{layout}" if layout else ""
        return self.folder / TESTS / f"{index:03}-{commit.short}{again}.toml"

    def results_of(self, plan: Path) -> str:
        """The results of a plan, as bisect.json names them."""
        return f"{TESTS}/{plan.stem}"

    def read(self) -> Bisection | None:
        """The search as far as it has come; None where it begins.

        Raises ResultError where bisect.json is damaged.
        """
        path = self.folder / FILE
        return read_format(path, Bisection, FORMAT) if path.exists() else None

    def opened(self, question: Question) -> Bisection:
        """The search of this question: gone on with, or begun.

        Raises ResultError where the folder is another search's.
        """
        before = self.read()
        if before is None:
            return Bisection(question=question)
        before = replace(before, question=renewed(before.question, question))
        kept = {key: getattr(before.question, key) for key in FREE}
        old, new = asdict(before.question), asdict(replace(question, **kept))
        for key in old:
            if old[key] != new[key]:
                raise ResultError(
                    f"{self.folder / FILE}: is another search: `{key}` differs; what was tested "
                    "there belongs to that one: choose another --out"
                )
        return before

    def write(self, search: Bisection, answer: Json) -> None:
        """Keeps the search, with what follows from it."""
        made(self.folder / TESTS)
        write_json(self.folder / FILE, document(search) | answer)


def renewed(before: Question, now: Question) -> Question:
    """The question of a search that goes on: counts answer a smaller change, and all, too."""
    before = replace(before, architecture=before.architecture or now.architecture)
    if not (before.counts and now.counts):
        return before
    return replace(before, command=now.command, smallest=now.smallest, every=now.every)


def document(search: Bisection) -> Json:
    """A search as bisect.json has it."""
    return {"format": FORMAT, **asdict(search)}
