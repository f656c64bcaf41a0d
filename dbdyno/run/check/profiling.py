"""Whether steps can be profiled here: said before anything starts."""

from collections.abc import Iterator
from pathlib import Path

from dbdyno.host.perf import elf
from dbdyno.model import Plan
from dbdyno.run.ready_plan import ReadyPlan


def notices(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """A line for each server program whose functions will have no names."""
    if plan.observe.profile is None:
        return
    programs: dict[Path, list[str]] = {}
    for arm, build in prepared.builds.items():
        if build.made:
            programs.setdefault(build.image or build.program, []).append(arm)
    for program, arms in programs.items():
        binary = elf.read(program)
        if binary is not None and not binary.symbols:
            yield (
                f"profile: {program} ({', '.join(arms)}) has no symbols: only functions that it "
                "exports have names, all others are `?`; install its debug symbols, or build it "
                "(`dyno server build --help`)"
            )
