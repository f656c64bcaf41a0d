"""What nodes found, step by step: the judge has tested whether they disagree."""

from dbdyno.findings.nodes.facts import NodeFacts
from dbdyno.findings.plan_finding import JudgedResult, PlanFinding


def of_plan(compared: JudgedResult) -> NodeFacts:
    """The nodes of all steps and arms."""
    cells = (cell for step in compared.steps for cell in step.cells)
    return NodeFacts(nodes=tuple(node for cell in cells for node in cell.nodes))


FINDING = PlanFinding(facts=NodeFacts, of_plan=of_plan)
