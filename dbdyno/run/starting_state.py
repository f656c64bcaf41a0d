"""The state that a run begins from: an empty server, or a golden copy of an earlier run.

A workload's use may say `save = "post-STEP"`. The first run of an arm goes through all steps and
its data directory is kept after that step; later runs begin with a copy of it and do the steps that
follow. The key of a copy is made of what determines its content, so another plan with the same
beginning finds it, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import structs

from dbdyno import engine
from dbdyno.engine import Server, golden
from dbdyno.engine.golden_copy import Copy, CopyOrigin
from dbdyno.engine.restore import restored_bytes
from dbdyno.host import place
from dbdyno.model import Json, Plan, Step, WorkloadUse
from dbdyno.model.golden import GoldenUse, RestoreSummary
from dbdyno.model.job import Job
from dbdyno.plan import schedule
from dbdyno.plan.schedule import SAVE
from dbdyno.run.driver import registry
from dbdyno.store import Results

COPY_BYTES_PER_S = 150e6
"""A guess for the progress bar and `dyno check`: reading and writing on one disk."""
CHANGES_ROWS = re.compile(r"\s*(INSERT|UPDATE|DELETE|MERGE|COPY|TRUNCATE)\b", re.IGNORECASE)
VACUUMS = re.compile(r"\s*VACUUM\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class StartingPoint:
    """The step of a workload after which an arm's data directory is kept, and under which key.

    Of each fill of an arm there is one.
    """

    step: Step
    fill: int  # its number, from 1
    seed: int  # of the steps up to it, in every block of this fill: copies have one content
    parts: Json
    writes_after: bool  # whether any later step writes

    @property
    def key(self) -> str:
        """The key of the golden copy."""
        return golden.key_of(self.parts)

    def before(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """The steps up to this point, with the one that it follows."""
        return tuple(step for step in steps if step.ordinal <= self.step.ordinal)

    def after(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """The steps that follow."""
        return tuple(step for step in steps if step.ordinal > self.step.ordinal)


def points(
    plan: Plan, use: WorkloadUse, steps: Sequence[Step], server: Server
) -> tuple[StartingPoint, ...]:
    """Where `server`'s data are kept in this workload, whose use has a `save`: of each fill.

    The first fill has the key that it would have alone. An A/A arm that is shown has
    fills of its own; hidden ones are the base once more, and share its copies. Where fills are
    alike, arms whose servers can go on with the same files have one key.
    """
    assert use.save is not None and server.keeper is not None
    alike, keeper = plan.schedule.fills_alike, server.keeper
    saved = next(step for step in steps if step.name == use.save.removeprefix(SAVE))
    restored = saved.job.restore is not None
    shared: Json = (
        of_dump(saved, server)
        if restored
        else {
            "server": keeper.data_form if alike else keeper.identity,
            "steps": [
                {
                    "name": s.name,
                    "setup": list(s.setup),
                    "job": msgspec.json.decode(msgspec.json.encode(lasting(s.job))),  # with lists
                    "pad_to_s": s.pad_to_s,
                }
                | ({} if (version := registry.of(s).version(s)) is None else {"version": version})
                for s in steps
                if s.ordinal <= saved.ordinal
            ],
        }
    )
    arm = next(arm for arm in plan.arms if arm.name == server.name)
    if arm.same_as is not None and arm.shown:
        shared |= {"ghost": arm.name}
    writes = any(step.writes for step in steps if step.ordinal > saved.ordinal)
    points = []
    for fill in range(1, plan.schedule.fills + 1):
        # Its first block has the seed that all of its blocks have in these steps.
        seed = schedule.block(plan, 1 if alike else fill).seed
        parts = shared | ({} if restored else {"seed": seed})
        parts |= {"fill": fill} if fill > 1 else {}
        points.append(
            StartingPoint(step=saved, fill=fill, seed=seed, parts=parts, writes_after=writes)
        )
    return tuple(points)


def of_dump(step: Step, server: Server) -> Json:
    """All that determines the data which a dump becomes: so time and counts begin from one copy.

    Of the server's settings only those that shape data, without what holds counted work still.
    """
    assert server.keeper is not None and step.job.restore is not None
    still = engine.of(server.engine).counting.settings
    shaping = server.keeper.data_form.pop("shaping").items()
    return {
        "server": server.keeper.identity
        | {"settings": {name: value for name, value in shaping if name not in still}},
        "dump": registry.of(step).version(step),
        "statistics": step.job.restore.statistics,
    }


def lasting(job: Job) -> Job:
    """The part of a job that determines data: what gives rows is what its driver tells of it."""
    fills = tuple(
        fill
        if (source := fill.source) is None
        else structs.replace(fill, source=structs.replace(source, folder="", remedy=""))
        for fill in job.fills
    )
    job = structs.replace(job, fills=fills)
    return job if job.restore is None else structs.replace(job, workload="", restore=None)


def data_root(plan: Plan) -> Path:
    """The folder in which the plan's arms and golden copies lie."""
    return plan.data_dir or place.data_root()


def find(plan: Plan, at: StartingPoint) -> Copy | None:
    """The golden copy of a point; None where there is none yet. Raises ServerError: it is bad."""
    return golden.find(data_root(plan), at.key)


def usable(copy: Copy | None, results: Results) -> Copy | None:
    """The copy, where a run of these results may begin from it.

    One that was made in a block of theirs which was broken off may not: the steps before it would
    then be in no block that is judged.
    """
    if copy is None:
        return None
    makers = [b for b in results.blocks() if b.begun_unix_ns == copy.facts.block_begun_unix_ns]
    return copy if all(block.state == "done" for block in makers) else None


def restore_s(dump: Path, root: Path) -> float:
    """A guess of the seconds that a dump takes, by its size and what restores here have taken."""
    return restored_bytes(dump) / golden.restored_per_s(root)


def origin(step: Step, results: Results, number: int, took_s: float) -> CopyOrigin:
    """The step after which a copy is made, which took so long, and the block that makes it."""
    restore = step.job.restore
    per_s = None if restore is None else restored_bytes(Path(restore.path)) / took_s
    (block,) = [b for b in results.blocks() if b.number == number and b.void is None]
    return CopyOrigin(
        workload=step.workload,
        step=step.name,
        block_begun_unix_ns=block.begun_unix_ns,
        restored_per_s=per_s,
    )


def report(results: Results, folder: Path) -> RestoreSummary | None:
    """What the restore in `folder` told at its end; None of any other step."""
    steps = (step for block in results.blocks() for run in block.runs() for step in run.steps())
    return next((step.restored() for step in steps if step.path == folder), None)


def golden_use(copy: Copy, at: StartingPoint, *, began: bool, restarted: bool = False) -> GoldenUse:
    """golden.json of a run: whether it `began` from the copy, or made it; how it began."""
    return GoldenUse(
        began=began,
        fill=at.fill,
        workload=at.step.workload,
        step=at.step.name,
        step_ordinal=at.step.ordinal,
        key=copy.key,
        made_unix_ns=copy.facts.made_unix_ns,
        bytes=copy.facts.bytes,
        restarted=restarted,
        report=copy.facts.report,
    )


def copy_s(size: int) -> float:
    """A guess of the seconds that a copy of so many bytes takes."""
    return size / COPY_BYTES_PER_S


def not_vacuumed(steps: Sequence[Step]) -> bool:
    """Whether rows were changed after the last VACUUM of these steps, or within its step."""
    dirty = False
    for step in steps:
        written = [*step.setup, *(sql for fill in step.job.fills for sql in fill.after)]
        written += [statement.beginning for statement in step.job.statements]
        if any(VACUUMS.match(sql) for sql in written):
            dirty = False
        elif step.job.fills:
            dirty = True
        dirty = dirty or any(CHANGES_ROWS.match(sql) for sql in written)
    return dirty


def described(copy: Copy) -> str:
    """A copy for the person who watches."""
    return f"golden copy {copy.key} of {golden.made(copy.facts)}, after {copy.facts.step}"
