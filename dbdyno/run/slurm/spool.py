"""The files by which a plan and its jobs talk, in a folder that all nodes share.

OUT/.slurm/PLAN/lock               held by the one process that submits and collects
OUT/.slurm/PLAN/prepared/          what the first job found: the plan fits the nodes
OUT/.slurm/PLAN/007/task.json      a submission: the plan, and the blocks that its jobs measure
OUT/.slurm/PLAN/007/job.sh, log.3  what Slurm runs; what the job of block 3 said
OUT/.slurm/PLAN/007/3/1/           the first start of the job of block 3: Slurm may start it again
        …/begun.json               it has begun, on which node
        …/PLAN/                    the result folder that it measures into
        …/ended.json               it has ended, and how; nothing is written there afterwards
OUT/.slurm/PLAN/007/over.3         what it had was taken; nobody waits for it

Whatever is decided follows from these files, so a plan goes on after any break.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from stat import S_ISDIR

from msgspec import Struct

from dbdyno import __version__
from dbdyno.host import lock as host_lock
from dbdyno.model import Block, Json, Plan
from dbdyno.model.error import HostError, ResultError
from dbdyno.model.json import plain
from dbdyno.run.agent import wire
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.store import Results, write_json
from dbdyno.store.file import read_struct, read_struct_if_there

FOLDER = ".slurm"
NO_NAME = re.compile(r"[^A-Za-z0-9._-]")
"""What a job's name has not, as Slurm's commands take lists of names."""
PREPARE = 0
"""The index of the job that checks a plan; blocks have their numbers."""


class VersionedFile(Struct, frozen=True, kw_only=True):
    """A file that says which version of dyno wrote it."""

    dyno: str


class Task(VersionedFile, frozen=True, kw_only=True):
    """task.json: what a submission's jobs are to do."""

    name: str  # of the jobs, for Slurm
    plan: Plan
    blocks: tuple[Block, ...]  # none where the plan is checked
    results: Path  # the plan's result folder
    through: int | None = None  # the last block before the next look


class BegunFile(Struct, frozen=True, kw_only=True):
    """begun.json: a start of a job has begun."""

    node: str
    job_id: str | None  # as Slurm's commands take it: `12_3`
    pid: int
    before: tuple[str, ...] | None = None  # the blocks that it knew of; None: it came not so far


class CheckedPlan(Struct, frozen=True, kw_only=True):
    """What a node has found about a plan."""

    node: str
    prepared: ReadyPlan
    plan: Json  # plan.json of the result
    said: tuple[str, ...]  # of the plan before its first block


class EndedFile(VersionedFile, frozen=True, kw_only=True):
    """ended.json: a start of a job has ended, and how."""

    node: str
    error: str | None = None
    interrupted: bool = False
    failed: int = 0  # steps that failed or were skipped
    voids: int = 0  # tries of its block that are void
    checked: CheckedPlan | None = None  # of the job that checks the plan


class OverFile(Struct, frozen=True):
    """over.N: what a job had was taken."""

    unix_ns: int


@dataclass(frozen=True)
class Start:
    """One start of a job, and its folder, in which nobody else writes."""

    part: SpoolJob
    folder: Path

    @property
    def results_folder(self) -> Path:
        """The result folder that it measures into."""
        return self.folder / self.part.submission.plan.name

    def results(self) -> Results | None:
        """Its results; None where it came not so far."""
        try:
            return Results.open(self.results_folder)
        except ResultError:
            return None

    def begin(self, begun: BegunFile) -> None:
        """Says that it has begun, and what is known of it."""
        write_json(self.folder / "begun.json", begun)

    def begun(self) -> BegunFile | None:
        """begun.json; None where it has not begun."""
        return read_struct_if_there(self.folder / "begun.json", BegunFile)

    @property
    def node(self) -> str:
        """The node that it has begun on."""
        begun = self.begun()
        return "?" if begun is None else begun.node

    def end(self, ended: EndedFile) -> None:
        """Says that it has ended, and how."""
        write_json(self.folder / "ended.json", ended)

    def ended(self) -> EndedFile | None:
        """ended.json; None where it goes on, or ended without a word."""
        return read_struct_if_there(self.folder / "ended.json", EndedFile)

    def is_well(self) -> bool:
        """Whether it has ended after all that it had to do."""
        ended = self.ended()
        return ended is not None and ended.error is None and not ended.interrupted


@dataclass(frozen=True)
class SpoolJob:
    """One job of a submission, for one block, and its folder."""

    submission: Submission
    index: int  # the block's number, or PREPARE

    @property
    def place(self) -> tuple[str, int]:
        """Its name for Slurm, and its index there."""
        return self.submission.name, self.index

    @property
    def folder(self) -> Path:
        """The folder of its starts."""
        return self.submission.folder / str(self.index)

    @property
    def log(self) -> Path:
        """What the job said."""
        return self.submission.folder / f"log.{self.index}"

    def start(self) -> Start:
        """A new start, with a folder of its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(len(self.starts()) + 1):
            with contextlib.suppress(FileExistsError):
                (folder := self.folder / str(number)).mkdir()
                return Start(self, folder)
        raise AssertionError("numbers do not end")

    def starts(self) -> list[Start]:
        """All starts so far, in their order."""
        paths = sorted(self.folder.glob("[0-9]*"), key=lambda path: int(path.name))
        return [Start(self, path) for path in paths]

    def decisive(self) -> Start | None:
        """The start by whose end the job is judged: one that went well, else the last."""
        starts = self.starts()
        return next(filter(Start.is_well, starts), starts[-1] if starts else None)

    def begun(self) -> BegunFile | None:
        """begun.json of the decisive start; None where there is none."""
        start = self.decisive()
        return None if start is None else start.begun()

    def ended(self) -> EndedFile | None:
        """ended.json of the decisive start; None where it goes on, or ended without a word."""
        start = self.decisive()
        return None if start is None else start.ended()

    def is_over(self) -> bool:
        """Whether what it had was taken."""
        return self._over.exists()

    def close(self, *, keep_log: bool) -> None:
        """Says that what it had was taken, and removes its folder."""
        write_json(self._over, OverFile(time.time_ns()))
        shutil.rmtree(self.folder, ignore_errors=True)
        if not keep_log:
            self.log.unlink(missing_ok=True)

    @property
    def _over(self) -> Path:
        return self.submission.folder / f"over.{self.index}"


@dataclass(frozen=True)
class Submission:
    """Jobs that were submitted together."""

    folder: Path

    @cached_property
    def task(self) -> Task:
        """task.json."""
        return read_struct(self.folder / "task.json", Task)

    @property
    def name(self) -> str:
        """The jobs' name for Slurm, which no others have."""
        return self.task.name

    @property
    def plan(self) -> Plan:
        """The plan as it was when they were submitted."""
        return self.task.plan

    @property
    def blocks(self) -> dict[int, Block]:
        """The blocks by their numbers; none where it checks the plan."""
        return {block.number: block for block in self.task.blocks}

    def parts(self) -> list[SpoolJob]:
        """All its jobs."""
        return [SpoolJob(self, number) for number in self.blocks or (PREPARE,)]

    @property
    def script(self) -> Path:
        """What Slurm runs."""
        return self.folder / "job.sh"


OTHERS = 0o077
"""The rights of others on the folder: there are to be none, as jobs run what it says."""


@dataclass(frozen=True)
class Spool:
    """The folder of one plan."""

    folder: Path

    @classmethod
    def of(cls, parent: Path, plan: Plan) -> Spool:
        """The spool of a plan whose result folder lies in `parent`."""
        return cls(parent.absolute() / FOLDER / plan.name)

    @contextmanager
    def locked(self) -> Iterator[int]:
        """The only process that submits and collects; gives the lock's file.

        Raises HostError where another one does, or the folder cannot be made or is open to others.
        """
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            status = self.folder.lstat()
        except OSError as error:
            raise HostError(
                f"`{self.folder}` cannot be made: {error.strerror}; choose another --out"
            ) from error
        if status.st_uid != os.geteuid() or not S_ISDIR(status.st_mode) or status.st_mode & OTHERS:
            raise HostError(
                f"`{self.folder}` is open to others, who could change what jobs run: `chmod 700` "
                "it if nobody did, or choose another --out"
            )
        file = host_lock.open_shared(self.folder / "lock")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = host_lock.read_holder(file)
            os.close(file)
            raise HostError(
                f"another `dyno` follows the jobs of this plan ({holder}): wait for its end"
            ) from None
        host_lock.write_holder(file, f"process {os.getpid()} on {os.uname().nodename}")
        try:
            yield file
        finally:
            host_lock.write_holder(file, "")
            os.close(file)

    def submissions(self) -> list[Submission]:
        """Those that are still of use, in their order."""
        return [Submission(path.parent) for path in sorted(self.folder.glob("[0-9]*/task.json"))]

    def parts(self) -> list[SpoolJob]:
        """The jobs whose results were not taken yet."""
        every = (part for submission in self.submissions() for part in submission.parts())
        return [part for part in every if not part.is_over()]

    def submission(
        self, plan: Plan, blocks: Sequence[Block], results: Path, through: int | None = None
    ) -> Submission:
        """A new submission, not yet known to Slurm; without blocks it checks the plan."""
        used = [int(path.name) for path in self.folder.glob("[0-9]*")]
        folder = self.folder / f"{max(used, default=0) + 1:03d}"
        unfinished = folder.with_name(f".{folder.name}")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        task = Task(
            dyno=__version__,
            name=f"dyno-{NO_NAME.sub('_', plan.name)}-{secrets.token_hex(3)}",
            plan=wire.placed(plan),
            blocks=tuple(blocks),
            results=results,
            through=through,
        )
        write_json(unfinished / "task.json", task)
        unfinished.rename(folder)
        return Submission(folder)

    def tidy(self) -> None:
        """Removes submissions of which nothing is waited for; those with logs of failures stay."""
        for submission in self.submissions():
            parts = submission.parts()
            if all(part.is_over() and not part.log.exists() for part in parts):
                shutil.rmtree(submission.folder, ignore_errors=True)

    # --- What the first job found ---

    @property
    def prepared(self) -> Path:
        """The folder of the job that checked the plan."""
        return self.folder / "prepared"

    def keep_prepared(self, start: Start) -> None:
        """Keeps what the job found about the plan of its submission."""
        write_json(start.folder / "plan.json", start.part.submission.plan)
        shutil.rmtree(self.prepared, ignore_errors=True)
        start.folder.rename(self.prepared)

    def checked(self, plan: Plan) -> CheckedPlan | None:
        """What was found about exactly this plan by this version of dyno; None: nothing yet."""
        ended, known = self.prepared / "ended.json", self.prepared / "plan.json"
        file = read_struct_if_there(ended, VersionedFile)
        if file is None or file.dyno != __version__ or not is_same(read_struct(known, Plan), plan):
            return None
        return read_struct(ended, EndedFile).checked


def is_same(kept: Plan, plan: Plan) -> bool:
    """Whether a plan that was kept is this one."""
    same: bool = plain(kept) == plain(wire.placed(plan))
    return same
