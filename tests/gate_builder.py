"""Gates as tests make them: counts and races that show what they are told to."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.analysis import compare
from dbdyno.analysis import gate as analysis
from dbdyno.model import Comparison, Ratio
from dbdyno.model.gate import Gate, GateSide, GateStep, Tolerances
from dbdyno.model.tolerance import worst
from dbdyno.model.work import Amounts, FunctionChange, WorkChange, WorkComparison
from result_builder import build, plant
from result_planted import Planted

STEP = ("insert-benchmark", "qr100")
BASE, HEAD = "pg17", "pg18"
USUAL = Tolerances(work=0.003, time=0.05)
WORK_ALONE = Tolerances(work=0.003)


def changed(name: str, more: float) -> FunctionChange:
    """A function that has so many instructions more."""
    return FunctionChange(
        function=name, subsystem="executor", binary="postgres", base_instructions=100.0,
        arm_instructions=100.0 + more,
        base_whole_instructions=100.0, arm_whole_instructions=100.0 + more, base_calls=2.0,
        arm_calls=2.0,
        base_atomics=0.0, arm_atomics=0.0, changed=True,
    )  # fmt: skip


def work(change: float, scatter: float = 0.0001, **more: Any) -> WorkChange:
    """A step with so much more work, a share."""
    ratio = Ratio(value=1 + change, low=1 + change - scatter, high=1 + change + scatter, blocks=2)
    base, head = (Amounts(instructions=40_000.0 * each, atomics=32.0, system_calls=1.0)
                  for each in (1, 1 + change))  # fmt: skip
    usual = WorkChange(
        workload=STEP[0], step=STEP[1], arm=HEAD, word="more", of_base=base, of_arm=head,
        ratio=ratio,
        functions=(changed("IndexNext", 225.0), changed("ExecScan", -1.0)),
    )  # fmt: skip
    return replace(usual, **more)


def race(folder: Path, faster: float, **more: Any) -> Comparison:
    """A race in which the head has so much of the base's throughput, asked for losses of 5 %."""

    def planted(arm: str, step: str, block: int) -> Planted:
        scatter = 1 + 0.002 * (block % 3)
        return plant(step, faster=faster * scatter if arm == HEAD else 1.0)

    usual: dict[str, Any] = {"blocks": 6, "planted": planted, "steps": ("qr100",)}
    return compare.load(build(folder, **{**usual, **more}), tolerate=0.05)


def counted(raced: Comparison, *changes: WorkChange) -> Comparison:
    """The counts of a gate, of the arms of a race."""
    counts = WorkComparison(
        base=BASE, arms=(BASE, HEAD), repeats=2, tool="valgrind 3.19.0", left_out=(),
        scatter=0.0001, scatter_of_writes=0.0001, changes=changes,
    )  # fmt: skip
    return replace(raced, findings={"WorkComparison": counts}, steps=())


def step_of(measured: analysis.GateMeasurements, tolerated: Tolerances = USUAL) -> GateStep:
    """The only step's answer."""
    (step,) = analysis.steps(measured, tolerated)
    return step


def gate_of(*steps: GateStep) -> Gate:
    """A gate with these steps."""
    return Gate(
        dyno="1.0", command="dyno gate good more-work", answer=worst(step.answer for step in steps),
        base=GateSide(written="good", arm="good", commit="6ad5f1df2a13" + "0" * 28),
        head=GateSide(written=".", arm="tree", commit="9009f871bbbb" + "0" * 28, changed=2),
        work=0.003, time=0.05, system_calls=0, atomics=0, steps=steps, seconds=150.0,
        results=("results/count-good-tree",),
    )  # fmt: skip
