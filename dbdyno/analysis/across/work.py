"""Finds steps of different results that are the same work: one key for job, host and method.

Only plans, jobs and a step's own description are read, a few small files of each arm: thousands of
results can be asked before anything is derived.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

from dbdyno.judge import arms_and_blocks
from dbdyno.model import Json
from dbdyno.model.error import ResultError
from dbdyno.model.host_facts import Cpu, HostFacts
from dbdyno.model.plan_record import PlanRecord, ScheduleRecord, WorkloadRecord
from dbdyno.model.step_files import StepRecord
from dbdyno.store import BlockFolder, Results, StepFolder

OF_ONE_RUN = ("server", "seed", "fake", "autostart", "utc_offset_s", "trace", "samples")
"""Keys of a job that are others in each run of the same work; values say what `samples` hold."""
USE = ("set", "preset", "fill", "save", "warm", "load", "p99_below_us")
"""Keys of a plan's use of a workload that say what its steps are, beside the parameters."""
TURNS = ("interleave", "slice_s", "checkpoint", "placement")
"""Keys of a plan's schedule that say how arms share the machine while they are measured."""
ALWAYS_BEFORE = {"placement": "free"}
"""What was so in all results that lack the key, whose works keep their keys."""
KEY_LENGTH = 16


@dataclass(frozen=True, kw_only=True)
class Work:
    """A step: what it does, with which parameters, on which host, and how it is measured."""

    key: str  # of all of it, and of the whole job
    host_key: str
    host: str  # in words
    engine: str
    workload: str
    ordinal: int
    step: str
    group: str | None  # the title under which tables list it
    headline: str  # the metric of its throughput
    parameters: Mapping[str, str]  # of the workload, and what else of it the plan chooses, in words
    turns: Mapping[str, str]  # TURNS, in words
    job: Json = field(repr=False)  # without what belongs to one run


@dataclass(frozen=True, kw_only=True)
class Trace:
    """An arm in a step of a result, before its values are read."""

    arm: str
    work: Work
    folders: tuple[StepFolder, ...]  # one of each complete block that has it


@dataclass(frozen=True, kw_only=True)
class Index:
    """The contents of a result, by arm and step."""

    name: str  # by which the caller knows it
    results: Results
    host: HostFacts
    begun_unix_ns: int  # of its first complete block
    traces: tuple[Trace, ...]

    def trace(self, arm: str, key: str) -> Trace | None:
        """An arm's trace of a work; None where it has not done it."""
        traces = (trace for trace in self.traces if trace.arm == arm and trace.work.key == key)
        return next(traces, None)


def index(name: str, results: Results, known: dict[str, Work] | None = None) -> Index:
    """The steps of a result, as far as they have a throughput and can be read.

    Empty where no block is complete or nothing is known of the host. `known`: works by their keys,
    which the results of a caller share, as each holds a whole job. Raises ResultError where
    host.json, or the file of a named host, is damaged.
    """
    shared = known if known is not None else {}
    blocks = arms_and_blocks.blocks(results)
    host = _host(results, blocks)
    blocks = () if host is None else blocks
    host = host or HostFacts()
    shown = arms_and_blocks.arms(results.plan, None).shown
    folders: dict[tuple[str, str, int, str], list[StepFolder]] = {}
    for block in blocks:
        for run in block.runs():
            for step in run.steps() if run.arm in shown else ():
                place = (step.arm, step.workload, step.ordinal, step.name)
                folders.setdefault(place, []).append(step)
    begun = [block.begun_unix_ns for block in blocks]
    return Index(
        name=name,
        results=results,
        host=host,
        begun_unix_ns=next((time_ns for time_ns in begun if time_ns is not None), 0),
        traces=tuple(
            replace(trace, work=shared.setdefault(trace.work.key, trace.work))
            for trace in _traces(results.plan, host, folders.values())
        ),
    )


def _host(results: Results, blocks: Iterable[BlockFolder]) -> HostFacts | None:
    """The facts of the host that measured; of several nodes facts that stand for all of them.

    So figures of nodes are set beside those of the same nodes, whichever measured which block.
    """
    names = {block.host for block in blocks} or {None}
    named = results.hosts() if names != {None} else {}
    facts = [results.host() if name is None else named.get(name) for name in names]
    if len(facts) == 1:
        return facts[0]
    nodes = {host_key(host): host.cpu for host in facts if host is not None}
    models = sorted({cpu.model or "unknown processor" for cpu in nodes.values()})
    counts = [cpu.cpus for cpu in nodes.values()]
    return HostFacts(
        cpu=Cpu(
            model=f"{len(nodes)} nodes of {' and '.join(models)}",
            cpus=None if None in counts else sum(filter(None, counts)),
        ),
        hostname_hash=_hash(sorted(nodes)),
    )


def host_key(host: HostFacts) -> str:
    """The key of a host, from its name, processor and number of CPUs."""
    return _hash([host.hostname_hash, host.cpu.model, host.cpu.cpus])


def host_words(host: HostFacts) -> str:
    """A host as a reader knows it: processor, CPUs and the beginning of its name's hash."""
    words = [host.cpu.model or "unknown processor", f"{host.cpu.cpus or '?'} CPUs"]
    return ", ".join([*words, *([f"host {host.hostname_hash[:6]}"] if host.hostname_hash else [])])


def _traces(
    plan: PlanRecord, host: HostFacts, places: Iterable[list[StepFolder]]
) -> Iterator[Trace]:
    uses = {use.folder: use for use in plan.workloads}
    for folders in places:
        first = folders[0]
        use, arm = uses.get(first.workload), plan.arm(first.arm)
        try:
            step, job = first.step(), first.job_as_written() if first.job() else None
        except ResultError:
            continue  # its report names what is damaged
        if step.headline is None or step.probed is not None:
            continue
        if use is None or arm is None or job is None:
            continue
        yield Trace(
            arm=first.arm,
            work=_work(turns_of(plan.schedule), host, (use, arm.engine), (step, job)),
            folders=tuple(folders),
        )


def turns_of(schedule: ScheduleRecord) -> dict[str, object]:
    """How arms share the machine while they are measured, as far as a plan's schedule says it."""
    turns = {key: getattr(schedule, key) for key in TURNS}
    return {k: v for k, v in turns.items() if v is not None and v != ALWAYS_BEFORE.get(k)}


def _work(
    turns: Mapping[str, object],
    host: HostFacts,
    of_arm: tuple[WorkloadRecord, str],
    of_step: tuple[StepRecord, Json],
) -> Work:
    """`of_arm`: the workload, and the arm's engine; `of_step`: step.json and job.json."""
    (step, job), (use, engine) = of_step, of_arm
    assert step.headline is not None
    own = {key: value for key, value in job.items() if key not in OF_ONE_RUN}
    chosen = {key: getattr(use, key) for key in USE if getattr(use, key)}
    parameters = chosen | dict(use.parameters)
    of_host = host_key(host)
    key = _hash([of_host, engine, step.workload, step.name, asdict(step.headline), own,
                 parameters, turns])  # fmt: skip
    return Work(
        key=key,
        host_key=of_host,
        host=host_words(host),
        engine=engine,
        workload=step.workload,
        ordinal=step.ordinal,
        step=step.name,
        group=step.group,
        headline=step.headline.metric,
        parameters={name: words(value) for name, value in sorted(parameters.items())},
        turns={name: words(value) for name, value in turns.items()},
        job=own,
    )


def words(value: object) -> str:
    """A value of a plan or a job as a person writes it."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _hash(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]
