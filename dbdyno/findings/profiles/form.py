"""How the costs of functions are written, so that the columns of a table add up."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.findings.profiles.facts import ProfileComparison
from dbdyno.parts import number

MS_MIN, S_MIN = 1e4, 1e7
"""Microseconds of an operation from which on its parts are in milliseconds, and in seconds."""


@dataclass(frozen=True, kw_only=True)
class CostForm:
    """How the costs of one comparison are written, so that a column adds up."""

    unit: str
    divisor: float
    digits: int
    per: str  # what the costs are for: "query"
    beside: bool  # whether there are two arms, and changes

    @classmethod
    def of(cls, compared: ProfileComparison) -> CostForm:
        """The form that fits the CPU of an operation."""
        most = max(compared.base_us, compared.arm_us)
        unit, divisor = (
            ("s", 1e6) if most >= S_MIN else ("ms", 1e3) if most >= MS_MIN else ("µs", 1)
        )
        digits = min(number.digits_alike([most / divisor], 9) + 1, 4)
        return cls(
            unit=unit, divisor=divisor, digits=digits, per=compared.unit, beside=not compared.alone
        )

    def figure(self, us: float) -> str:
        """A cost: 0.92."""
        return number.number(us / self.divisor, self.digits)

    def more(self, us: float) -> str:
        """A change with its sign: +0.92."""
        return number.difference(us / self.divisor, 0.0, self.digits)
