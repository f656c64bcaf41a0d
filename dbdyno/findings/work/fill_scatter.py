"""Which fills counted arms began from, and how the scatter between fills comes into intervals.

Arms of one build share the files, so nothing of a fill is between them. Others (18 beside 17) have
fills of their own, which differ by what a server draws, such as the sample of ANALYZE: their
intervals hold what differs between fills, by what this host has seen or by these fills themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.model.golden import RESTORED, GoldenUse
from dbdyno.model.host_facts import CountScatter, fills_key
from dbdyno.model.step import StepName
from dbdyno.stats import moderation
from dbdyno.stats import work as stats
from dbdyno.stats.work import CountSample, Scatter
from dbdyno.store import BlockFolder

ONE_FILL = "each arm has one fill of its own, and how far fills differ is not known: count twice"


@dataclass(frozen=True, kw_only=True)
class RepeatFills:
    """The golden copies that an arm's repeats began from in a workload, in their order."""

    uses: tuple[GoldenUse, ...]
    version: str = ""  # of its server

    @property
    def keys(self) -> tuple[str, ...]:
        """The copies' keys."""
        return tuple(use.key for use in self.uses)

    @property
    def fills(self) -> tuple[int, ...]:
        """The numbers of their fills."""
        return tuple(use.fill for use in self.uses)


Begun = Mapping[tuple[str, str], RepeatFills]
"""By workload and arm."""


def begun(blocks: Iterable[BlockFolder]) -> Begun:
    """From which copies the runs of these blocks began. Raises ResultError: damaged files."""
    begun: dict[tuple[str, str], RepeatFills] = {}
    for block in blocks:
        for run in block.runs():
            server = run.server()
            for workload, use in run.golden().items():
                before = begun.get((workload, run.arm), RepeatFills(uses=()))
                version = before.version or (server and server.version) or ""
                begun[workload, run.arm] = RepeatFills(uses=(*before.uses, use), version=version)
    return begun


def own_fills(begun: Begun, workload: str, base: str, arm: str) -> int | None:
    """How many fills each of two arms had of its own; 0: they shared them; None: not told.

    One dump, restored once on each, has the same rows in the same order, and the same statistics.
    """
    first, second = begun.get((workload, base)), begun.get((workload, arm))
    if first is None or second is None or len(first.uses) != len(second.uses):
        return None
    uses = (*first.uses, *second.uses)
    alike = all(use.step == RESTORED and use.fill == 1 for use in uses)
    return 0 if alike or first.keys == second.keys else len(set(second.fills))


def apart(fills: int | None) -> bool:
    """Whether two arms have several fills each, of which repeats show what they differ by."""
    return fills is not None and fills > 1


Steps = Mapping[tuple[StepName, str], Sequence[float]]
"""By step and arm: the log ratios of the repeats."""


def samples(
    ratios: Steps,
    begun: Begun,
    base: str,
    scatter_of: Mapping[StepName, Scatter],
    calibration: CountScatter | None,
) -> dict[tuple[StepName, str], CountSample]:
    """What is known of each step of each arm, with the scatter between fills where it is in it.

    `scatter_of`: of a repeat's log ratio, by step, without what differs between fills.
    """
    rows: dict[tuple[StepName, str], CountSample] = {}
    own: dict[tuple[StepName, str], tuple[float, ...]] = {}
    for (step, arm), logs in ratios.items():
        fills = own_fills(begun, step[0], base, arm)
        scatter, withheld = scatter_of[step], ""
        numbers = begun[step[0], arm].fills if fills else ()
        if not fills or len(numbers) != len(logs):
            rows[step, arm] = CountSample(ratios=tuple(logs), scatter=scatter, fills=fills)
            continue
        means = tuple(stats.of_fills(logs, numbers))
        between = between_fills(calibration, step, begun[step[0], base], begun[step[0], arm])
        if between is not None:
            scatter = stats.with_fills(scatter, between)
        elif fills > 1:
            own[step, arm] = means
        else:
            withheld = ONE_FILL
        rows[step, arm] = CountSample(ratios=means, scatter=scatter, fills=fills, withheld=withheld)
    return rows | dict(widened(rows, own))


def widened(
    rows: Mapping[tuple[StepName, str], CountSample],
    own: Mapping[tuple[StepName, str], Sequence[float]],
) -> Iterable[tuple[tuple[StepName, str], CountSample]]:
    """The samples whose scatter between fills this host has not seen: by these fills themselves.

    Steps lend each other variances (`stats.moderation`), as two fills tell little of a step's own.
    """
    for fills in {len(means) for means in own.values()}:
        places = [place for place, means in own.items() if len(means) == fills]
        spreads = moderation.spreads([own[place] for place in places])
        for place, spread in zip(places, spreads, strict=True):
            row = rows[place]
            seen = Scatter(deviation=spread.sd, freedom=spread.freedom)
            yield place, replace(row, scatter=stats.wider(row.scatter, seen))


def between_fills(
    seen: CountScatter | None, step: StepName, base: RepeatFills, arm: RepeatFills
) -> Scatter | None:
    """How far a step's ratios are apart by the fills of both arms, by what this host has seen."""
    sides = [seen.fills.get(fills_key(of.version, step)) for of in (base, arm)] if seen else [None]
    known = [side for side in sides if side is not None]
    return stats.of_both(*known) if len(known) == len((base, arm)) else None
