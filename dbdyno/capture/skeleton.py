"""Texts without their literals: of those of one skeleton one is parsed for all."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dbdyno.capture.dialect import NormalForm

SKELETONS_MAX = 50_000
"""Skeletons that are kept; a log with more begins again, which costs time and nothing else."""


@dataclass(frozen=True)
class TextShape:
    """How the tokens of a skeleton become a form and its values."""

    form: NormalForm
    literals: tuple[tuple[int, bool], ...]  # tokens that are values, and whether a `-` is theirs


@dataclass(frozen=True)
class Skeleton:
    """What is known of a skeleton: which of its tokens are part of the form, and the shapes."""

    fixed: tuple[int, ...]
    shapes: dict[tuple[str, ...], TextShape] = field(default_factory=dict)

    def shape(self, tokens: Sequence[str]) -> TextShape | None:
        """The shape of a text with these tokens; None: not known yet."""
        return self.shapes.get(tuple([tokens[number] for number in self.fixed]))
