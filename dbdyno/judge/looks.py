"""Which blocks a look takes: blocks 1 to k of the plan, and not the first k to finish."""

from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.model.looks import Look, LookProgress, Looks
from dbdyno.stats import looks
from dbdyno.stats.looks import BLOCKS_MIN
from dbdyno.store import BlockFolder


@dataclass(frozen=True, kw_only=True)
class ArmLooks:
    """The looks that have been taken at an arm, and the blocks that each of them saw."""

    looked: LookProgress
    numbers: tuple[int, ...]  # of the complete blocks, up to the first that is missing

    @property
    def taken(self) -> tuple[Look, ...]:
        """The looks that have been taken."""
        return self.looked.taken

    @property
    def coming(self) -> tuple[Look, ...]:
        """The looks that are left."""
        return looks.scheduled(self.looked.looks)[len(self.looked.taken) :]

    def at(self, look: Look) -> tuple[int, ...]:
        """The numbers of the blocks that a look takes."""
        return self.numbers[: look.blocks]


def fewest(arms: Sequence[LookProgress]) -> LookProgress | None:
    """The looks of the arm that has reached the fewest of them; None without an arm."""
    return min(arms, key=lambda looked: len(looked.taken), default=None)


def of_arm(written: Looks | None, done: Sequence[BlockFolder], arm: str) -> ArmLooks:
    """The looks at an arm; `written`: what looks.json says, `done`: the complete blocks.

    A result without recorded looks, which an older version made, is one look at half of the level.
    """
    last = max((block.number for block in done), default=0)
    has_arm = {block.number: arm in block.arms() for block in done}
    numbers = []
    for number in range(1, last + 1):
        if number not in has_arm:
            break
        if has_arm[number]:
            numbers.append(number)
    return once(numbers) if written is None else _sights(written, numbers)


def once(numbers: Sequence[int]) -> ArmLooks:
    """One look at these blocks, as if they had been planned so."""
    return _sights(Looks(first=max(len(numbers), BLOCKS_MIN)), numbers)


def _sights(of: Looks, numbers: Sequence[int]) -> ArmLooks:
    return ArmLooks(looked=looks.looked(of, len(numbers)), numbers=tuple(numbers))
