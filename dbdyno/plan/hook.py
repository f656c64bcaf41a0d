"""The hooks of a plan: commands and SQL that it wants between what is measured."""

from collections.abc import Collection, Iterable, Sequence

from dbdyno.model import Arm, Hook, HookMoment, Schedule
from dbdyno.model.document import suggestion
from dbdyno.plan.schema import HookForm, refusal

DURING: HookMoment = "during-step"


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


def check_together(hooks: Iterable[Hook], schedule: Schedule, source: str) -> None:
    """Raises PlanError where a hook has a time in windows that arms take turns in."""
    for number, hook in enumerate(hooks, start=1):
        if hook.at_s is not None and schedule.interleave == "turn":
            sentence = 'a window of interleave = "turn" is not of one arm; '
            raise refusal(source, f"hooks[{number}].at_s", sentence + 'write "run" or "step"')


def check_joins(hooks: Iterable[Hook], arms: Iterable[Arm], source: str) -> None:
    """Raises PlanError where a standby is to join an arm that has none."""
    having = {arm.name for arm in arms if arm.standby}
    for number, hook in enumerate(hooks, start=1):
        wanted = set(hook.arms or having)
        lacking = sorted(wanted - having) or ([] if having else ["any arm"])
        if hook.joins and lacking:
            sentence = f"{lacking[0]} has no standby that could join; add `standby = 1` to the arm"
            raise refusal(source, f"hooks[{number}].standby", sentence)


def _hook(form: HookForm, key: str, arms: Collection[str], source: str) -> Hook:
    if sum(action is not None for action in (form.command, form.sql, form.standby)) != 1:
        raise refusal(source, key, "needs one of `command`, `sql` and `standby`")
    if (form.at_s is None) == (form.when == DURING):
        sentence = (
            f'say how long after the opening of a window: `at_s = 60` beside when = "{DURING}"'
            if form.at_s is None
            else f'is for when = "{DURING}"; remove it, or change `when`'
        )
        raise refusal(source, f"{key}.at_s", sentence)
    for arm in form.arms or ():
        if arm not in arms:
            raise refusal(source, f"{key}.arms", f"no arm `{arm}`; {suggestion(arm, arms)}")
    if form.steps is not None and form.when.endswith("run"):
        sentence = f"`{form.when}` belongs to no step; remove it, or use before-step or after-step"
        raise refusal(source, f"{key}.steps", sentence)
    sql = [form.sql] if isinstance(form.sql, str) else form.sql or []
    return Hook(
        when=form.when,
        command=None if form.command is None else tuple(form.command),
        sql=tuple(sql),
        joins=form.standby is not None,
        at_s=form.at_s,
        arms=None if form.arms is None else tuple(form.arms),
        steps=None if form.steps is None else tuple(form.steps),
    )
