"""`dyno attribute`: which setting, build or version makes two arms of a plan differ."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli import exit_status
from dbdyno.cli.exit_status import say
from dbdyno.cli.options import RESULTS, AsJson, Base, DryRun, Out, PlanFile, Quiet, Wait
from dbdyno.model.error import DynoError, PlanError

if TYPE_CHECKING:
    from dbdyno.model import Arm, Plan
    from dbdyno.model.attribution import DesignKind
    from dbdyno.plan.attribute import Sides

DESIGNS: dict[str, DesignKind] = {"one-at-a-time": "one at a time", "factorial": "factorial"}
NAME_MAX = 60
TakenApart = Annotated[
    str, typer.Option("--arm", metavar="NAME", help="The arm whose change is taken apart.")
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--design",
        metavar="KIND",
        help="one-at-a-time or factorial. Default: by the number of factors.",
    ),
]
Together = Annotated[
    list[str] | None,
    typer.Option("--together", metavar="NAME,NAME", help="Exchange these as one; may be repeated."),
]
Blocks = Annotated[int | None, typer.Option("--blocks", help="Blocks to run. Default: the plan's.")]
PlanToBe = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="PLAN.toml",
        help="Call the new plan so, beside the other one. Default: by the arm.",
        dir_okay=False,
    ),
]


@dataclass(frozen=True, kw_only=True)
class AttributeOptions:
    """What a person asks for."""

    plan_file: Path
    arm: str
    base: str | None = None
    design: str | None = None
    together: tuple[str, ...] = ()
    blocks: int | None = None
    file: Path | None = None

    @property
    def command(self) -> str:
        """The command that asks for the same."""
        words = ["dyno", "attribute", str(self.plan_file), "--arm", self.arm]
        words += ["--base", self.base] if self.base else []
        words += ["--design", self.design] if self.design else []
        words += [word for one in self.together for word in ("--together", one)]
        words += ["--blocks", str(self.blocks)] if self.blocks is not None else []
        words += ["--file", str(self.file)] if self.file is not None else []
        return shlex.join(words)

    @property
    def path(self) -> Path:
        """The plan to be: beside the other, from whose folder both take their files."""
        if self.file is not None:
            return self.file
        stem = f"{self.plan_file.stem}-attribute-{self.arm}"[:NAME_MAX]
        return self.plan_file.with_name(f"{stem}.toml")


def attribute(
    plan_file: PlanFile,
    arm: TakenApart,
    base: Base = None,
    design: Kind = None,
    together: Together = None,
    blocks: Blocks = None,
    file: PlanToBe = None,
    out: Out = RESULTS,
    wait: Wait = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find out which setting, build or version makes an arm of a plan differ from the base.

    dyno writes a plan whose arms mix what the two arms differ in, runs it, and prints the effect of
    each factor with its interval. The same command goes on with an interrupted run.
    """
    from dbdyno.cli import measuring, race
    from dbdyno.findings.attribution import show
    from dbdyno.host.lock import HostLock

    asked = AttributeOptions(
        plan_file=plan_file,
        arm=arm,
        base=base,
        design=design,
        together=tuple(together or ()),
        blocks=blocks,
        file=file,
    )
    refuse(asked)
    # Bringing builds and reading settings would disturb another lab's measurement.
    with nullcontext() if dry_run else HostLock(plan=asked.path.stem, wait=wait, quiet=quiet):
        text = settled(asked)
        plan = checked(text, asked.path, out)
    if dry_run:
        if not as_json:
            print(text)  # noqa: T201
        measuring.show_outlook(plan, as_json=as_json)
        return
    race.keep(asked.path, text)
    if not quiet:
        say(f"plan: {asked.path}")
    outcome = measuring.measure(plan, out, wait, quiet=quiet)
    comparison = measuring.show_results(
        outcome.folder, outcome.folder / race.REPORT, quiet=quiet, as_json=as_json, only=show.parts
    )
    raise typer.Exit(exit_status.of(comparison, outcome.folder))


def refuse(asked: AttributeOptions) -> None:
    """Raises DynoError where options contradict each other."""
    from dbdyno import plan as plans
    from dbdyno.model.document import suggestion
    from dbdyno.plan import shipped_plans

    if asked.design is not None and asked.design not in DESIGNS:
        raise DynoError(f"--design: no `{asked.design}`; {suggestion(asked.design, DESIGNS)}")
    if shipped_plans.folder() in asked.plan_file.parents:
        name = asked.plan_file.stem
        raise DynoError(
            f"PLAN: `{name}` comes along, and a plan is written beside it: run `dyno plan copy "
            f"{name}`, then take {name}.toml"
        )
    folder = asked.plan_file.parent.resolve()
    if asked.path.parent.resolve() != folder:
        raise DynoError(
            f"--file {asked.path}: must lie in {folder}, as paths in both plans are relative to it"
        )
    plans.load(asked.plan_file, arms_max=None)  # before the host is waited for
    if asked.blocks is not None and asked.blocks < 1:
        raise DynoError(f"--blocks: must be at least 1, not {asked.blocks}")


def settled(asked: AttributeOptions) -> str:
    """The plan's text: as it lies there from this command, perhaps edited, else a new one."""
    from dbdyno.plan.attribute import MADE_BY

    if not asked.path.exists():
        return made(asked)
    text = asked.path.read_text(encoding="utf-8")
    if not text.startswith(f"{MADE_BY}{asked.command}\n"):
        raise DynoError(
            f"{asked.path}: is there already, from another command: run it by `dyno run`, remove "
            "it, or name another file by --file"
        )
    say(f"goes on with {asked.path}")
    return text


def made(asked: AttributeOptions) -> str:
    """A new plan from the two arms. Raises DynoError."""
    from dbdyno import plan as plans
    from dbdyno.plan import attribute as attributes

    whole = plans.load(asked.plan_file, arms_max=None)  # two of them are enough
    names = [one.name for one in whole.arms if one.same_as is None]
    base = arm_of(whole, asked.base or whole.base, names, "--base")
    arm = arm_of(whole, asked.arm, names, "--arm")
    if base.name == arm.name:
        raise DynoError(f"--arm: `{arm.name}` is the base itself; name another by --base")
    words = [[word.strip() for word in one.split(",")] for one in asked.together]
    kind = DESIGNS.get(asked.design or "")
    try:
        attributes.refuse(base, arm)
        sides = looked_at(replace(whole, base=base.name, arms=(base, arm)))
        design, arms = attributes.designed(sides, attributes.exchanges(sides, words), kind)
        source = attributes.AttributedPlan(plan=whole, command=asked.command, blocks=asked.blocks)
        return attributes.text_of(source, design, arms)
    except DynoError as error:
        said = str(error)
        known = said.startswith(("--", f"{asked.plan_file}: "))
        raise type(error)(said if known else f"{asked.plan_file}: {said}") from None


def arm_of(plan: Plan, name: str, names: list[str], option: str) -> Arm:
    """The arm of this name. Raises DynoError that names the nearest."""
    from dbdyno.model.document import suggestion

    if name not in names:
        raise DynoError(f"{option}: {plan.path} has no arm `{name}`; {suggestion(name, names)}")
    return next(arm for arm in plan.arms if arm.name == name)


def looked_at(plan: Plan) -> Sides:
    """The two arms with the versions of their servers, and what these can have of the host."""
    from dbdyno.engine.preset import study
    from dbdyno.host import capacity
    from dbdyno.plan.attribute import Sides
    from dbdyno.run.check import preflight

    prepared = preflight.prepare(plan)
    base, arm = (study.spelled_out(one, prepared.settled.get(one.name)) for one in plan.arms)
    return Sides(
        base=base,
        arm=arm,
        version_nums={name: build.version_num for name, build in prepared.builds.items()},
        host={one.name: capacity.of_arm(one, prepared.sizing) for one in plan.arms},
    )


def checked(text: str, path: Path, out: Path) -> Plan:
    """The plan that the text is, once the host has all that it needs."""
    from dbdyno import plan as plans
    from dbdyno.cli import measuring
    from dbdyno.run.check import preflight

    plan = measuring.with_lengths(plans.parse(text, path), out / path.stem)
    try:
        preflight.prepare(plan)
    except PlanError as error:
        raise PlanError(f"{error}{remedy(plan, str(error))}") from None
    return plan


def remedy(plan: Plan, said: str) -> str:
    """What to do where a mixed arm's server refuses a setting that one of the two arms has."""
    from dbdyno.plan.attribute.factor import BUILD, SERVER, VERSION

    factors = () if plan.attribution is None else plan.attribution.factors
    names = [factor.name.partition("+")[0] for factor in factors]
    program = next((name for name in reversed(names) if name in (VERSION, BUILD, SERVER)), None)
    refused = next((name for name in names if f".settings.{name}: " in said), None)
    if refused is None or program is None:
        return ""
    return f"; or exchange it with the server: --together {refused},{program}"
