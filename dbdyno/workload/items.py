"""What the items of a repetition in a statement may draw."""

from collections.abc import Sequence

from dbdyno.model.job import values
from dbdyno.workload import distribution, sql
from dbdyno.workload.scope import Scope


def names(pieces: Sequence[sql.Piece]) -> list[str]:
    """The values in the repetitions of a statement."""
    items = [
        part for piece in pieces if isinstance(piece, sql.RepeatedPieces) for part in piece.pieces
    ]
    return [item.name for item in items if isinstance(item, sql.ValuePlace)]


def check(made: Sequence[values.Value], drawn: Sequence[int], scope: Scope) -> None:
    """Refuses what is of no use where each item needs its own; `drawn` are numbers of values.

    Raises WorkloadError for samples, and for sequences, which count operations.
    """
    bases = (distribution.with_bases(made, number) for number in drawn)
    for base in sorted(set().union(*bases)):
        value = made[base]
        if value.sample is not None:
            raise scope.error(f"`{value.name}` is the same in each item; write it outside of it")
        if value.sequence is not None and value.per == "item":
            raise scope.error(
                f"`{value.name}` counts operations, so all items would have the same; "
                'give it the key per = "statement" if that is meant'
            )
