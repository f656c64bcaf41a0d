"""The changes that a resumed plan may and may not have.

Judged on plan.json as it was written there and as it would be now (docs/results.md).
"""

import json
from typing import Any

from dbdyno.model import Json

# `save`, `warm` and `checkpoint` may not be added or changed: with a state that is kept, every run
# measures the later steps after a start from a copy, and without one on the server that ran the
# earlier steps. Such blocks are not pooled.
#
# What may differ as it does not change the meaning of what was measured. `arms` and `blocks` have
# rules of their own.
# `attribute` says what is computed of arms that are measured in any case.
# `chosen_s` says who chose what stands in `workloads`, which may not change.
KEYS_FREE = frozenset(
    {"text", "dyno", "created_unix_ns", "label", "base", "verdict", "chosen_s", "attribute"}
)
KEYS_GROWING = frozenset({"arms", "blocks"})
# Of the schedule: `blocks` stands in the plan itself, too; the others say how long to go on, which
# blocks are judged together, and which of those to come are void: that looks at no arm's figures.
PLACES_FREE = frozenset(
    f"schedule.{key}" for key in ("blocks", "minutes_max", "comparison", "void", "repeats_max")
)


def grown(old: Json, new: Json) -> bool:
    """Whether `new`, an accepted change, says anything that `old` does not."""
    keys = {*old, *new} - {"text", "dyno", "created_unix_ns"}
    return any(old.get(key) != new.get(key) for key in keys)


def refused(old: Json, new: Json, highest: int) -> str | None:
    """The first difference that changes the meaning of what was measured, in words.

    `highest`: the number of the last block that was begun.
    """
    goes_on = new.get("schedule", {}).get("until_decided", False)
    if not goes_on and new.get("blocks", 0) < min(highest, old.get("blocks", 0)):
        return f"`blocks` is {new.get('blocks')} now, but block {highest} was begun there"
    has_aa_arm = any(arm.get("same_as") for arm in old.get("arms", []))
    if has_aa_arm and new.get("base") != old.get("base"):
        return (
            f"`base` is {json.dumps(new.get('base'))} now, but there are A/A arms of "
            f"{json.dumps(old.get('base'))} (another base is compared with by `--base`)"
        )
    old_arms = {arm["name"]: arm for arm in old.get("arms", [])}
    new_arms = {arm["name"]: arm for arm in new.get("arms", [])}
    for name, arm in old_arms.items():
        if name not in new_arms:
            return f"`arms.{name}` is gone from the plan"
        difference = _difference(arm, new_arms[name], f"arms.{name}")
        if difference is not None:
            return difference
    for key in sorted((set(old) | set(new)) - KEYS_FREE - KEYS_GROWING):
        difference = _difference(old.get(key), new.get(key), key)
        if difference is not None:
            return difference
    return None


def _difference(old: Any, new: Any, key: str) -> str | None:
    """The first place where two JSON values differ, as "`key` is NEW now and was OLD".

    A table that is missing is one without keys: an older version's plan.json lacks newer tables.
    """
    if key in PLACES_FREE:
        return None
    if isinstance(old, dict) or isinstance(new, dict):
        old, new = ({} if table is None else table for table in (old, new))
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = [(f"{key}.{name}", old.get(name), new.get(name)) for name in sorted({*old, *new})]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(f"{key}[{i}]", *pair) for i, pair in enumerate(zip(old, new, strict=True))]
    else:
        return None if old == new else _changed(old, new, key)
    differences = (_difference(before, now, name) for name, before, now in pairs)
    return next((difference for difference in differences if difference is not None), None)


def _changed(old: Any, new: Any, key: str) -> str:
    """A changed value in words; of a workload's file only its hash is known, which says nothing."""
    workload = key.removesuffix(".sha256")
    if workload != key and key.startswith("workloads["):
        return (
            f"`{workload}` is of a workload file that has changed since (your own, or the one that "
            "came with another version of dyno)"
        )
    return f"`{key}` is {json.dumps(new)} now and was {json.dumps(old)}"
