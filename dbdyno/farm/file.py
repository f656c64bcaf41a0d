"""The file of a farm: what it follows, what it measures, and how often it may be wrong."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field

from dbdyno.model.document import Form, read, text_of
from dbdyno.model.error import PlanError
from dbdyno.model.placement import SessionPlacement

Every = Literal["night", "commit"]
FALSE_REPORTS = 1.0
"""Of a quarter, that are expected at most."""
MINUTES, SEARCH_MINUTES, POLL_MINUTES = 30.0, 240.0, 5.0
DAY_MINUTES = 24 * 60
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
USUAL_WORKLOAD = "sysbench"


class Branch(Form):
    """A branch that a farm follows, and what of it is measured: a table `[[branches]]`."""

    name: str = Field(
        pattern=f"^{NAME.pattern}$", description='a name for folders; write it as "master"'
    )
    source: str | None = None  # a git repository: a folder or an address
    command: str | None = None  # in its place: makes a build, and prints its version
    branch: str = "master"
    pinned: str  # a version, or a ref of the repository
    since: str | None = None  # a ref: the last head that is taken as known; None: none is
    every: Every = "night"
    build: str | None = None  # the recipe by which commits are built
    cflags: str | None = None
    configure: Sequence[str] = ()
    workload: str = USUAL_WORKLOAD
    steps: Sequence[str] = Field(min_length=1, description="the steps to measure")
    config: Sequence[str] = ()
    count: bool = True  # whether work is counted
    time: bool = True  # whether time is measured
    placement: SessionPlacement | None = None  # of clients in races; None: together


class FarmForm(Form):
    """The keys of the file."""

    folder: str
    false_reports_a_quarter: float | int = Field(default=FALSE_REPORTS, ge=0.01, le=100)
    report_command: str | None = None
    minutes: float | int = Field(default=MINUTES, ge=1, le=DAY_MINUTES)
    search_minutes: float | int = Field(default=SEARCH_MINUTES, ge=1, le=7 * DAY_MINUTES)
    poll_minutes: float | int = Field(default=POLL_MINUTES, ge=0.1, le=DAY_MINUTES)
    hosts: dict[str, dict[str, str]] = Field(default_factory=dict)
    server: dict[str, str | int | bool] = Field(default_factory=dict)
    branches: list[Branch] = Field(min_length=1, description="a branch to follow")


@dataclass(frozen=True, kw_only=True)
class Farm:
    """What a file asks for; valid."""

    path: Path  # of the file, absolute
    folder: Path  # of results, journal and reports, absolute
    false_reports_a_quarter: float = FALSE_REPORTS
    report_command: str | None = None
    minutes: float = MINUTES
    search_minutes: float = SEARCH_MINUTES
    poll_minutes: float = POLL_MINUTES
    hosts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # as a plan has them
    server: Mapping[str, str | int | bool] = field(default_factory=dict)
    branches: tuple[Branch, ...]

    def branch(self, name: str) -> Branch:
        """The branch of a name that is in the file."""
        return next(branch for branch in self.branches if branch.name == name)


def load(path: Path) -> Farm:
    """The farm of a file. Raises PlanError: one line with the file, the key and the remedy."""
    path = path.expanduser().absolute()
    return parse(text_of(path, PlanError), path)


def parse(text: str, path: Path) -> Farm:
    """The farm of a text; `path`: the file that it is of, beside which its folder lies."""
    form = read(FarmForm, text, str(path), PlanError)
    for key, why in complaints(form):
        raise PlanError(f"{path}: key `{key}`: {why}")
    return Farm(
        path=path,
        folder=path.parent / Path(form.folder).expanduser(),
        false_reports_a_quarter=float(form.false_reports_a_quarter),
        report_command=form.report_command,
        minutes=float(form.minutes),
        search_minutes=float(form.search_minutes),
        poll_minutes=float(form.poll_minutes),
        hosts=form.hosts,
        server=form.server,
        branches=tuple(form.branches),
    )


def complaints(form: FarmForm) -> Iterator[tuple[str, str]]:
    """What no single key says: the key, and what to do."""
    names: set[str] = set()
    for number, branch in enumerate(form.branches, 1):
        place = f"branches[{number}]"
        if branch.name in names:
            yield f"{place}.name", f"`{branch.name}` is a branch above: give each its own"
        names.add(branch.name)
        if (branch.source is None) == (branch.command is None):
            yield place, "name either `source`, a git repository, or `command`, which makes a build"
        if branch.command is not None and branch.since is not None:
            yield f"{place}.since", "is a ref of a repository: name a `source`, or remove it"
        if not (branch.count or branch.time):
            yield f"{place}.time", "neither counts nor time: write count = true, or time = true"
    if not form.folder.strip():
        yield "folder", 'is empty; name one, such as "farm"'
