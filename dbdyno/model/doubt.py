"""Doubts: reasons to doubt figures, each a value with its subject, grade and place.

`DoubtSubject` is the closed list. Within a grade its order is that of weight: what says more about
a figure comes first. The manual's table (docs/doubts.md) is made from it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, get_args

from msgspec import Struct

Grade = Literal["void", "withheld", "doubt", "notice"]
"""From the heaviest: `void`, blocks that are not judged; `withheld`, a figure or a word that is
missing; `doubt`, a figure that counts and may be another thing's; `notice`, what to know of it."""
GRADES: tuple[Grade, ...] = get_args(Grade)


class DoubtSubject(StrEnum):
    """What a doubt is about: how it is called, its grade, and what it means in a sentence."""

    grade: Grade
    meaning: str

    def __new__(cls, title: str, grade: Grade, meaning: str) -> DoubtSubject:
        """A subject by its title."""
        subject = str.__new__(cls, title)
        subject._value_, subject.grade, subject.meaning = title, grade, meaning
        return subject

    # fmt: off
    NOT_FINISHED = ("not finished", "void",
        "Blocks of the plan are still to be measured, or their judgement waits for a look.")
    VOID = ("void block", "void",
        "Something outside the arms spoiled or ended the block; dyno keeps it and judges it not.")

    DAMAGED = ("damaged", "withheld",
        "A file is missing, unreadable, changed or copied; what needs it is left out.")
    FAILED = ("failed", "withheld", "A step did not end well.")
    SKIPPED = ("skipped", "withheld", "The run ended before the step, or the step was refused.")
    NO_OPERATION = ("no operation counts", "withheld",
        "No operation of the headline's role began in the window, so there is no rate.")
    CPU_WITHHELD = ("CPU per operation withheld", "withheld",
        "Over 10 % of the server's CPU is of processes whose owner is unknown.")
    LEFT_OUT = ("left out", "withheld",
        "A file of a step is damaged or missing; a part is not shown.")
    NEWER = ("of a newer version", "withheld",
        "A file has what this version of dyno does not know.")
    COUNTERS_MISSING = ("counters missing", "withheld",
        "The host was not read at an end of the window, so costs are unknown.")
    NOT_TOLD = ("not told", "withheld",
        "The server or the device did not tell a value that the step asks for.")
    NOT_REPORTED = ("not reported", "withheld",
        "The program that makes the load does not report these values.")
    NO_SECONDS = ("window without seconds", "withheld",
        "The program that makes the load reports the window as a whole.")
    NOT_PROFILED = ("not profiled", "withheld", "The step's profile failed or cannot be read.")

    FOREIGN = ("foreign load", "doubt",
        "Processes that are neither the lab's nor an arm's used the CPU in a window that counts.")
    STOLEN = ("CPU taken by other machines", "doubt",
        "The hypervisor gave over 2 % of the window's CPU time to other machines.")
    SLEPT = ("suspended", "doubt", "The machine was suspended in a window that counts.")
    SWAP = ("swap", "doubt", "Pages were swapped in a window that counts.")
    LAB = ("the lab itself", "doubt", "dyno used over 5 % of the window's CPU time.")
    CANARY = ("canary", "doubt",
        "The idle machine did fixed work over 10 % faster beside one arm than beside another.")
    REBOOTED = ("rebooted", "doubt", "The machine booted between blocks.")
    CHANGED_HOST = ("changed host", "doubt",
        "A lasting fact of the host was not the same in all blocks.")
    CHANGED_SERVER = ("changed server", "doubt", "An arm's server was another one in some blocks.")
    INTERRUPTED = ("interrupted", "doubt",
        "Somebody ended blocks with figures in sight, which can bend the result.")
    AIMS_CHANGED = ("aims changed", "doubt",
        "The plan's aims changed after blocks had been measured.")
    ASKED_BEFORE = ("asked before", "doubt",
        "Earlier results have the same question, which adds false words.")
    ANOTHER_BASE = ("another base", "doubt", "Not the plan's base, but the one that you asked for.")
    NODES_DISAGREE = ("nodes disagree", "doubt",
        "The nodes' ratios differ by more than the margin.")
    UNLIKE_NODES = ("unlike nodes", "doubt", "A lasting fact is not the same on all nodes.")
    ONE_FILL = ("one fill", "doubt",
        "All blocks begin from one fill, so no interval has the scatter between fills.")
    FEW_FILLS = ("few fills", "doubt", "The fills are too few for an analysis by fill.")
    AT_LIMIT = ("load generator at its limit", "doubt",
        "The generator held the server back, so the rate is *at least*.")
    LIMIT_UNKNOWN = ("load generator's limit unknown", "doubt",
        "The program that makes the load does not tell whether it held the server back.")
    RATE_AT_MOST = ("rate at most", "doubt",
        "Each call took longer than a turn, so none counts; the rate is a bound.")
    TARGET_MISSED = ("target rate missed", "doubt",
        "Paced writes stayed under 95 % of their target rate.")
    DELETES_MISSED = ("target rate missed by deletes", "doubt",
        "Deletes stayed behind inserts that held their rate, so the table grew.")
    BEHIND = ("behind schedule", "doubt", "Paced operations began over a second late.")
    OPERATIONS_SKIPPED = ("operations skipped", "doubt",
        "Operations were past their latency limit before a connection was free.")
    OVER_LIMIT = ("over the latency limit", "doubt", "Operations took longer than their limit.")
    ERRORS = ("errors", "doubt", "Operations of the window ended without success.")
    LOGGED = ("errors in the server's log", "doubt", "The server logged errors in the step.")
    RETRIES = ("retries", "doubt", "Statements were sent again.")
    NO_ROW = ("found no row", "doubt",
        "Over 1 % of a statement's executions found no row; misses are fast, and count.")
    FEWER = ("fewer than expected", "doubt", "A check after the step found fewer rows than due.")
    UNEXPECTED = ("not as expected", "doubt", "A check after the step found another value.")
    LEVEL = ("rate changed its level", "doubt",
        "The rate of a long step has several plateaus; the mean is of none.")
    ENDED_APART = ("clients ended apart", "doubt",
        "Clients ended over 2 % of the window apart, so at the end fewer worked.")
    UNEVEN = ("clients served unevenly", "doubt",
        "Jain's index of the clients' rates is under 0.95.")
    AT_MOST = ("response times at most", "doubt",
        "Over a tenth of response times may be the generator's own delay.")
    PERCENTILES = ("percentiles at least", "doubt",
        "Operations took longer than histograms tell apart.")
    IDLE_WORK = ("idle work", "doubt",
        "Between its turns a server used over 2 % of a core, which slows the other arms.")
    GENERATOR_CPU = ("CPU of the load generator", "doubt",
        "In a step that writes, the generator's CPU is over 10 % of the server's.")
    UNIDENTIFIED = ("unidentified processes", "doubt",
        "Over 1 % of the server's CPU is of processes that ended before dyno knew their owner.")
    HELPERS = ("helpers of several roles", "doubt",
        "Parallel workers may have served several roles; one role's operations bear all their CPU.")
    WHOLE_SERVER = ("CPU of the whole server changed otherwise", "doubt",
        "CPU per operation and the whole server's CPU changed by more than the margin apart.")
    CONNECTION_EACH = ("a connection for each operation", "doubt",
        "Owners of sessions are unknown, so CPU per operation covers all connections.")
    READ_LATE = ("counters read late", "doubt",
        "The host was read over 50 ms after an end of the window.")
    TWO_PROGRAMS = ("two programs compared", "doubt", "Each arm's own program makes its load.")
    BUILD = ("build and version", "doubt",
        "Servers of two versions were compiled by two compilers.")
    SIZE = ("compiled for size", "doubt", "One server was compiled for size, another was not.")
    RESTORED = ("restored data", "doubt", "The restored data lack something that the dump has.")

    STATE = ("state at the start differs", "notice",
        "Arms of a block began the step on unlike data.")
    CHECKPOINTS = ("checkpoints in the windows differ", "notice",
        "One arm's window had much more of a checkpoint than another's.")
    AUTOVACUUM = ("autovacuum in the windows differs", "notice",
        "One arm's window had much more autovacuum than another's.")
    SHAPES = ("shapes of runs differ", "notice",
        "Over the windows, the arms' rates took other courses in most blocks.")
    VERSIONS = ("several versions", "notice", "Several versions of dyno measured the blocks.")
    BEGUN_UNLIKE = ("begun unlike", "notice",
        "In one block some arms began with a golden copy, others not.")
    GOLDEN = ("golden copies", "notice", "Blocks began with a copy, so they lack earlier steps.")
    FILLS = ("fills", "notice", "What intervals and tests count where there are several fills.")
    NOT_RUN = ("not run", "notice", "No block has the step on this arm.")
    # fmt: on

    def doubt(self, words: str, amount: float | None = None, **place: Any) -> Doubt:
        """A doubt of this subject; `place`: what is known of `Doubt`'s."""
        return Doubt(subject=self, words=words, amount=amount, **place)


class Doubt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reason to doubt a figure, and of what it is true; without a place: of the whole."""

    subject: DoubtSubject
    words: str  # what, with figures
    amount: float | None = None  # the figure by which it is judged, in percent if a share
    workload: str | None = None
    ordinal: int | None = None  # the step's place in its workload
    step: str | None = None
    arm: str | None = None
    block: int | None = None

    def __str__(self) -> str:
        """Its subject and its words."""
        return f"{self.subject}: {self.words}"


class DoubtItem(Struct, frozen=True, kw_only=True):
    """The same words about one arm in one step, of all blocks of which they are true."""

    words: str
    amount: float | None
    workload: str | None
    ordinal: int | None
    step: str | None
    blocks: tuple[int, ...]  # none: it is true of the whole


class DoubtGroup(Struct, frozen=True, kw_only=True):
    """All doubts of one subject about one arm, or about no arm in particular."""

    subject: DoubtSubject
    arm: str | None
    blocks: tuple[int, ...]  # the distinct ones of its items
    items: tuple[DoubtItem, ...]

    def of_step(self, workload: str, ordinal: int) -> tuple[DoubtItem, ...]:
        """Its items about a step."""
        return tuple(
            item for item in self.items if (item.workload, item.ordinal) == (workload, ordinal)
        )
