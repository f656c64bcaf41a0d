"""`[attribute]` of a plan: the factors of two arms, and which arm has which of them."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.model.attribution import Design, Factor
from dbdyno.model.document import suggestion
from dbdyno.model.error import PlanError
from dbdyno.plan.schema import AttributeForm, refusal

FACTORS_MIN = 2
VALUES = (0, 1)


def design_of(form: AttributeForm | None, arms: Sequence[str], source: str) -> Design | None:
    """The design; None where the plan has none. Raises PlanError if it cannot tell its factors."""
    if form is None:
        return None
    from dbdyno.stats import factorial  # numpy, which other plans need not wait for

    for key, name in (("base", form.base), ("arm", form.arm)):
        if name not in form.values:
            raise _refusal(source, key, f"`{name}` has no line in `attribute.values`; add it")
    names = [factor.name for factor in form.factors]
    if len(names) < FACTORS_MIN:
        raise _refusal(source, "factors", f"needs at least {FACTORS_MIN}, not {len(names)}")
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise _refusal(source, "factors", f"`{again}` is listed twice; keep one")
    for name, values in form.values.items():
        if name not in arms:
            raise _refusal(source, "values", f"no arm `{name}`; {suggestion(name, list(arms))}")
        if len(values) != len(names) or not set(values) <= set(VALUES):
            sentence = f"must be 0 or 1 for each of the {len(names)} factors, not {values}"
            raise _refusal(source, f"values.{name}", sentence)
    for name, value in ((form.base, 0), (form.arm, 1)):
        if set(form.values[name]) != {value}:
            raise _refusal(source, f"values.{name}", f"must be {value} for each factor")
    found = Design(
        kind=form.design,
        base=form.base,
        arm=form.arm,
        factors=tuple(
            Factor(name=factor.name, base=factor.base, arm=factor.arm) for factor in form.factors
        ),
        values={name: tuple(values) for name, values in form.values.items()},
    )
    if factorial.inseparable(found.fitted):
        sentence = "its arms cannot tell the factors apart: some always change together; add arms"
        raise _refusal(source, "values", sentence)
    return found


def _refusal(source: str, key: str, sentence: str) -> PlanError:
    return refusal(source, f"attribute.{key}", sentence)
