"""In which order the arms of a plan run, drawn from its seed so that what came before cancels.

Orders are *linked*: each begins with the arm that ended the one before, and has the others as they
are drawn. So an arm follows itself as often as it follows any other, and what it leaves behind
slows all arms alike (serially balanced: Finney & Outhwaite, Proc. R. Soc. B 145, 1956, 493-507).
Two arms change places in each block. After `LINKED_MAX` blocks the order is drawn afresh, so that a
disturbance that comes with every second block does not meet the same arm for ever. Of the orders
tried, drawn, reversed, linked, these have the smallest worst case (docs/error-rates.md).

Every draw hashes the seed, the block's number and what it is for, so that more blocks leave the
earlier ones as they are. A further arm changes the order of the others in blocks to come; those
that are done keep theirs. It cannot be otherwise: if each two arms had the order that they have
without the others, each two would change places for ever, and of three each would keep its
neighbours.

The steps of a sweep are gone through in an order of their own, which is the same for all arms of a
block, and mirrored in the next.

Where the base is run several times in a block, its runs lie among the others so that at most
`OTHERS_MAX` of them come before, between and after; all such ways are equally likely.
"""

import hashlib
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from math import comb
from typing import TypeVar

from dbdyno.model import Block, Plan, Step, WorkloadUse
from dbdyno.stats.find import PROBES_USUAL

OneOrdered = TypeVar("OneOrdered")

OTHERS_MAX = 4
"""So many other arms at most for each run of the base in a block, and between two of them."""
LINKED_MAX = 6
"""So many orders are linked. More let through more of what comes with every second block, fewer
more of what an arm leaves behind."""
SAVE = "post-"
"""How a workload's `save` begins; the name of a step follows."""
SEED_BITS = 53
"""Seeds are whole numbers that every reader of JSON keeps exactly."""


def blocks(plan: Plan) -> tuple[Block, ...]:
    """The plan's blocks, each with every arm once in random order, and the block's seed."""
    return tuple(block(plan, number) for number in range(1, plan.schedule.blocks + 1))


def block(plan: Plan, number: int) -> Block:
    """The block of this number (from 1), also beyond those that the plan asks for."""
    return Block(
        number=number,
        order=_of_pass(plan, number, 0),
        seed=_draw(plan.seed, number, "seed") >> (64 - SEED_BITS),
    )


def passes(plan: Plan, block: Block) -> tuple[tuple[WorkloadUse, tuple[str, ...]], ...]:
    """The workloads in the order in which a block goes through them, each with its order of arms.

    Where arms run one after the other, an even block has the workloads reversed, and each pass is
    linked with the one before: so each workload, too, has two arms change places in each block.
    """
    if plan.schedule.together:
        return tuple((use, block.order) for use in plan.workloads)
    uses = plan.workloads if block.number % 2 else plan.workloads[::-1]
    return tuple((use, _of_pass(plan, block.number, place)) for place, use in enumerate(uses))


def _of_pass(plan: Plan, number: int, place: int) -> tuple[str, ...]:
    """The order of the arms when block `number` goes through its workload of this place."""
    each = 1 if plan.schedule.together else max(1, len(plan.workloads))
    return _linked(plan, (number - 1) * each + place + 1, "arm")


def parted(steps: Sequence[Step]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The steps up to the last one that writes, and those after it, in which arms can take turns.

    The former are the *prelude*: each arm goes through it for itself.
    """
    cut = max((number for number, step in enumerate(steps, start=1) if step.writes), default=0)
    return tuple(steps[:cut]), tuple(steps[cut:])


def in_turn(
    plan: Plan, use: WorkloadUse, steps: Sequence[Step]
) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The prelude of a plan whose arms take turns, and the steps that they take in turn.

    `parted`; where steps that write take turns, too, the prelude ends with the step of `save`.
    """
    if not plan.schedule.writes_in_turn or use.save is None:
        return parted(steps)
    saved = use.save.removeprefix(SAVE)
    cut = next((number for number, step in enumerate(steps, start=1) if step.name == saved), 0)
    return tuple(steps[:cut]), tuple(steps[cut:])


def wait_together(plan: Plan, use: WorkloadUse, ahead: Sequence[Step]) -> bool:
    """Whether the next of these steps is taken in turn: before it all arms come to rest at once."""
    return plan.schedule.together and not in_turn(plan, use, ahead)[0]


def of_block(block: Block, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Of a workload's steps those that the block does; none where it leaves the workload out."""
    if block.steps is None:
        return tuple(steps)
    return tuple(step for step in steps if step.name in block.steps.get(step.workload, ()))


def swept(plan: Plan, number: int, steps: Sequence[Step], *, through: int = 0) -> tuple[Step, ...]:
    """The steps of block `number` in the order in which every arm takes them.

    Each sweep is gone through once, in an order drawn for it; an even block has the one before it
    reversed. Steps up to the ordinal `through`, which lead to a kept state, stay as they are: all
    blocks share what they leave.
    """
    ordered: list[Step] = []
    for (name, drawn), sweep in groupby(steps, lambda step: (step.sweep, step.ordinal > through)):
        some = tuple(sweep)
        if name is not None and drawn:
            some = _mirrored(_sweep(plan, number - 1 + number % 2, some), number)  # two mirror one
        ordered += some
    return tuple(ordered)


def _sweep(plan: Plan, number: int, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps of a sweep in an order drawn for it."""

    def drawn(step: Step) -> tuple[int, str]:
        return _draw(plan.seed, number, "sweep", step.workload, step.name), step.name

    return tuple(sorted(steps, key=drawn))


def sweeps(steps: Sequence[Step]) -> dict[str, tuple[str, ...]]:
    """By sweep the names of its steps, in the order in which they stand here."""
    names: dict[str, tuple[str, ...]] = {}
    for step in steps:
        if step.sweep is not None:
            names[step.sweep] = (*names.get(step.sweep, ()), step.name)
    return names


def searched(steps: Sequence[Step], save: str | None) -> tuple[Step, ...]:
    """The steps after the one of `save` for which a highest rate can be searched.

    Such steps are measured for some seconds, and their headline's role does what it can.
    """
    saved = (save or "").removeprefix(SAVE)
    last = max((step.ordinal for step in steps if step.name == saved), default=0)
    return tuple(step for step in steps if step.ordinal > last and _does_what_it_can(step))


def _does_what_it_can(step: Step) -> bool:
    headline = step.headline
    roles = step.job.roles if headline is not None and step.job.stop.seconds else ()
    counted = [role for role in roles if headline is not None and role.name == headline.role]
    return step.measured and bool(counted) and all(role.does_what_it_can for role in counted)


def with_searches(use: WorkloadUse, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, where the plan's `find` has some take as much longer as a search takes."""
    if use.p99_below_us is None:
        return tuple(steps)
    searched_names = {step.name for step in searched(steps, use.save)}
    return tuple(
        replace(
            step,
            p99_below_us=use.p99_below_us,
            expected_s=step.expected_s and step.expected_s * (1 + PROBES_USUAL),
        )
        if step.name in searched_names
        else step
        for step in steps
    )


def only(steps: Sequence[Step], wanted: Container[str], *, through: int = 0) -> tuple[Step, ...]:
    """The steps that have to run so that the `wanted` of a workload's are measured; none for none.

    All up to the last one that writes, and to the ordinal `through`; the wanted ones; and before
    these whatever is hidden: it brings the caches into the state in which they are measured.
    """
    last = max((step.ordinal for step in steps if step.name in wanted), default=0)
    prelude, _ = parted(steps)
    first = max([through, *(step.ordinal for step in prelude)])
    return tuple(
        step
        for step in steps
        if last
        and (
            step.ordinal <= first
            or step.name in wanted
            or (not step.measured and step.ordinal < last)
        )
    )


def of_step(plan: Plan, number: int, step: Step) -> tuple[str, ...]:
    """In which order the arms take a step of block `number`, where steps are interleaved.

    Linked with that of the step before it, and with that of this step in the block before.
    """
    return _linked(plan, number + step.ordinal, "step", step.workload)


def of_turn(plan: Plan, number: int, step: Step, turn: int) -> tuple[str, ...]:
    """In which order the arms take their turn of this number (from 1), where turns are interleaved.

    Linked with that of the turn before it, and with that of this turn in the block before.
    """
    return _linked(plan, number + turn - 1, "slice", step.workload, step.name)


def turn_s(plan: Plan, step: Step) -> float:
    """How long the turns of a step are: the plan's, or longer where its operations are slow."""
    return max(plan.schedule.turn_s, step.turn_s)


def _mirrored(order: tuple[OneOrdered, ...], number: int) -> tuple[OneOrdered, ...]:
    """The order, for an even number from its end to its begin."""
    return order if number % 2 else order[::-1]


def _linked(plan: Plan, number: int, *purpose: str) -> tuple[str, ...]:
    """All arms, in the order of this number (from 1) of those that are linked."""
    shown = [arm.name for arm in plan.arms if arm.shown]
    first = number - (number - 1) % LINKED_MAX
    names = _drawn(plan, shown, first, *purpose)
    for later in range(first + 1, number + 1):
        last = names[-1]
        names = [last, *(name for name in _drawn(plan, shown, later, *purpose) if name != last)]
    return _with_bases_apart(plan, names, number, *purpose)


def _drawn(plan: Plan, names: Iterable[str], number: int, *purpose: str) -> list[str]:
    """The names of arms in an order drawn for this."""
    return sorted(names, key=lambda name: (_draw(plan.seed, number, *purpose, name), name))


def _with_bases_apart(plan: Plan, names: list[str], number: int, *purpose: str) -> tuple[str, ...]:
    """The same order, where the base's several runs have the places that are drawn for them."""
    again = [arm.name for arm in plan.arms if not arm.shown]
    if not again:
        return tuple(names)
    bases = _drawn(plan, [plan.base, *again], number, *purpose)
    others = [name for name in names if name != plan.base]
    for place in _places(len(bases), len(others), _draw(plan.seed, number, *purpose, "", "places")):
        others.insert(place, bases.pop(0))
    return tuple(others)


def _places(bases: int, others: int, draw: int) -> list[int]:
    """The places of the base's runs among all, in rising order: the `draw`-th of all ways."""
    draw %= _ways(others, bases + 1)
    places: list[int] = []
    for left in range(bases, 0, -1):
        gap = 0
        while draw >= (below := _ways(others - gap, left)):
            draw -= below
            gap += 1
        others -= gap
        places.append(gap + (places[-1] + 1 if places else 0))
    return places


def _ways(others: int, gaps: int) -> int:
    """In how many ways so many others fill so many gaps, with `OTHERS_MAX` in each at most.

    Stars and bars, with the ways that overfill a gap taken out (inclusion and exclusion; Feller,
    An Introduction to Probability Theory and Its Applications I, II.5 and IV.1).
    """
    full = OTHERS_MAX + 1
    return sum(
        (-1) ** over * comb(gaps, over) * comb(others - over * full + gaps - 1, gaps - 1)
        for over in range(others // full + 1)
    )


def _draw(seed: int, number: int, *purpose: str) -> int:
    """64 uniform bits that depend on nothing but these."""
    text = "\0".join((str(seed), str(number), *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
