"""The plan's tables that say how it is measured and judged, each checked by itself.

`[schedule]`, `[observe]`, `[verdict]`, `[generator]`, and where `[server]` and it run. Raises
PlanError in one line that names file, key and remedy.
"""

from dataclasses import replace

from dbdyno.model import Observation, Placement, Schedule, Void
from dbdyno.model.verdict import Aims
from dbdyno.plan import profile
from dbdyno.plan.schema import (
    THREADS_MAX,
    GeneratorForm,
    ObserveForm,
    RequireForm,
    ScheduleForm,
    ServerForm,
    VerdictForm,
    refusal,
)
from dbdyno.stats import looks

UNTIL_DECIDED = "until decided"
MINUTES_DEFAULT = 120.0
WAITS_S = (0.02, 10.0)
"""Between two samples of sessions: below, sampling is a load; above, a window has too few."""
STATUS_S = (0.2, 600.0)
"""Between two questions for a server's own state, likewise."""


def schedule(form: ScheduleForm, source: str) -> Schedule:
    """How often and in which order the arms run."""
    until_decided = form.blocks == UNTIL_DECIDED
    if form.minutes_max is not None and not until_decided:
        sentence = f'only blocks = "{UNTIL_DECIDED}" has a time limit; write that, or remove it'
        raise refusal(source, "schedule.minutes_max", sentence)
    for key, value in (("turn_s", form.turn_s), ("writes_in_turn", form.writes_in_turn)):
        if value and form.interleave != "turn":
            sentence = 'is for interleave = "turn"; write that, or remove it'
            raise refusal(source, f"schedule.{key}", sentence)
    return Schedule(
        blocks=looks.UNTIL_DECIDED[-1] if isinstance(form.blocks, str) else form.blocks,
        until_decided=until_decided,
        minutes_max=form.minutes_max or (MINUTES_DEFAULT if until_decided else None),
        aa_arm=form.aa_arm,
        fills=form.fills,
        interleave=form.interleave,
        placement=form.placement,
        turn_s_chosen=form.turn_s,
        writes_in_turn=form.writes_in_turn,
        checkpoint=form.checkpoint,
        void=Void(foreign=form.void.foreign, stolen=form.void.stolen, swap=form.void.swap),
        repeats_max=form.repeats_max,
        trial=form.trial,
        rest_s=form.rest_s,
    )


def observe(form: ObserveForm, interleave: str, source: str) -> Observation:
    """The samples that are taken of servers."""
    if form.indexes and interleave == "turn":
        sentence = 'indexes are not read with interleave = "turn"; remove it, or use "step"'
        raise refusal(source, "observe.indexes", sentence)
    profiles = Observation(
        status_s=duration(form.status, "status", STATUS_S, interleave, source),
        indexes=form.indexes,
        profile=profile.wish(form.profile),
        subsystems=profile.subsystems(form, source),
    )
    if form.waits is None:
        if form.waits_sessions:
            sentence = 'needs `waits`, which says how often; write waits = "50ms" beside it'
            raise refusal(source, "observe.waits_sessions", sentence)
        return profiles
    waits_s = duration(form.waits, "waits", WAITS_S, interleave, source)
    return replace(profiles, waits_s=waits_s, waits_sessions=form.waits_sessions)


def duration(
    written: str | None, key: str, bounds: tuple[float, float], interleave: str, source: str
) -> float | None:
    """How often servers are asked in a window, in seconds; None: not."""
    if written is None:
        return None
    seconds = float(written.rstrip("ms ")) / (1000 if written.endswith("ms") else 1)
    least, most = bounds
    if not least <= seconds <= most:
        sentence = f'must be from "{1000 * least:g}ms" to "{most:g}s", not {written!r}'
        raise refusal(source, f"observe.{key}", sentence)
    if interleave == "turn":
        sentence = 'servers cannot be asked with interleave = "turn"; remove it, or use "step"'
        raise refusal(source, f"observe.{key}", sentence)
    return seconds


def aims(form: VerdictForm) -> Aims:
    """The changes that verdicts are to tell apart."""
    return Aims(margin=form.margin, effect=form.effect, power=form.power, tolerate=form.tolerate)


def threads(form: GeneratorForm) -> int | None:
    """The load generator's worker threads; None: as many as suit the host."""
    return THREADS_MAX if isinstance(form.threads, str) else form.threads


def placement(server: ServerForm, generator: GeneratorForm) -> Placement:
    """On which processors and memory servers and the generator run."""
    return Placement(
        server_cpus=server.cpus,
        generator_cpus=generator.cpus,
        interleave_memory=server.interleave_memory,
    )


def require(form: RequireForm) -> dict[str, bool | int | str]:
    """The properties that the host must have, in the order of docs/plan.md."""
    return form.model_dump(exclude_none=True)
