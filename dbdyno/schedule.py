"""In which order the arms of a plan run, drawn from its seed.

Every draw hashes the seed, the block's number and what it is for, so that nothing depends on how
much was drawn before: more blocks leave the earlier ones as they are, and a further arm takes its
place among the others without changing their order.
"""

from __future__ import annotations

import hashlib

from dbdyno.model import Block, Plan

SEED_BITS = 53
"""Seeds are whole numbers that every reader of JSON keeps exactly."""


def blocks(plan: Plan) -> tuple[Block, ...]:
    """The plan's blocks, each with every arm once in random order, and the block's seed."""
    return tuple(block(plan, number) for number in range(1, plan.schedule.blocks + 1))


def block(plan: Plan, number: int) -> Block:
    """The block of this number (from 1), also beyond those that the plan asks for."""
    names = [arm.name for arm in plan.arms]
    return Block(
        number=number,
        order=tuple(sorted(names, key=lambda name: (_draw(plan.seed, number, "arm", name), name))),
        seed=_draw(plan.seed, number, "seed") >> (64 - SEED_BITS),
    )


def _draw(seed: int, number: int, *purpose: str) -> int:
    """64 uniform bits that depend on nothing but these."""
    text = "\0".join((str(seed), str(number), *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
