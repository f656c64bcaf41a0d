"""The profile of a step: what its processes were seen to do in an unjudged repetition of it."""

from dataclasses import replace

from dbdyno.evidence import counters, evidence
from dbdyno.model import Profile, StepRun
from dbdyno.model.doubt import DoubtSubject
from dbdyno.model.error import ResultError
from dbdyno.model.profile import NoProfile, ProfileFile
from dbdyno.model.step_run import SERVER_OWNERS
from dbdyno.store import StepFolder


def added(run: StepRun, folder: StepFolder) -> StepRun:
    """The step with its profile, or with a doubt that says why a wanted one is missing."""
    if run.ending.status != "ok":
        return run
    try:
        repetition = folder.profile()
        outcome = None if repetition is None else repetition.profiled()
        taken = None
        if repetition is not None and isinstance(outcome, ProfileFile):
            taken = _profile(repetition, outcome)
    except ResultError as error:
        return _without(run, str(error).removeprefix(f"{folder.path}/"))
    if isinstance(outcome, NoProfile):
        return _without(run, outcome.failure)
    return replace(run, profile=taken, metrics={**run.metrics, **counters.metrics(taken)})


def _without(run: StepRun, why: str | None) -> StepRun:
    """The step without a profile, which `why` says."""
    doubt = DoubtSubject.NOT_PROFILED.doubt(why or "no reason recorded")
    return replace(run, doubts=(*run.doubts, doubt))


def _profile(repetition: StepFolder, sampled: ProfileFile) -> Profile:
    """The profile of a repetition. Raises ResultError where its files are damaged."""
    basis, stacks = evidence.read(repetition), repetition.stacks()
    seconds = basis.load.seconds
    if seconds is None:
        raise ResultError(f"{repetition.path}/events.jsonl: has no window; restore it from a copy")
    return Profile(
        seconds=seconds,
        event=sampled.event,
        hertz=sampled.hertz,
        call_graph=sampled.call_graph,
        samples=sampled.samples,
        lost=sampled.lost,
        stacks=stacks,
        without_symbols={
            binary.path: binary.samples for binary in sampled.binaries if not binary.symbols
        },
        operations=basis.operations,
        cpu_us=evidence.cpu_us(basis, *SERVER_OWNERS),
        counters={
            name: value * seconds / (sampled.seconds or seconds)
            for name, value in sampled.counters.items()
        },
        no_counters=sampled.no_counters,
    )
