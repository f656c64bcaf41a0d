"""The commits between two builds of one repository, and the functions that they touched."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from dbdyno.model.json import Natural


@dataclass(frozen=True, kw_only=True)
class CommitBetween:
    """A commit that one of two builds has and the other has not."""

    commit: str  # 40 digits
    unix_s: Natural  # when it was committed
    subject: str
    of: Literal["arm", "base"]  # which of the two has it
    touched: Mapping[str, tuple[str, ...]]  # functions by file, as git tells of its hunks


@dataclass(frozen=True, kw_only=True)
class CommitsBetween:
    """All of them that touched the code, the newest first."""

    arm: str
    base: str
    arm_commit: str
    base_commit: str
    commits: tuple[CommitBetween, ...] = ()
    # By file that one of them touched: the functions that it has in the arm's version.
    defined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str | None = None  # why commits are not known, or not all of them


class CommitsFile(Struct, frozen=True):
    """commits.json.gz: the commits between the builds of a result's arms (docs/results.md)."""

    between: tuple[CommitsBetween, ...]
