"""How results lie on disk: the only part that knows (docs/results.md describes the folder).

`file` reads and writes single files, `derived` keeps what was derived from a step. Here is where
each of them lies. Reading tolerates what an interruption leaves behind: a block without its end.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from dbdyno import change
from dbdyno.error import ResultError
from dbdyno.model import Block, Json, Plan, Step
from dbdyno.store import form, setaside, sized
from dbdyno.store.derived import Files, Shelf, code_version, files
from dbdyno.store.file import (
    REMEDY,
    Lines,
    read_json,
    read_json_if_there,
    read_lines,
    sync_folder,
    write_atomically,
    write_json,
)
from dbdyno.store.name import folders, free_name, made, safe_name
from dbdyno.store.sized import Took
from dbdyno.verdict import Sizing

__all__ = [
    "FORMAT", "BlockFolder", "BlockState", "Files", "Lines", "Results", "RunFolder", "Shelf",
    "StepFolder", "Took", "read_json", "read_lines", "safe_name", "write_json",
]  # fmt: skip

FORMAT = 1

BlockState = Literal["missing", "done", "broken"]

# --- Folders ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StepFolder:
    """What one step of one run left behind."""

    path: Path
    block: int
    arm: str
    workload: str  # the folder's name
    ordinal: int
    name: str  # the folder's name without its ordinal

    @property
    def place(self) -> str:
        """Where it lies in the result folder: `blocks/002/pg18/insert-benchmark/07-qr100`."""
        return "/".join(self.path.parts[-5:])

    def files(self) -> Files:
        """Its files: name, then size and time of change, by which a change is known."""
        return files(self.path)

    def step(self) -> Json:
        """step.json: what the step is. Raises ResultError where it is missing, as all do that
        follow where a file is damaged.
        """
        return _of_this_protocol(
            self.path / "step.json", read_json(self.path / "step.json", form.STEP)
        )

    def job(self) -> Json | None:
        """job.json: the job as dyno-loadgen got it; None where the step came not so far."""
        path = self.path / "job.json"
        job = read_json_if_there(path, form.JOB)
        return None if job is None else _of_this_protocol(path, job)

    def events(self) -> Iterator[Json]:
        """events.jsonl, line by line: what dyno-loadgen said."""
        path = self.path / "events.jsonl"
        for event in read_lines(path):
            name = event.get("event")
            _check(path, event, form.EVENTS.get(str(name), {"event": str}))
            if name == "hello":
                _of_this_protocol(path, event)
            yield event

    def host(self) -> Iterator[Json]:
        """host.jsonl, line by line: counters of the machine and of each owner."""
        path = self.path / "host.jsonl"
        for reading in read_lines(path):
            _check(path, reading, form.READING)
            yield reading

    def waits(self) -> Iterator[Json]:
        """waits.jsonl, line by line: what sessions were seen to do; none where nobody asked."""
        path = self.path / "waits.jsonl"
        for number, line in enumerate(read_lines(path)):
            kind = form.WAITS if number == 0 else form.WAITS_END if "end" in line else form.LOOK
            _check(path, line, kind)
            yield line

    def before(self) -> Json | None:
        """before.json: the database's counters and state before the step."""
        return read_json_if_there(self.path / "before.json", form.SNAPSHOT)

    def after(self) -> Json | None:
        """after.json: the same after the step."""
        return read_json_if_there(self.path / "after.json", form.SNAPSHOT)

    def done(self) -> Json | None:
        """done.json; None where the step did not end well."""
        return read_json_if_there(self.path / "done.json", form.DONE)

    def failed(self) -> Json | None:
        """failed.json; None where the step did not fail."""
        return read_json_if_there(self.path / "failed.json", form.FAILED)


def _check(path: Path, value: Json, its_form: Json) -> None:
    found = form.misfit(value, its_form)
    if found is not None:
        raise ResultError(f"{path}: {found}; {REMEDY}, or use the version of dyno that wrote it")


def _of_this_protocol(path: Path, value: Json) -> Json:
    """`value`, where it says no other protocol than the one that is read here."""
    protocol = value.get("protocol", form.PROTOCOL)
    if protocol != form.PROTOCOL:
        raise ResultError(
            f"{path}: key `protocol` is {protocol!r}, this version of dyno reads {form.PROTOCOL}; "
            "use the version of dyno that wrote it"
        )
    return value


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """One arm's run in one block."""

    path: Path
    block: int
    arm: str

    def server(self) -> Json | None:
        """server.json: facts of the server, as it ran; None where it never did."""
        return read_json_if_there(self.path / "server.json", form.SERVER)

    def golden(self) -> dict[str, Json]:
        """golden.json by workload, where a state is kept: whether the run began from a copy."""
        paths = (one / "golden.json" for one in folders(self.path))
        found = (read_json_if_there(path, form.GOLDEN) for path in paths)
        return {content["workload"]: content for content in found if content is not None}

    def steps(self) -> list[StepFolder]:
        """The steps' folders by workload and ordinal."""
        found = []
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
                found.append(step)
        return sorted(found, key=lambda step: (step.workload, step.ordinal, step.name))


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
        ended = (self.path / "done.json").exists() and not setaside.is_there(self.path)
        return "done" if ended else "broken"

    @property
    def reason(self) -> str | None:
        """Why a void block is void."""
        return setaside.reason(self.path)

    @property
    def cause(self) -> str | None:
        """Why a void block was done again by itself (`dbdyno.void.CAUSES`); None: it was not."""
        return setaside.cause(self.path)

    def disturbed(self) -> tuple[str, ...]:
        """What disturbed a complete block that counts; ResultError where done.json is damaged."""
        found = read_json_if_there(self.path / "done.json", form.BLOCK_DONE) or {}
        return tuple(found.get("disturbed", ()))

    def order(self) -> Json:
        """order.json; empty where it is not there, or damaged."""
        found = self._order()
        return found if isinstance(found, dict) else {}

    def damage(self) -> str | None:
        """Why order.json cannot be used; None where it can."""
        found = self._order()
        return found if isinstance(found, str) else None

    def _order(self) -> Json | str:
        try:
            return read_json(self.path / "order.json", form.ORDER)
        except ResultError as error:
            return str(error)

    def steps(self) -> dict[str, tuple[str, ...]] | None:
        """By workload, the only steps that the block does; None: all."""
        found = self.order().get("steps")
        return None if found is None else {name: tuple(its) for name, its in found.items()}

    def took(self) -> Took | None:
        """What the block took; None where it is not complete, or an older version did it.

        Raises ResultError where done.json is damaged.
        """
        found = read_json_if_there(self.path / "done.json", form.BLOCK_DONE)
        if found is None or "took_s" not in found:
            return None
        return Took(took_s=found["took_s"], steps_s=found["steps_s"])

    def lasted_s(self) -> float | None:
        """From its begin to its end by the wall clock; None where its files do not say both.

        Raises ResultError where done.json is damaged.
        """
        begin = self.order().get("started_unix_ns")
        end = (read_json_if_there(self.path / "done.json") or {}).get("ended_unix_ns")
        if not isinstance(begin, int) or not isinstance(end, int) or end <= begin:
            return None
        return (end - begin) / 1e9

    def arms(self) -> tuple[str, ...]:
        """The arms in the order in which the block runs them.

        Where order.json does not say it: those of the plan's arms that have a folder.
        """
        order = self.order()
        if order:
            return tuple(order["order"])
        return tuple(arm for arm in self.planned if (self.path / safe_name(arm)).is_dir())

    def runs(self) -> list[RunFolder]:
        """The runs that have a folder, in the block's order."""
        return [
            RunFolder(path=self.path / safe_name(arm), block=self.number, arm=arm)
            for arm in self.arms()
            if (self.path / safe_name(arm)).is_dir()
        ]


# --- The result folder -----------------------------------------------------------------------


@dataclass(frozen=True)
class Results:
    """The result folder of one plan."""

    folder: Path
    plan: Json

    @classmethod
    def open(cls, folder: Path) -> Results:
        """The results in `folder`. Raises ResultError in one line where it holds none."""
        if not folder.is_dir():
            raise ResultError(f"{folder}: no such folder; name a folder that `dyno run` has made")
        if not (folder / "plan.json").exists():
            inside = [item.name for item in folders(folder) if (item / "plan.json").exists()]
            hint = f"; did you mean {folder / inside[0]}?" if inside else ""
            raise ResultError(f"{folder}: is no result folder (it has no plan.json){hint}")
        plan = read_json(folder / "plan.json")
        if plan.get("format") != FORMAT:
            raise ResultError(
                f"{folder}/plan.json: key `format` is {plan.get('format')!r}, this version of dyno "
                f"reads {FORMAT}; use the version that wrote it ({plan.get('dyno', 'unknown')})"
            )
        _check(folder / "plan.json", plan, form.PLAN)
        return cls(folder, plan)

    @classmethod
    def open_or_create(cls, parent: Path, plan: Plan, plan_json: Json) -> Results:
        """The folder of `plan` in `parent`, to begin or to go on with.

        More blocks or a further arm are accepted and recorded; the plan of before is kept as
        plan.001.json. Raises ResultError naming the key for any other change.
        """
        folder = parent / plan.name
        wanted = json.loads(json.dumps({"format": FORMAT, **plan_json}, allow_nan=False))
        if not (folder / "plan.json").exists():
            return _create(folder, wanted)
        results = cls.open(folder)
        highest = max((block.number for block in results.blocks()), default=0)
        key = change.refused(results.plan, wanted, highest)
        if key is not None:
            raise ResultError(
                f"{folder}: key {key}; what was measured there belongs to that plan: "
                f"undo the change, rename the plan or choose another --out"
            )
        if not change.grown(results.plan, wanted):
            return results
        write_atomically(free_name(folder), (folder / "plan.json").read_bytes())
        write_json(folder / "plan.json", wanted)
        return cls(folder, wanted)

    def shelf(self) -> Shelf | None:
        """What was derived from steps before; None where the code that derives is not known."""
        code = code_version()
        return None if code is None else Shelf(self.folder, code)

    def write_host(self, host: Json, *, changed: bool = False) -> None:
        """Write host.json; facts of an earlier boot, or that `changed`, stay in host.001.json."""
        path = self.folder / "host.json"
        earlier = read_json_if_there(path)
        if earlier is not None and (changed or earlier.get("boot_id") != host.get("boot_id")):
            write_atomically(free_name(self.folder, "host"), path.read_bytes())
        write_json(path, host)

    def host(self) -> Json | None:
        """host.json; None where it was not written yet."""
        return read_json_if_there(self.folder / "host.json")

    def earlier_hosts(self) -> list[Json]:
        """host.001.json and so on: the facts as they were before they changed, in their order."""
        return [read_json(path) for path in sorted(self.folder.glob("host.[0-9]*.json"))]

    def keep_generator(self, found: Json) -> None:
        """Add a line to generator.jsonl: what the load generator can do on this host."""
        lines = [json.dumps(line, allow_nan=False) for line in [*self._generator(), found]]
        write_atomically(self._generator_path, "".join(f"{line}\n" for line in lines).encode())

    def generator(self) -> Json | None:
        """The last line of generator.jsonl; None where the generator was never measured."""
        found = next(reversed(self._generator()), None)
        if found is not None:
            _check(self._generator_path, found, form.GENERATOR)
        return found

    def _generator(self) -> list[Json]:
        return list(read_lines(self._generator_path))

    @property
    def _generator_path(self) -> Path:
        return self.folder / "generator.jsonl"

    def sizing(self) -> Sizing | None:
        """sizing.json: what the pilot came to; None where it is not there, or not yet.

        Raises ResultError where it is damaged.
        """
        found = read_json_if_there(self._sizing_path, form.SIZING)
        return None if found is None else sized.from_json(found)

    def keep_sizing(self, sizing: Sizing) -> None:
        """Write sizing.json, once: which blocks there are may not change afterwards."""
        assert not self._sizing_path.exists()
        write_json(self._sizing_path, sized.to_json(sizing))

    @property
    def _sizing_path(self) -> Path:
        return self.folder / "sizing.json"

    def numbers(self, plan: Plan) -> tuple[int, ...]:
        """The numbers of the blocks that the plan comprises in this folder, done or to do.

        Usually 1 to `schedule.blocks`. Blocks that were done before an arm was added lack that arm:
        they are kept for the arms they have, and others with higher numbers are done. Repeats of
        the base, which are not shown, may be missing.
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
        setaside.say(folder, reason, cause)
        tries = [block.void for block in self.blocks() if block.number == number and block.void]
        target = folder.with_name(f"{folder.name}.void{max(tries, default=0) + 1}")
        folder.rename(target)
        sync_folder(target.parent)
        return target

    def begin_block(self, block: Block, interleave: str = "run") -> Path:
        """Make the folder of a block that is missing, with its order.json."""
        folder = self._block_path(block.number)
        folder.mkdir(parents=True)
        order = {
            "block": block.number,
            "order": list(block.order),
            "seed": block.seed,
            "interleave": interleave,
            "steps": None if block.steps is None else _listed(block.steps),
            "started_unix_ns": time.time_ns(),
            "boot_id": _boot_id(),
        }
        write_json(folder / "order.json", order)
        sync_folder(folder.parent)
        return folder

    def end_block(self, number: int, took: Took | None = None, *disturbed: str) -> None:
        """Say that the block is complete: from now on it is judged, though it was `disturbed`."""
        ended = {"ended_unix_ns": time.time_ns(), **(asdict(took) if took is not None else {})}
        ended |= {"disturbed": list(disturbed)} if disturbed else {}
        write_json(self._block_path(number) / "done.json", ended)

    def run_folder(self, number: int, arm: str) -> Path:
        """The folder of an arm's run in block `number`, made where it is missing."""
        return made(self._block_path(number) / safe_name(arm))

    def write_golden(self, number: int, arm: str, workload: str, content: Json) -> None:
        """Write golden.json of a run's workload: the golden copy that it began from, or made."""
        folder = made(self.run_folder(number, arm) / safe_name(workload))
        write_json(folder / "golden.json", content)

    def step_folder(self, number: int, arm: str, step: Step) -> Path:
        """The folder of a step, such as `blocks/001/pg17/insert-benchmark/07-qr100`, made."""
        folder = self.run_folder(number, arm) / safe_name(step.workload)
        return made(folder / f"{step.ordinal:02d}-{safe_name(step.name)}")

    def blocks(self) -> list[BlockFolder]:
        """All blocks there are, by number, a number's void ones first."""
        arms = tuple(arm["name"] for arm in self.plan.get("arms", ()))
        blocks = []
        for folder in folders(self.folder / "blocks"):
            match = re.fullmatch(r"(\d{3,})(?:\.void(\d+))?", folder.name)
            if match is not None:
                void = int(match[2]) if match[2] else None
                blocks.append(
                    BlockFolder(path=folder, number=int(match[1]), void=void, planned=arms)
                )
        return sorted(blocks, key=lambda block: (block.number, block.void is None, block.void or 0))

    def _block_path(self, number: int) -> Path:
        return self.folder / "blocks" / f"{number:03d}"


def _create(folder: Path, plan: Json) -> Results:
    if folder.is_dir() and any(folder.iterdir()):
        raise ResultError(f"{folder}: is not empty and no result folder; choose another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        text = f"{folder}: cannot be made: {error.strerror}; choose another --out"
        raise ResultError(text) from error
    write_json(folder / "plan.json", plan)
    return Results(folder, plan)


def _listed(steps: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {workload: list(names) for workload, names in steps.items()}


def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
