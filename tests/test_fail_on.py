"""`dyno compare --fail-on`: which exit status CI sees, and the line that says why."""

import json
from pathlib import Path

import pytest

from compare_command import Dyno
from dbdyno.model.error import DynoError
from dbdyno.report import fail_on
from result_builder import build, plant
from result_planted import Planted

LIFTS = {"pg18": {"l.i0": 0.9, "qr100": 0.9, "l.x": 1.1, "l.i1": 0.985}, "ghost": {"l.i1": 0.5}}
"""What arms do of what the base does: in l.i1 pg18 is slower within the margin."""


def planted(arm: str, step: str, block: int) -> Planted:
    return plant(step, faster=LIFTS.get(arm, {}).get(step, 1.0))


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three blocks of pg17, pg18, and an A/A arm of pg17 that is far from it in a step."""
    parent = tmp_path_factory.mktemp("results")
    made = build(parent, arms=("pg17", "pg18", "ghost"), planted=planted)
    path = made / "plan.json"
    plan = json.loads(path.read_text())
    for arm in plan["arms"]:
        if arm["name"] == "ghost":
            arm["same_as"] = "pg17"
    path.write_text(json.dumps(plan))
    return made


# --- The exit status -------------------------------------------------------------------------


@pytest.mark.long
def test_without_it_a_slower_arm_is_no_failure(folder: Path, dyno: Dyno) -> None:
    status, out, err = dyno(folder)
    assert (status, err) == (0, "")
    assert "slower" in out


@pytest.mark.long
def test_a_slower_step_is_status_1_and_a_line_names_each(folder: Path, dyno: Dyno) -> None:
    status, out, err = dyno(folder, "--fail-on", "slower")
    assert status == 1
    assert err == "--fail-on slower: pg18: slower in l.i0 and qr100\n"
    assert "pg18 against pg17: 3 slower (1 within" in out, "the answer is shown all the same"


def test_several_words_are_told_apart(folder: Path, dyno: Dyno) -> None:
    status, _, err = dyno(folder, "--fail-on", "slower, faster,failed")
    assert status == 1
    assert err.endswith(": pg18: slower in l.i0 and qr100, faster in l.x\n")


@pytest.mark.long
def test_a_change_within_the_margin_counts_only_where_it_is_asked_for(folder: Path, dyno: Dyno):
    status, _, err = dyno(folder, "--fail-on", "slower, within the margin")
    assert (status, err) == (
        1,
        "--fail-on slower, within the margin: pg18: slower, within the margin in l.i1\n",
    )
    _, _, both = dyno(folder, "--fail-on", "slower,slower, within the margin")
    assert "slower in l.i0 and qr100, slower, within the margin in l.i1" in both


def test_words_that_no_arm_has_are_status_0(folder: Path, dyno: Dyno) -> None:
    status, _, err = dyno(folder, "--fail-on", "failed,open")
    assert (status, err) == (0, "")


def test_an_aa_arm_never_counts(folder: Path, dyno: Dyno) -> None:
    status, out, err = dyno(folder, "--json", "--fail-on", "slower")
    written = json.loads(out)
    (step,) = [one for one in written["steps"] if one["step"] == "l.i1"]
    verdicts = {one["arm"]: one["verdict"] for one in step["arms"]}
    assert written["ghost"] == "ghost"
    assert verdicts == {"pg18": "slower", "ghost": "slower"}
    assert (status, "ghost" in err) == (1, False)


@pytest.mark.long
def test_a_step_that_failed_once_is_status_1_without_any_option(tmp_path: Path, dyno: Dyno) -> None:
    folder = build(tmp_path, failed={(2, "pg18", "qr100"): "the server ended"})
    status, out, _ = dyno(folder)
    assert (status, "1 failed" in out) == (1, True)
    status, _, err = dyno(folder, "--fail-on", "slower,failed")
    assert (status, err) == (1, "--fail-on slower,failed: pg18: failed in qr100\n")


# --- What is no answer -----------------------------------------------------------------------


def test_where_nothing_is_judged_nothing_found_would_be_a_lie(tmp_path: Path, dyno: Dyno) -> None:
    status, _, err = dyno(build(tmp_path, arms=("pg17",)), "--fail-on", "slower")
    assert status == 2
    assert err == (
        "dyno: nothing was compared: there is no arm beside the base; leave --fail-on out to see "
        "what there is\n"
    )
    status, _, err = dyno(build(tmp_path, name="b", blocks=1, broken=True), "--fail-on", "slower")
    assert (status, "0 of 1 blocks done" in err) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slowr", "`slowr`: no such verdict; did you mean `slower`?"),
        ("slower,fialed", "`fialed`: no such verdict; did you mean `failed`?"),
        ("", "``: no such verdict; there are `faster`, `slower`, `same`, `open`, `failed`,"),
        ("slower,", "``: no such verdict"),
        ("within the margin", "no such verdict; did you mean `"),
    ],
)
def test_an_unknown_word_is_refused_with_the_nearest(text: str, said: str) -> None:
    with pytest.raises(DynoError) as raised:
        fail_on.parse(text)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_unknown_word_ends_with_2_before_anything_is_read(tmp_path: Path, dyno: Dyno) -> None:
    status, out, err = dyno(tmp_path / "none", "--fail-on", "slowr")
    assert (status, out) == (2, "")
    assert err == "dyno: --fail-on: `slowr`: no such verdict; did you mean `slower`?\n"


def test_every_verdict_can_be_asked_for() -> None:
    assert fail_on.parse(",".join(fail_on.WORDS)) == fail_on.WORDS


def test_words_on_events_say_what_to_do_where_operations_are_too_few() -> None:
    words = fail_on.parse("slower,more-system-calls,fewer-atomics,more-work")
    assert fail_on.remedies(words) == {
        "system calls": "leave --fail-on more-system-calls out",
        "atomics": "leave --fail-on fewer-atomics out",
    }
    assert fail_on.remedies(("slower", "more work")) == {}
