"""One step of one run, from its raw files to a StepRun."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.analysis.step import damaged_files, evidence, generator_limit, step_warnings
from dbdyno.analysis.step import metrics as compute
from dbdyno.analysis.step.background_spans import spans
from dbdyno.analysis.step.evidence import KINDS, Evidence
from dbdyno.analysis.step.fairness import fairness
from dbdyno.analysis.step.query_plans import plans
from dbdyno.analysis.step.raw_files import NS_PER_S
from dbdyno.analysis.step.role_seconds import shape_of, stalls, targets
from dbdyno.analysis.step.series import series
from dbdyno.analysis.step.state import state
from dbdyno.analysis.step.waits import waits
from dbdyno.model import Json, ResponseTimes, StatementUse, StepRun
from dbdyno.model.error import ResultError
from dbdyno.model.job import extent, is_control
from dbdyno.stats.response_times import Histogram, merged
from dbdyno.store import StepFolder


def step_run(folder: StepFolder) -> StepRun:
    """Derives everything that a report says of a step.

    A step that failed keeps what it has: its seconds up to then, no metrics. One whose files are
    damaged has failed, too, and its reason names the file.
    """
    try:
        found = evidence.read(folder)
        run = _blank(folder, found)
        return _measured(run, found) if run.status == "ok" else run
    except ResultError as error:
        return damaged_files.failed(folder, damaged_files.words(folder, error))


def _blank(folder: StepFolder, found: Evidence) -> StepRun:
    """What every step has, whether it ended well or not."""
    status, reason = _status(found)
    return replace(
        damaged_files.unmeasured(folder, found.step, status, reason),
        series=series(found),
        spans=spans(found),
        state_before=state(found.before),
        state_after=state(found.after),
        extent=extent(found.job),
        position=_position(found, folder.arm),
        plans=plans(found.before),
        servers=found.servers,
    )


def _position(found: Evidence, arm: str) -> int | None:
    """The arm's place in the order of a step that the arms took in turn; None of any other step."""
    order = (found.end.get("turns") or {}).get("order", ())
    return order.index(arm) if arm in order else None


def _status(found: Evidence) -> tuple[str, str | None]:
    if "reason" in found.end:
        return found.end["status"], found.end["reason"]
    if not found.end:
        return "failed", "broken off: there is neither done.json nor failed.json"
    return "ok", None


def _measured(run: StepRun, found: Evidence) -> StepRun:
    run = replace(
        run,
        statements=statements(found),
        targets=targets(found),
        fairness=fairness(found),
        stalls=stalls(found),
        shape=shape_of(found),
        end_spread=end_spread(found),
        waits=waits(found),
    )
    metrics = compute.metrics(found, run)
    limited = generator_limit.limits(found, metrics)
    inserts = run.targets[0] if run.targets else None
    return replace(
        run,
        seconds=found.load.seconds,
        metrics=metrics,
        sla_achieved=inserts.achieved if inserts is not None else None,
        sla_met=None if run.sla_target is None else inserts is not None and inserts.met,
        response=_by_kind(found, found.response),
        operations=_by_operation(found.histograms),
        service=_by_kind(found, found.service),
        operations_service=_by_operation(found.services),
        paced=_paced(found),
        owners=found.owners,
        limited=limited,
        warnings=(*found.unusable, *step_warnings.warnings(found, metrics, run, limited)),
    )


def _by_kind(found: Evidence, times: Callable[[list[str]], Histogram]) -> dict[str, ResponseTimes]:
    merged_by_kind = {kind: times(found.roles(kind)) for kind in KINDS}
    return {kind: part.times() for kind, part in merged_by_kind.items() if part.count}


def _by_operation(
    histograms: Mapping[tuple[str, str], Histogram],
) -> dict[str, ResponseTimes]:
    names = dict.fromkeys(name for _, name in histograms)
    parts = {
        name: merged(part for (_, its), part in histograms.items() if its == name) for name in names
    }
    return {name: part.times() for name, part in parts.items() if part.count}


def _paced(found: Evidence) -> tuple[str, ...]:
    """The kinds and the operations of roles that are due by a schedule."""
    roles = {
        role["name"]
        for role in found.job.get("roles", ())
        if role.get("pace", {}).get("kind", "closed") != "closed"
    }
    kinds = (found.kind(role) for role in sorted(roles))
    operations = (name for role, name in found.histograms if role in roles)
    return tuple(dict.fromkeys([*(kind for kind in kinds if kind in KINDS), *operations]))


def end_spread(found: Evidence) -> float | None:
    """How far apart the clients ended, as a share of the window; None for a timed step."""
    ends, seconds = found.load.clients_end_ns, found.load.seconds
    if not ends or not seconds:
        return None
    return (max(ends) - min(ends)) / NS_PER_S / seconds


# --- Statements ------------------------------------------------------------------------------


def statements(evidence: Evidence) -> tuple[StatementUse, ...]:
    """Of each role in the job's order, each in the job's order; none without a window."""
    seconds = evidence.load.seconds
    return tuple(_statements(evidence, seconds)) if seconds else ()


def _statements(evidence: Evidence, seconds: float) -> Iterable[StatementUse]:
    for role in evidence.job.get("roles", []):
        ticks = evidence.load.of([role["name"]])
        for statement in evidence.job.get("statements", []):
            name = statement["name"]
            parts = [tick.operations[name] for tick in ticks if name in tick.operations]
            if parts:
                yield _use(role["name"], statement, parts, seconds)


def _use(role: str, statement: Json, parts: Sequence[Json], seconds: float) -> StatementUse:
    return StatementUse(
        role=role,
        name=statement["name"],
        kind="control" if is_control(statement) else "statement",
        per_s=sum(part["count"] for part in parts) / seconds,
        rows_per_s=sum(part["rows"] for part in parts) / seconds,
        found=_found(parts) if statement.get("rows") and not is_control(statement) else None,
    )


def _found(parts: Sequence[Json]) -> float | None:
    """The share that found a row; None where nothing was executed or an older result says not."""
    count = sum(part["count"] for part in parts)
    if not count or any("empty" not in part for part in parts):
        return None
    empty = sum(part["empty"] for part in parts)
    return float((count - empty) / count)
