"""What is said and shown of nodes: of each arm, of a calibration, of the hosts themselves."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec import structs
from rich.console import Console

import comparison_facts as facts
import report_parts
from comparison_builder import comparison
from dbdyno.findings.measured_on import show as measured_on
from dbdyno.findings.nodes import show as section
from dbdyno.findings.nodes.facts import NodeFacts
from dbdyno.findings.setup import show as setup
from dbdyno.host import flame
from dbdyno.model import Comparison
from dbdyno.model.ceiling import Ceiling
from dbdyno.model.events import Thread
from dbdyno.model.host_facts import Cpu, HostFacts
from dbdyno.model.nodes import Agreement, NodeComparison, NodeRatio
from dbdyno.model.plan_record import GeneratorRecord
from dbdyno.parts.part import Page
from dbdyno.parts.table import Table
from dbdyno.report import page
from dbdyno.report.render import html, markdown, terminal
from verdict_builder import CPU


def by_node(
    metric: str, ratios: Sequence[float], agreement: Agreement = "disagree", spread: float = 0.03
) -> NodeComparison:
    """Nodes n1, n2 … with these ratios, two blocks each."""
    return NodeComparison(
        workload="w", ordinal=1, step="l.i0", base="pg17", arm="pg18", metric=metric,
        nodes=tuple(
            NodeRatio(node=f"n{at}", blocks=2, ratio=ratio, low=ratio - 0.01, high=ratio + 0.01)
            for at, ratio in enumerate(ratios, start=1)
        ),
        agreement=agreement, p=0.001, q=0.01, spread=spread, spread_low=0.01, spread_high=0.25,
        machines_ratio=1.01, machines_low=0.9, machines_high=1.13, freedom=len(ratios) - 1,
        reach=4.3027,
    )  # fmt: skip


def on_nodes(
    ratios: Sequence[float] = (0.96, 1.02, 1.03),
    agreement: Agreement = "disagree",
    *,
    cpu: Agreement | None = None,
) -> Comparison:
    """The made-up comparison, on so many nodes that disagree in l.i0."""
    made = comparison(blocks=6, troubles=False)
    names = [f"n{at % len(ratios) + 1}" for at in range(6)]
    first, *others = made.steps
    of_first = [by_node("ips", ratios, agreement)]
    if cpu is not None:
        of_first.append(by_node(CPU, ratios, cpu))
    of_steps = [(first, tuple(of_first))]
    for step in others:
        calm = by_node(step.headline or "", [1.0] * len(ratios), "no difference seen", 0.0)
        of_steps.append((step, (replace(calm, step=step.step, ordinal=step.ordinal),)))
    steps = [
        replace(step, cells=(step.cells[0], replace(step.cells[1], nodes=by_nodes)))
        for step, by_nodes in of_steps
    ]
    facts = NodeFacts(
        nodes=tuple(
            replace(node, workload=step.workload) for step, nodes in of_steps for node in nodes
        )
    )
    return replace(
        made,
        steps=tuple(steps),
        nodes=dict(enumerate(names, start=1)),
        findings={"NodeFacts": facts},
    )


@pytest.fixture(scope="module")
def three() -> Page:
    return page.make(on_nodes())


def printed(shown: Page, *, full: bool = False, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    terminal.print_page(shown, console, full=full)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def table(shown: Page, name: str) -> Table:
    found = report_parts.table(shown, name)
    assert found is not None
    return found


# --- Of an arm -------------------------------------------------------------------------------


def test_the_section_says_who_measured_whether_they_disagree_and_how_little_few_tell() -> None:
    assert list(section.sentences(on_nodes())) == [
        "3 nodes measured: n1 (2 blocks), n2 (2 blocks), n3 (2 blocks). Each ratio is of one "
        "node's runs; verdicts are of these nodes together.",
        "Nodes disagree: l.i0 of pg18 from −4.0 % on n1 to +3.0 % on n3.",
        "Three nodes tell little of other machines: the interval for such machines has 2 degrees "
        "of freedom and reaches 4.3 standard errors to each side (10 nodes: 2.3).",
    ]


def test_where_no_disagreement_is_seen_the_spread_that_is_possible_is_said() -> None:
    assert list(section.sentences(on_nodes(agreement="no difference seen")))[1] == (
        "No disagreement between nodes was seen. A spread between nodes of up to 25.0 % is "
        "possible."
    )


def test_a_disagreement_within_the_margin_is_said_as_that() -> None:
    assert list(section.sentences(on_nodes(agreement="disagree, within the margin")))[1] == (
        "Nodes disagree by less than the margin in 1 of 10 comparisons, and in none by more."
    )


def test_many_nodes_are_a_sample() -> None:
    assert list(section.sentences(on_nodes((0.96, 1.02, 1.03, 1.0))))[2] == (
        "The interval for such machines takes these 4 nodes as a sample of them; it has 3 degrees "
        "of freedom and reaches 4.3 standard errors to each side."
    )


@pytest.mark.long
def test_one_node_is_said_to_say_nothing_of_others() -> None:
    made = replace(comparison(blocks=3), nodes=dict.fromkeys((1, 2, 3), "n1"))
    assert list(section.sentences(made)) == [
        "All blocks were measured on one machine, n1: nothing here is said of another."
    ]
    assert "All blocks were measured on one machine" in printed(page.make(made), full=True)
    assert "All blocks were measured on one machine" not in printed(page.make(made))


@pytest.mark.long
def test_a_result_without_named_hosts_has_no_section() -> None:
    shown = page.make(comparison(blocks=3))
    assert report_parts.table(shown, "nodes-1") is None
    assert "Nodes" not in printed(shown, full=True)
    assert "3 blocks:" in printed(shown) or "3 blocks." in printed(shown)


def test_each_node_is_a_column_with_its_change_and_interval(three: Page) -> None:
    found = table(three, "nodes-1")
    assert [column.text for column in found.columns] == [
        "step", "n1", "n2", "n3", "nodes", "spread, %", "such machines, %",
    ]  # fmt: skip
    first, second, *_ = found.rows
    texts = [" ".join(filter(None, (cell.text, cell.detail))) for cell in first.cells]
    assert texts == [
        "l.i0", "−4.0 [−5.0, −3.0]", "+2.0 [+1.0, +3.0]", "+3.0 [+2.0, +4.0]", "disagree",
        "3.0 1.0–25.0", "+1.0 [−10.0, +13.0]",
    ]  # fmt: skip
    assert first.cells[1].title == "2 blocks"
    assert first.cells[4].title == "p 0.0010, q 0.01"
    assert [cell.text for cell in second.cells[4:6]] == ["no difference seen", "not seen"]


@pytest.mark.long
def test_cpu_has_a_row_only_where_nodes_disagree_by_it() -> None:
    calm = table(page.make(on_nodes(cpu="no difference seen")), "nodes-1")
    apart = table(page.make(on_nodes(cpu="disagree")), "nodes-1")
    assert (len(calm.rows), len(apart.rows)) == (10, 11)
    assert [cell.text for cell in apart.rows[1].cells[:2]] == ["l.i0", "CPU"]


@pytest.mark.long
def test_of_many_nodes_the_ends_stand_in_the_table_and_all_in_another() -> None:
    shown = page.make(on_nodes([0.95 + at / 100 for at in range(8)]))
    found = table(shown, "nodes-1")
    assert [column.text for column in found.columns][1:3] == ["lowest", "highest"]
    assert found.rows[0].cells[1].detail == "n1 [−6.0, −4.0]"
    each = table(shown, "nodes-1-each")
    assert each.rows[0].group == "l.i0, throughput"
    assert [cell.text for cell in each.rows[7].cells] == ["n8", "2", "+2.0"]


def test_a_verdict_over_nodes_that_disagree_has_a_caution_beside_it(three: Page) -> None:
    rows = {row.cells[0].text: row.cells[1] for row in report_parts.verdicts(three)[0].rows}
    assert "nodes disagree" in rows["l.i0"].detail
    assert "nodes disagree" not in rows["l.x"].detail
    (against, *_) = report_parts.headline(three)
    assert against.text.startswith("pg18 against pg17, 6 blocks on 3 nodes")
    effects = report_parts.effects(three)
    assert "nodes disagree" in effects["l.i0"].reason
    assert "nodes disagree" not in effects["l.x"].reason


# --- Of the hosts ---------------------------------------------------------------------------


@pytest.mark.long
def test_sentences_without_a_title_have_no_heading(three: Page) -> None:
    assert not re.search(r"(?m)^#+ *$", markdown.render(three))
    assert not re.search(r"<h\d[^>]*></h\d>", html.render(three, draw=flame.draw))


@pytest.mark.long
def test_measured_on_has_what_all_hosts_have_alike_and_a_table_of_the_rest() -> None:
    made, host = on_nodes(), comparison(blocks=3).host
    newer = structs.replace(host, kernel="6.13.0")
    made = replace(made, hosts={"n1": host, "n2": newer, "n3": newer, "client": HostFacts()})
    facts = dict(measured_on.machine(made))
    assert facts["Blocks"] == "6 judged (2 on n1, 2 on n2, 2 on n3)"
    assert facts["Hosts"] == "n1, n2, n3; unlike in System (below)"
    assert "System" not in facts and facts["CPU"] == dict(measured_on.machine(on_nodes()))["CPU"]
    found = table(page.make(made), "hosts")
    assert [column.text for column in found.columns] == ["", "n1", "n2", "n3"]
    (row,) = found.rows
    assert row.cells[0].text == "System"
    assert "kernel 6.13.0" in row.cells[2].text and "6.13.0" not in row.cells[1].text


def test_the_load_generator_s_ceiling_is_that_of_the_hosts_that_made_the_load() -> None:
    made = comparison(blocks=3)
    plan = structs.replace(made.plan, generator=GeneratorRecord(hosts=("c1", "c2")))
    hosts = {"c1": HostFacts(cpu=Cpu(model="Fast CPU", cores=8))}
    made = replace(made, plan=plan, hosts=hosts, generators={"c1": facts.generator()})
    first, second = dict(measured_on.machine(made))["Load generator"].split("; on c2: ")
    assert first.startswith("on c1: Fast CPU") and "ceiling" in first
    assert second == "not measured on this host"


def test_the_load_generator_says_how_it_waited_for_several_connections() -> None:
    made = comparison(blocks=3)

    def said(wait: str | None = None, io_uring_refused: str | None = None) -> str:
        thread = Thread(cpu_us=900, busy_share=0.95, wait=wait, io_uring_refused=io_uring_refused)
        loads = (structs.replace(load, threads=(thread,)) for load in facts.generator().loads)
        ceiling = Ceiling(loads=tuple(loads))
        return dict(measured_on.machine(replace(made, generator=ceiling)))["Load generator"]

    assert "connections by io_uring, " in said(wait="io_uring")
    assert "connections by epoll, " in said(wait="epoll")
    refused = said(wait="epoll", io_uring_refused="Operation not permitted (os error 1)")
    assert "by epoll (io_uring: Operation not permitted (os error 1)), " in refused
    assert " by " not in said(wait="receive") and " by " not in said()


def test_many_hosts_are_rows() -> None:
    made, host = on_nodes([1.0] * 6), comparison(blocks=3).host
    hosts = {f"n{at}": structs.replace(host, kernel=f"6.{at}.0") for at in range(1, 7)}
    found = measured_on.hosts(replace(made, hosts=hosts))
    assert found is not None
    assert [column.text for column in found.columns] == ["", "System"]
    assert [row.cells[0].text for row in found.rows] == [f"n{at}" for at in range(1, 7)]
    assert "kernel 6.6.0" in found.rows[5].cells[1].text


def test_hosts_that_are_alike_have_no_table() -> None:
    made, host = on_nodes(), comparison(blocks=3).host
    made = replace(made, hosts=dict.fromkeys(("n1", "n2", "n3"), host))
    assert measured_on.hosts(made) is None
    assert dict(measured_on.machine(made))["Hosts"] == (
        "n1, n2, n3; alike in all that is told here"
    )


def test_the_hosts_of_arms_are_hosts_even_where_blocks_name_none() -> None:
    made, host = comparison(blocks=3), comparison(blocks=3).host
    first, second = made.plan.arms
    arms = (structs.replace(first, host="db1"), structs.replace(second, host="db2"))
    plan = structs.replace(made.plan, arms=arms)
    small = structs.replace(host, memory_bytes=1 << 30)
    made = replace(made, plan=plan, hosts={"db1": host, "db2": small})
    found = measured_on.hosts(made)
    assert found is not None
    assert [row.cells[0].text for row in found.rows] == ["Memory"]


def test_a_post_says_on_how_many_nodes_arms_ran() -> None:
    said = " ".join(setup.paragraphs(on_nodes()))
    assert "ran once in each of 6 blocks on 3 nodes, in an order" in said
    assert "“Measured on” tells in what these nodes differ." in said
