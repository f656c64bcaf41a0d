"""`--tolerate 5%`: whether every larger loss is excluded, in stats, in words and as a status."""

import json
from pathlib import Path

import numpy as np
import pytest

import command
import read_steps
import simulation
import tolerated
from compare_command import Dyno
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.model.error import DynoError
from dbdyno.model.looks import Look
from dbdyno.model.open_steps import open_steps
from dbdyno.model.tolerance import worst
from dbdyno.model.verdict import Aims
from dbdyno.parts import tolerate
from dbdyno.report import race
from dbdyno.stats import significance
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.sample import Sample
from dbdyno.stats.tolerance import MetricLoss, losses
from dbdyno.store import Results
from result_builder import build, plant
from result_planted import Planted
from table_text import seeded

pytestmark = pytest.mark.usefixtures("independent_blocks")

HALF = Look(blocks=6, share=0.5)
TOLERATED = 0.05


def sample(mean: float, sd: float, *, better: int = 1, **how: object) -> Sample:
    """A metric of six blocks with this mean and deviation of its log ratios."""
    raw = np.linspace(-1, 1, 6)
    logs = tuple(float(mean + sd * value) for value in raw / raw.std(ddof=1))
    return Sample(metric="qps" if better > 0 else "cpu_per_op", better=better, logs=logs, **how)  # type: ignore[arg-type]


def asked(*samples: Sample, looks: tuple[Look, ...] = (HALF,), **how: object) -> list[MetricLoss]:
    """The losses of one step with these metrics, at these looks of the same blocks."""
    unit = Unit(samples=samples, looks=tuple((look, samples) for look in looks))
    aims = Aims(**how)  # type: ignore[arg-type]
    (found,) = losses([unit], TOLERATED, aims, done=6, coming=(Look(blocks=12, share=0.25),))
    return list(found)


# --- The tests ---


@pytest.mark.parametrize(
    ("mean", "better", "excluded", "lost"),
    [
        (0.0, 1, True, False),
        (-0.03, 1, True, False),
        (-0.0513, 1, False, False),  # the loss is exactly the tolerance
        (-0.07, 1, False, True),
        (0.20, 1, True, False),
        (0.03, -1, True, False),
        (0.0488, -1, False, False),
        (0.07, -1, False, True),
    ],
)
def test_a_loss_is_less_of_what_is_better_and_more_of_what_is_not(
    mean: float, better: int, excluded: bool, lost: bool
) -> None:
    (found,) = asked(sample(mean, 0.01, better=better))
    assert (found.excluded, found.lost) == (excluded, lost)


def test_what_excludes_nothing_yet_has_a_price_and_noise_without_end_has_none() -> None:
    (near,) = asked(sample(-0.02, 0.05))
    assert not near.excluded and near.blocks_needed == 6
    (wild,) = asked(sample(0.0, 3.0))
    assert wild.blocks_needed is None
    assert asked(sample(0.0, 0.005))[0].blocks_needed is None, "excluded already"


def test_each_metric_excludes_at_the_whole_level_and_shows_a_loss_at_its_part() -> None:
    """A p of 0.02 at half of the level: enough to exclude, not for one of two to show a loss."""
    (alone,) = asked(sample(-0.0513 - 0.0285, 0.025))
    assert alone.lost
    beside = asked(sample(-0.0513 - 0.0285, 0.025), sample(0.0, 0.02, better=-1))
    assert [one.lost for one in beside] == [False, False]
    many = asked(sample(-0.0513 + 0.0285, 0.025), sample(0.0, 0.02, better=-1))
    assert [one.excluded for one in many] == [True, True]


def test_looks_share_the_level() -> None:
    edge = sample(-0.0513 + 0.0285, 0.025)
    assert asked(edge)[0].excluded
    assert not asked(edge, looks=(Look(blocks=6, share=0.125),))[0].excluded
    twice = (Look(blocks=6, share=0.125), HALF)
    assert asked(edge, looks=twice)[0].excluded, "the least of the looks' repeated p values"


def test_no_look_answers_nothing() -> None:
    (found,) = asked(sample(0.0, 0.001), looks=())
    assert (found.excluded, found.lost) == (False, False)


@pytest.mark.parametrize(
    ("bound", "mean", "excluded", "lost"),
    [
        ("at least", 0.0, True, False),
        ("at least", -0.2, False, False),
        ("at most", 0.0, False, False),
        ("at most", -0.2, False, True),
        ("unknown", -0.2, False, False),
    ],
)
def test_at_the_generators_limit_only_what_the_limit_cannot_have_made_counts(
    bound: str, mean: float, excluded: bool, lost: bool
) -> None:
    (found,) = asked(sample(mean, 0.01, bound=bound))
    assert (found.excluded, found.lost) == (excluded, lost)


def test_an_arm_that_stood_still_excludes_nothing() -> None:
    (found,) = asked(sample(0.0, 0.001, stood_still=1))
    assert (found.excluded, found.blocks_needed) == (False, None)


def test_holm_corrects_each_p_for_those_not_yet_rejected() -> None:
    assert significance.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert significance.holm([]) == []


def test_the_worst_answer_counts() -> None:
    assert worst(["yes", "not yet", "no"]) == "no"
    assert worst(["yes", "not yet"]) == worst([]) == "not yet"
    assert worst(["yes", "yes"]) == "yes"


@pytest.mark.parametrize(("steps", "loss"), [(1, 0.0), (4, 0.02), (4, 0.08)])
def test_what_the_simulation_answers_is_what_the_lab_does(steps: int, loss: float) -> None:
    looks = tolerated.SCHEDULES["4, 8, 16"]
    logs, _ = simulation.draw(simulation.Model(steps=steps), 12, looks[-1].blocks, seeded(steps))
    logs += tolerated.edges(loss)[:, None]
    drawn = tolerated.answers(logs, looks, TOLERATED)
    for comparison, safe, lost in zip(logs, drawn.safe, drawn.lost, strict=True):
        family = [
            Unit(
                samples=samples_of(step, looks[-1].blocks),
                looks=tuple((look, samples_of(step, look.blocks)) for look in looks),
            )
            for step in comparison
        ]
        told = [metric for unit in losses(family, TOLERATED, Aims(), done=16) for metric in unit]
        assert all(metric.excluded for metric in told) == safe
        assert any(metric.lost for metric in told) == lost


def samples_of(step: simulation.Numbers, blocks: int) -> tuple[Sample, ...]:
    """Both metrics of a step, in its first blocks."""
    return tuple(
        Sample(metric=name, better=better, logs=tuple(logs[:blocks].tolist()))
        for (name, better), logs in zip(simulation.METRICS.items(), step, strict=True)
    )


# --- A result, its words and its status ---


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six blocks: pg18 is slower in qr100 by 10 %, and by 2 % in l.i0."""
    lifts = {"l.i0": 0.98, "qr100": 0.9}

    def planted(arm: str, step: str, block: int) -> Planted:
        lift = lifts.get(step, 1.0) if arm == "pg18" else 1.0
        return plant(step, faster=lift * (1 + 0.002 * (block % 3)) if arm == "pg18" else 1.0)

    return build(tmp_path_factory.mktemp("results"), blocks=6, planted=planted)


@pytest.mark.parametrize(
    ("percent", "status", "words"),
    [
        ("20%", 0, "safe at 20 %: yes (no loss beyond it in 4 steps)"),
        ("5%", 1, "safe at 5 %: no (more is lost in qr100 by throughput"),
        ("9.8%", 3, "safe at 9.8 %: not yet (1 of "),
    ],
)
@pytest.mark.long
def test_each_answer_has_its_line_and_its_status(
    folder: Path, dyno: Dyno, percent: str, status: int, words: str
) -> None:
    found, out, err = dyno(folder, "--tolerate", percent, "--json")
    written = json.loads(out)["tolerate"]
    assert (found, err.startswith(words)) == (status, True), err
    assert written["answer"] == {0: "yes", 1: "no", 3: "not yet"}[status]
    page = " ".join(dyno(folder, "--tolerate", percent)[1].split())
    assert f"S{words[1:]}" in page


@pytest.mark.long
def test_a_failed_step_of_the_arm_is_no(tmp_path: Path, dyno: Dyno) -> None:
    made = build(tmp_path, blocks=3, failed={(2, "pg18", "qr100"): "the server ended"})
    status, _, err = dyno(made, "--tolerate", "50%", "--json")
    assert status == 1
    assert "qr100 failed in 1 of 3 blocks" in err


def test_one_block_is_not_yet(tmp_path: Path, dyno: Dyno) -> None:
    status, _, err = dyno(build(tmp_path, blocks=1), "--tolerate", "5%", "--json")
    assert (status, "one block excludes nothing" in err) == (3, True)


def test_without_a_step_that_is_judged_there_is_no_answer(tmp_path: Path, dyno: Dyno) -> None:
    status, _, err = dyno(build(tmp_path, arms=("pg17",)), "--tolerate", "5%")
    assert status == 2
    assert err == (
        "dyno: --tolerate: no step of an arm beside the base is judged, so nothing is excluded\n"
    )


@pytest.mark.parametrize("text", ["5", "0.05", "0%", "60%", "-5%", "five", ""])
def test_what_is_no_percentage_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(DynoError, match=r"write a percentage from 0\.1% to 50%, such as 5%"):
        tolerate.parse(text)


def test_a_plan_that_asks_goes_on_with_what_has_no_answer(folder: Path) -> None:
    undecided = compare.load(folder, tolerate=0.098)
    assert [step.step for step in open_steps(undecided.steps)] == ["qr100"]
    assert open_steps(compare.load(folder, tolerate=0.05).steps) == ()
    assert open_steps(compare.load(folder, tolerate=0.20).steps) == ()


PLAN = """
name = "asking"
[arms.a]
engine = "fake"
fake = { service_us = { point = 200, other = 200 } }
[arms.b]
engine = "fake"
fake = { service_us = { point = SLOWER, other = 200 } }
[[workloads]]
name = "./reads.toml"
[schedule]
blocks = "until decided"
minutes_max = 120
"""


def test_a_plan_that_cannot_be_answered_is_refused(tmp_path: Path) -> None:
    (tmp_path / "reads.toml").write_text(read_steps.text())
    asking = f"{PLAN}[verdict]\ntolerate = 0.05\n".replace("SLOWER", "202")
    alone = asking[: asking.index("[arms.b]")] + asking[asking.index("[[workloads]]") :]
    for text, why in (
        (alone, "asks of arms beside the base, and there is none"),
        (f"{asking}[count]\nonly = true\n", "asks of time and CPU"),
        (asking.replace("0.05", "5"), "must be a share from 0.001 to 0.5"),
    ):
        with pytest.raises(DynoError, match=f"verdict.tolerate`: .*{why}"):
            plan.parse(text, tmp_path / "asking.toml")


@pytest.mark.parametrize(("slower_us", "answer", "status"), [(202, "yes", 0), (300, "no", 1)])
@pytest.mark.long
def test_a_plan_that_asks_for_a_tolerance_ends_with_the_answer(
    tmp_path: Path, slower_us: int, answer: str, status: int
) -> None:
    (tmp_path / "reads.toml").write_text(read_steps.text())
    path, out = tmp_path / "asking.toml", tmp_path / "results"
    path.write_text(PLAN.replace("SLOWER", str(slower_us)))
    ended = command.dyno("run", path, "--out", out, "--wait", "--quiet", "--tolerate", "20%")
    assert ended.returncode == status, ended.stderr
    assert ended.stdout.startswith(f"\nSafe at 20 %: {answer} ("), "before everything"
    assert Results.open(out / "asking").complete() == 3, "the first look"
    assert command.dyno("compare", out / "asking").returncode == status, "its plan keeps it"
    spoken = race.lines(compare.load(out / "asking"), tmp_path / "report.html")
    assert spoken[1].endswith("blocks, answered"), "steps may be open"
