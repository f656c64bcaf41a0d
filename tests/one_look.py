"""Metrics that are a unit each, judged at one look by their own scatter: what looks build on."""

from collections.abc import Sequence

from dbdyno.model.looks import Look
from dbdyno.model.verdict import Aims, Judgement
from dbdyno.stats import decision
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.sample import Sample

COMING_MAX = 200
"""A look after every block up to this is still to come."""


def decide(family: Sequence[Sample], aims: Aims, share: float = 1.0) -> list[Judgement]:
    """The judgement of each, at a look with this share of the level."""
    units = [
        Unit(samples=(one,), looks=((Look(blocks=one.blocks, share=share), (one,)),), whole=True)
        for one in family
    ]
    done = max((one.blocks for one in family), default=0)
    coming = [Look(blocks=count, share=1.0) for count in range(done + 1, COMING_MAX)]
    return [one for (one,) in decision.decide(units, aims, done=done, coming=coming)]
