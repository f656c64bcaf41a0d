"""The hooks of a plan: commands and SQL that it wants between what is measured."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import get_args

from dbdyno.model import Hook, HookMoment
from dbdyno.model.document import suggestion
from dbdyno.plan.schema import HookForm, refusal

MOMENTS: tuple[HookMoment, ...] = get_args(HookMoment)


def hooks_of(forms: Sequence[HookForm], arms: Collection[str], source: str) -> tuple[Hook, ...]:
    """The hooks as they are written; `arms`: the names of all arms. Raises PlanError."""
    return tuple(
        _hook(form, f"hooks[{number}]", arms, source) for number, form in enumerate(forms, start=1)
    )


def check_steps(hooks: Iterable[Hook], steps: Collection[str], source: str) -> None:
    """Raises PlanError where a hook names a step that no workload of the plan has."""
    for number, hook in enumerate(hooks, start=1):
        for step in hook.steps or ():
            if step not in steps:
                sentence = f"no step `{step}`; {suggestion(step, steps)}"
                raise refusal(source, f"hooks[{number}].steps", sentence)


def _hook(form: HookForm, key: str, arms: Collection[str], source: str) -> Hook:
    moments = [moment for moment in MOMENTS if moment == form.when]
    if not moments:
        sentence = f"no moment `{form.when}`; {suggestion(form.when, MOMENTS)}"
        raise refusal(source, f"{key}.when", sentence)
    if (form.command is None) == (form.sql is None):
        raise refusal(source, key, "needs either `command` or `sql`")
    if form.command is not None and not form.command:
        raise refusal(source, f"{key}.command", "is empty; name a program and its arguments")
    for arm in form.arms or ():
        if arm not in arms:
            raise refusal(source, f"{key}.arms", f"no arm `{arm}`; {suggestion(arm, arms)}")
    if form.steps is not None and moments[0].endswith("run"):
        sentence = f"`{form.when}` belongs to no step; remove it, or use before-step or after-step"
        raise refusal(source, f"{key}.steps", sentence)
    sql = [form.sql] if isinstance(form.sql, str) else form.sql or []
    return Hook(
        when=moments[0],
        command=None if form.command is None else tuple(form.command),
        sql=tuple(sql),
        arms=None if form.arms is None else tuple(form.arms),
        steps=None if form.steps is None else tuple(form.steps),
    )
