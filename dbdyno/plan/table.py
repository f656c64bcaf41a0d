"""The plan's tables that say how it is measured and judged, each checked by itself.

`[schedule]`, `[observe]`, `[verdict]`, `[generator]`, and where `[server]` and it run. Raises
PlanError in one line that names file, key and remedy.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

from dbdyno.model import Observe, Placement, Schedule, Void
from dbdyno.model.document import suggestion
from dbdyno.model.looks import Judge
from dbdyno.model.verdict import Aims
from dbdyno.plan import profile
from dbdyno.plan.schema import (
    GeneratorForm,
    ObserveForm,
    RequireForm,
    ScheduleForm,
    ServerForm,
    VerdictForm,
    VoidForm,
    refusal,
)
from dbdyno.stats import looks

UNTIL_DECIDED = "until decided"
JUDGES: tuple[Judge, ...] = get_args(Judge)
MINUTES_DEFAULT = 120.0
MINUTES_MAX = 30 * 24 * 60
THREADS_MAX = 1_024
"""As dyno-loadgen has it, which starts none without a connection."""
A_THREAD_EACH = "clients"
INTERLEAVES = ("run", "step", "turn", "duet")
FORCED = "forced"
TURN_S_MIN, TURN_S_MAX = 0.2, 60.0
"""A turn's seconds: below, switching takes as long as it lasts; above, steps do as well."""
CHECKPOINTS = ("before-step",)
WAITS_S_MIN, WAITS_S_MAX = 0.02, 10.0
"""Between two samples of sessions: below, sampling is a load; above, a window has too few."""
SHARE_MIN, SHARE_MAX = 0.001, 0.5
"""Of margin and effect."""
POWER_MIN, POWER_MAX = 0.5, 0.99
REPEATS_MAX = 100
REST_S_MAX = 7_200
"""Twice and more what published studies rested."""
CPUS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
TIME = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s)")


def schedule(form: ScheduleForm, source: str) -> Schedule:
    """How often and in which order the arms run."""
    if form.interleave not in INTERLEAVES:
        remedy = suggestion(form.interleave, INTERLEAVES)
        sentence = f"no interleave `{form.interleave}`; {remedy}"
        raise refusal(source, "schedule.interleave", sentence)
    if form.checkpoint not in (None, *CHECKPOINTS):
        remedy = suggestion(str(form.checkpoint), CHECKPOINTS)
        sentence = f"no checkpoint `{form.checkpoint}`; {remedy}"
        raise refusal(source, "schedule.checkpoint", sentence)
    return Schedule(
        blocks=_blocks(form, source),
        until_decided=isinstance(form.blocks, str),
        minutes_max=_minutes_max(form, source),
        aa_arm=form.aa_arm,
        fills=form.fills,
        interleave=form.interleave,
        duet_forced=_duet_forced(form, source),
        turn_s_chosen=_turn_s(form, source),
        writes_in_turn=_writes_in_turn(form, source),
        checkpoint=form.checkpoint,
        void=_void(form.void, source),
        repeats_max=_repeats_max(form, source),
        rest_s=_rest_s(form, source),
    )


def observe(form: ObserveForm, interleave: str, source: str) -> Observe:
    """The samples that are taken of servers."""
    profiles = Observe(
        profile=profile.wish(form.profile, source), subsystems=profile.subsystems(form, source)
    )
    if form.waits is None:
        if form.waits_sessions:
            sentence = 'needs `waits`, which says how often; write waits = "50ms" beside it'
            raise refusal(source, "observe.waits_sessions", sentence)
        return profiles
    match = TIME.fullmatch(form.waits)
    if match is None:
        sentence = f'{form.waits!r} is not a duration; write it as "50ms" or "1s"'
        raise refusal(source, "observe.waits", sentence)
    waits_s = float(match[1]) / (1000 if match[2] == "ms" else 1)
    if not WAITS_S_MIN <= waits_s <= WAITS_S_MAX:
        sentence = f'must be from "20ms" to "10s", not {form.waits!r}'
        raise refusal(source, "observe.waits", sentence)
    if interleave in ("turn", "duet"):
        sentence = (
            f'waits cannot be sampled with interleave = "{interleave}"; remove it, or use "step"'
        )
        raise refusal(source, "observe.waits", sentence)
    return replace(profiles, waits_s=waits_s, waits_sessions=form.waits_sessions)


def aims(form: VerdictForm, source: str) -> Aims:
    """The changes that verdicts are to tell apart."""
    for key in ("margin", "effect"):
        share = getattr(form, key)
        if not SHARE_MIN <= share <= SHARE_MAX:
            sentence = f"must be a share from {SHARE_MIN} to {SHARE_MAX}, not {share:g}"
            raise refusal(source, f"verdict.{key}", f"{sentence}; 0.03 is three percent")
    if not POWER_MIN <= form.power <= POWER_MAX:
        sentence = f"must be a share from {POWER_MIN} to {POWER_MAX}, not {form.power:g}"
        raise refusal(source, "verdict.power", sentence)
    judge = next((one for one in JUDGES if one == form.judge), None)
    if judge is None:
        sentence = f"no judge `{form.judge}`; {suggestion(form.judge, JUDGES)}"
        raise refusal(source, "verdict.judge", sentence)
    return Aims(
        margin=float(form.margin),
        effect=float(form.effect),
        power=float(form.power),
        judge=judge,
    )


def threads(form: GeneratorForm, source: str) -> int | None:
    """The load generator's worker threads; None: as many as suit the host."""
    if isinstance(form.threads, str):
        return THREADS_MAX
    if form.threads is not None and not 1 <= form.threads <= THREADS_MAX:
        sentence = f'must be from 1 to {THREADS_MAX} or "{A_THREAD_EACH}", not {form.threads}'
        raise refusal(source, "generator.threads", sentence)
    return form.threads


def placement(server: ServerForm, generator: GeneratorForm, source: str) -> Placement:
    """On which processors and memory servers and the generator run."""
    for key, cpus in (("server", server.cpus), ("generator", generator.cpus)):
        if cpus is not None and not CPUS.fullmatch(cpus):
            sentence = f'{cpus!r} names no processors; write it as "0-3" or "0,2,8-11"'
            raise refusal(source, f"{key}.cpus", sentence)
    return Placement(
        server_cpus=server.cpus,
        generator_cpus=generator.cpus,
        interleave_memory=server.interleave_memory,
    )


def require(form: RequireForm) -> dict[str, bool | int | str]:
    """The properties that the host must have, in the order of docs/plan.md."""
    return form.model_dump(exclude_none=True)


def _blocks(form: ScheduleForm, source: str) -> int:
    if isinstance(form.blocks, str):
        return looks.UNTIL_DECIDED[-1]
    if not 1 <= form.blocks <= looks.BLOCKS_MAX:
        sentence = f'must be from 1 to {looks.BLOCKS_MAX}, or "{UNTIL_DECIDED}", not {form.blocks}'
        raise refusal(source, "schedule.blocks", sentence)
    return form.blocks


def _minutes_max(form: ScheduleForm, source: str) -> float | None:
    if not isinstance(form.blocks, str):
        if form.minutes_max is None:
            return None
        sentence = f'only blocks = "{UNTIL_DECIDED}" has a time limit; write that, or remove it'
        raise refusal(source, "schedule.minutes_max", sentence)
    if form.minutes_max is None:
        return MINUTES_DEFAULT
    if not 1 <= form.minutes_max <= MINUTES_MAX:
        sentence = f"must be from 1 to {MINUTES_MAX:,}, not {form.minutes_max:g}"
        raise refusal(source, "schedule.minutes_max", sentence)
    return float(form.minutes_max)


def _void(form: VoidForm, source: str) -> Void:
    for key in ("foreign", "stolen"):
        share = getattr(form, key)
        if share is not None and not 0 <= share <= 1:
            sentence = f"must be a share of all cores' time from 0 to 1, not {share:g}"
            raise refusal(source, f"schedule.void.{key}", f"{sentence}; 0.05 is five percent")
    stolen = None if form.stolen is None else float(form.stolen)
    return Void(foreign=float(form.foreign), stolen=stolen, swap=form.swap)


def _repeats_max(form: ScheduleForm, source: str) -> int:
    if not 0 <= form.repeats_max <= REPEATS_MAX:
        sentence = f"must be from 0 to {REPEATS_MAX}, not {form.repeats_max}"
        raise refusal(source, "schedule.repeats_max", sentence)
    return form.repeats_max


def _rest_s(form: ScheduleForm, source: str) -> float:
    if not 0 <= form.rest_s <= REST_S_MAX:
        sentence = f"must be from 0 to {REST_S_MAX:,}, not {form.rest_s:g}"
        raise refusal(source, "schedule.rest_s", sentence)
    return float(form.rest_s)


def _turn_s(form: ScheduleForm, source: str) -> float | None:
    if form.turn_s is None:
        return None
    if form.interleave != "turn":
        sentence = 'only interleave = "turn" has turns; write that, or remove it'
        raise refusal(source, "schedule.turn_s", sentence)
    if not TURN_S_MIN <= form.turn_s <= TURN_S_MAX:
        sentence = f"must be from {TURN_S_MIN:g} to {TURN_S_MAX:g}, not {form.turn_s:g}"
        raise refusal(source, "schedule.turn_s", sentence)
    return float(form.turn_s)


def _writes_in_turn(form: ScheduleForm, source: str) -> bool:
    if form.writes_in_turn and form.interleave != "turn":
        sentence = 'only interleave = "turn" has turns; write that, or remove it'
        raise refusal(source, "schedule.writes_in_turn", sentence)
    return form.writes_in_turn


def _duet_forced(form: ScheduleForm, source: str) -> bool:
    if form.duet is None:
        return False
    if form.interleave != "duet":
        sentence = 'only interleave = "duet" can be forced; write that, or remove it'
        raise refusal(source, "schedule.duet", sentence)
    if form.duet != FORCED:
        raise refusal(
            source, "schedule.duet", f'must be "{FORCED}", not {form.duet!r}; or remove it'
        )
    return True
