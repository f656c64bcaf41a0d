"""The profile of a step: what its processes were seen to do in an unjudged repetition of it."""

from __future__ import annotations

from dataclasses import replace

from dbdyno.analysis.step import counters, evidence
from dbdyno.analysis.step.evidence import Evidence
from dbdyno.model import Json, Profile, StepRun
from dbdyno.model.error import ResultError
from dbdyno.model.step_run import SERVER_OWNERS
from dbdyno.store import StepFolder


def added(run: StepRun, folder: StepFolder) -> StepRun:
    """The step with its profile, or with a warning that says why a wanted one is missing."""
    if run.ending.status != "ok":
        return run
    try:
        its = folder.profile()
        facts = None if its is None else its.profiled()
        found = profile(folder)
    except ResultError as error:
        text = str(error).removeprefix(f"{folder.path}/")
        return replace(run, warnings=(*run.warnings, f"left out: {text}; the profile is missing"))
    if facts is not None and facts["failure"] is not None:
        warning = f"not profiled: {facts['failure']}"
        return replace(run, warnings=(*run.warnings, warning))
    return replace(run, profile=found, metrics={**run.metrics, **counters.metrics(found)})


def profile(folder: StepFolder) -> Profile | None:
    """The profile of the step in `folder`; None where none was taken, or nothing was sampled.

    Raises ResultError where its files are damaged.
    """
    its = folder.profile()
    facts = None if its is None else its.profiled()
    if its is None or facts is None or facts["failure"] is not None:
        return None
    return _profile(its, facts, evidence.read(its))


def _profile(folder: StepFolder, facts: Json, found: Evidence) -> Profile:
    stacks, seconds = folder.stacks(), found.load.seconds
    if seconds is None:
        raise ResultError(f"{folder.path}/events.jsonl: has no window; restore it from a copy")
    return Profile(
        seconds=seconds,
        event=facts["event"],
        hertz=facts["hertz"],
        call_graph=facts["call_graph"],
        samples=facts["samples"],
        lost=facts["lost"],
        stacks=stacks,
        without_symbols={
            binary["path"]: binary["samples"]
            for binary in facts["binaries"]
            if not binary["symbols"]
        },
        operations=found.operations,
        cpu_us=evidence.cpu_us(found, *SERVER_OWNERS),
        counters={
            name: value * seconds / (facts.get("seconds") or seconds)
            for name, value in facts.get("counters", {}).items()
        },
        no_counters=facts.get("no_counters"),
    )
