"""The plan's tables that say how it is measured and judged, each checked by itself.

`[schedule]`, `[observe]`, `[verdict]`, `[generator]`, and where `[server]` and it run. Raises
PlanError in one line that names file, key and remedy.
"""

from __future__ import annotations

from dataclasses import replace

from dbdyno.model import Observe, Placement, Schedule, Void
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
WAITS_S_MIN, WAITS_S_MAX = 0.02, 10.0
"""Between two samples of sessions: below, sampling is a load; above, a window has too few."""


def schedule(form: ScheduleForm, source: str) -> Schedule:
    """How often and in which order the arms run."""
    until_decided = form.blocks == UNTIL_DECIDED
    if form.minutes_max is not None and not until_decided:
        sentence = f'only blocks = "{UNTIL_DECIDED}" has a time limit; write that, or remove it'
        raise refusal(source, "schedule.minutes_max", sentence)
    for key, value, interleave in (
        ("turn_s", form.turn_s, "turn"),
        ("writes_in_turn", form.writes_in_turn, "turn"),
        ("duet", form.duet, "duet"),
    ):
        if value and form.interleave != interleave:
            sentence = f'is for interleave = "{interleave}"; write that, or remove it'
            raise refusal(source, f"schedule.{key}", sentence)
    return Schedule(
        blocks=looks.UNTIL_DECIDED[-1] if isinstance(form.blocks, str) else form.blocks,
        until_decided=until_decided,
        minutes_max=form.minutes_max or (MINUTES_DEFAULT if until_decided else None),
        aa_arm=form.aa_arm,
        fills=form.fills,
        interleave=form.interleave,
        duet_forced=form.duet is not None,
        turn_s_chosen=form.turn_s,
        writes_in_turn=form.writes_in_turn,
        checkpoint=form.checkpoint,
        void=Void(foreign=form.void.foreign, stolen=form.void.stolen, swap=form.void.swap),
        repeats_max=form.repeats_max,
        rest_s=form.rest_s,
    )


def observe(form: ObserveForm, interleave: str, source: str) -> Observe:
    """The samples that are taken of servers."""
    profiles = Observe(
        profile=profile.wish(form.profile), subsystems=profile.subsystems(form, source)
    )
    if form.waits is None:
        if form.waits_sessions:
            sentence = 'needs `waits`, which says how often; write waits = "50ms" beside it'
            raise refusal(source, "observe.waits_sessions", sentence)
        return profiles
    in_ms = form.waits.endswith("ms")
    waits_s = float(form.waits.rstrip("ms ")) / (1000 if in_ms else 1)
    if not WAITS_S_MIN <= waits_s <= WAITS_S_MAX:
        sentence = f'must be from "20ms" to "10s", not {form.waits!r}'
        raise refusal(source, "observe.waits", sentence)
    if interleave in ("turn", "duet"):
        sentence = (
            f'waits cannot be sampled with interleave = "{interleave}"; remove it, or use "step"'
        )
        raise refusal(source, "observe.waits", sentence)
    return replace(profiles, waits_s=waits_s, waits_sessions=form.waits_sessions)


def aims(form: VerdictForm) -> Aims:
    """The changes that verdicts are to tell apart."""
    return Aims(margin=form.margin, effect=form.effect, power=form.power, judge=form.judge)


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
