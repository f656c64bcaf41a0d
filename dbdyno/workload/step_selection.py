"""Selects the steps of a workload: those that exist, their order, and those that a plan takes.

A file's steps become drafts: `for` and sweeps have been carried out, names and parameters are
known, and nothing else has been looked at.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.model.document import suggestion
from dbdyno.model.error import WorkloadError
from dbdyno.model.sweep import named
from dbdyno.workload import maker_schema, parameter, restored, schema, sweep
from dbdyno.workload.expression import Value
from dbdyno.workload.file import NAME, Workload
from dbdyno.workload.scope import Scope

STEPS_MAX = 1000
FILL = "fill"
"""The name of the step that loads the tables in bulk."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A step before its job is made."""

    name: str
    base: str  # the name without what a sweep adds
    values: Mapping[str, Value] = field(default_factory=dict)  # with which a sweep has it
    form: schema.StepForm | None  # None: the fill
    place: Scope  # the step's, with its own parameters
    there: bool = True  # not: it has `when` 0, or is part of the other load
    ordinal: int = 0

    @property
    def loads(self) -> bool:
        """Whether it belongs to the load, which comes by itself where steps need it."""
        step = self.form
        if step is None or step.load or step.fill is not None:
            return True
        return bool(step.creates or step.makes)

    @property
    def timed(self) -> bool:
        """Whether it is measured for some seconds: such steps are swept."""
        step = self.form
        return step is not None and step.measured and step.seconds is not None


@dataclass(frozen=True, kw_only=True)
class GivenParameters:
    """A plan's parameters."""

    values: Mapping[str, Value]  # for steps that are not swept
    swept: sweep.Lists = field(default_factory=dict)  # those of which it has a list


def taken(
    workload: Workload,
    scope: Scope,
    given: GivenParameters,
    steps: Sequence[str] | None,
    groups: Sequence[str] | None,
) -> tuple[list[Draft], list[Draft]]:
    """All steps of the workload's set, numbered in its order, and those of them that are taken.

    `steps` keeps only these, and brings them in from other sets; `groups` keeps only the steps of
    these groups and those of none. Raises WorkloadError.
    """
    name = workload.set or ""
    listed = _listed(name, workload, scope, (name,))
    every = list(itertools.islice(_drafts(workload, scope, given, listed), STEPS_MAX + 1))
    if len(every) > STEPS_MAX:
        raise scope.root("steps").error(f"more than {STEPS_MAX} steps")
    ordered = _with_foreign(_own(every, workload, scope, listed), every, steps, given, workload)
    numbered = [replace(draft, ordinal=n) for n, draft in enumerate(ordered, start=1)]
    if groups is not None:
        return numbered, _of_groups(numbered, groups, workload)
    return numbered, _named(numbered, every, steps, workload)


# --- Every step of the file -----------------------------------------------------------------


def _drafts(
    workload: Workload, scope: Scope, given: GivenParameters, listed: Sequence[str] | None
) -> Iterator[Draft]:
    """Every step, those with `for` once for each combination, the first key slowest."""
    filled = any(table.fill for table in workload.file.tables.values())
    there = workload.fill == "fast"
    if filled:
        place = scope.root("tables")
        yield Draft(name=FILL, base=FILL, form=None, place=place, there=there)
    for number, step in enumerate(workload.file.steps, start=1):
        place = scope.root("steps", number)
        lists = [_items(key, value, place.at("for", key)) for key, value in step.each.items()]
        for items in itertools.product(*lists):
            names = dict(zip(step.each, items, strict=True))
            plain = _draft(step, place, names, workload)
            own = plain.there and _in_set(plain, workload, listed)
            lists_of = _sweep(plain, workload, scope, given.swept) if own else {}
            yield from _swept(plain, lists_of, given, workload)


def _swept(
    plain: Draft, lists: sweep.Lists, given: GivenParameters, workload: Workload
) -> Iterator[Draft]:
    """A step once for each combination of the values in these lists; without lists as it is."""
    if not lists or plain.form is None:
        yield plain
        return
    for items in itertools.product(*lists.values()):
        values = dict(zip(lists, items, strict=True))
        names = parameter.of(workload, {**given.values, **values}, plain.place.engine)
        draft = _draft(plain.form, plain.place.knowing(names), {}, workload)
        yield replace(draft, name=named(plain.base, values), values=values)


def _items(key: str, written: str | list[maker_schema.Number], scope: Scope) -> list[Value]:
    if key in scope.names:
        raise scope.error("is a parameter's name, too; use another word")
    return _list(written, scope)


def _list(written: str | list[maker_schema.Number], scope: Scope) -> list[Value]:
    items = scope.value(written) if isinstance(written, str) else scope.value(list(written))
    if not isinstance(items, list):
        raise scope.error(f"must be a list or the name of one in braces, not {items!r}")
    return list(items)


def _draft(
    step: schema.StepForm, place: Scope, names: Mapping[str, Value], workload: Workload
) -> Draft:
    """A step with its name and its parameters; `names` are those of its `for`."""
    known = [name for name in place.names if name != parameter.ENGINE]
    here = place.knowing(names)
    own = {
        name: here.at("parameters", name).value(value) for name, value in step.parameters.items()
    }
    for name in own:
        if name not in known:
            raise here.at("parameters", name).error(f"no such parameter; {suggestion(name, known)}")
    here = here.knowing(own)
    name = here.at("name").text(step.name)
    if not NAME.fullmatch(name.replace("@", "-").replace("=", "-").replace(",", "-")):
        raise here.at("name").error(f"{name!r} cannot name a folder")
    there = step.fill in (None, workload.fill) and bool(here.at("when").number(step.when))
    return Draft(name=name, base=name, form=step, place=here, there=there)


def _sweep(draft: Draft, workload: Workload, scope: Scope, own: sweep.Lists) -> sweep.Lists:
    """The values of parameters with which there is a timed step of the set; none: as it is.

    A plan's `own` lists go before those of the set.
    """
    if not draft.timed:
        return {}
    chosen = workload.file.sets.get(workload.set or "")
    written = {} if chosen is None else chosen.sweep
    place = scope.root("sets", str(workload.set), "sweep")
    for key in written:
        if key not in workload.file.parameters:
            remedy = suggestion(key, workload.file.parameters)
            raise place.at(key).error(f"no such parameter; {remedy}")
    return {
        **{key: _list(value, place.at(key)) for key, value in written.items() if key not in own},
        **own,
    }


# --- Those of a set -------------------------------------------------------------------------


def _in_set(draft: Draft, workload: Workload, listed: Sequence[str] | None) -> bool:
    if draft.form is None or restored.restores(draft.form):
        return True
    if listed is not None:
        return draft.base in listed
    return not draft.form.sets or workload.set in draft.form.sets


def _listed(
    name: str, workload: Workload, scope: Scope, above: tuple[str, ...]
) -> list[str] | None:
    """The names of a set's steps in its order, where it lists them or is like one that does."""
    chosen = workload.file.sets.get(name)
    place = scope.root("sets", name)
    if chosen is None or (chosen.steps is None and chosen.like is None):
        return None
    if chosen.like is None:
        return chosen.steps
    if chosen.steps is not None:
        raise place.error("has both `steps` and `like`; remove one")
    if chosen.like in above:
        raise place.at("like").error("is like itself: " + " → ".join((*above, chosen.like)))
    base = _listed(chosen.like, workload, scope, (*above, chosen.like))
    if base is None:
        lists = [key for key, steps in workload.file.sets.items() if steps.steps is not None]
        raise place.at("like").error(
            f"no set `{chosen.like}` that has a list of steps; {suggestion(chosen.like, lists)}"
        )
    for key, names in (("without", chosen.without), ("instead", list(chosen.instead))):
        for name in names:
            if name not in base:
                raise place.at(key).error(f"no step `{name}` in it; {suggestion(name, base)}")
    return [chosen.instead.get(name, name) for name in base if name not in chosen.without]


def _own(
    every: Sequence[Draft], workload: Workload, scope: Scope, listed: Sequence[str] | None
) -> list[Draft]:
    """The steps of the workload's set in its order: its own list's, or else the file's."""
    own = [draft for draft in every if draft.there and _in_set(draft, workload, listed)]
    if listed is None:
        return own
    place = scope.root("sets", str(workload.set), "steps")
    for number, name in enumerate(listed, start=1):
        if name not in {draft.base for draft in every}:
            remedy = suggestion(name, [draft.base for draft in every])
            raise place.at(number).error(f"no step `{name}`; {remedy}")
        if name in listed[: number - 1]:
            raise place.at(number).error(f"`{name}` is listed twice; a run has each step once")
    order = {name: number for number, name in enumerate(listed)}
    return sorted(own, key=lambda draft: order.get(draft.base, -1))


def _with_foreign(
    own: Sequence[Draft],
    every: Sequence[Draft],
    wanted: Sequence[str] | None,
    given: GivenParameters,
    workload: Workload,
) -> list[Draft]:
    """The set's steps, and those of other sets that are wanted by their names.

    Each of these comes behind the step of the set that the file has before it, once for each value
    of the plan's own lists where it is timed.
    """
    names = {name for draft in own for name in (draft.name, draft.base)}
    missing = {name for name in wanted or () if name not in names}
    foreign = [draft for draft in every if draft.there and _is_among(draft, missing)]
    for name in (draft.name for draft in foreign):
        alike = [draft for draft in foreign if draft.name == name]
        if len(alike) > 1:
            sets = sorted(
                {f"`{each}`" for draft in alike if draft.form for each in draft.form.sets}
            )
            raise WorkloadError(
                f"{workload.source}: step `{name}` is in the sets "
                f"{' and '.join(sets)}; choose one with the key `set`"
            )
    ordered = list(own)
    for draft in foreign:
        before = [each for each in every[: every.index(draft)] if each in ordered]
        ordered.insert(ordered.index(before[-1]) + 1 if before else 0, draft)
    return [
        each
        for draft in ordered
        for each in _swept(
            draft, given.swept if draft.timed and draft in foreign else {}, given, workload
        )
    ]


def _is_among(draft: Draft, names: Iterable[str]) -> bool:
    """Whether a step is named, or one that it becomes where it is swept."""
    return any(
        name == draft.name or (draft.timed and name.startswith(f"{draft.name}@")) for name in names
    )


# --- Those that a plan takes ----------------------------------------------------------------


def _named(
    drafts: Sequence[Draft],
    every: Sequence[Draft],
    wanted: Sequence[str] | None,
    workload: Workload,
) -> list[Draft]:
    """The wanted steps; a name without what a sweep adds means all of them."""
    if wanted is None:
        return list(drafts)
    there = {name for draft in drafts for name in (draft.name, draft.base)}
    for name in wanted:
        if name in there:
            continue
        forms = [draft.form for draft in every if draft.name == name]
        loads = {"fast" if form is None else form.fill for form in forms} - {None, workload.fill}
        if loads:
            raise WorkloadError(
                f'{workload.source}: step `{name}` is part of fill = "{loads.pop()}" only, and '
                f'this is fill = "{workload.fill}"; change `fill`, or leave the step out'
            )
        raise WorkloadError(
            f"{workload.source}: no step `{name}` with these parameters; "
            f"{suggestion(name, [draft.name for draft in every if draft.there])}"
        )
    return [
        draft
        for draft in drafts
        if draft.name in wanted or draft.base in wanted or restored.restores(draft.form)
    ]


def _of_groups(drafts: Sequence[Draft], wanted: Sequence[str], workload: Workload) -> list[Draft]:
    """The steps of these groups, and those of none, such as the load."""
    groups = workload.file.groups
    for name in wanted:
        if name not in groups:
            raise WorkloadError(f"{workload.source}: no group `{name}`; {suggestion(name, groups)}")
    return [draft for draft in drafts if draft.form is None or draft.form.group in (None, *wanted)]
