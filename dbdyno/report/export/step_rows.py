"""The rows that come from what was derived: steps and their figures, and arms against the base."""

from collections.abc import Iterator
from functools import partial

from msgspec import structs

from dbdyno.model import Cell, Json, StepComparison, StepRun, TargetFacts, metric
from dbdyno.model.plan_record import ArmRecord
from dbdyno.model.server_facts import ServerFacts
from dbdyno.report.estimate_form import of_estimate, of_judgement
from dbdyno.report.export import derived
from dbdyno.report.export.source import ExportPlace, ExportSource, started
from dbdyno.report.export.tables import by_name

Rows = Iterator[tuple[str, Json]]
"""Rows by the name of their table."""

# --- The whole result ------------------------------------------------------------------------


def facts(source: ExportSource) -> Rows:
    """The rows of all tables that are of whole results (frame.MAKERS)."""
    yield "plans", source.key | _plan(source)
    comparison = source.comparison
    for arm in comparison.plan.arms:
        server = comparison.servers.get(arm.name)
        key = source.key | {"arm": arm.name}
        yield "arms", key | _arm(arm, server, comparison.base)
        settings, changed = (server.settings, server.nondefault) if server else (None, None)
        for name, value in (settings or {}).items():
            row = {"name": name, "value": str(value), "nondefault": name in (changed or {})}
            yield "settings", key | row
    for step in comparison.steps:
        for cell in step.cells:
            for row in _comparisons(step, cell, comparison.base):
                yield "comparisons", source.key | row
            for row in _verdicts(step, cell, comparison.base):
                yield "verdicts", source.key | row
    yield from ((table, source.key | row) for table, row in derived.of_comparison(comparison))
    for group in comparison.doubts:
        for item in group.items:
            row = {"subject": str(group.subject), "grade": group.subject.grade, "arm": group.arm}
            for block in item.blocks or (None,):
                yield "doubts", source.key | row | structs.asdict(item) | {"block": block}


def _plan(source: ExportSource) -> Json:
    comparison = source.comparison
    host = comparison.host
    return {
        "label": comparison.label,
        "base": comparison.base,
        "blocks_planned": comparison.plan.blocks,
        "blocks_judged": comparison.blocks,
        "incomplete": comparison.incomplete,
        "cpu": host.cpu.model,
        "cores": host.cpu.cores,
        "memory_bytes": host.memory_bytes,
        "kernel": host.kernel,
        "file_system": host.data.file_system,
        "plan_text": comparison.plan.text,
    }


def _arm(arm: ArmRecord, server: ServerFacts | None, base: str) -> Json:
    return {
        "base": arm.name == base,
        "engine": arm.engine,
        "version": server.version if server else arm.version,
        "version_text": server.version_text if server else None,
        "compiler": server.compiler if server else None,
        "config": arm.config,
        "data_checksums": server.data_checksums if server else None,
    }


def _comparisons(step: StepComparison, cell: Cell, base: str) -> Iterator[Json]:
    values = {one.arm: one.metrics for one in step.cells}
    for name, value in cell.metrics.items():
        of_base = values.get(base, {}).get(name)
        if value is None and of_base is None:
            continue
        yield {
            **_place(step, cell, base),
            "metric": name,
            "headline": name == step.headline,
            "unit": metric.by_name(name).unit,
            "direction": metric.by_name(name).direction,
            "base_value": of_base,
            "value": value,
            **of_estimate(cell.estimates.get(name)),
        }


def _place(step: StepComparison, cell: Cell, base: str) -> Json:
    return {
        "workload": step.workload,
        "ordinal": step.ordinal,
        "step": step.step,
        "step_group": step.group,
        "base": base,
        "arm": cell.arm,
    }


def _verdicts(step: StepComparison, cell: Cell, base: str) -> Iterator[Json]:
    """A row for each metric that is judged; one without figures where none is."""
    verdict = cell.verdict
    if verdict is None:
        return
    said = _place(step, cell, base) | {
        "step_verdict": verdict.word,
        "outcome": verdict.outcome or None,
        "tolerated": cell.tolerated.answer if cell.tolerated else None,
        "explanation": cell.explanation.text if cell.explanation else None,
    }
    if not verdict.judgements:
        figures = {column.name: None for column in by_name("verdicts").columns}
        primary = {"metric": step.headline, "family": "primary", "decides": False, "blocks": 0}
        yield figures | said | primary
    primaries = [(one, "primary") for one in verdict.judgements]
    for judgement, family in (*primaries, *((cost, "explanatory") for cost in cell.costs.values())):
        name = judgement.metric
        yield {
            **said,
            "metric": name,
            "family": family,
            "decides": family == "primary" and name in verdict.by,
            **of_estimate(cell.estimates.get(name)),
            **of_judgement(judgement),
        }


# --- A step of a run -------------------------------------------------------------------------


def steps(source: ExportSource) -> Rows:
    """The rows of every step of every run, but for those of its seconds."""
    for run, key, place in source.runs():
        yield "steps", key | _step(source, run, place)
        for table, row in _figures(run):
            yield table, key | row


def _step(source: ExportSource, run: StepRun, place: ExportPlace | None) -> Json:
    begun = None if place is None else source.lost.usable(partial(started, place.folder))
    return {
        "measured": run.facts.measured,
        "status": run.ending.status,
        "reason": run.ending.reason,
        "started": begun,
        "window_s": run.window.seconds,
        "step_group": run.facts.group,
        "headline": run.facts.headline,
        "rate": run.metrics.get(run.facts.headline) if run.facts.headline else None,
        "limited": "\n".join(run.window.limited or ()) or None,
        "target": run.facts.sla_target,
        "achieved": run.of(TargetFacts).achieved_per_s,
        "held": run.of(TargetFacts).met,
        "clients": run.facts.extent.clients if run.facts.extent else None,
        "connections": run.facts.extent.connections if run.facts.extent else None,
        "tables": run.facts.extent.tables if run.facts.extent else None,
        "shape": run.window.shape,
        "position": run.position,
        "node": source.node(run, place),
        "end_spread": run.window.end_spread,
        "server_version": place.server.version if place and place.server else None,
    }


def _figures(run: StepRun) -> Rows:
    for name, value in run.metrics.items():
        if value is not None:
            known = metric.by_name(name)
            row = {"metric": name, "unit": known.unit, "direction": known.direction}
            yield "metrics", row | {"value": value}
    yield from derived.of_run(run)
