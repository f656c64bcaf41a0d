"""What may change in a plan that goes on in its folder: A/A arms, looks, verdicts."""

from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.engine.preset import Capacity
from dbdyno.host.capacity import cores
from dbdyno.model import Json
from dbdyno.run.check import plan_record
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.store import continuation

PLAN = """
base = "old"
arms.old = { engine = "fake", fake = { default_us = 100 } }
arms.new = { engine = "fake", fake = { default_us = 90 } }
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 1000, seconds = 1 }
"""


def kept(more: str = "", text: str = PLAN) -> Json:
    """plan.json of the plan with `more` at its end."""
    parsed = plan.parse(text + more, Path("/plans/p.toml"))
    sizing = Capacity(cores=cores(), memory_bytes=1 << 30, free_disk_bytes=1 << 30)
    prepared = ReadyPlan(
        builds={}, releases={}, steps={}, sizing=sizing, points={}, copies={}, copy_bytes={},
        disk=(), data_path=Path("/"), device=None,
    )  # fmt: skip
    return plan_record.plan_json(parsed, prepared)


def test_newer_keys_stand_in_plan_json_only_where_they_say_something() -> None:
    plain = kept()
    assert plain["schedule"].keys() == {"blocks", "interleave", "slice_s", "checkpoint"}
    assert not any(arm.keys() & {"same_as", "shown"} for arm in plain["arms"])
    assert plain["verdict"] == {"margin": 0.03, "effect": 0.03, "power": 0.8, "level": 0.05}
    assert plain["observe"] == {"waits_s": None}
    until = kept('[schedule]\nblocks = "until decided"\naa_arm = true')
    newer = {"until_decided": True, "minutes_max": 120.0, "ghost": True}
    assert until["schedule"] | newer == until["schedule"]
    assert until["blocks"] == 30
    aa_arm = until["arms"][2]
    assert (aa_arm["name"], aa_arm["same_as"], "shown" in aa_arm) == ("ghost", "old", False)


def test_a_folder_from_before_verdicts_goes_on() -> None:
    older = {key: value for key, value in kept().items() if key not in ("verdict", "observe")}
    assert continuation.refused(older, kept(), 1) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "[verdict]\nmargin = 0.01\neffect = 0.01\npower = 0.9"),
        (
            '[schedule]\nblocks = "until decided"',
            '[schedule]\nblocks = "until decided"\nminutes_max = 500',
        ),
        ("[schedule]\naa_arm = true", "[schedule]\naa_arm = true\nblocks = 9"),
    ],
)
def test_what_judges_and_how_long_it_goes_on_is_free_to_change(old: str, new: str) -> None:
    assert continuation.refused(kept(old), kept(new), 1) is None
    assert continuation.refused(kept(new), kept(old), 1) is None


def test_a_comparisons_number_of_blocks_is_free_to_change() -> None:
    four, six = kept(), kept()
    four["schedule"]["comparison"], six["schedule"]["comparison"] = 4, 6
    assert continuation.refused(four, six, 1) is None


@pytest.mark.parametrize(
    ("new", "key"),
    [
        ("[schedule]\naa_arm = true", "`schedule.ghost` is true now and was null"),
        (
            '[schedule]\nblocks = "until decided"',
            "`schedule.until_decided` is true now and was null",
        ),
        ('[observe]\nwaits = "50ms"', "`observe.waits_s` is 0.05 now and was null"),
        ("[observe]\nprofile = {}", "`observe.profile.hertz` is 99 now and was null"),
    ],
)
def test_what_is_measured_is_not(new: str, key: str) -> None:
    assert continuation.refused(kept(), kept(new), 1) == key


def test_the_base_may_change_unless_aa_arms_of_it_were_measured() -> None:
    other = PLAN.replace('base = "old"', 'base = "new"')
    assert continuation.refused(kept(), kept(text=other), 1) is None
    shown = "[schedule]\naa_arm = true"
    assert continuation.refused(kept(shown), kept(shown, other), 1) == (
        '`base` is "new" now, but there are A/A arms of "old" (another base is compared with by '
        "`--base`)"
    )


def test_a_workload_file_that_has_changed_is_said_in_words() -> None:
    before, now = kept(), kept()
    now["workloads"][0]["sha256"] = "0" * 64
    assert continuation.refused(before, now, 1) == (
        "`workloads[0]` is of a workload file that has changed since (your own, or the one that "
        "came with another version of dyno)"
    )
