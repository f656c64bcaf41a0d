"""The folders of a result folder, their names, and what each of them has."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from msgspec import ValidationError, convert

from dbdyno.model import Json, events, wait_samples
from dbdyno.model.answer import Answers
from dbdyno.model.block_files import BlockDone, BlockDuration, Order, StepNames
from dbdyno.model.count import Count
from dbdyno.model.error import ResultError
from dbdyno.model.golden import GoldenUse, RestoreSummary
from dbdyno.model.host_reading import HostReading
from dbdyno.model.job import Job
from dbdyno.model.plan_tree import PlanTrees
from dbdyno.model.profile import NoProfile, ProfileFile, Stack
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.snapshot import Snapshot
from dbdyno.model.standby_lag import StandbyLag
from dbdyno.model.step_files import StepDone, StepFailure, StepRecord
from dbdyno.model.wait_samples import WaitLook, WaitsBegin, WaitsEnd
from dbdyno.store import checksums, profile, void_blocks
from dbdyno.store.checksums import Checksums
from dbdyno.store.derived_cache import Files, files
from dbdyno.store.file import decoded_lines, read_struct, read_struct_if_there, read_structs

BlockState = Literal["missing", "done", "broken"]


@dataclass(frozen=True, kw_only=True)
class StepFolder:
    """The files of one step of one run."""

    path: Path
    block: int
    arm: str
    workload: str  # the folder's name
    ordinal: int
    name: str  # the folder's name without its ordinal

    @property
    def place(self) -> str:
        """Where it lies in the result folder: `blocks/002/pg18/insert-benchmark/07-qr100`."""
        return "/".join(self.path.parts[-6 if self.path.name == profile.FOLDER else -5 :])

    @property
    def block_path(self) -> Path:
        """The folder of its block."""
        return self.path.parents[3 if self.path.name == profile.FOLDER else 2]

    def checksums_of(self, of_block: Checksums) -> dict[str, str]:
        """Those of a block's checksums that are of its files, by their names in its folder."""
        start = f"{self.path.relative_to(self.block_path)}/"
        return {
            name.removeprefix(start): checksum
            for name, checksum in of_block.items()
            if name.startswith(start)
        }

    def files(self) -> Files:
        """Its files: name, then size and time of change, by which a change is known."""
        return files(self.path)

    def is_over(self) -> bool:
        """Whether the step has ended, well or not."""
        return any((self.path / name).exists() for name in ("done.json", "failed.json"))

    def begun_ns(self) -> int:
        """When its first file was written, as Unix time; 0 where it has none yet."""
        return min((changed for _, changed in self.files().values()), default=0)

    def step(self) -> StepRecord:
        """step.json: what the step is. Raises ResultError where it is missing, as all do that
        follow where a file is damaged.
        """
        path = self.path / "step.json"
        step = read_struct(path, StepRecord)
        refuse_other_protocol(path, step.protocol)
        return step

    def job(self) -> Job | None:
        """job.json: the job as dyno-loadgen got it; None where the step came not so far."""
        path = self.path / "job.json"
        job = read_struct_if_there(path, Job)
        if job is not None:
            refuse_other_protocol(path, job.protocol)
        return job

    def job_as_written(self) -> Json | None:
        """job.json with keys that only newer versions know: by all of them works are the same."""
        return read_struct_if_there(self.path / "job.json", Json)

    def events(self) -> Iterator[events.AnyEvent | events.UnknownContent]:
        """events.jsonl, line by line: what the load said, and what only newer versions know."""
        path = self.path / "events.jsonl"
        for line in decoded_lines(path, events.read):
            for event in line:
                if isinstance(event, events.HelloEvent):
                    refuse_other_protocol(path, event.protocol)
                yield event

    def restored(self) -> RestoreSummary | None:
        """What a restore told as its last event; None where the step is none, or did not end."""
        job = self.job()
        if job is None or job.restore is None:
            return None
        reports = (event.report for event in self.events() if isinstance(event, events.DoneEvent))
        try:
            return next(
                (convert(report, RestoreSummary) for report in reports if report is not None), None
            )
        except ValidationError as error:
            path = self.path / "events.jsonl"
            raise ResultError(f"{path}: the report of the restore is damaged: {error}") from None

    def host(self) -> Iterator[HostReading]:
        """host.jsonl, line by line: counters of the machine and of each owner.

        Raises ResultError of one that an older dyno wrote.
        """
        for reading in read_structs(self.path / "host.jsonl", HostReading):
            if reading.owners and not reading.led:
                raise ResultError(
                    f"{self.path}/host.jsonl: an older dyno wrote it, which did not know whose CPU "
                    "parallel workers take; measure the step again for the figures of the host"
                )
            yield reading

    def waits(self) -> Iterator[WaitsBegin | WaitLook | WaitsEnd]:
        """waits.jsonl, line by line: what sessions were seen to do; none where nobody asked."""
        return decoded_lines(self.path / "waits.jsonl", wait_samples.read)

    def lag(self) -> Iterator[StandbyLag]:
        """lag.jsonl, line by line: how far standbys were behind; none without standbys."""
        return read_structs(self.path / "lag.jsonl", StandbyLag)

    def before(self) -> Snapshot | None:
        """before.json: the database's counters and state before the step."""
        return read_struct_if_there(self.path / "before.json", Snapshot)

    def after(self) -> Snapshot | None:
        """after.json: the same after the step."""
        return read_struct_if_there(self.path / "after.json", Snapshot)

    def done(self) -> StepDone | None:
        """done.json; None where the step did not end well."""
        return read_struct_if_there(self.path / "done.json", StepDone)

    def failed(self) -> StepFailure | None:
        """failed.json; None where the step did not fail."""
        return read_struct_if_there(self.path / "failed.json", StepFailure)

    def count(self) -> Count | None:
        """count.json; None where the step's work was not counted."""
        return read_struct_if_there(self.path / "count.json", Count)

    def profile(self) -> StepFolder | None:
        """The unjudged repetition of the step that was profiled; None where there is none."""
        path = self.path / profile.FOLDER
        return replace(self, path=path) if path.is_dir() else None

    def profiled(self) -> ProfileFile | NoProfile | None:
        """profile.json of such a repetition: how it was sampled; None of any other folder."""
        path = self.path / profile.FACTS
        failed = read_struct_if_there(path, NoProfile)
        return read_struct(path, ProfileFile) if failed and failed.failure is None else failed

    def stacks(self) -> Mapping[Stack, int]:
        """How often each call stack was seen; nothing where nothing was sampled."""
        return profile.read_stacks(self.path / profile.STACKS)


def refuse_other_protocol(path: Path, protocol: int) -> None:
    """Raises ResultError where a file is of another protocol than the one that is read here."""
    if protocol != events.PROTOCOL:
        raise ResultError(
            f"{path}: key `protocol` is {protocol!r}, this version of dyno reads "
            f"{events.PROTOCOL}; use the version of dyno that wrote it"
        )


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """One arm's run in one block."""

    path: Path
    block: int
    arm: str

    def server(self) -> ServerFacts | None:
        """server.json: facts of the server, as it ran; None where it never did."""
        return read_struct_if_there(self.path / "server.json", ServerFacts)

    def golden(self) -> dict[str, GoldenUse]:
        """golden.json by workload, where a state is kept: whether the run began from a copy."""
        paths = (folder / "golden.json" for folder in folders(self.path))
        uses = (read_struct_if_there(path, GoldenUse) for path in paths)
        return {use.workload: use for use in uses if use is not None}

    def answers(self) -> list[Answers]:
        """answers.json of each workload that is an application; none in later blocks."""
        paths = (folder / ANSWERS for folder in folders(self.path))
        files = (read_struct_if_there(path, Answers) for path in paths)
        return [answers for answers in files if answers is not None]

    def plan_trees(self) -> list[PlanTrees]:
        """plan_trees.json of each workload that is an application; none in later blocks."""
        paths = (folder / PLAN_TREES for folder in folders(self.path))
        files = (read_struct_if_there(path, PlanTrees) for path in paths)
        return [trees for trees in files if trees is not None]

    def steps(self) -> list[StepFolder]:
        """The steps' folders by workload and ordinal."""
        steps = []
        for workload in folders(self.path):
            for folder in folders(workload):
                if (match := re.fullmatch(r"(\d{2,})-(.+)", folder.name)) is None:
                    continue
                step = StepFolder(
                    path=folder,
                    block=self.block,
                    arm=self.arm,
                    workload=workload.name,
                    ordinal=int(match[1]),
                    name=match[2],
                )
                steps.append(step)
        return sorted(steps, key=lambda step: (step.workload, step.ordinal, step.name))


@dataclass(frozen=True, kw_only=True)
class BlockFolder:
    """One block as it lies on disk."""

    path: Path
    number: int
    void: int | None  # 1 for the first void try of this number, and so on; None: not void
    planned: tuple[str, ...] = ()  # the plan's arms

    @property
    def name(self) -> str:
        """`block 3`, or `block 3 (void 1)`."""
        return f"block {self.number}" + (f" (void {self.void})" if self.void else "")

    @property
    def state(self) -> Literal["done", "broken", "void"]:
        """`done`: complete and to be judged; `broken`: begun and not ended; `void`: set aside."""
        if self.void is not None:
            return "void"
        ended = (self.path / "done.json").exists() and not void_blocks.is_there(self.path)
        return "done" if ended else "broken"

    @property
    def reason(self) -> str | None:
        """Why a void block is void."""
        return void_blocks.reason(self.path)

    @property
    def cause(self) -> str | None:
        """Why a void block was done again by itself (CAUSES of run.void); None: it was not."""
        return void_blocks.cause(self.path)

    def disturbed(self) -> tuple[str, ...]:
        """What disturbed a complete block that counts; ResultError where done.json is damaged."""
        done = self.done()
        return () if done is None else done.disturbed

    def done(self) -> BlockDone | None:
        """done.json; None where there is none. Raises ResultError where it is damaged."""
        return read_struct_if_there(self.path / checksums.DONE, BlockDone)

    def order(self) -> Order | None:
        """order.json; None where it is not there, or damaged."""
        order = self._order()
        return order if isinstance(order, Order) else None

    def damage(self) -> str | None:
        """Why order.json cannot be used; None where it can."""
        order = self._order()
        return order if isinstance(order, str) else None

    def _order(self) -> Order | str:
        try:
            return read_struct(self.path / "order.json", Order)
        except ResultError as error:
            return str(error)

    @property
    def begun_unix_ns(self) -> int | None:
        """When it was begun, by which it is known; None where order.json does not say so."""
        order = self.order()
        return None if order is None else order.started_unix_ns

    @property
    def host(self) -> str | None:
        """The name of the host that measured all of it; None: the one of host.json, or several."""
        order = self.order()
        return None if order is None else order.host

    def checksums(self) -> Checksums | None:
        """What its files had when it ended; None of an incomplete one, or an older version's."""
        return checksums.read(self.path)

    def steps(self) -> StepNames | None:
        """By workload, the only steps that the block does; None: all."""
        order = self.order()
        return None if order is None else order.steps

    def took(self) -> BlockDuration | None:
        """The block's duration; None if incomplete or of an older version.

        Raises ResultError where done.json is damaged.
        """
        done = self.done()
        if done is None or done.took_s is None:
            return None
        return BlockDuration(took_s=done.took_s, steps_s=done.steps_s)

    def duration(self) -> BlockDuration:
        """The complete block's duration. Raises ResultError if done.json lacks it."""
        took = self.took()
        if took is None:
            raise ResultError(
                f"{self.path}/done.json: key `took_s` is missing; restore it from a copy"
            )
        return took

    def lasted_s(self) -> float | None:
        """From its begin to its end by the wall clock; None where its files do not say both.

        Raises ResultError where done.json is damaged.
        """
        begin, done = self.begun_unix_ns, self.done()
        end = None if done is None else done.ended_unix_ns
        return None if begin is None or end is None or end <= begin else (end - begin) / 1e9

    def failed_steps(self) -> int:
        """How many steps failed or were skipped. Raises ResultError where a file is damaged."""
        return sum(step.failed() is not None for run in self.runs() for step in run.steps())

    def arms(self) -> tuple[str, ...]:
        """The arms in the order in which the block runs them.

        Where order.json does not say it: those of the plan's arms that have a folder.
        """
        order = self.order()
        if order is not None:
            return order.order
        return tuple(arm for arm in self.planned if (self.path / safe_name(arm)).is_dir())

    def passes(self) -> StepNames:
        """By workload, as the block went through them, the arms in its order.

        Empty where all have that of the block: there is one workload, or an older version ran it.
        """
        order = self.order()
        return {} if order is None else order.passes

    def runs(self) -> list[RunFolder]:
        """The runs that have a folder, in the block's order."""
        return [
            RunFolder(path=self.path / safe_name(arm), block=self.number, arm=arm)
            for arm in self.arms()
            if (self.path / safe_name(arm)).is_dir()
        ]


ANSWERS, PLAN_TREES = "answers.json", "plan_trees.json"
COUNT = "count"
"""The folder of a plan's pass of counts, in its result folder."""


def count_folder(folder: Path) -> Path:
    """Where a result's pass of counts lies: a result folder for each of its parts."""
    return folder / COUNT


def safe_name(name: str) -> str:
    """`name` as a folder's name: unsafe characters become `_`, a hash keeps such names apart."""
    safe = re.sub(r"[^A-Za-z0-9._@=,+-]", "_", name)
    if safe == name and name and not name.startswith("."):
        return name
    return f"{safe.lstrip('.')[:80] or '_'}.{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def free_name(folder: Path, stem: str = "plan") -> Path:
    """The first of plan.001.json, plan.002.json … that is not taken."""
    number = 1
    while (path := folder / f"{stem}.{number:03d}.json").exists():
        number += 1
    return path


def folders(path: Path) -> list[Path]:
    """The folders in `path` by name, without hidden ones; none where it is none."""
    if not path.is_dir():
        return []
    return sorted(item for item in path.iterdir() if item.is_dir() and item.name[0] != ".")
