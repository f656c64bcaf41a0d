"""A result folder: made, opened, and what is kept in it."""

from __future__ import annotations

import contextlib
import glob
import gzip
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import msgspec

from dbdyno.model import Block, Json, Plan, Step
from dbdyno.model.answer import Answers
from dbdyno.model.block_files import BlockDone, BlockDuration, Order, StepNames
from dbdyno.model.ceiling import Ceiling
from dbdyno.model.error import ResultError
from dbdyno.model.golden import GoldenUse
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.looks import Looks
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.plan_tree import PlanTrees
from dbdyno.model.suspects import CommitsBetween, CommitsFile
from dbdyno.store import checksums, continuation, disk, folder_lock, profile, void_blocks
from dbdyno.store.derived_cache import Shelf, code_version
from dbdyno.store.file import (
    UNFINISHED,
    made,
    read_format,
    read_struct,
    read_struct_if_there,
    read_structs,
    write_atomically,
    write_json,
)
from dbdyno.store.folder import (
    ANSWERS,
    PLAN_TREES,
    BlockFolder,
    BlockState,
    count_folder,
    folders,
    free_name,
    safe_name,
)

FORMAT = 1
SECONDS_PER_MINUTE = 60.0
EARLIER = re.compile(r"(.+)\.\d{3,}")
"""The name of a file of earlier facts of a host, without its ending."""


@dataclass(frozen=True)
class Results:
    """The result folder of one plan."""

    folder: Path
    plan: PlanRecord

    @classmethod
    def open(cls, folder: Path) -> Results:
        """The results in `folder`. Raises ResultError in one line where it holds none."""
        if not folder.is_dir():
            raise ResultError(f"{folder}: no such folder; name a folder that `dyno run` has made")
        if not (folder / "plan.json").exists():
            inside = [item.name for item in folders(folder) if (item / "plan.json").exists()]
            hint = f"; did you mean {folder / inside[0]}?" if inside else ""
            raise ResultError(f"{folder}: is no result folder (it has no plan.json){hint}")
        return cls(folder, read_format(folder / "plan.json", PlanRecord, FORMAT))

    @classmethod
    def begun_plan(cls, folder: Path) -> Json | None:
        """The plan.json of a folder in which a plan goes on; None where it begins."""
        return cls.open(folder).plan_json() if (folder / "plan.json").exists() else None

    def plan_json(self) -> Json:
        """plan.json with all of its keys, as it was written."""
        return read_struct(self.folder / "plan.json", Json)

    @classmethod
    def within(cls, parent: Path) -> list[Results]:
        """The results in a parent folder, by name, as far as they can be read."""
        results = []
        for folder in folders(parent):
            with contextlib.suppress(ResultError):
                results.append(cls.open(folder))
        return results

    @classmethod
    def open_or_create(cls, parent: Path, plan: Plan, plan_json: Json) -> Results:
        """The folder of `plan` in `parent`, to begin or to go on with.

        More blocks or a further arm are accepted and recorded, and any change where nothing was
        measured; the plan of before is kept as plan.001.json. Raises ResultError naming the key for
        any other change.
        """
        folder = parent / plan.name
        wanted = json.loads(json.dumps({"format": FORMAT, **plan_json}, allow_nan=False))
        if not (folder / "plan.json").exists():
            return _create(folder, wanted)
        results = cls.open(folder)
        highest = max((block.number for block in results.blocks()), default=0)
        key = continuation.refused(results.plan_json(), wanted, highest)
        if key is not None and results.measured():
            raise ResultError(
                f"{folder}: key {key}; what was measured there belongs to that plan: "
                f"undo the change, rename the plan or choose another --out"
            )
        if not continuation.grown(results.plan_json(), wanted):
            return results
        write_atomically(free_name(folder), (folder / "plan.json").read_bytes())
        write_json(folder / "plan.json", wanted)
        return cls.open(folder)

    def shelf(self, code: str | None = None) -> Shelf | None:
        """What was derived from steps before; None where the code that derives is not known.

        `code`: its version, where somebody asks many results and has it.
        """
        code = code or code_version()
        return None if code is None else Shelf(self.folder, code)

    def write_host(self, host: HostFacts, *, changed: bool = False) -> None:
        """Write host.json; facts of an earlier boot, or that `changed`, stay in host.001.json."""
        _write_facts(self.folder / "host.json", host, changed=changed)

    def host(self) -> HostFacts | None:
        """host.json; None where it was not written yet."""
        return read_struct_if_there(self.folder / "host.json", HostFacts)

    def earlier_hosts(self) -> list[HostFacts]:
        """host.001.json and so on: the facts as they were before they changed, in their order."""
        paths = sorted(self.folder.glob("host.[0-9]*.json"))
        return [read_struct(path, HostFacts) for path in paths]

    def write_host_of(self, name: str, facts: HostFacts, *, changed: bool = False) -> None:
        """Write the facts of a named host, hosts/NAME.json, as write_host does host.json.

        Facts of an earlier boot, or that `changed`, stay in hosts/NAME.001.json.
        """
        assert safe_name(name) == name, f"{name!r} is no file's name"
        _write_facts(made(self._hosts_path) / f"{name}.json", facts, changed=changed)

    def hosts(self) -> dict[str, HostFacts]:
        """The facts of each named host, by its name; none where blocks name no host.

        Raises ResultError where a file is damaged.
        """
        paths = {name: self._hosts_path / f"{name}.json" for name in self._named()}
        return {name: read_struct(path, HostFacts) for name, path in paths.items()}

    def earlier_hosts_of(self, name: str) -> list[HostFacts]:
        """The facts of a named host as they were before they changed, in their order."""
        paths = sorted(self._hosts_path.glob(f"{glob.escape(name)}.[0-9]*.json"))
        return [read_struct(path, HostFacts) for path in paths if path.stem not in self._named()]

    def _named(self) -> list[str]:
        """The named hosts. `db1.001` is what `db1` was before, unless there is no `db1`."""
        stems = {path.stem for path in self._hosts_path.glob("[!.]*.json")}
        return sorted(
            stem
            for stem in stems
            if (match := EARLIER.fullmatch(stem)) is None or match[1] not in stems
        )

    @property
    def _hosts_path(self) -> Path:
        return self.folder / "hosts"

    def earlier_plans(self) -> list[PlanRecord]:
        """plan.001.json and so on: the plan as it was before it changed, in its order."""
        paths = sorted(self.folder.glob("plan.[0-9]*.json"))
        return [read_struct(path, PlanRecord) for path in paths]

    def keep_generator(self, ceiling: Ceiling) -> None:
        """Add a line to generator.jsonl: what the load generator can do on this host."""
        lines = [*read_structs(self._generator_path, msgspec.Raw), msgspec.json.encode(ceiling)]
        write_atomically(self._generator_path, b"".join(bytes(line) + b"\n" for line in lines))

    def generator(self) -> Ceiling | None:
        """The last line of generator.jsonl; None where the generator was never measured."""
        return next(reversed(self._ceilings()), None)

    def generator_of(self, host: str) -> Ceiling | None:
        """The last line of generator.jsonl that a named host measured; None where there is none."""
        of_host = (ceiling for ceiling in reversed(self._ceilings()) if ceiling.host == host)
        return next(of_host, None)

    def _ceilings(self) -> list[Ceiling]:
        return list(read_structs(self._generator_path, Ceiling))

    @property
    def _generator_path(self) -> Path:
        return self.folder / "generator.jsonl"

    def looks(self) -> Looks | None:
        """looks.json: which looks the result has; None of one that an older version made.

        Raises ResultError where it is damaged.
        """
        return read_struct_if_there(self._looks_path, Looks)

    def settle_looks(self, plan: Plan) -> Looks:
        """The looks of the result; before its first block they are written as the plan has them.

        A folder that an older version began was looked at already: its first look is that after
        the blocks that are complete. Raises ResultError where looks.json is damaged.
        """
        begun, before = self.blocks(), self.looks()
        if before is not None and begun:
            return before
        complete, schedule = self.complete(), plan.schedule
        until_decided = schedule.until_decided and not complete
        looks = Looks(
            first=None if until_decided else complete or schedule.blocks,
            minutes_max=schedule.minutes_max if until_decided else None,
        )
        self.keep_looks(looks)
        return looks

    def end_looks(self, last: int) -> Looks:
        """Say in looks.json that the time was over after this block, once and for good."""
        looks = self.looks()
        assert looks is not None and looks.last is None
        ended = replace(looks, last=last)
        self.keep_looks(ended)
        return ended

    def keep_looks(self, looks: Looks) -> None:
        """Write looks.json, before the first block; afterwards only `last` may change."""
        before = self.looks()
        assert before is None or not self.blocks() or replace(before, last=looks.last) == looks
        write_json(self._looks_path, looks)

    @property
    def _looks_path(self) -> Path:
        return self.folder / "looks.json"

    def commits(self) -> tuple[CommitsBetween, ...]:
        """commits.json.gz: the commits between builds of arms. Raises ResultError if damaged."""
        file = read_struct_if_there(self._commits_path, CommitsFile)
        return () if file is None else file.between

    def keep_commits(self, between: Sequence[CommitsBetween]) -> None:
        """Write commits.json.gz, before the first block of the arms that it tells of."""
        text = msgspec.json.encode(CommitsFile(between=tuple(between)))
        write_atomically(self._commits_path, gzip.compress(text, mtime=0))

    @property
    def _commits_path(self) -> Path:
        return self.folder / "commits.json.gz"

    def beside(self) -> list[Results]:
        """The other results in the same parent folder, by name, as far as they can be read."""
        others = Results.within(self.folder.parent)
        return [other for other in others if other.folder.name != self.folder.name]

    def numbers(self, plan: Plan) -> tuple[int, ...]:
        """The numbers of the blocks that the plan comprises in this folder, done or to do.

        Usually 1 to `schedule.blocks`. Blocks that were done before an arm was added lack that arm:
        they are kept for the arms they have, and others with higher numbers are done. A/A arms
        that are not shown may be missing.
        """
        wanted = {arm.name for arm in plan.arms if arm.shown}
        short = {
            block.number
            for block in self.blocks()
            if block.state == "done" and not wanted <= set(block.arms())
        }
        candidates = range(1, plan.schedule.blocks + len(short) + 1)
        return tuple([n for n in candidates if n not in short][: plan.schedule.blocks])

    def block_state(self, number: int) -> BlockState:
        """Whether block `number` is to be done, done, or was broken off (then void it first)."""
        folder = self._block_path(number)
        if not folder.exists():
            return "missing"
        state = BlockFolder(path=folder, number=number, void=None).state
        return "done" if state == "done" else "broken"

    def void_block(self, number: int, reason: str, cause: str | None = None) -> Path:
        """Set block `number` aside as NNN.voidK with the reason: kept and shown, not judged.

        `cause`: why it is done again by itself, by a word.
        """
        folder = self._block_path(number)
        void_blocks.say(folder, reason, cause)
        tries = [block.void for block in self.blocks() if block.number == number and block.void]
        target = folder.with_name(f"{folder.name}.void{max(tries, default=0) + 1}")
        disk.rename(folder, target)
        disk.sync_path(target.parent)
        return target

    def begin_block(
        self,
        block: Block,
        interleave: str = "run",
        sweeps: Mapping[str, StepNames] | None = None,
        *,
        passes: StepNames | None = None,
        host: str | None = None,
    ) -> Path:
        """Make the folder of a block that is missing, with its order.json.

        `sweeps`: by workload and sweep its steps, in the order in which they are gone through.
        `passes`: by workload, as the block goes through them, the order of the arms.
        `host`: the name of the host that measures all of it; None: this one, or several.
        """
        folder = self._block_path(block.number)
        made(folder.parent)
        disk.make_folder(folder)
        disk.sync_path(folder.parent)
        order = Order(
            block=block.number,
            order=block.order,
            seed=block.seed,
            interleave=interleave,
            steps=block.steps,
            sweeps=sweeps or {},
            passes=passes if passes and len(passes) > 1 else {},
            host=host,
            dyno=metadata.version("dbdyno"),
            aims=self.plan.verdict,
            looks=self.looks() if host is None else None,
            started_unix_ns=time.time_ns(),
            boot_id=_boot_id(),
        )
        write_json(folder / "order.json", order)
        return folder

    def end_block(self, number: int, took: BlockDuration | None = None, *disturbed: str) -> None:
        """Say that the block is complete: from now on it is judged, though it was `disturbed`.

        Its done.json has the checksums of all its other files, and nobody may write them any more.
        """
        folder = self._block_path(number)
        done = BlockDone(
            ended_unix_ns=time.time_ns(),
            took_s=None if took is None else took.took_s,
            steps_s={} if took is None else took.steps_s,
            disturbed=disturbed,
            sha256=checksums.of_block(folder),
        )
        write_json(folder / checksums.DONE, done)
        checksums.protect(folder)

    def run_folder(self, number: int, arm: str) -> Path:
        """The folder of an arm's run in block `number`, made where it is missing."""
        return made(self._block_path(number) / safe_name(arm))

    def extra_run_folder(self, number: int, arm: str) -> Path:
        """The folder of the run by which an arm's steps are profiled after the judged ones."""
        return made(self.run_folder(number, arm) / "log" / profile.FOLDER)

    def write_golden(self, number: int, arm: str, use: GoldenUse) -> None:
        """Write golden.json of a run's workload: the golden copy that it began from, or made."""
        folder = made(self.run_folder(number, arm) / safe_name(use.workload))
        write_json(folder / "golden.json", use)

    def write_answers(self, number: int, arm: str, answers: Answers) -> None:
        """Write answers.json of a run's workload: what an application's queries answered."""
        folder = made(self.run_folder(number, arm) / safe_name(answers.workload))
        write_json(folder / ANSWERS, answers)

    def write_plan_trees(self, number: int, arm: str, trees: PlanTrees) -> None:
        """Write plan_trees.json of a run's workload: the plans of an application's queries."""
        folder = made(self.run_folder(number, arm) / safe_name(trees.workload))
        write_json(folder / PLAN_TREES, trees)

    def step_folder(self, number: int, arm: str, step: Step) -> Path:
        """The folder of a step, such as `blocks/001/pg17/insert-benchmark/07-qr100`, made."""
        folder = self.run_folder(number, arm) / safe_name(step.workload)
        return made(folder / f"{step.ordinal:02d}-{safe_name(step.name)}")

    def blocks(self) -> list[BlockFolder]:
        """All blocks there are, by number, a number's void ones first."""
        arms = tuple(arm.name for arm in self.plan.arms)
        blocks = []
        for folder in folders(self.folder / "blocks"):
            match = re.fullmatch(r"(\d{3,})(?:\.void(\d+))?", folder.name)
            if match is not None:
                void = int(match[2]) if match[2] else None
                blocks.append(
                    BlockFolder(path=folder, number=int(match[1]), void=void, planned=arms)
                )
        return sorted(blocks, key=lambda block: (block.number, block.void is None, block.void or 0))

    def minutes(self) -> tuple[float, ...]:
        """What each complete block took, by its number. Raises ResultError."""
        done = [block for block in self.blocks() if block.state == "done"]
        return tuple(block.duration().took_s / SECONDS_PER_MINUTE for block in done)

    def failed_steps(self) -> int:
        """How many steps of complete blocks failed or were skipped, whichever command ran them.

        Counted ones, too.
        """
        failed = sum(block.failed_steps() for block in self.blocks() if block.state == "done")
        counts = count_folder(self.folder)
        return failed + sum(part.failed_steps() for part in Results.within(counts))

    def measured(self) -> bool:
        """Whether a block of it is complete, or a block of its counts."""
        parts = [self, *Results.within(count_folder(self.folder))]
        return any(block.state == "done" for part in parts for block in part.blocks())

    def complete(self) -> int:
        """How many blocks are complete from the first on, with none missing between."""
        done = {block.number for block in self.blocks() if block.state == "done"}
        return next(count for count in range(len(done) + 1) if count + 1 not in done)

    def _block_path(self, number: int) -> Path:
        return self.folder / "blocks" / f"{number:03d}"


def _create(folder: Path, plan: Json) -> Results:
    names = [item.name for item in folder.iterdir()] if folder.is_dir() else []
    if any(name != folder_lock.FILE and not UNFINISHED.fullmatch(name) for name in names):
        raise ResultError(f"{folder}: is not empty and no result folder; choose another --out")
    try:
        made(folder)
    except OSError as error:
        text = f"{folder}: cannot be made: {error.strerror}; choose another --out"
        raise ResultError(text) from error
    write_json(folder / "plan.json", plan)
    return Results.open(folder)


def _write_facts(path: Path, facts: HostFacts, *, changed: bool) -> None:
    """Write a host's facts; those of an earlier boot, or that `changed`, stay as NAME.001.json."""
    earlier = read_struct_if_there(path, HostFacts)
    if earlier is not None and (changed or earlier.boot_id != facts.boot_id):
        write_atomically(free_name(path.parent, path.stem), path.read_bytes())
    write_json(path, facts)


def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
