"""plan.json: what a plan asked for, and the builds and sizes that it means on this host."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

import msgspec

from dbdyno import __version__, workload
from dbdyno.builds import cache
from dbdyno.engine import Build
from dbdyno.engine.preset import study
from dbdyno.engine.settings import ArmSettings
from dbdyno.model import (
    Arm,
    CountRequest,
    Hook,
    Json,
    Observation,
    Placement,
    Plan,
    Schedule,
    Step,
    Void,
    WorkloadUse,
)
from dbdyno.model.json import turned
from dbdyno.model.own_query import Application, OwnQuery
from dbdyno.model.plan_record import ApplicationRecord, QueryRecord
from dbdyno.model.verdict import Aims
from dbdyno.run.check.preflight import load
from dbdyno.run.driver import registry
from dbdyno.run.ready_plan import ReadyPlan

KEYS = {"aa_arm": "ghost", "turn_s_chosen": "slice_s"}
"""The keys of plan.json, where they have another name in `Schedule`."""


def plan_json(plan: Plan, prepared: ReadyPlan) -> Json:
    """plan.json of docs/results.md: what was asked for, and the builds and sizes that it means."""
    return {
        "name": plan.name,
        "label": plan.label,
        "seed": plan.seed,
        "base": plan.base,
        "blocks": plan.schedule.blocks,
        "arms": [
            arm_json(arm, prepared.builds.get(arm.name))
            | in_force(prepared.settled.get(arm.name))
            | left_out(arm, prepared)
            for arm in plan.arms
        ],
        "workloads": [
            workload_json(plan, use, prepared.steps.get(use.title, {}).get(plan.base, ()))
            for use in plan.workloads
        ],
        "schedule": schedule_json(plan.schedule),
        "generator": generator_json(plan),
        "observe": observe_json(plan.observe),
        **between(plan),
        "verdict": said(asdict(plan.aims), Aims(), ("tolerate",)),
        "sizing": asdict(prepared.sizing),
        "text": plan.text,
        "dyno": __version__,
    }


def generator_json(plan: Plan) -> Json:
    """How the load is made; on which hosts only where it is not made beside the servers."""
    written: Json = {"threads": plan.threads}
    if plan.generator_hosts:
        written |= {"hosts": list(plan.generator_hosts), "tls": plan.tls}
    return written


NEWER = ("waits_sessions", "status_s", "indexes", "profile", "subsystems")


def observe_json(observe: Observation) -> Json:
    """The samples taken of servers; newer keys only if they are wanted: older folders lack them."""
    return said(asdict(observe), Observation(), NEWER)


def between(plan: Plan) -> Json:
    """Placement, hooks, a design, the length that dyno chose; nothing if the plan has none of them.

    So older folders, which lack these keys, go on.
    """
    written: Json = {}
    if plan.placement != Placement():
        written["placement"] = asdict(plan.placement)
    if plan.chosen_s is not None:
        written["chosen_s"] = plan.chosen_s
    if plan.require:
        written["require"] = dict(plan.require)
    if plan.attribution is not None:
        written["attribute"] = plan.attribution.written
    if plan.count is not None:
        written["count"] = said(asdict(plan.count), CountRequest(), ("fills", "parameters"))
    if plan.hooks:
        written["hooks"] = [said(asdict(hook), Hook, ("joins", "at_s")) for hook in plan.hooks]
    return written


def schedule_json(schedule: Schedule) -> Json:
    """The schedule; only turns have a length, and newer keys stand where they say something.

    So older folders, which lack them, go on.
    """
    in_turns = schedule.interleave == "turn"
    written = asdict(schedule) | {
        "interleave": schedule.interleave_written,
        "turn_s_chosen": schedule.turn_s if in_turns else None,
    }
    kept = said(
        written,
        Schedule,
        (
            "until_decided",
            "minutes_max",
            "aa_arm",
            "comparison",
            "fills",
            "fills_alike",
            "void",
            "repeats_max",
            "rest_s",
            "placement",
            "writes_in_turn",
            "trial",
        ),
    )
    return {KEYS.get(key, key): value for key, value in kept.items()}


def arm_json(arm: Arm, of: Build | None) -> Json:
    """An arm, with what its build is in truth: version and a hash of the server's program."""
    identity = None
    if of is not None:
        identity = {"version": of.version, "sha256": of.sha256}
        if arm.build is not None and (record := cache.kept(of.base_dir)) is not None:
            identity["key"] = record.key
    written = asdict(arm)
    written["base_dir"] = None if arm.base_dir is None else str(arm.base_dir)
    # What may be dropped and how a password may go there is no part of what is measured.
    del written["allow_drop"], written["allow_writes"]
    if arm.password is not None:
        del written["password"]["insecure"]
        if arm.password.passfile is not None:
            written["password"]["passfile"] = str(arm.password.passfile)
    written["build_name"] = written.pop("build")
    if arm.config_text is not None:
        written["config_sha256"] = hashlib.sha256(arm.config_text.encode()).hexdigest()
    del written["initdb"], written["transport"]
    newer = ("same_as", "shown", "config_text", "standby", "host")
    if not arm.endpoints:
        del written["endpoints"]
    return said(written, Arm, newer) | {"build": identity}


def in_force(settled: ArmSettings | None) -> Json:
    """`initdb` and `transport` as the arm's server has them, by its own keys or its preset's.

    And `inherits`, the settings of the source that it takes.

    What is as it was before there was a choice is not said, so folders of before go on.
    """
    if settled is None:
        return {}
    initdb = study.chosen(settled.initdb)
    written: Json = {"initdb": initdb} if initdb else {}
    if settled.transport != ArmSettings.transport:
        written["transport"] = settled.transport
    if settled.inherited:
        written["inherits"] = dict(settled.inherited)
    return written


def left_out(arm: Arm, prepared: ReadyPlan) -> Json:
    """`leaves_out`: by workload the steps that other arms do and this one never does."""
    lacking: dict[str, list[str]] = {}
    for title, by_arm in prepared.steps.items():
        own = {step.name for step in by_arm[arm.name]}
        names = dict.fromkeys(step.name for steps in by_arm.values() for step in steps)
        if others := [name for name in names if name not in own]:
            lacking[title] = others
    return {"leaves_out": lacking} if lacking else {}


def said(written: Json, default: object, keys: Iterable[str]) -> Json:
    """The values as written, without those of `keys` that equal `default`'s."""
    silent = {key for key in keys if written[key] == plain(getattr(default, key))}
    return {key: value for key, value in written.items() if key not in silent}


def plain(value: object) -> object:
    """A default as it stands where a whole dataclass was written."""
    return asdict(value) if isinstance(value, Void) else value


def workload_json(plan: Plan, use: WorkloadUse, steps: Sequence[Step]) -> Json:
    """A workload's use, with a hash of its text, and of each program and script that it runs."""
    programs = {step.name: registry.of(step).version(step) for step in steps}
    known = {name: version for name, version in programs.items() if version is not None}
    loaded = load(plan, use)
    scripts = workload.scripts_sha256(loaded)
    written = asdict(use) | {"restore": None if use.restore is None else str(use.restore)}
    return said(written, WorkloadUse, ("restart", "restore", "statistics")) | {
        "folder": loaded.name,
        "sha256": workload.sha256(use.name, plan.path),
        **({"note": loaded.file.note} if loaded.file.note else {}),
        **({"programs": known} if known else {}),
        **({"scripts_sha256": scripts} if scripts else {}),
        **application_json(loaded.application),
    }


def application_json(application: Application | None) -> Json:
    """The queries that are a workload's steps, without values; nothing where it has none."""
    if application is None:
        return {}
    source = application.source
    record = ApplicationRecord(
        queries=tuple(map(query_record, application.queries)),
        without_values=tuple(map(query_record, application.without_values)),
        seconds=source.seconds,
        time_s=source.time_s,
        calls=source.calls,
        first=source.first,
        last=source.last,
        left_out=source.left_out,
    )
    return {"application": msgspec.to_builtins(record)}


def query_record(query: OwnQuery) -> QueryRecord:
    """A query as plan.json has it, without values."""
    return turned(replace(query, text=workload.masked(query.text)), QueryRecord)
