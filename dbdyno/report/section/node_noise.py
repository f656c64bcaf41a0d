"""The nodes of a calibration beside each other, and which of them are unlike the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from dbdyno.model import Comparison
from dbdyno.model.nodes import NodeNoise, Unlikeness
from dbdyno.report import number
from dbdyno.report.parts import Column, Group, Row, Section, Subject, Table, TableCell
from dbdyno.report.section import verdicts

WORDS: dict[Unlikeness, str] = {"level": "speed", "noise": "noise", "bias": "A/A arm"}
"""In what a node is unlike, as columns call it."""


def sentence(nodes: Sequence[NodeNoise]) -> str:
    """Which nodes are unlike the others, and what follows; nothing where none are known."""
    if not nodes:
        return ""
    found = [f"{node.node} {'; '.join(_said(node, nodes))}" for node in nodes if node.unlike]
    if not found:
        return f"None of {len(nodes)} nodes is unlike the others in speed, noise or A/A arm."
    harmful = any(what != "level" for node in nodes for what in node.unlike)
    follows = (
        "Leave out nodes that are noisy or unfair"
        if harmful
        else "Ratios are within nodes, so that another speed harms none"
    )
    both = " Of two nodes nobody can say which is the odd one." if len(nodes) == 2 else ""
    return f"Unlike the other nodes: {', '.join(found)}. {follows}.{both}"


def _said(one: NodeNoise, nodes: Sequence[NodeNoise]) -> Iterable[str]:
    """In what, and by how much."""
    for what in one.unlike:
        if what == "level" and one.level is not None:
            yield f"({_size(one.level)} {'slower' if one.level < 0 else 'faster'})"
        elif what == "noise" and one.sd is not None:
            others = [node.sd for node in nodes if node is not one and node.sd is not None]
            usual = f", of the others {verdicts.measured(median(others))}" if others else ""
            yield f"(noisier: scatter of {verdicts.measured(one.sd)}{usual})"
        elif what == "bias" and one.bias is not None:
            way = "slower" if one.bias < 0 else "faster"
            yield f"(its A/A arm is {_size(one.bias)} {way} than the base)"


def _size(change: float) -> str:
    return number.size_of_change(1 + change)


def table(comparison: Comparison) -> Table | None:
    """The speed, the noise and the fairness of each node; None where none have names."""
    one = comparison.calibration
    if one is None or not one.nodes:
        return None
    title = f"How {comparison.base} and its A/A arm ran on each node"
    return Table(
        name="node-noise",
        title=title,
        depth="brief" if set(comparison.arms) <= {comparison.base, one.arm} else "report",
        look="inline",
        entry=title,
        arm=one.arm,
        columns=(
            Column(text="node", left=True),
            Column(text="blocks"),
            Column(text="speed, %", title="of the base by that of the median node, 95 % interval"),
            Column(text="noise, %", title="standard deviation of the ratio between its blocks"),
            Column(text="A/A arm, %", title=f"{one.arm} by {comparison.base}, 95 % interval"),
            Column(text="unlike in", left=True),
        ),
        rows=tuple(Row(cells=tuple(_cells(node))) for node in one.nodes),
        note="Over all steps, by throughput. Speed: the base's by that of the median node, the "
        "median of a block's steps. Noise: standard deviation of the ratio of A/A arm to base "
        "between the node's blocks. A/A arm: that ratio, as a change. Unlike: against the median "
        "of the others, by Benjamini-Hochberg over all nodes at "
        f"{number.percent(comparison.aims.level)}. Speed has to differ by more than "
        f"{number.percent(comparison.aims.margin)}; less noise is no harm.",
    )


def _cells(one: NodeNoise) -> Iterable[TableCell]:
    yield TableCell(text=one.node)
    yield TableCell(text=str(one.blocks))
    yield _change(one.level, one.level_low, one.level_high, one.level_q)
    yield _noise(one)
    yield _change(one.bias, one.bias_low, one.bias_high, one.bias_q)
    yield TableCell(
        text=", ".join(WORDS[what] for what in one.unlike), tone="notice" if one.unlike else ""
    )


def _change(
    change: float | None, low: float | None, high: float | None, q: float | None
) -> TableCell:
    """A change with its interval; a dash where nothing is known."""
    if change is None:
        return TableCell(text=number.EN_DASH)
    ends = None if low is None or high is None else number.change_interval(1 + low, 1 + high)
    return TableCell(
        text=number.change(1 + change).removesuffix(" %"),
        detail=f"[{ends}]" if ends else "",
        title=_q(q),
    )


def _noise(one: NodeNoise) -> TableCell:
    if one.sd is None or one.sd_low is None or one.sd_high is None:
        return TableCell(text=number.EN_DASH, title="one block")
    low, sd, high = (
        verdicts.measured(its, 2).removesuffix(" %") for its in (one.sd_low, one.sd, one.sd_high)
    )
    return TableCell(text=sd, detail=number.EN_DASH.join((low, high)), title=_q(one.sd_q))


def _q(q: float | None) -> str:
    return "" if q is None else f"q {verdicts.probability(q)}"


def _parts(subject: Subject) -> Iterable[Group]:
    found = table(subject.comparison)
    if found is not None:
        yield Group(name="", title="", parts=(found,), depth=found.depth, of="page", entry="")


SECTION = Section("page", _parts)
