"""Plans of several arms that all equal the base: how often any of them has a false word."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dbdyno.model.looks import Look
from dbdyno.model.verdict import Aims
from simulation import Model, Random, Share, batches, draw, walk


@dataclass(frozen=True, kw_only=True)
class SeveralArms:
    """A plan whose arms all equal the base."""

    model: Model  # of each arm beside the base
    arms: int
    looks: tuple[Look, ...]
    aims: Aims

    def alarms(self, trials: int, random: Random) -> Share:
        """In how many plans any arm is called changed in the end.

        The arms share the base's noise, which is half of a log ratio's variance.
        """
        blocks, plans = self.looks[-1].blocks, 0
        for count in batches(self.model, trials, blocks):
            base, _ = draw(self.model, count, blocks, random)
            alarmed = np.zeros(count, dtype=bool)
            for _ in range(self.arms):
                own_noise, _ = draw(self.model, count, blocks, random)
                for said in walk((own_noise - base) / math.sqrt(2), self.looks, self.aims):
                    alarmed |= (said.changed != 0).any(axis=(1, 2))
            plans += int(alarmed.sum())
        return Share(count=plans, total=trials)
