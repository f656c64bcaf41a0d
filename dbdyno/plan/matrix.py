"""An arm with a `matrix` stands for many: one for each combination of values (docs/plan.md).

Names and order are those of the published matrices, from the tags of presets: a setting and value
that a tag sets alone is named by the tag, anything else `name-value`.
"""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.engine import preset
from dbdyno.engine.preset import config_file, files
from dbdyno.model.error import PlanError
from dbdyno.plan.arm import SETTING
from dbdyno.plan.schema import ArmForm, Scalar, refusal

ARMS_MAX = 200
"""More arms than this are made only where a person says so."""
TAGS = "tags"
"""The key of a matrix that has lists of tags; every other one is a setting."""
ON = frozenset({"on", "true", "yes", "1"})
OFF = frozenset({"off", "false", "no", "0"})
NO_NAME = re.compile(r"[^A-Za-z0-9.+-]")
"""Characters that a folder's name cannot have."""


@dataclass(frozen=True, kw_only=True)
class AxisValue:
    """One place on an axis: a setting's value, or a tag."""

    label: str
    order: int | None  # its tag's place in the list of tags; None: no tag says it
    settings: Mapping[str, Scalar]
    tag: str | None


def expanded(
    forms: Mapping[str, ArmForm], source: str, arms_max: int | None = ARMS_MAX
) -> dict[str, ArmForm]:
    """The arms as they are written, those with a matrix as the arms that they stand for.

    More than `arms_max` are refused; None: no limit. Raises PlanError.
    """
    grids = {
        name: grid(form, f"arms.{name}", source)
        for name, form in forms.items()
        if form.matrix is not None
    }
    count = sum(math.prod(map(len, grids.get(name, ()))) for name in forms)
    if arms_max is not None and count > arms_max:
        sentence = f"the plan has {count} arms; pass --yes to allow more than {arms_max}"
        raise refusal(source, "arms", sentence)
    made: dict[str, ArmForm] = {}
    for name, form in forms.items():
        arms = [(name, form)]
        if name in grids:
            arms = list(combinations(name, form, grids[name], alone=len(forms) == 1))
        for other, arm in arms:
            if other in made:
                sentence = f"two arms would have the name `{other}`; rename one, or its values"
                raise refusal(source, f"arms.{name}", sentence)
            made[other] = arm
    return made


def combinations(
    name: str, form: ArmForm, axes: Sequence[Sequence[AxisValue]], *, alone: bool
) -> Iterator[tuple[str, ArmForm]]:
    """The arms of a matrix with their names; where it is `alone` they need none of its own."""
    for point in itertools.product(*axes):
        label = "_".join(value.label for value in point)
        settings = {key: setting for value in point for key, setting in value.settings.items()}
        tags = "".join(f"_{value.tag}" for value in point if value.tag is not None)
        made = form.model_copy(
            update={
                "matrix": None,
                "settings": form.settings | settings,
                "config": form.config + tags if form.config is not None else None,
            }
        )
        yield (label if alone else f"{name}_{label}"), made


def grid(form: ArmForm, arm: str, source: str) -> list[list[AxisValue]]:
    """The axes of a matrix in their order. Raises PlanError."""
    written = form.matrix or {}
    key = f"{arm}.matrix"
    if form.engine not in files.engines():
        raise refusal(source, key, f'engine "{form.engine}" has no settings; remove it')
    if not written:
        raise refusal(source, key, "is empty; name settings and their values, or remove it")
    axes: list[list[AxisValue]] = []
    for name, values in written.items():
        if name == TAGS:
            lists = [value if isinstance(value, list) else [value] for value in values]
            axes += [axis_of_tags(form, tags, f"{key}.{TAGS}", source) for tags in lists]
            continue
        if not SETTING.fullmatch(name):
            raise refusal(source, key, f"{name!r} cannot be a setting's name")
        if name in form.settings:
            sentence = f"`{name}` is among the arm's `settings`, too; keep one"
            raise refusal(source, key, sentence)
        axes.append(axis_of_setting(form.engine, name, values, f"{key}.{name}", source))
    return sorted(map(in_order, axes), key=place)


def axis_of_setting(
    engine: str, name: str, values: Sequence[object], key: str, source: str
) -> list[AxisValue]:
    """The values of a setting. Raises PlanError."""
    scalars = [value for value in values if isinstance(value, str | bool | int | float)]
    if not scalars or len(scalars) < len(values):
        raise refusal(source, key, "must be a list of values, such as [true, false]")
    same = files.same_values(engine).get(name, {})
    seen: dict[str, Scalar] = {}
    for scalar in scalars:
        plain = normal(scalar, same)
        if plain in seen:
            raise refusal(source, key, f"{seen[plain]!r} and {scalar!r} are the same; keep one")
        seen[plain] = scalar
    return [value_of(engine, name, scalar, plain, same) for plain, scalar in seen.items()]


def value_of(
    engine: str, name: str, written: Scalar, plain: str, same: Mapping[str, str]
) -> AxisValue:
    """A setting's value, named by the first tag that sets just that."""
    for order, tag in enumerate(files.tags(engine)):
        sets = tag.settings.get(name) if len(tag.settings) == 1 else None
        if isinstance(sets, str) and files.NUMBER not in tag.name and normal(sets, same) == plain:
            return AxisValue(label=tag.name, order=order, settings={name: written}, tag=None)
    text = {True: "on", False: "off"}[written] if isinstance(written, bool) else str(written)
    label = f"{name}-{NO_NAME.sub('-', text)}"
    return AxisValue(label=label, order=None, settings={name: written}, tag=None)


def normal(value: Scalar, same: Mapping[str, str]) -> str:
    """A value in the one form in which those that are the same are equal."""
    text = str(value).strip().lower()
    text = same.get(text, text)
    return "on" if text in ON else "off" if text in OFF else text


def axis_of_tags(form: ArmForm, tags: Sequence[object], key: str, source: str) -> list[AxisValue]:
    """Tags, one after the other behind the arm's preset. Raises PlanError."""
    words = [tag for tag in tags if isinstance(tag, str)]
    if not words or len(words) < len(tags) or len(set(words)) < len(words):
        raise refusal(source, key, 'must be lists of different tags, such as [["bl0", "bl1"]]')
    if form.config is None or config_file.is_file(form.config):
        raise refusal(source, key, "tags belong to a preset; name one under `config`")
    order = [tag.name for tag in files.tags(form.engine)]
    for word in words:
        try:
            preset.parse(f"{form.config}_{word}", form.engine)
        except PlanError as reason:
            raise refusal(source, key, str(reason).removeprefix("config: ")) from None
    return [
        AxisValue(
            label=word, order=order.index(word) if word in order else None, settings={}, tag=word
        )
        for word in words
    ]


def in_order(axis: list[AxisValue]) -> list[AxisValue]:
    """Values in the order of the tags that name them; as they are written where one has none."""
    if any(value.order is None for value in axis):
        return axis
    return sorted(axis, key=place_of)


def place(axis: Sequence[AxisValue]) -> float:
    """The place of an axis: by its first tag; those without one last, as they are written."""
    return min(map(place_of, axis))


def place_of(value: AxisValue) -> float:
    """The place of a value's tag; those without one last."""
    return math.inf if value.order is None else value.order
