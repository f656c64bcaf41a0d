"""The chart of every arm's ratio to the base in several steps."""

from collections.abc import Sequence

from dbdyno.model import StepComparison
from dbdyno.parts import cells
from dbdyno.parts.drawing import RatioPoint, Ratios
from dbdyno.parts.part import Chart


def ratio_chart(
    steps: Sequence[StepComparison], base: str, name: str, title: str = ""
) -> Chart | None:
    """Every arm's ratio to the base in every step; None where there is nothing to draw."""
    shown = [step for step in steps if step.headline is not None]
    points = tuple(
        RatioPoint(arm=result.arm, step=step.step, ratio=ratio, bound=result.ratio_bound)
        for step in shown
        for result in step.cells
        if result.arm != base and (ratio := result.ratio) and ratio.value > 0
    )
    if not points:
        return None
    bounds = {point.bound for point in points}
    bounded = bounds & cells.SIGNS.keys()
    return Chart(
        name=f"{name}-ratios",
        title=(f"{title}: throughput" if title else "Throughput")
        + f" relative to {base}, log scale"
        + ("; lines: 95 % intervals" if any(point.ratio.low for point in points) else "")
        + ("; a triangle points towards the true ratio" if bounded else "")
        + ("; a cross: unknown" if "unknown" in bounds else ""),
        describe="The ratios and intervals of the table above, drawn to scale.",
        data=Ratios(steps=tuple(step.step for step in shown), points=points),
    )
