"""The service times of a step's arms over each other, and where they are compared."""

from collections.abc import Iterable

from dbdyno.findings.undisturbed.facts import UndisturbedFacts
from dbdyno.model.grouping import grouped
from dbdyno.parts.drawing import Densities, DensityPoint
from dbdyno.parts.part import Chart, Group, Section, Subject


def _charts(subject: Subject) -> Iterable[Chart]:
    """A chart for each operation whose undisturbed time is compared."""
    step = subject.step
    by_operation = grouped(
        (mode.operation, mode)
        for mode in subject.comparison.of(UndisturbedFacts).modes
        if mode.place == (step.workload, step.ordinal)
    )
    for operation, modes in by_operation.items():
        yield Chart(
            name=f"{subject.anchor}-undisturbed-{operation}",
            title=f"Service times of {operation}, % of operations in each percent of time; x: µs, "
            "log scale; filled: the operations that are compared",
            describe="Distributions of service times of all blocks together, by arm.",
            data=Densities(
                points=tuple(
                    DensityPoint(
                        arm=mode.arm,
                        us=us,
                        share=share,
                        compared=mode.from_us <= us <= mode.to_us,
                    )
                    for mode in modes
                    for us, share in zip(mode.times_us, mode.densities, strict=True)
                )
            ),
            depth="detail",
        )


SECTION = Section.grouped(
    "step", _charts, Group(name="-undisturbed", title="Undisturbed time", entry="undisturbed")
)
