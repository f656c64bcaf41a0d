"""Call stacks in few bytes, unpacked when one is asked for: a step has thousands of them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import cached_property

from dbdyno.model.profile import Stack

_COMPRESSION = 1  # of deflate: the higher ones take longer and save little


class PackedStacks(Mapping[Stack, int]):
    """Samples by call stack; `content` is all of it: lines `owner;function COUNT`, deflated."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    @classmethod
    def of(cls, stacks: Mapping[Stack, int]) -> PackedStacks:
        """The same stacks, packed."""
        lines = "\n".join(f"{';'.join(stack)} {count}" for stack, count in stacks.items())
        return cls(zlib.compress(lines.encode(), _COMPRESSION))

    @cached_property
    def _all(self) -> dict[Stack, int]:
        text = zlib.decompress(self.content).decode()
        lines = (line.rpartition(" ") for line in text.split("\n") if line)
        return {tuple(stack.split(";")): int(count) for stack, _, count in lines}

    def __getitem__(self, stack: Stack) -> int:
        return self._all[stack]

    def __iter__(self) -> Iterator[Stack]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)
