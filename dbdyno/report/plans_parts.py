"""The answer of `dyno plans`: sentences, a table by share of the time, both trees of each."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dbdyno.findings.application.own_query import share, short
from dbdyno.findings.query_plans.show import trees
from dbdyno.model.grouping import grouped
from dbdyno.model.plans_only import FlippedQuery, FlipWord, PlannedQuery, PlansRecord
from dbdyno.parts import number
from dbdyno.parts.colors import Tone
from dbdyno.parts.part import AnyPart, Callout, Finding, Group, Text
from dbdyno.parts.table import Column, Row, Table, TableCell

SHOWN: Sequence[FlipWord] = ("fails", "another plan", "near", "not told")
"""The words of which queries are listed, in their order."""
TREES_MAX = 60
"""So many pairs of trees are shown whole."""
UNPROVEN = "unproven"
NEAR = "another ANALYZE may do the same"


@dataclass(frozen=True)
class ArmAnswer:
    """What is said of one arm."""

    record: PlansRecord
    arm: str
    rows: Sequence[FlippedQuery]  # the largest share first

    def of(self, *words: FlipWord) -> list[FlippedQuery]:
        """The rows of these words."""
        return [row for row in self.rows if row.word in words]

    @cached_property
    def flips(self) -> list[FlippedQuery]:
        """Those with another plan, near ones among them."""
        return self.of("another plan", "near")

    @property
    def sentence(self) -> str:
        """`31 of 140 queries get another plan on pg18 (27 % of the time); 106 keep theirs …`."""
        flips, fails, same, untold = (
            self.flips,
            self.of("fails"),
            self.of("same"),
            self.of("not told"),
        )
        time = share(sum(row.share for row in flips))
        words = f"{len(flips)} of {number.queries(len(self.rows))} "
        words += f"{'gets' if len(flips) == 1 else 'get'} another plan on "
        words += f"{self.arm} ({time} of your application's time); "
        words += f"{len(same)} {'keeps its own' if len(same) == 1 else 'keep theirs'}"
        if fails:
            words += f"; {len(fails)} {'fails' if len(fails) == 1 else 'fail'} there"
        if untold:
            words += f"; {len(untold)} {'is' if len(untold) == 1 else 'are'} not told"
        return f"{words}."

    @property
    def basis(self) -> str:
        """What the answer stands on."""
        planned = [row for row in self.rows if row.word != "fails"]
        proven = sum(row.proven for row in planned)
        unproven = sum(not row.proven for row in planned if row.word != "not told")
        words = (
            "No row was copied, and nothing was run. "
            f"{proven} of {len(planned)} base plans are those of the server itself"
        )
        return f"{words}; {unproven} are {UNPROVEN}." if unproven else f"{words}."

    @property
    def reasons(self) -> str:
        """Why nothing is told of some, the commonest reason first; empty where all are."""
        reasons = Counter(row.reason for row in self.of("not told"))
        listed = (f"{count} ({reason})" for reason, count in reasons.most_common())
        return f"Not told: {', '.join(listed)}." if reasons else ""

    @property
    def near(self) -> str:
        """A sentence on plans that are near; empty where none is."""
        count = len(self.of("near"))
        return f"{count} {'is' if count == 1 else 'are'} near: {NEAR}." if count else ""


def answers(record: PlansRecord, rows: Sequence[FlippedQuery]) -> list[ArmAnswer]:
    """What is said of each arm beside the base."""
    return [
        ArmAnswer(record, arm.name, [row for row in rows if row.arm == arm.name])
        for arm in record.arms[1:]
    ]


def parts(record: PlansRecord, rows: Sequence[FlippedQuery]) -> Iterator[AnyPart]:
    """The parts of the page."""
    for place, answer in enumerate(answers(record, rows)):
        yield Text(
            name=f"answer-{place}",
            title="",
            depth="brief",
            form="sayings",
            items=tuple(
                Finding(text=text)
                for text in (answer.sentence, answer.basis, answer.near, answer.reasons)
                if text
            ),
        )
        listed = [row for word in SHOWN for row in answer.of(word)]
        if listed:
            yield _table(answer, listed, place)
        base = record.arms[0].name
        both = [
            tree
            for row in answer.flips[:TREES_MAX]
            for tree in trees(
                row.query, row.arm, {base: "\n".join(row.base), row.arm: "\n".join(row.plan)}
            )
        ]
        if both:
            yield Group(
                name=f"plans-trees-{place}",
                title="",
                parts=tuple(both),
                depth="detail",
                entry="",
                click="both plans of each",
                fold="both plans of each",
            )
    if lacks := lacking(record):
        yield Callout(
            name="lacks",
            title="What the lab lacks",
            depth="brief",
            items=Finding.each(lacks),
        )


def _table(answer: ArmAnswer, rows: Sequence[FlippedQuery], place: int) -> Table:
    queries = {query.name: query for query in answer.record.queries}
    return Table(
        name=f"plans-{place}",
        title=f"Plans of {answer.arm} beside those of {answer.record.arms[0].name}",
        columns=(
            Column(text="share", title="of your application's time"),
            *Column.words("query", "word", "where the plans part, or why nothing is told"),
        ),
        rows=tuple(_row(row, queries[row.query]) for row in rows),
        look="words queries",
        depth="brief",
        narrow="figures",
        note="Another plan is not a slower one: only a race with data tells.",
    )


def _row(row: FlippedQuery, query: PlannedQuery) -> Row:
    tones: Mapping[FlipWord, Tone] = {
        "fails": "failed",
        "another plan": "notice",
        "not told": "quiet",
    }
    return Row(
        cells=(
            TableCell(text=share(row.share)),
            TableCell(text=short(query.text), detail=f"{query.text} ({row.query})"),
            TableCell(text=row.word, tone=tones.get(row.word, "")),
            TableCell(text=said(row)),
        ),
        arm=row.arm,
    )


def said(row: FlippedQuery) -> str:
    """Where the plans part, with what else is known of them."""
    flips = row.word in ("another plan", "near")
    more = (
        f"for {row.tuples} of {row.of} values" if flips and 0 < row.tuples < row.of else "",
        "for any values" if flips and row.generic else "",
        f"JIT {row.jit}" if row.jit else "",
        UNPROVEN if not row.proven and row.word not in ("not told", "fails") else "",
    )
    return "; ".join(filter(None, (row.where, *more)))


def lacking(record: PlansRecord) -> list[str]:
    """What the lab has otherwise than the server that was captured."""
    arms = grouped((sentence, arm.name) for arm in record.arms for sentence in arm.lacks)
    return [
        *record.left_out,
        *(
            sentence if len(names) == len(record.arms) else f"{sentence} ({', '.join(names)})"
            for sentence, names in arms.items()
        ),
    ]
