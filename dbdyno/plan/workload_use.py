"""How a plan names its workloads: `[[workloads]]`, or `workload` where there is one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dbdyno import workload
from dbdyno.model import Arm, WorkloadUse
from dbdyno.model.error import WorkloadError
from dbdyno.plan import find
from dbdyno.plan.schedule import SAVE
from dbdyno.plan.schema import PlanForm, WorkloadForm, path_of, refusal
from dbdyno.workload import mixes, restored

HOST_CHECKED = workload.host(cores=8, memory_bytes=32 << 30)
"""The host that presets are tried with when a plan is read: what is right for it is for others."""


def uses(
    form: PlanForm, path: Path | None, arms: Sequence[Arm], source: str
) -> tuple[tuple[str, WorkloadUse], ...]:
    """The workloads of a plan by their keys in it, `workload` or `workloads[1]`.

    Each is there once for every load that its lists of parameters ask for. Raises PlanError.
    """
    found: list[tuple[str, WorkloadUse]] = []
    for key, use in _written(form, path, source):
        try:
            loads = workload.of_loads(
                workload.used(use, path),
                {**HOST_CHECKED, **use.parameters},
                arms[0].engine,
                steps=use.steps,
                groups=use.groups,
            )
        except WorkloadError as reason:
            raise refusal(source, key, str(reason)) from None
        for load in loads:
            found.append((key, replace(use, parameters={**use.parameters, **load}, load=load)))
    return tuple(found)


def _written(form: PlanForm, path: Path | None, source: str) -> Iterator[tuple[str, WorkloadUse]]:
    """The workloads as they are written, by their keys."""
    if form.workload is not None and form.workloads:
        raise refusal(source, "workload", "the plan has `workloads`, too; write all of them there")
    if form.workload is not None:
        yield "workload", _use(form.workload, path, "workload", source)
        return
    if not form.workloads:
        raise refusal(source, "workloads", "missing; name at least one")
    for number, one in enumerate(form.workloads, 1):
        yield f"workloads[{number}]", _use(one, path, f"workloads[{number}]", source)


def _use(form: WorkloadForm, path: Path | None, key: str, source: str) -> WorkloadUse:
    if form.restore is not None and form.fill is not None:
        raise refusal(source, f"{key}.fill", "`restore` makes the data; remove one of them")
    # The first block restores; later ones begin with a copy.
    save = form.save if form.restore is None or form.save else f"{SAVE}{restored.STEP}"
    scripts = _scripts(form, key, source)
    try:
        p99_below_us = find.p99_below_us(form.find)
    except WorkloadError as reason:
        raise refusal(source, key, str(reason)) from None
    steps = form.steps if form.steps is not None or scripts is None else list(scripts)
    return WorkloadUse(
        name=form.name or mixes.WORKLOAD,
        parameters=form.parameters,
        steps=None if steps is None else tuple(steps),
        groups=None if form.groups is None else tuple(form.groups),
        fill=form.fill,
        set=form.set,
        preset=form.preset,
        save=save,
        warm=None if form.warm == "none" else form.warm,
        restart=form.restart,
        scripts=scripts,
        variables=form.variables,
        p99_below_us=p99_below_us,
        statistics=form.statistics,
        restore=path_of(form.restore, path, f"{key}.restore", source),
    )


def _scripts(form: WorkloadForm, key: str, source: str) -> dict[str, tuple[str, ...]] | None:
    """The plan's scripts by the step that runs them; None where it names a workload."""
    if form.pgbench is None:
        if form.name is None:
            raise refusal(source, f"{key}.name", "missing")
        if form.variables is not None:
            sentence = 'only scripts have variables; write pgbench = ["mix.sql"], or remove them'
            raise refusal(source, f"{key}.variables", sentence)
        return None
    if form.name is not None:
        sentence = "names the workload, too; remove `name`, or name scripts in a workload file"
        raise refusal(source, f"{key}.pgbench", sentence)
    if isinstance(form.pgbench, list):
        return {mixes.STEP: tuple(form.pgbench)}
    if not form.pgbench:
        raise refusal(source, f"{key}.pgbench", 'has no scripts; write ["mix.sql"]')
    return {name: tuple(scripts) for name, scripts in form.pgbench.items()}
