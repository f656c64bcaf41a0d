"""The plan of a race as TOML, with comments by which a person edits and repeats it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdyno import workload
from dbdyno.model import Plan, WorkloadUse
from dbdyno.model.answer import EXPECTED_S
from dbdyno.model.error import PlanError
from dbdyno.model.own_query import Application
from dbdyno.model.placement import SessionPlacement
from dbdyno.model.plan import LENGTH
from dbdyno.model.size import Capacity
from dbdyno.plan.race import counts
from dbdyno.plan.race.arm import RaceArm, named
from dbdyno.plan.race.course import DEFAULT, Course, course, steps_of
from dbdyno.plan.race.sizes import (
    LENGTHS,
    RUN_S,
    Sizes,
    counted,
    counted_rows,
    fills,
    fitting,
    query_times,
    run_s,
    seconds,
)
from dbdyno.plan.schedule import SAVE
from dbdyno.workload import mixes
from dbdyno.workload.queries import ANSWERS, MIX

MADE_BY = "# Made by: "
"""The beginning of the first line of a race's plan; the command follows."""
WHOLE_S = 120.0
"""One arm's time from which a workload of many steps keeps more of its rates."""
REPEATS_FROM = 20.0
"""Minutes from which a disturbed block is done again; in shorter races it counts, and is named."""
REPORT_S = 10.0
"""The seconds of a race around what `minutes_max` limits: checks before, the report after."""
LONG = 10.0
"""Minutes from which a step has a second of warm-up; before that a quarter of one."""
SPARE_CORES = 4
"""With fewer of them the arms have no processors to spare, and turns are shorter."""
SHORT_TURN_S = 0.5
QUERY_TURN_S, QUERY_WARMUP_S = 0.3, 0.1
MINUTES_LEAST = 0.1
NAME_MAX = 60


@dataclass(frozen=True, kw_only=True)
class Race:
    """The race that is asked for."""

    command: str | None  # that repeats it; None: it was asked by `dyno init`
    arms: tuple[RaceArm, ...]
    minutes: float
    workload: str | None = None  # None: DEFAULT, or scripts
    steps: tuple[str, ...] = ()
    pgbench: tuple[str, ...] = ()
    blocks: int | None = None  # no race, but a test of so many blocks; None: until decided
    processor: int | None = None  # that one client and the server share; None: as the host likes
    count: bool = False  # whether work is counted, and no time is measured
    counter: bool = False  # whether work can be counted here
    counted: bool = False  # whether it was already, so that the race is of time alone
    restore: str | None = None  # the dump that makes the data, a path from the root on
    restore_s: float = 0.0  # a guess of what that takes on each arm
    tolerate: float | None = None  # the loss beyond which each is to be excluded, a share
    seed: int = 1
    repeats: int | None = None  # of counts alone; None: the plan's usual
    operations: int | None = None  # of each step in counts alone; None: by its rate
    restart: bool = True  # whether later blocks restart servers on the same data where they can

    @property
    def counts_beside(self) -> bool:
        """Whether work can be counted beside time."""
        wanted = self.counter and not (self.counted or self.answers) and self.blocks is None
        return wanted and counts.countable(self.arms)

    def timed_minutes(self, application: Application) -> float:
        """The minutes that are left for counts and time once data and answers are there."""
        of_arm_s = RUN_S + self.restore_s + EXPECTED_S * len(application.queries)
        return max(MINUTES_LEAST, self.minutes - len(self.arms) * of_arm_s / 60)

    @property
    def answers(self) -> bool:
        """Whether queries are asked for their answers and plans, and nothing is timed."""
        return self.steps == (ANSWERS,)


def name_of(arms: Sequence[RaceArm], *, count: bool = False) -> str:
    """The name of the plan and its results: race-pg17-pg18, or count-pg17-pg18."""
    what = "count" if count else "race"
    return named(f"{what}-" + "-".join(arm.name for arm in arms), NAME_MAX)


def text_of(race: Race, plan: Path, host: Capacity) -> str:
    """The plan. `plan`: the file that it is for. Raises WorkloadError."""
    use = use_of(race)
    loaded = workload.used(use, plan)
    names = loaded.file.parameters
    sizes = fitting(names, len(race.arms), race.minutes, host)
    if race.count:
        sizes = counted(sizes)
    parameters = parameters_of(names, sizes, race)
    own = loaded.application
    named = {"top": len(own.queries)} if own is not None and race.steps else {}
    way = course(replace(use, parameters={**parameters, **named}), race.arms, plan)
    if not way.writes:
        parameters.pop("write_seconds", None)
    chosen = way.interleave == "turn" and race.blocks is None
    open_ones = (LENGTH,) if chosen else ()
    lengths = [name for name in LENGTHS if name in names and name not in open_ones]
    parameters |= dict.fromkeys(lengths, lasting(race, way))
    if race.answers:
        parameters = {}
    elif own is not None:
        parameters |= (of_own := of_queries(race, own))
        own = replace(own, queries=own.queries[: of_own["top"]])
    filled = 1
    restores = race.restore is not None
    if way.save is not None and race.blocks is None and not race.count and not restores:
        restarts = race.restart and not way.writes
        filled = fills(race.minutes, len(race.arms), way.filling_s, restarts=restarts)
    lines = [
        *heading(race, plan),
        *(line for arm in race.arms for line in of_arm(arm, sizes)),
        *of_workload(race, use, way, filled),
        *of_parameters(parameters),
        *of_placement(race),
        *of_schedule(race, way, host, filled, own=own is not None),
        *of_count(race, way, own, sizes),
        *of_tolerance(race),
    ]
    return "\n".join(lines) + "\n"


def use_of(race: Race) -> WorkloadUse:
    """The workload as the plan uses it."""
    if race.pgbench:
        scripts = {mixes.STEP: race.pgbench}
        return WorkloadUse(name=mixes.WORKLOAD, scripts=scripts, steps=(mixes.STEP,))
    name = race.workload or DEFAULT
    return WorkloadUse(
        name=name,
        steps=race.steps or steps_of(name, race.minutes, len(race.arms)) or None,
        restore=None if race.restore is None else Path(race.restore),
    )


# --- Values ----------------------------------------------------------------------------------


def parameters_of(names: Mapping[str, object], sizes: Sizes, race: Race) -> dict[str, object]:
    """The parameters of the workload that a race sets, as far as it has them."""
    clients = sizes.clients if race.processor is None else 1
    found: dict[str, object] = {"clients": clients, **sizes.amounts}
    if "rows_i1" in names:
        found |= of_inserts(int(sizes.amounts["rows"]), race)
    found |= {
        "warmup_s": 0.25 if race.minutes < LONG else 1,
        "warmup_time": 1,
        "pause_s": 0,
        "wait_s": 2,
    }
    if race.pgbench and mixes.only_read(race.pgbench):
        found["read_only"] = 1
    if "write_seconds" in names:
        found["write_seconds"] = "{seconds}"
    return {name: value for name, value in found.items() if name in names}


def of_inserts(rows: int, race: Race) -> dict[str, object]:
    """The Insert Benchmark, an amount of work, in the time that one arm's way through it has."""
    one_s = run_s(race.minutes, len(race.arms))
    return {
        "rows_i1": max(1000, rows // 5),
        "rows_i2": max(100, rows // 50),
        "rates": [100] if one_s < WHOLE_S else [100, 500],
    }


def of_queries(race: Race, application: Application) -> dict[str, Any]:
    """The queries that fit into the race's minutes, those that cost most, and their seconds."""
    count = len(race.steps) or len(application.queries)
    minutes = race.timed_minutes(application) * (1 - counts.SHARE_MAX * race.counts_beside)
    times = query_times(minutes, len(race.arms), count)
    top = len(application.queries) if race.steps else times.top  # steps may be any of them
    return {"clients": 1, "warmup_s": QUERY_WARMUP_S, LENGTH: times.seconds, "top": top}


def lasting(race: Race, way: Course) -> int:
    """The seconds of each step where dyno does not choose them later, as it does for turns."""
    return seconds(race.minutes, len(race.arms), way.measured)


# --- Text ------------------------------------------------------------------------------------


def heading(race: Race, plan: Path) -> Iterator[str]:
    """The lines that say what made the plan, and how to repeat it."""
    if race.command is None:
        yield f"# Asked by `dyno init`. Edit it (docs/plan.md has every key), then: dyno run {plan}"
    else:
        what = "race" if race.blocks is None else "search"
        yield f"{MADE_BY}{race.command}"
        yield "#"
        yield f"# The same command goes on with an interrupted {what}. To change it, copy this file"
        yield "# under another name (docs/plan.md has every key), and run the copy:"
        yield "#"
        yield f"#     dyno run {plan.with_stem('mine')} --out {plan.parent}"
    yield ""
    yield f"seed = {race.seed}  # draws the order of the arms and every value"
    yield f"base = {quoted(race.arms[0].name)}  # the others are compared with it"


def of_arm(arm: RaceArm, sizes: Sizes) -> Iterator[str]:
    """An arm."""
    yield ""
    yield f"[arms.{key(arm.name)}]"
    yield f"engine = {quoted(arm.engine)}"
    for name, value in arm.origin.items():
        yield f"{name} = {quoted(value)}"
    for name, of_access in arm.access.items():
        yield f"{name} = {value_of(of_access)}"
    if arm.config is not None:
        ours = "/" not in arm.config
        yield f"config = {quoted(arm.config)}" + f"  # `dyno config show {arm.config}`" * ours
        if ours:
            yield f"memory = {quoted(sizes.memory)}  # that the preset is sized to"
    if arm.settings:
        yield f"settings = {value_of(arm.settings)}  # on top of its config"


def of_workload(race: Race, use: WorkloadUse, way: Course, filled: int) -> Iterator[str]:
    """The workload, its steps, and from what state each block begins."""
    yield ""
    yield "[[workloads]]"
    if race.pgbench:
        yield f"pgbench = {value_of(list(race.pgbench))}"
    else:
        yield f"name = {quoted(use.name)}  # `dyno workload show {use.name}`: every step"
        if way.steps:
            yield f"steps = {value_of(list(way.steps))}"
    if race.restore is not None:
        yield f"restore = {quoted(race.restore)}  # makes the data of each arm"
    if way.save is not None:
        yield f"save = {quoted(SAVE + way.save)}  # loads once; later blocks begin with a copy"
        yield f"warm = {quoted(way.warm or 'none')}"
        if race.restart and not way.writes and filled == 1:
            yield "restart = true  # later blocks restart the servers on the same data"


def of_parameters(parameters: Mapping[str, object]) -> Iterator[str]:
    """Sizes that fit the host, a line each with what it means."""
    if not parameters:
        return
    yield ""
    yield "[workloads.parameters]  # sizes that fit this host and the race's minutes"
    for name, value in parameters.items():
        comment = COMMENTS.get(name)
        yield f"{name} = {value_of(value)}" + (f"  # {comment}" if comment else "")


COMMENTS = {
    "clients": "connections",
    "rows": "of each table",
    "table_size": "rows of each table",
    "scale": "100,000 accounts each",
    "read_only": "no statement of the scripts changes anything",
    "seconds": "of each step, for each arm and block",
    "top": "queries, those that cost most",
    "warmup_s": "before them",
    "write_seconds": "of the steps that write",
}


def of_placement(race: Race) -> Iterator[str]:
    """The processor that client and server share, if they do."""
    if race.processor is None:
        return
    yield ""
    yield "# On one processor none has to wake another, which scatters most (docs/bisect.md)."
    for table in ("server", "generator"):
        yield f"[{table}]"
        yield f'cpus = "{race.processor}"'


def of_schedule(
    race: Race, way: Course, host: Capacity, filled: int, *, own: bool
) -> Iterator[str]:
    """The schedule: blocks, fills, time limit, interleaving; `own`: of an application's queries."""
    limit = round(race.minutes - REPORT_S / 60, 2)
    yield ""
    yield "[schedule]"
    if race.answers:
        yield "blocks = 1  # answers and plans alone: nothing is timed"
        yield 'interleave = "step"  # all servers are up at once'
        return
    if race.blocks is None:
        yield 'blocks = "until decided"  # looks after 3, 4, 6, 8, 12, 20 and 30 blocks'
        yield f"minutes_max = {limit:g}  # of {race.minutes:g}; the rest is for the report"
    else:
        yield f"blocks = {race.blocks}  # more are added where the search asks for them"
    if filled > 1:
        yield f"fills = {filled}  # of each arm, which blocks begin from by turns"
    alone = "  # its steps write and begin from no copy" if way.interleave == "run" else ""
    yield f"interleave = {quoted(way.interleave)}{alone}"
    if way.interleave == "turn" and own and MIX not in race.steps:
        yield f"turn_s = {QUERY_TURN_S}  # short ones, so that each query has several"
    elif way.interleave == "turn" and host.cores < SPARE_CORES:
        yield f"turn_s = {SHORT_TURN_S}  # the quietest turns on few cores (docs/error-rates.md)"
    if way.writes and way.interleave == "turn":
        yield "writes_in_turn = true"
        yield 'checkpoint = "before-step"'
    if race.minutes < REPEATS_FROM:
        yield "repeats_max = 0  # a disturbed block counts, with a doubt"
    if race.blocks is None and not race.count and not own:
        yield "trial = true  # each step runs for a second first; one that no arm can do ends it"


def placed(text: str, check: Callable[[str], Plan]) -> tuple[str, Plan]:
    """The plan's text with each client beside its session, or as it is where that cannot be.

    And the plan that it is. `check`: makes the plan of a text, or raises PlanError where it cannot
    be run. Raises what it raises of the text as it is.
    """
    together = with_placement(text, "together")
    try:
        return together, check(together)
    except PlanError:
        return text, check(text)


def with_placement(text: str, where: SessionPlacement) -> str:
    """The plan's text with a placement of clients and sessions."""
    return text.replace("\n[schedule]\n", f"\n[schedule]\nplacement = {quoted(where)}\n", 1)


def of_count(
    race: Race, way: Course, application: Application | None, sizes: Sizes
) -> Iterator[str]:
    """The counts of work: asked for, or beside time where they take little of it."""
    if race.count:
        yield from counts.only(race.repeats, race.operations)
        return
    lines: list[str] = []
    if race.counts_beside and way.save is not None:
        if application is not None:
            minutes = race.timed_minutes(application)
            lines += counts.of_queries(race.arms, way.rest, application, minutes)
        else:
            lines += counts.beside_time(race.arms, way.rest, race.minutes)
    yield from lines
    if lines and (rows := counted_rows(sizes.amounts)):
        yield f"parameters = {value_of(rows)}  # which ANALYZE reads whole"


def of_tolerance(race: Race) -> Iterator[str]:
    """The loss that the race asks for, if it does."""
    if race.tolerate is not None:
        yield ""
        yield "[verdict]"
        yield f"tolerate = {race.tolerate:g}  # goes on until each larger loss is excluded"


def key(name: str) -> str:
    """A name as a key of TOML."""
    return name if all(one.isalnum() or one in "_-" for one in name) else quoted(name)


def quoted(text: str) -> str:
    """A text as a string of TOML, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False)


def value_of(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key(k)} = {value_of(one)}" for k, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_of, value))}]"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}"
    return json.dumps(value, ensure_ascii=False)
