"""The functions of pgbench's expressions, and how many arguments each takes."""

from collections.abc import Mapping
from dataclasses import dataclass

ARGUMENTS_MAX = 16
"""So many arguments a function takes at most, when pgbench runs it."""
MANY = 1_000_000_000
"""In place of the most arguments of `greatest` and `least`, which have no limit before they run."""


@dataclass(frozen=True)
class Function:
    """`form` is what a job calls it; `seeded`: a seed that is left out is the default one."""

    form: str
    low: int
    high: int
    seeded: bool = False

    @property
    def wanted(self) -> str:
        """How many arguments it takes, in words."""
        if self.high == MANY:
            return "at least 1 argument"
        if self.low == self.high:
            return f"{self.low} argument{'s' * (self.low != 1)}"
        return f"{self.low} to {self.high} arguments"


FUNCTIONS: Mapping[str, Function] = {
    "abs": Function("abs", 1, 1),
    "debug": Function("debug", 1, 1),
    "double": Function("double", 1, 1),
    "exp": Function("exp", 1, 1),
    "greatest": Function("greatest", 1, MANY),
    "hash": Function("hash_murmur2", 1, 2, seeded=True),
    "hash_fnv1a": Function("hash_fnv1a", 1, 2, seeded=True),
    "hash_murmur2": Function("hash_murmur2", 1, 2, seeded=True),
    "int": Function("int", 1, 1),
    "least": Function("least", 1, MANY),
    "ln": Function("ln", 1, 1),
    "mod": Function("mod", 2, 2),
    "permute": Function("permute", 2, 3, seeded=True),
    "pi": Function("pi", 0, 0),
    "pow": Function("power", 2, 2),
    "power": Function("power", 2, 2),
    "random": Function("random", 2, 2),
    "random_exponential": Function("random_exponential", 3, 3),
    "random_gaussian": Function("random_gaussian", 3, 3),
    "random_zipfian": Function("random_zipfian", 3, 3),
    "sqrt": Function("sqrt", 1, 1),
}
"""By the name that scripts call it, in any case."""
