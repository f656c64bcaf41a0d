"""The examples of a contributor's first hour are whole: they are run as they stand on the page."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import test_engine
from dbdyno import plan, workload
from dbdyno.evidence import evidence
from dbdyno.evidence.evidence import Evidence
from dbdyno.report.export import derived
from dbdyno.report.export.form import RUN
from dbdyno.store import Results

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
LINE = re.compile(r"^(\w[\w-]*): (.+)$", re.MULTILINE)


def examples(section: str, language: str) -> list[str]:
    """The code of a section of the page."""
    text = PAGE.partition(f"\n### {section}\n")[2].partition("\n### ")[0].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def a_step() -> Evidence:
    """A step of an example."""
    results = Results.open(ROOT / "tests" / "example_results" / "example")
    block = next(block for block in results.blocks() if list(block.runs()))
    return evidence.read(next(step for run in block.runs() for step in run.steps()))


def test_the_finding_of_the_page_is_derived_and_exported() -> None:
    names: dict[str, Any] = {"__name__": __name__}
    for example in examples("A finding", "python"):
        exec(compile(example, "CONTRIBUTING.md", "exec", dont_inherit=True), names)
    facts = names["FINDING"].of_step(a_step())
    assert facts.idle and all(idle.seconds >= 0 for idle in facts.idle)
    (table,) = derived.tables(names["IdleFacts"], RUN)
    assert (table.name, table.columns[-1].unit) == ("idle", "s")


def test_the_engine_of_the_page_is_the_newcomer_of_the_tests() -> None:
    row, folder = examples("An engine", "python")
    names: dict[str, Any] = {}
    exec(row, names)
    assert names["ROW"].name == "lookalike" and names["ROW"].can < names["TRAITS"]["postgres"].can
    code = [line for line in test_engine.FOLDER.splitlines() if line and not line.startswith('"')]
    assert [line for line in code if line.strip() in folder] == code


def test_the_workload_of_the_page_expands_on_every_family(tmp_path: Path) -> None:
    (text,) = examples("A workload", "toml")
    (tmp_path / "hot.toml").write_text(text)
    arms = '[arms.a]\nversion = "17"\n[arms.b]\nversion = "18"\n'
    (tmp_path / "p.toml").write_text(arms + '[workload]\nname = "./hot.toml"\n')
    assert plan.load(tmp_path / "p.toml").workloads[0].name == "./hot.toml"
    loaded = workload.load("./hot.toml", tmp_path / "p.toml")
    for engine in ("postgres", "mysql", "mariadb"):
        steps = workload.expand(loaded, {}, engine)
        assert [step.name for step in steps] == ["load", "read"]


def test_the_citation_names_the_version_and_the_licence() -> None:
    citation = dict(LINE.findall((ROOT / "CITATION.cff").read_text()))
    package = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]
    assert (citation["version"], citation["license"]) == (package["version"], package["license"])
    assert {"cff-version", "message", "title", "type"} <= citation.keys()


@pytest.mark.parametrize("name", ["fault", "wish", "wrong-verdict"])
def test_a_template_of_an_issue_says_what_it_is_for(name: str) -> None:
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.md").read_text()
    assert re.match(r"---\nname: .+\nabout: .+\n---\n", text)
