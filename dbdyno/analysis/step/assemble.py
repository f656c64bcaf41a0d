"""One step of one run, from its raw files to a StepRun."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from dbdyno.analysis.step import idle_work, metrics, profile, step_warnings
from dbdyno.analysis.step.imprint import imprint
from dbdyno.analysis.step.network import network
from dbdyno.analysis.step.outcomes import outcomes
from dbdyno.analysis.step.segments import segments
from dbdyno.analysis.step.series import series
from dbdyno.analysis.step.state import state, unread
from dbdyno.analysis.step.waits import waits
from dbdyno.evidence import damaged_files, evidence, generator_limit, sums
from dbdyno.evidence.background_spans import spans
from dbdyno.evidence.evidence import KINDS, NO_JOB, Evidence
from dbdyno.evidence.query_plans import plans
from dbdyno.evidence.raw_files import NS_PER_S
from dbdyno.evidence.role_seconds import shape_of
from dbdyno.evidence.slow_calls import ending
from dbdyno.findings import steps
from dbdyno.model import (
    Responses,
    RoleFigures,
    ServerSide,
    StatementUse,
    StepRun,
    Times,
    Window,
)
from dbdyno.model.error import ResultError
from dbdyno.model.events import Part
from dbdyno.model.job import is_control
from dbdyno.model.job.role import Closed
from dbdyno.model.job.statements import Statement
from dbdyno.stats import amounts
from dbdyno.stats.response_times import Histogram, merged
from dbdyno.store import StepFolder


def step_run(folder: StepFolder) -> StepRun:
    """Derives everything that a report says of a step.

    A step that failed keeps what it has: its seconds up to then, no metrics. One whose files are
    damaged has failed, too, and its reason names the file.
    """
    try:
        return profile.added(_joined(folder, evidence.read(folder)), folder)
    except ResultError as error:
        return damaged_files.failed(folder, damaged_files.words(folder, error))


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
        server=ServerSide(
            statistics=basis.servers,
            before=state(basis.before),
            after=state(basis.after),
            plans=plans(basis.before),
            spans=spans(basis),
            waits=waits(basis),
            unread=unread(basis.after or basis.before) if basis.remote else {},
        ),
        series=series(basis),
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
    roles = RoleFigures(statements=statements(basis), outcomes=outcomes(basis))
    run = replace(run, roles=roles)
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
        told={} if basis.done is None else basis.done.metrics,
        responses=responses(basis),
        network=network(basis),
        owners={**basis.owners, **idle_work.named(basis)},
        segments=segments(basis),
        imprint=imprint(basis.load),
        warnings=(*basis.unusable, *step_warnings.warnings(basis, values, run, window)),
    )


def end_spread(basis: Evidence) -> float | None:
    """How far apart the clients ended, as a share of the window; None for a timed step."""
    ends, seconds = basis.load.clients_end_ns, basis.load.seconds
    if not ends or not seconds:
        return None
    return (max(ends) - min(ends)) / NS_PER_S / seconds


# --- Response times --------------------------------------------------------------------------


def responses(basis: Evidence) -> Responses:
    """The times of the published kinds of work and of each operation, of what was done at all."""
    paced = {role.name for role in basis.job.roles if not isinstance(role.pace, Closed)}
    by_kind = {
        work: _times(
            basis.response(roles),
            basis.service(roles),
            partial(sums.of_roles, basis, roles),
            paced=not paced.isdisjoint(roles),
        )
        for work in KINDS
        for roles in [basis.roles(work)]
    }
    by_operation = {
        name: _times(
            _of_operation(basis.histograms, name),
            _of_operation(basis.services, name),
            partial(sums.of_operation, basis, name),
            paced=any((role, name) in basis.histograms for role in paced),
        )
        for name in dict.fromkeys(name for _, name in basis.histograms)
    }
    return Responses(by_kind=_known(by_kind), by_operation=_known(by_operation))


def _times(
    response: Histogram,
    service: Histogram,
    moments: Callable[[str], sums.Moments | None],
    *,
    paced: bool,
) -> Times | None:
    if not response.count:
        return None
    return Times(
        response=sums.with_moments(response.times(), moments("response")),
        service=sums.with_moments(service.times(), moments("service")) if service.count else None,
        paced=paced,
    )


def _of_operation(histograms: Mapping[tuple[str, str], Histogram], name: str) -> Histogram:
    """An operation of all roles together."""
    return merged(part for (_, operation), part in histograms.items() if operation == name)


def _known(times: Mapping[str, Times | None]) -> dict[str, Times]:
    return {name: known for name, known in times.items() if known is not None}


# --- Statements ------------------------------------------------------------------------------


def statements(evidence: Evidence) -> tuple[StatementUse, ...]:
    """Of each role in the job's order, each in the job's order; none without a window."""
    seconds = evidence.load.seconds
    return tuple(_statements(evidence, seconds)) if seconds else ()


def _statements(evidence: Evidence, seconds: float) -> Iterable[StatementUse]:
    for role in evidence.job.roles:
        ticks = evidence.load.of([role.name])
        for statement in evidence.job.statements:
            name = statement.name
            parts = [tick.operations[name] for tick in ticks if name in tick.operations]
            if parts:
                yield _use(evidence, role.name, statement, parts, seconds)


def _use(
    evidence: Evidence, role: str, statement: Statement, parts: Sequence[Part], seconds: float
) -> StatementUse:
    count, rows = (
        evidence.in_window(role, amounts.total(counted))
        for counted in ([part.count for part in parts], [part.rows for part in parts])
    )
    return StatementUse(
        role=role,
        name=statement.name,
        kind="control" if is_control(statement) else "statement",
        per_s=(count or 0.0) / seconds,
        rows_per_s=(rows or 0.0) / seconds,
        found=_found(parts) if statement.rows and not is_control(statement) else None,
    )


def _found(parts: Sequence[Part]) -> float | None:
    """The share that found a row; None where nothing was executed or the load does not tell."""
    count = sum(part.count for part in parts)
    empty = amounts.total(part.empty for part in parts)
    return None if not count or empty is None else (count - empty) / count
