"""With what flags a server is compiled: recipes of the published studies, or flags of one's own.

PostgreSQL is told them in CFLAGS. MySQL and MariaDB have a build type of cmake beside them. Which
recipes there are each engine says itself.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from dbdyno.model.error import ServerError

NOFP = "-fno-omit-frame-pointer"
DEFAULT = "def"
"""The recipe where nothing is said: the flags that the source itself takes."""
OWN_FLAGS = "-O2"
"""What --lto and --march are added to where no --cflags are: a source's own flags."""
OWN = "the source's own"
"""What is said of flags that nobody named."""
ALIGNED = "-falign-functions=64"
"""Each function begins a cache line, so that an edit in one leaves the others as they lay: the
Linux kernel has CONFIG_DEBUG_FORCE_FUNCTION_ALIGN_64B for the same purpose."""
ALIGNS = re.compile(r"-f(no-)?align-functions(=|$)")
"""A flag by which somebody chose the alignment of functions."""
RELAID = tuple(f"-falign-functions={bytes}" for bytes in (16, 32, 128, 256))
"""What lays code elsewhere: the compiler's usual alignment first; one more than are asked for."""
NATIVE = "-march=native -mtune=native"
TRAINED = "-fprofile-use -fprofile-correction"
"""What GCC compiles by that has seen a profile, as in the published builds."""


@dataclass(frozen=True, kw_only=True)
class Flags:
    """What the compiler is told. Empty flags leave it to the source."""

    recipe: str | None  # None: flags of one's own
    cflags: str = ""
    build_type: str | None = None  # of cmake; None: PostgreSQL, or the source's own
    release: str | None = None  # what cmake adds for the build type Release; None: its own
    options: tuple[str, ...] = ()  # more of them for configure or cmake, such as the compiler
    trained: bool = False  # compiled twice, the second time by a profile of the first at work

    @property
    def lto(self) -> bool:
        """Whether code is optimised as it is linked."""
        return any(flag.startswith("-flto") for flag in shlex.split(self.cflags))

    @property
    def words(self) -> str:
        """All of them in one line."""
        trained = TRAINED if self.trained else ""
        parts = [self.build_type, self.cflags, trained, self.release, *self.options]
        return " ".join(part for part in parts if part) or OWN


@dataclass(frozen=True, kw_only=True)
class Recipes:
    """What an engine can be compiled with."""

    engine: str
    published: Mapping[str, Flags]  # by recipe
    own: Flags = Flags(recipe=None)  # what flags of one's own stand on


def choose(
    recipes: Recipes, *, recipe: str | None, cflags: str | None, march: str | None, lto: bool
) -> Flags:
    """The flags that are asked for.

    Raises ServerError for a recipe that there is not, and where a recipe, which says all flags,
    stands beside flags.
    """
    others = {"--cflags": cflags is not None, "--march": march is not None, "--lto": lto}
    given = [name for name, is_there in others.items() if is_there]
    if recipe is not None and given:
        raise ServerError(
            f"--recipe {recipe} says all flags: drop it, or drop {' and '.join(given)}"
        )
    if not given:
        return named(recipes, recipe or DEFAULT)
    parts = [OWN_FLAGS if cflags is None else cflags.strip()]
    if march is not None:
        parts.append(NATIVE if march == "native" else f"-march={march}")
    if lto:
        parts.append("-flto")
    text = " ".join(part for part in parts if part)
    _refuse_unsplit(text)
    return replace(recipes.own, cflags=text)


def aligned(flags: Flags) -> Flags:
    """The same flags for builds that are to differ in their source alone, and not in alignment.

    Those that say how functions are aligned stay as they are.
    """
    if any(ALIGNS.match(flag) for flag in shlex.split(flags.cflags)):
        return flags
    return replace(flags, recipe=None, cflags=f"{flags.cflags or OWN_FLAGS} {ALIGNED}")


def relaid(flags: Flags, layout: int) -> Flags:
    """The same flags for a build of the same code that lies elsewhere in memory.

    `layout`: 1 is the first other one.
    """
    words = shlex.split(flags.cflags)
    other = [flag for flag in RELAID if flag not in words][layout - 1]
    kept = [word for word in words if not ALIGNS.match(word)]
    return replace(flags, recipe=None, cflags=shlex.join([*(kept or [OWN_FLAGS]), other]))


def named(recipes: Recipes, recipe: str, where: str = "--recipe") -> Flags:
    """The flags of a recipe; `where` names the option or the plan's key in errors.

    Raises ServerError where the engine has none of that name.
    """
    known = recipes.published
    if recipe not in known:
        near = get_close_matches(recipe, known, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {_listed(known)}"
        raise ServerError(f"{where}: {recipes.engine} has no recipe `{recipe}`; {hint}")
    return known[recipe]


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _refuse_unsplit(text: str) -> None:
    try:
        shlex.split(text)
    except ValueError as error:
        raise ServerError(f"--cflags: {text!r} cannot be split into flags: {error}") from error


def options_of(written: Sequence[str]) -> tuple[str, ...]:
    """The options in texts as --configure has them. Raises ServerError where one is no option."""
    found: list[str] = []
    for text in written:
        try:
            found += shlex.split(text)
        except ValueError as error:
            raise ServerError(f"--configure: {text!r} cannot be split: {error}") from error
    for option in found:
        if not option.startswith("-") and "=" not in option:
            raise ServerError(
                f"--configure: `{option}` is not an option: write --with-… or NAME=value"
            )
    return tuple(found)
