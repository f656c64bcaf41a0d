"""One step of one run, from its raw files to a StepRun."""

from dataclasses import replace

from dbdyno.analysis.step import metrics, step_doubts
from dbdyno.evidence import damaged_files, evidence, generator_limit, profile
from dbdyno.evidence.evidence import NO_JOB, Evidence
from dbdyno.evidence.query_plans import plans
from dbdyno.evidence.raw_files import NS_PER_S
from dbdyno.evidence.role_seconds import shape_of
from dbdyno.evidence.slow_calls import ending
from dbdyno.findings import steps
from dbdyno.findings.over_time import series as over_time
from dbdyno.findings.replay_lag import metrics as replay_lag
from dbdyno.findings.waits import step as waits
from dbdyno.model import ServerSide, StepRun, Window
from dbdyno.model.error import ResultError
from dbdyno.store import StepFolder


def step_run(folder: StepFolder) -> StepRun:
    """Derives everything that a report says of a step.

    A step that failed keeps what it has: its seconds up to then, no metrics. One whose files are
    damaged has failed, too, and its reason names the file.
    """
    try:
        return profile.added(_joined(folder, evidence.read(folder)), folder)
    except ResultError as error:
        return damaged_files.damaged(folder, damaged_files.words(folder, error))


def _joined(folder: StepFolder, basis: Evidence) -> StepRun:
    """The parts of every step; with measurements if it ended well."""
    extent = None if basis.job is NO_JOB else basis.job.extent
    run = StepRun(
        facts=damaged_files.facts(basis.step, extent),
        arm=folder.arm,
        block=folder.block,
        position=_position(basis, folder.arm),
        ending=ending(basis.done, basis.failure),
        generator=basis.load.generator,
        server=ServerSide(statistics=basis.servers, plans=plans(basis.before)),
        series={**over_time.series(basis), **waits.series(basis), **replay_lag.series(basis)},
    )
    ended_well = run.ending.status == "ok"
    run = replace(run, findings=steps.facts(basis, ended_well=ended_well))
    return _measured(run, basis) if ended_well else _ended_by_limit(run, basis)


def _position(basis: Evidence, arm: str) -> int | None:
    """The arm's place in the order of a step that the arms took in turn; None of any other step."""
    order = () if basis.turns is None else basis.turns.order
    return order.index(arm) if arm in order else None


def _ended_by_limit(run: StepRun, basis: Evidence) -> StepRun:
    """A step that did not end well: with what is sure of its rate, where the server ended a call
    by its limit.
    """
    slow, headline = basis.slow_calls, basis.step.headline
    if slow is None or headline is None:
        return run
    return replace(
        run, window=Window(slow=slow.how), metrics={**run.metrics, headline.metric: slow.per_s}
    )


def _measured(run: StepRun, basis: Evidence) -> StepRun:
    values = metrics.metrics(basis, run)
    window = Window(
        seconds=basis.load.seconds,
        counted=basis.operations,
        edge_share=basis.edge_share,
        end_spread=end_spread(basis),
        shape=shape_of(basis),
        limited=generator_limit.limits(basis, values),
        delayed=generator_limit.delays(basis, values),
        slow="" if basis.slow_calls is None else basis.slow_calls.how,
    )
    return replace(
        run,
        window=window,
        metrics=values,
        doubts=(*basis.unusable, *step_doubts.doubts(basis, values, run, window)),
    )


def end_spread(basis: Evidence) -> float | None:
    """How far apart the clients ended, as a share of the window; None for a timed step."""
    ends, seconds = basis.load.clients_end_ns, basis.load.seconds
    if not ends or not seconds:
        return None
    return (max(ends) - min(ends)) / NS_PER_S / seconds
