"""The page of the atlas, from its lines alone (`tools/atlas.py page`)."""

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import atlas_lines
from atlas_lines import Atlas, CountLine, SearchLine
from dbdyno.model.bisection import Bisection
from dbdyno.parts import number
from dbdyno.run import bisect_counts as runner
from dbdyno.stats import halving
from dbdyno.stats.halving import Stretch
from table_text import header, row

WIDTH = 100
DIGITS = 10
REPEAT = (
    "dyno bisect ../postgresql --good {before} --bad {commit} --by instructions --all "
    "--smallest {smallest:g} --workload docs/atlas/atlas.toml --steps {step}"
)
INTRO = """\
# Atlas

Which commits of PostgreSQL changed the work of an operation? dyno [counts](counts.md) the
instructions of eight operations ([atlas.toml](atlas/atlas.toml)) and
[searches](bisect.md#by-instructions) a release's development for every commit that changes one of
them by half a percent.

| operation | what it is |
|---|---|
| point-query | of `sysbench`: a row by its key |
| range-covered-pk, hot-points | of `sysbench`: 101 keys of a range, 100 rows by a list of keys |
| update-index, insert | of `sysbench`: an update of an indexed column, a row by its own INSERT |
| join | query 3 of `decisions`, over 24,000 lines of orders |
| new-order | the new order of `orders`, with 5 to 15 lines |
| copy | COPY of 100 rows from a file into a table with an index |

Counts say how much work a server does, never how long an operation takes: measure time before you
publish. Work that a commit moves to another process or to the kernel does not show.

A new order takes 2,736,000 instructions at a load of 15 and 2,750,000 on a quiet host. The server
reports statistics each second, which changes the pieces in which memory lies free, and by that the
work of `_int_malloc`.

`python tools/atlas.py page` makes this page of [lines of counts](atlas/19.jsonl). From these lines
a search goes on, here or on another machine, by

    python tools/atlas.py search docs/atlas/19.jsonl ../postgresql --minutes 600
"""


@dataclass(frozen=True, kw_only=True)
class AtlasRow:
    """A step that a commit changed."""

    commit: CountLine
    before: CountLine
    step: str
    size: float  # log ratio
    words: str  # with its interval
    functions: str
    released: bool | None  # None: not looked up yet
    doubt: str  # why the commit is not named; "": it is
    repeat: str  # the command


def page(atlases: Iterable[Atlas]) -> str:
    """The whole page."""
    return "\n".join([INTRO, *(line for atlas in atlases for line in release(atlas))])


def release(atlas: Atlas) -> Iterator[str]:
    """The lines of one release."""
    asked, search = atlas.search, atlas_lines.as_search(atlas)
    yield f"## PostgreSQL {asked.release}\n"
    if not {0, search.question.last} <= search.counts.keys():
        yield f"From `{asked.good[:DIGITS]}` to `{asked.bad[:DIGITS]}`: not begun yet.\n"
        return
    yield from standing(atlas)
    yield from rough(asked)
    yield from unlike(search)
    table = sorted(rows(atlas, search), key=lambda each: -each.size)
    yield from whole(search, table)
    yield from changes(table)
    yield from left(atlas, search)
    yield from reports(asked.release, [each for each in table if each.size > 0 and not each.doubt])


# --- What is known ----------------------------------------------------------------------------


def rows(atlas: Atlas, search: Bisection) -> Iterator[AtlasRow]:
    """Each step that a commit changed, named or not."""
    lines = {line.place: line for line in atlas.counts}
    doubts = {(stretch.begin, stretch.end): reason for stretch, reason in runner.unnamed(search)}
    for stretch in runner.single(search):
        before, commit = lines[stretch.begin], lines[stretch.end]
        known = atlas.change(before.commit, commit.commit)
        for step in runner.changed(search, stretch):
            said = runner.verdict(search, stretch, step)
            functions = [] if known is None else known.functions.get(step, ())
            yield AtlasRow(
                commit=commit,
                before=before,
                step=step,
                size=stretch.changes[step],
                words=number.counted(said.ratio.value, said.ratio.low, said.ratio.high),
                functions=", ".join(f"{name} {number.signed(more)}" for name, more in functions),
                released=None if known is None else known.released,
                doubt=doubts.get((stretch.begin, stretch.end), ""),
                repeat=REPEAT.format(
                    before=before.commit[:DIGITS],
                    commit=commit.commit[:DIGITS],
                    smallest=atlas.search.smallest,
                    step=step,
                ),
            )


def unparted(search: Bisection) -> Sequence[Stretch]:
    """The stretches in which a change is still to be found."""
    least = runner.least_of(search)
    return halving.unparted(
        search.question.last, runner.works_of(search), search.skipped.keys(), least
    )


@dataclass(frozen=True, kw_only=True)
class StepSum:
    """What a step's whole change is made of: log ratios."""

    whole: float
    rows: float  # of the commits in the table
    unparted: float  # of the stretches still to be parted
    rest: float  # smaller changes


def sums(search: Bisection, table: Sequence[AtlasRow]) -> Mapping[str, StepSum]:
    """By step what its change is made of."""
    ends = halving.whole(search.question.last, runner.works_of(search)).changes
    open_stretches = unparted(search)
    by_step = {}
    for step, whole in ends.items():
        of_rows = math.fsum(each.size for each in table if each.step == step)
        still = math.fsum(stretch.changes[step] for stretch in open_stretches)
        by_step[step] = StepSum(
            whole=whole, rows=of_rows, unparted=still, rest=whole - of_rows - still
        )
    return by_step


# --- Text -------------------------------------------------------------------------------------


def filled(text: str) -> str:
    """A paragraph, at most 100 columns wide."""
    return f"{textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False)}\n"


def quoted(text: str) -> str:
    """A paragraph of a quotation."""
    return textwrap.fill(text, WIDTH, initial_indent="> ", subsequent_indent="> ")


def percent(log_ratio: float) -> str:
    """+0.35 %."""
    return number.change(math.exp(log_ratio), 2)


def standing(atlas: Atlas) -> Iterator[str]:
    """How far the search came."""
    asked, counts = atlas.search, atlas.counts
    commits = len({line.commit for line in counts})
    yield filled(
        f"From `{asked.good[:DIGITS]}` to `{asked.bad[:DIGITS]}`: {asked.between:,} commits, "
        f"{asked.serving:,} of which may change the server ([which](bisect.md#builds)). "
        f"{commits:,} were counted, by {len(counts):,} counts, and {len(atlas.skips):,} cannot be."
    )


def rough(asked: SearchLine) -> Iterator[str]:
    """The steps that are searched for larger changes than others."""
    for name, margin in asked.margins.items():
        yield filled(
            f"Of {name} changes from {100 * margin:g} % on are looked for: its counts follow how "
            "busy the host is."
        )


def unlike(search: Bisection) -> Iterator[str]:
    """The commits whose counts do not agree."""
    for count in search.counted:
        for name in atlas_lines.differing(count):
            counts = count.steps[name].counts
            yield filled(
                f"**Do not believe {name} yet**: commit "
                f"`{search.question.commits[count.index].sha[:DIGITS]}` has {min(counts):,.0f} to "
                f"{max(counts):,.0f} instructions. The search goes on counting it until counts "
                "agree."
            )


def whole(search: Bisection, table: Sequence[AtlasRow]) -> Iterator[str]:
    """The table of sums."""
    good, bad = search.counts[0], search.counts[search.question.last]
    yield filled(
        "Instructions of an operation at both ends, and what the change is made of: the commits of "
        "the table below, stretches that are not searched to their end, and changes that are too "
        "small to be looked for."
    )
    yield from header(("operation", "first", "last", "change", "commits", "not searched", "rest"))
    for step, of in sums(search, table).items():
        amounts = (f"{count.steps[step].instructions:,.0f}" for count in (good, bad))
        parts = (of.whole, of.rows, of.unparted, of.rest)
        yield row((step, *amounts, *map(percent, parts)))
    yield ""


def changes(table: Sequence[AtlasRow]) -> Iterator[str]:
    """The commits, losses first."""
    if not table:
        yield "No commit is found yet.\n"
        return
    yield from header(
        ("change", "operation", "commit", "date", "title", "functions", "notes", "repeat")
    )
    for each in table:
        notes = {None: "?", True: "yes", False: "no"}[each.released]
        title = each.commit.title.replace("|", "\\|")
        doubt = f"; not sure: {each.doubt}" if each.doubt else ""
        yield row(
            (each.words, each.step, f"`{each.commit.commit[:DIGITS]}`", each.commit.dated,
             f"{title}{doubt}", each.functions or "?", notes, f"`{each.repeat}`")
        )  # fmt: skip
    yield ""
    yield filled(
        "*notes*: whether the release notes name the commit. `../postgresql` is a checkout of "
        "PostgreSQL with the whole history."
    )


def left(atlas: Atlas, search: Bisection) -> Iterator[str]:
    """The stretches that are not parted yet."""
    stretches = unparted(search)
    if not stretches:
        yield "The search is whole.\n"
        return
    lines = {line.place: line for line in atlas.counts}
    least = runner.least_of(search)
    yield filled(
        f"Not searched to the end, {len(stretches)} stretches. Each has its commits, and the "
        "operations in which its ends differ by half of what is searched for:"
    )
    yield from header(("from", "to", "commits", "changes"))
    for stretch in stretches:
        large = (
            f"{step} {percent(of)}"
            for step, of in stretch.changes.items()
            if abs(of) >= halving.ENTERED * least[step]
        )
        ends = (lines[end] for end in (stretch.begin, stretch.end))
        yield row(
            (*(f"`{end.commit[:DIGITS]}` {end.dated}" for end in ends),
             f"{stretch.end - stretch.begin:,}", "; ".join(large))
        )  # fmt: skip
    yield ""


def reports(of_release: str, losses: Sequence[AtlasRow]) -> Iterator[str]:
    """What a report to the project would say of each loss; none is sent."""
    if not losses:
        return
    yield f"### Reports of losses in {of_release}\n"
    yield "None of them is sent.\n"
    for each in losses:
        short = each.commit.commit[:DIGITS]
        functions = f" The functions that changed most: {each.functions}." if each.functions else ""
        yield quoted(
            f"Since {short} (“{each.commit.title}”, {each.commit.dated}) an operation of "
            f"{each.step} executes {each.words} instructions beside the commit before, counted "
            f"under Valgrind, three servers each.{functions} Instructions are not time. Is this "
            "known, and expected? The command that repeats it:"
        )
        yield f">\n>     {each.repeat}\n"
