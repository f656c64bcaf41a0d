"""What each node found of an arm, whether nodes disagree, and what that says of such machines."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.findings.nodes.facts import NodeFacts
from dbdyno.model import Comparison
from dbdyno.model.metric.primary import called, is_second
from dbdyno.model.nodes import NodeComparison, NodeRatio
from dbdyno.parts import cells, number
from dbdyno.parts.colors import Tone
from dbdyno.parts.part import Finding, Group, Section, Subject, Text
from dbdyno.parts.table import Column, Row, Table, TableCell

NODES_SHOWN_MAX = 6
"""So many nodes have a column each; of more the least and the greatest, and a table of all."""
FEW = {2: "Two nodes tell next to nothing", 3: "Three nodes tell little"}
"""What so few tell of other machines."""

_TONES: Mapping[str, Tone] = {"disagree": "notice", "disagree, within the margin": "alike"}


# --- Sentences -------------------------------------------------------------------------------


def sentences(comparison: Comparison) -> Iterable[str]:
    """Which nodes measured, whether they disagree, and what so many say of others."""
    counts = Counter(comparison.nodes.values())
    if len(counts) == 1:
        yield (
            f"All blocks were measured on one machine, {next(iter(counts))}: nothing here is said "
            "of another."
        )
        return
    named = ", ".join(f"{node} ({number.blocks(count)})" for node, count in counts.items())
    yield (
        f"{len(counts)} nodes measured: {named}. Each ratio is of one node's runs; verdicts are of "
        "these nodes together."
    )
    rows = comparison.of(NodeFacts).nodes
    if rows:
        yield _agreement(comparison, rows)
        yield _machines(max(rows, key=lambda row: row.freedom))


def _agreement(comparison: Comparison, rows: Sequence[NodeComparison]) -> str:
    """Where nodes disagree, and by how much at most where they were not seen to."""
    apart = [row for row in rows if row.agreement == "disagree"]
    within = sum(row.agreement == "disagree, within the margin" for row in rows)
    if apart:
        names = []
        for row in apart:
            low, high = row.lowest, row.highest
            what = f" by {called(row.metric)}" if is_second(row.metric) else ""
            names.append(
                f"{comparison.name_of(row)} of {row.arm}{what} from {number.change(low.ratio)} on "
                f"{low.node} to {number.change(high.ratio)} on {high.node}"
            )
        more = f"; within the margin in {within} more" if within else ""
        return f"Nodes disagree: {number.few(names, between='; ')}{more}."
    if within:
        return (
            f"Nodes disagree by less than the margin in {within} of {len(rows)} comparisons, and "
            "in none by more."
        )
    if all(row.agreement == "open" for row in rows):
        return "No node has two blocks of a step: whether nodes disagree cannot be told."
    ends = [row.spread_high for row in rows if row.spread_high is not None]
    reach = (
        f" A spread between nodes of up to {number.measured(max(ends))} is possible."
        if ends
        else ""
    )
    return f"No disagreement between nodes was seen.{reach}"


def _machines(row: NodeComparison) -> str:
    """How far the interval for such machines reaches for so few nodes."""
    count = row.freedom + 1
    few = FEW.get(count)
    degrees = f"{row.freedom} degree{'s' * (row.freedom != 1)} of freedom"
    reach = f"{number.number(row.reach, 1)} standard errors to each side"
    if few is not None:
        return (
            f"{few} of other machines: the interval for such machines has {degrees} and reaches "
            f"{reach} (10 nodes: 2.3)."
        )
    return (
        f"The interval for such machines takes these {count} nodes as a sample of them; it has "
        f"{degrees} and reaches {reach}."
    )


# --- Tables ----------------------------------------------------------------------------------


def tables(comparison: Comparison) -> Iterable[Table]:
    """What nodes found of each arm beside the base."""
    for place, arm in enumerate(comparison.arms[1:], start=1):
        rows = [
            row
            for row in comparison.of(NodeFacts).nodes
            if row.arm == arm
            if not is_second(row.metric) or row.agreement.startswith("disagree")
        ]
        if not rows:
            continue
        names = _names(comparison)
        yield _summary(comparison, arm, rows, f"nodes-{place}")
        if len(names) > NODES_SHOWN_MAX:
            yield _each(comparison, arm, rows, f"nodes-{place}-each")


def _names(comparison: Comparison) -> list[str]:
    """The nodes in the order in which rows have them."""
    rows = comparison.of(NodeFacts).nodes
    whole = max(rows, key=lambda row: len(row.nodes))
    return list(dict.fromkeys(node.node for row in (whole, *rows) for node in row.nodes))


def _summary(comparison: Comparison, arm: str, rows: Sequence[NodeComparison], name: str) -> Table:
    """A row for each step: what nodes found, and what follows."""
    names = _names(comparison)
    few = len(names) <= NODES_SHOWN_MAX
    metrics = any(is_second(row.metric) for row in rows)
    columns = Column.heads(
        "step",
        *(Column.words("metric") if metrics else ()),
        *Column.under(
            "change on node, %", *(names if few else ("lowest", "highest")), title=_TITLE
        ),
        Column(text="nodes", left=True, title="whether nodes disagree"),
        Column(text="spread, %", title="standard deviation between nodes, 95 % interval"),
        Column(
            text="such machines, %",
            title="mean change on machines of which these nodes are a sample, 95 % interval",
        ),
    )
    title = f"Nodes: {arm} against {comparison.base}"
    return Table(
        name=name,
        title=title,
        depth="brief",
        look="inline",
        arm=arm,
        columns=columns,
        rows=tuple(
            Row.of(
                comparison.name_of(row),
                *((TableCell(text=called(row.metric)),) if metrics else ()),
                *(_of_nodes(row, names) if few else map(_end, (row.lowest, row.highest))),
                *_together(row),
            )
            for row in rows
        ),
        note=_NOTE + (" CPU where nodes disagree by it." if metrics else ""),
    )


_TITLE = "mean change of the node's blocks, 95 % t interval by the scatter within all nodes"
_NOTE = (
    "Changes by node with 95 % intervals, by the scatter of blocks within nodes. Nodes disagree by "
    "an F test, Benjamini-Hochberg over the arm's steps; by all blocks so far. Spread: standard "
    "deviation between nodes. Such machines: by how nodes differ, not by how many blocks there are."
)


def _of_nodes(row: NodeComparison, names: Sequence[str]) -> Iterable[TableCell]:
    """A cell for each node; an empty one for a node without the step."""
    found = {node.node: node for node in row.nodes}
    for name in names:
        yield _change(found[name]) if name in found else TableCell(text="")


def _end(node: NodeRatio) -> TableCell:
    cell = _change(node)
    return replace(cell, detail=f"{node.node} {cell.detail}".rstrip())


def _change(node: NodeRatio) -> TableCell:
    return _percents(node.ratio, node.low, node.high, number.blocks(node.blocks))


def _percents(value: float, low: float | None, high: float | None, title: str) -> TableCell:
    """A change in a column of percentages."""
    cell = cells.change_cell(value, low, high, title)
    return replace(cell, text=cell.text.removesuffix(" %"))


def _together(row: NodeComparison) -> Iterable[TableCell]:
    """Whether nodes disagree, their spread, and such machines."""
    tests = (("p", row.p), ("q", row.q))
    yield TableCell(
        text=row.agreement,
        tone=_TONES.get(row.agreement, ""),
        title=", ".join(
            f"{name} {number.probability(value)}" for name, value in tests if value is not None
        ),
    )
    yield _spread(row)
    freedom = f"{row.freedom} degrees of freedom"
    yield _percents(row.machines_ratio, row.machines_low, row.machines_high, freedom)


def _spread(row: NodeComparison) -> TableCell:
    if row.spread is None:
        return TableCell(text=number.EN_DASH, title="no node has two blocks")
    high = None if row.spread_high is None else _percent(row.spread_high)
    if row.spread == 0:
        return TableCell(text="not seen", detail=f"up to {high}" if high else "")
    low = None if row.spread_low is None else _percent(row.spread_low)
    ends = number.EN_DASH.join((low, high)) if low and high else ""
    return TableCell(text=_percent(row.spread), detail=ends)


def _percent(share: float) -> str:
    """A share in a column of percentages; one beyond any use is short."""
    return number.visible(share) if share >= 1 else number.measured(share).removesuffix(" %")


def _each(comparison: Comparison, arm: str, rows: Sequence[NodeComparison], name: str) -> Table:
    """A row for each node in each step, where nodes are too many for columns."""
    return Table(
        name=name,
        title=f"What each node found: {arm} against {comparison.base}",
        look="inline",
        arm=arm,
        columns=Column.heads("node", "blocks", Column(text="change, %", title=_TITLE)),
        rows=tuple(
            Row.of(
                node.node,
                str(node.blocks),
                _change(node),
                group=f"{comparison.name_of(row)}, {called(row.metric)}",
            )
            for row in rows
            for node in row.nodes
        ),
    )


def _parts(subject: Subject) -> Iterable[Group]:
    comparison = subject.comparison
    if not comparison.nodes:
        return
    several = len(set(comparison.nodes.values())) > 1
    said = Text(
        name="nodes-said",
        items=Finding.each(sentences(comparison)),
        depth="brief" if several else "report",
        form="paragraphs",
    )
    yield Group(
        name="nodes", title="Nodes", parts=(said, *tables(comparison)), depth=said.depth, of="page"
    )


SECTION = Section("page", _parts)
