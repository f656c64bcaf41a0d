"""`dyno report --cbc`: what the programs around the Complete Block Check print of a result.

Of the set `collector` its collector's text: a key, a tab and a value in each line, one text for
each arm and block. Of the sets `clients` and `write` the second in which a device did most in each
script, as the published report of best rates has it (spec pgbench-cbc-ybio.md 3.2, 3.5).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.model import Comparison, StepRun, ToldFacts
from dbdyno.model.error import ResultError
from dbdyno.model.grouping import grouped
from dbdyno.model.metric.debt import SECOND_S_MIN
from dbdyno.model.sweep import parted

WORKLOAD = "cbc"
MS = 1000.0
MIB_PER_MB = 1e6 / (1 << 20)
KEYS: Mapping[str, str] = {
    "CREATE_TABLE": "create-table",
    "VACUUM": "vacuum",
    "CREATE_INDEX": "create-index",
    "SELECT_u1": "select-u1",
    "SELECT_c1": "select-c1",
    "SELECT_r": "select-r",
    "CLUSTER": "cluster",
    "SELECT_u2": "select-u2",
    "SELECT_c2": "select-c2",
}
"""The collector's keys of times, in its order, and the step that each is the time of."""
TOLD: Mapping[str, tuple[str, str]] = {
    "SIZE_T": ("size_t", ".0f"),
    "SIZE_I": ("size_i", ".0f"),
    "READ_RATE": ("read_rate", ".3f"),
    "WRITE_RATE": ("write_rate", ".3f"),
}
"""Its keys of what the server told, the metric that each is, and how its number is written."""
SCRIPTS = (
    *("t00-ctas", "t01-vacuum", "t02-index", "t03-select-max"),
    *("t04-selectr", "t05-cluster", "t06-iselect-max"),
)
"""The scripts of the pgbench edition."""


def render(comparison: Comparison) -> str:
    """All texts of a result, ended by a newline. Raises ResultError where it has no CBC."""
    runs = [
        run
        for step in comparison.steps
        for run in step.runs
        if parted(run.facts.workload)[0] == WORKLOAD
    ]
    if not runs:
        raise ResultError(
            f"--cbc: `{comparison.plan.name}` has no step of the workload `cbc`; leave "
            "--cbc out to see what there is"
        )
    parts = [*_collected(comparison, runs), *_best(runs)]
    return "\n".join(parts)


def _script(run: StepRun) -> str:
    """The step's name without the values of a sweep."""
    return parted(run.facts.step)[0]


# --- The collector's text ---------------------------------------------------------------------


def _collected(comparison: Comparison, runs: Iterable[StepRun]) -> Iterator[str]:
    """A text for each block, workload and arm of which there is a step of the collector's."""
    its = grouped(
        ((run.block, run.facts.workload, run.arm), run)
        for run in runs
        if run.facts.step in KEYS.values()
    )
    server = comparison.host.hostname_hash or "NA"
    order = {arm: place for place, arm in enumerate(comparison.arms)}
    for block, workload, arm in sorted(its, key=lambda one: (one[0], one[1], order[one[2]])):
        head = {"ARM": arm, "BLOCK": str(block), "WORKLOAD": workload, "SERVER": server}
        lines = head | dict(_values(its[block, workload, arm]))
        yield "".join(f"{key}\t{value}\n" for key, value in lines.items())


def _values(runs: Sequence[StepRun]) -> Iterator[tuple[str, str]]:
    """The keys and values of one text; what a step that did not end well would tell is missing."""
    well = {run.facts.step: run for run in runs if run.ending.status == "ok"}
    for key, step in KEYS.items():
        seconds = well[step].metrics.get("seconds") if step in well else None
        if seconds is not None:
            yield key, f"{MS * seconds:.3f}"
    for key, (name, form) in TOLD.items():
        # The table has a size before CLUSTER, too, which is the one that stays where that failed.
        told = [run.of(ToldFacts).numbers for run in well.values()]
        known = [value for numbers in told if (value := numbers.get(name)) is not None]
        if known:
            yield key, format(known[-1], form)


# --- The best second of each script -----------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PeakSecond:
    """The second of a script in which the data device read and wrote most, in MiB/s."""

    arm: str
    script: str
    step: str  # the one of its sweep that has this second
    block: int
    read: float
    write: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.read + self.write


def _best(runs: Iterable[StepRun]) -> Iterator[str]:
    """The two tables of best seconds: by the total, and by what was written."""
    scripts = [run for run in runs if _script(run) in SCRIPTS]
    if not scripts:
        return
    best: dict[tuple[str, str], PeakSecond] = {}
    for one in (second for run in scripts for second in _seconds(run)):
        place = (one.arm, one.script)
        if place not in best or one.total > best[place].total:
            best[place] = one
    if not best:
        yield "best second of each script: nothing of the device is known by the second\n"
        return
    orders: dict[str, Callable[[PeakSecond], float]] = {
        "total": lambda one: -one.total,
        "write": lambda one: -one.write,
    }
    for name, key in orders.items():
        yield _table(name, sorted(best.values(), key=key))


def _seconds(run: StepRun) -> Iterator[PeakSecond]:
    """Each second of a step, and its window as a whole, which may be shorter than one."""
    if run.ending.status != "ok":
        return
    for read, write in _rates(run):
        yield PeakSecond(
            arm=run.arm,
            script=_script(run),
            step=run.facts.step,
            block=run.block,
            read=read,
            write=write,
        )


def _rates(run: StepRun) -> Iterator[tuple[float, float]]:
    """The device's reads and writes in MiB/s, if both are known."""
    whole = run.metrics.get("rmbps"), run.metrics.get("wmbps")
    if whole[0] is not None and whole[1] is not None:
        yield whole[0], whole[1]
    if "disk.read_mbps" not in run.series or "disk.write_mbps" not in run.series:
        return
    read, write = run.series["disk.read_mbps"], run.series["disk.write_mbps"]
    written = dict(zip(write.x_s, write.y, strict=True))
    for begun_s, at_s, value in zip((0.0, *read.x_s), read.x_s, read.y, strict=False):
        if at_s - begun_s >= SECOND_S_MIN and at_s in written:
            yield value * MIB_PER_MB, written[at_s] * MIB_PER_MB


def _table(by: str, rows: Sequence[PeakSecond]) -> str:
    """A table in tabs, which its title says the order of."""
    lines = [f"best second of each script, MiB/s, by {by}"]
    lines += ["\t".join(("arm", "script", "step", "block", "read", "write", "total"))]
    for row in rows:
        rates = (f"{value:.1f}" for value in (row.read, row.write, row.total))
        lines.append("\t".join((row.arm, row.script, row.step, str(row.block), *rates)))
    return "\n".join(lines) + "\n"
