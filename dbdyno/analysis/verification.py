"""Whether the files of a result are as they were when its blocks ended, and tell one story.

Checksums show damage of any file. They show no forgery: whoever changes a file can change its
checksum as well. What shows all the same is in `tampering`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dbdyno import store
from dbdyno.analysis.step import collect
from dbdyno.evidence import damaged_files
from dbdyno.evidence.damaged_files import Damage
from dbdyno.judge import tampering
from dbdyno.model import Json
from dbdyno.store import BlockFolder, Results, checksums


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What became of a result's files; places are paths within the result folder."""

    folder: str
    blocks: int  # complete blocks
    files: int  # those of them whose checksums were compared
    unverified: tuple[int, ...]  # numbers of complete blocks without checksums
    void: int  # void and interrupted blocks, which have no checksums
    damage: tuple[str, ...]  # "PLACE: what is wrong; the remedy"

    def lines(self) -> Iterator[str]:
        """The same in words."""
        yield f"{self.folder}: {self._summary()}"
        for text in self.damage:
            yield f"  damaged: {text}"
        if self.unverified:
            numbers = ", ".join(map(str, self.unverified))
            yield f"  unverified: block {numbers}: an older dyno wrote no checksums"
        if self.void:
            yield f"  not checked: {self.void} void or interrupted"

    def document(self) -> Json:
        """The same for programs."""
        return asdict(self)

    def _summary(self) -> str:
        blocks = f"{self.blocks} complete block{'s' * (self.blocks != 1)}"
        if self.damage:
            of = f" of {self.files:,}" if self.files else ""
            return f"{blocks}, {len(self.damage)}{of} files damaged"
        if len(self.unverified) == self.blocks:
            return f"{blocks}, none with checksums"
        return f"{blocks}, {self.files:,} files as they were when their blocks ended"


def parts(folder: Path) -> tuple[Path, ...]:
    """The result folder, and those of the parts of its pass of counts."""
    return (folder, *(part.folder for part in Results.within(store.count_folder(folder))))


def verify(folder: Path) -> Verification:
    """Compares every file of the complete blocks, and the sums of every step's events.

    Raises ResultError where the folder is no result.
    """
    results = Results.open(folder)
    blocks = results.blocks()
    complete = [block for block in blocks if block.state == "done"]
    known = {block.number: block.checksums() for block in complete}
    damage = [
        f"{block.path.relative_to(results.folder)}/{damaged.name}: {damaged.text}"
        for block in complete
        if (expected := known[block.number]) is not None
        for damaged in checksums.of_block_damaged(block.path, expected)
    ]
    lost = Damage(results.folder)
    edited = lost.usable(lambda: tuple(tampering.edited(results, complete))) or ()
    return Verification(
        folder=str(folder),
        blocks=len(complete),
        files=sum(len(expected) for expected in known.values() if expected is not None),
        unverified=tuple(number for number, expected in known.items() if expected is None),
        void=len(blocks) - len(complete),
        damage=(*damage, *edited, *lost.lines, *_contradictions(results, complete, damage)),
    )


def _contradictions(
    results: Results, blocks: Sequence[BlockFolder], damage: Sequence[str]
) -> Iterator[str]:
    """Steps whose files do not fit one another, though each may be as it was."""
    places = {text.rsplit("/", 1)[0] for text in damage}
    folders = tampering.step_folders(blocks)
    runs = tampering.refused(results.plan, blocks, folders, collect.step_runs(folders, None))
    for contradiction in damaged_files.of_steps(runs):
        if contradiction.split(": ")[0].rsplit("/", 1)[0] not in places:
            yield contradiction
