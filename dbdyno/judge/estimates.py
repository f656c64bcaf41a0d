"""The figures of a step: each metric of each arm over its blocks, and beside the base.

Nothing else takes a metric over blocks, or has an interval or a standard error of one.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.judge.pairing import MetricComparison, PairedRuns, by_block, by_block_of_each
from dbdyno.model import Bound, Cell, PairedEstimate, StepComparison, ToldFacts, metric
from dbdyno.model.metric.over import Over, over_of, taken
from dbdyno.model.metric.primary import UNDISTURBED, cpu_of
from dbdyno.model.ratio import OPPOSITE

Values = Mapping[str, Mapping[int, float]]
"""By metric and block."""
ROUNDING = 1e-9
ALIKE = 1e-3
"""Log ratios of a block that differ by less are those of one thing, counted in two ways."""


def with_figures(step: StepComparison, faced: Mapping[str, PairedRuns]) -> StepComparison:
    """The step with all metrics of its arms.

    Figures are of the blocks that are compared, where these are the same for all arms; those of the
    headline and of CPU of all blocks.
    """
    runs = list(step.runs)
    of_all_blocks = (step.headline, cpu_of(runs))
    primary = (*of_all_blocks, UNDISTURBED)
    values = {cell.arm: by_block_of_each(cell.runs) for cell in step.cells}
    overs = _overs(primary, tuple(values.values()))
    compared = {
        name: over
        for name, over in overs.items()
        if over in ("ratio", "sum") and any(name in of for of in values.values())
    }
    paired = {
        arm: {
            name: estimate
            for name, over in compared.items()
            if (estimate := _estimate(faced[arm].compared(name), over)) is not None
        }
        for arm in values
        if arm in faced
    }
    shared = _shared(paired, [name for name in overs if name not in of_all_blocks])
    base, *others = (_filled(step, cell, values[cell.arm], overs, shared) for cell in step.cells)
    cells = (_compared(step, cell, base, paired[cell.arm], faced[cell.arm]) for cell in others)
    return replace(step, cells=(base, *cells))


def with_judged(step: StepComparison, faced: Mapping[str, PairedRuns]) -> StepComparison:
    """The step with the estimates of what is judged as their words have them.

    Of what rests on a look the figures of the arm are those of its blocks, and of the base, too,
    where all arms rest on the same. What happens once an operation has the headline's estimate.
    """
    names = {
        judgement.metric: None
        for cell in step.cells
        if cell.verdict is not None
        for judgement in cell.verdict.judgements
    }
    for name in names:
        step = _judged(step, name, name)
        if name == step.headline:
            for other in _once_an_operation(name, step, faced):
                step = _judged(step, name, other)
    return step


def _once_an_operation(
    headline: str, step: StepComparison, faced: Mapping[str, PairedRuns]
) -> list[str]:
    """The metrics that have the headline's ratio in each block."""

    def alike(name: str) -> bool:
        pairs = ((of.compared(headline).logs, of.compared(name).logs) for of in faced.values())
        return all(
            own.keys() == logs.keys()
            and all(abs(own[block] - logs[block]) < ALIKE for block in own)
            for own, logs in pairs
        )

    estimates = (pair for cell in step.cells for pair in cell.estimates.items())
    ratios = {name for name, estimate in estimates if estimate.kind == "ratio"}
    return [name for name in sorted(ratios - {headline}) if alike(name)]


def _overs(primary: Sequence[str | None], values: Sequence[Values]) -> dict[str, Over]:
    """How each metric is taken here: one that is nothing in a block has no ratio there.

    But the primary ones: who stood still in a block is judged by the others.
    """

    def over(row: metric.Metric) -> Over:
        if row.name in primary or row.over != "ratio":
            return row.over
        return over_of(value for of in values for value in of.get(row.name, {}).values())

    return {row.name: over(row) for row in metric.METRICS}


def _shared(
    paired: Mapping[str, Mapping[str, PairedEstimate]], names: Iterable[str]
) -> dict[str, tuple[int, ...]]:
    """The blocks of a metric's estimates, where those of all arms are of the same."""
    blocks = {
        name: {estimates[name].at for estimates in paired.values() if name in estimates}
        for name in names
    }
    return {name: at.pop() for name, at in blocks.items() if len(at) == 1}


def _filled(
    step: StepComparison,
    cell: Cell,
    values: Values,
    overs: Mapping[str, Over],
    shared: Mapping[str, Sequence[int]],
) -> Cell:
    if not any(run.metrics for run in cell.runs):
        return cell
    metrics = {
        name: taken(_of_blocks(values.get(name, {}), shared.get(name)), over)
        for name, over in overs.items()
    }
    return replace(cell, metrics=metrics, value=metrics[step.headline] if step.headline else None)


def _of_blocks(values: Mapping[int, float], at: Sequence[int] | None) -> Iterable[float]:
    """The values of these blocks; of all where it has none of them."""
    known = [value for block, value in values.items() if at is None or block in at]
    return known or values.values()


def _of_own(compared: MetricComparison) -> PairedEstimate | None:
    """What the workload tells of itself, which no verdict uses."""
    return _estimate(compared, over_of(value for pair in compared.both.values() for value in pair))


def _compared(
    step: StepComparison,
    cell: Cell,
    base: Cell,
    estimates: Mapping[str, PairedEstimate],
    faced: PairedRuns,
) -> Cell:
    own_values = {
        name: own_value
        for name in dict.fromkeys(name for facts in cell.each(ToldFacts) for name in facts.numbers)
        if (own_value := _of_own(faced.own_value(name))) is not None
    }
    estimates = {
        name: _beside(step, cell, base, name, estimate) for name, estimate in estimates.items()
    }
    ratio = estimates.get(step.headline or "")
    return replace(cell, estimates=estimates, own_values=own_values, ratio=ratio)


def _estimate(compared: MetricComparison, over: Over) -> PairedEstimate | None:
    known = compared.interval if over == "ratio" else compared.difference
    at = tuple(compared.logs if over == "ratio" else compared.both)
    if known is None or not any(any(pair) for pair in compared.both.values()):
        return None
    return PairedEstimate(
        kind="ratio" if over == "ratio" else "difference",
        value=known.value,
        low=known.low,
        high=known.high,
        blocks=len(at),
        at=at,
        se=known.se,
        freedom=known.freedom,
    )


def _beside(
    step: StepComparison, cell: Cell, base: Cell, name: str, estimate: PairedEstimate
) -> PairedEstimate:
    """The estimate with its bound, and whether it is what the figures of both arms say."""
    own, other = cell.metrics.get(name), base.metrics.get(name)
    said = None
    if own is not None and other is not None:
        said = own - other if estimate.kind == "difference" else own / other if other else None
    slack = ROUNDING * max(1.0, abs(own or 0.0), abs(other or 0.0))
    alike = said is not None and math.isclose(
        estimate.value, said, rel_tol=ROUNDING, abs_tol=slack if estimate.kind != "ratio" else 0.0
    )
    return replace(estimate, bound=_bound(step, cell, name), apart=not alike)


def _bound(step: StepComparison, cell: Cell, name: str) -> Bound:
    """The bound of a metric of an arm beside the base's."""
    if name == step.headline:
        return cell.ratio_bound
    base = step.cells[0].time_bound
    if name not in metric.RESPONSES or base == "exact":
        return cell.time_bound if name in metric.RESPONSES else "exact"
    return OPPOSITE.get(base, base) if cell.time_bound == "exact" else "unknown"


def _judged(step: StepComparison, judged: str, name: str) -> StepComparison:
    """The step with the estimate of a judged metric in place of that of another like it."""
    estimates = {
        cell.arm: judgement.estimate
        for cell in step.cells
        if cell.verdict is not None and (judged == name or name in cell.estimates)
        for judgement in cell.verdict.judgements
        if judgement.metric == judged and judgement.blocks
    }
    base, *others = step.cells
    blocks = {estimate.at for estimate in estimates.values()}
    if len(blocks) == 1 and any(estimate.basis == "look" for estimate in estimates.values()):
        base = _restricted(step, base, name, *blocks)
    cells = [_with_estimate(step, cell, base, name, estimates.get(cell.arm)) for cell in others]
    return replace(step, cells=(base, *cells))


def _restricted(step: StepComparison, cell: Cell, name: str, at: Sequence[int]) -> Cell:
    """The cell with a metric of these blocks alone."""
    figure = taken(_of_blocks(by_block(cell.runs, name), at), metric.by_name(name).over)
    metrics = {**cell.metrics, name: figure}
    return replace(cell, metrics=metrics, value=figure if name == step.headline else cell.value)


def _with_estimate(
    step: StepComparison, cell: Cell, base: Cell, name: str, estimate: PairedEstimate | None
) -> Cell:
    if estimate is None:
        return cell
    if estimate.basis == "look":
        cell = _restricted(step, cell, name, estimate.at)
    elif name in cell.estimates and cell.estimates[name].kind == "ratio":
        estimate = replace(estimate, value=cell.estimates[name].value)
    estimate = _beside(step, cell, base, name, estimate)
    ratio = estimate if name == step.headline else cell.ratio
    return replace(cell, estimates={**cell.estimates, name: estimate}, ratio=ratio)
