"""Words on nodes beside a verdict, which is one of these nodes together."""

from dbdyno.model import Cell, Comparison


def caution(cell: Cell) -> str:
    """Said beside a verdict where nodes disagree by a metric that says it; else nothing."""
    by = cell.verdict.by if cell.verdict is not None else ()
    apart = [node.metric for node in cell.nodes if node.agreement == "disagree"]
    return "nodes disagree" if any(not by or metric in by for metric in apart) else ""


def count(comparison: Comparison) -> str:
    """Where blocks were measured, to follow their number: ` on 3 nodes`, ` on n1`; or nothing."""
    names = list(dict.fromkeys(comparison.nodes.values()))
    if not names:
        return ""
    return f" on {names[0]}" if len(names) == 1 else f" on {len(names)} nodes"
