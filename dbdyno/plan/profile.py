"""The profiles that a plan asks for: `[observe] profile`."""

from collections.abc import Collection

from dbdyno.model import Plan, ProfileRequest
from dbdyno.model.document import suggestion
from dbdyno.plan.schema import ObserveForm, ProfileForm, refusal

KEY = "observe.profile"
KEY_SUBSYSTEMS = "observe.subsystems"


def wish(form: ProfileForm | None) -> ProfileRequest | None:
    """The profiles as they are written; None where the plan asks for none."""
    if form is None:
        return None
    steps = None if form.steps is None else tuple(form.steps)
    return ProfileRequest(seconds=form.seconds, hertz=form.hertz, steps=steps)


def subsystems(form: ObserveForm, source: str) -> dict[str, tuple[str, ...]]:
    """The subsystems that a plan adds, by name how their functions begin. Raises PlanError."""
    for name, beginnings in form.subsystems.items():
        key = f"{KEY_SUBSYSTEMS}.{name}"
        if form.profile is None:
            raise refusal(source, KEY_SUBSYSTEMS, "needs `profile`; write it beside the table")
        if not name or not beginnings:
            raise refusal(source, key, 'needs a name and a list, such as mine = ["my_", "@my.so"]')
        for beginning in beginnings:
            if not beginning.removeprefix("@"):
                sentence = f"{beginning!r} begins every name; write how some functions begin"
                raise refusal(source, key, sentence)
    return {name: tuple(beginnings) for name, beginnings in form.subsystems.items()}


def check(plan: Plan, steps: Collection[str], source: str) -> None:
    """Raises PlanError where a server or a step cannot be profiled; `steps`: the measured ones."""
    profile = plan.observe.profile
    if profile is None:
        return
    for arm in plan.arms:
        if arm.dsn is not None:
            sentence = f"the processes of arm `{arm.name}`, which has a `dsn`, cannot be sampled"
            raise refusal(source, KEY, f"{sentence}; remove the key")
    for step in profile.steps or ():
        if step not in steps:
            raise refusal(
                source, f"{KEY}.steps", f"no measured step `{step}`; {suggestion(step, steps)}"
            )
