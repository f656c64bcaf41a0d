"""The published posts: each has a plan that can run, a page and its figures; each runs small."""

import re
import subprocess
from pathlib import Path

import pytest

import own_lab
import published
import published_data
import study_plans
from dbdyno import plan, workload
from dbdyno.model import Plan
from published_data import Study

ROOT = Path(__file__).parent.parent
PLANS = ROOT / "dbdyno/plan/shipped" / "studies"
PAGES = ROOT / "docs" / "studies"
POSTS = {  # each post of the studies: its plans and the page that has both
    "Postgres 16 beta3 and the Insert Benchmark on a medium server": ["insert-2023-08"],
    "Postgres 18rc1 vs sysbench": ["sysbench-2025-09"],
    "Postgres 18 beta1: small server, IO-bound Insert Benchmark (v2)": ["insert-2025-06-small-io"],
    "Postgres 18 beta1: small server, CPU-bound Insert Benchmark (v2)": [
        "insert-2025-06-small-cached"
    ],
    "Postgres 18 beta1: large server, IO-bound Insert Benchmark": ["insert-2025-06-large-io"],
    "The insert benchmark on a small server : Postgres 12.22 through 18.3": ["insert-2026-03"],
    "Configuration options that make writes faster or slower with MySQL and Postgres": [
        "writes-2024-09"
    ],
    "MySQL and Postgres vs the Insert Benchmark on a large server": ["insert-2024-09"],
    "MySQL + InnoDB vs sysbench on a large server": ["sysbench-2024-09"],
    "Benchmarking PostgreSQL on an AWS m5.metal instance": ["m5-metal", "m5-metal-wal"],
    "Complete Block Check: PostgreSQL Storage Benchmark": ["cbc"],
    "YBIO on OCI PostgreSQL": ["ybio", "ybio-replica"],
}
REPEATED = [name for plans in POSTS.values() for name in plans]
FURTHER = {  # plans of further parts of a post: their page is that of another plan
    "m5-metal-full": ["m5-metal"],
    "cbc-clients": ["cbc"],
    "insert-2025-06-versions": ["insert-2025-06-small-cached", "insert-2025-06-small-io"],
    "insert-2026-03-pg17": ["insert-2026-03"],
    "ybio-cached": ["ybio"],
    "ybio-loads": ["ybio"],
}
STUDIES = published_data.read(published.STUDIES)


def steps_of(made: Plan) -> set[str]:
    """The names of all steps that some arm of a plan takes."""
    return {name for use in made.workloads for name in study_plans.steps_of(made, use)}


def test_every_post_has_its_figures() -> None:
    found: dict[str, set[str | None]] = {}
    for study in STUDIES:
        found.setdefault(study.title, set()).add(study.plan)
    assert {title: plans for title, plans in found.items() if plans != {None}} == {
        title: set(plans) for title, plans in POSTS.items()
    }


@pytest.mark.parametrize("name", REPEATED)
def test_every_post_has_a_page_that_names_plan_and_tool_and_has_the_marks(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text()
    assert f"../../dbdyno/plan/shipped/studies/{name}.toml" in text
    assert f"dyno run {name} --out results" in text
    assert f"python tools/published.py results/{name} --write docs/studies/{name}.md" in text
    assert text.count(published.BEGIN) == text.count(published.END) == 1
    for study in STUDIES:
        if study.plan == name:
            assert f"../published/{study.name}.toml" in text
            assert study.url in text
    assert f"docs/studies/{name}.md" in (ROOT / "mkdocs.yml").read_text()


def test_every_plan_of_the_studies_is_one_of_a_post_or_its_whole_size() -> None:
    assert {path.stem for path in PLANS.glob("*.toml")} == {*REPEATED, *FURTHER}


@pytest.mark.parametrize("path", sorted(PLANS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_plan_expands_and_has_the_published_steps(path: Path) -> None:
    made = plan.load(path)
    steps = steps_of(made)
    assert steps
    assert f"dyno run {path.stem} --out results" in path.read_text()
    for study in STUDIES:
        if study.plan == path.stem:
            assert steps & {key.step for table in study.groups for key in table.figures}
            assert set(study.here) <= arms_of(path.stem), study.name


def arms_of(name: str) -> set[str]:
    """The arms of a plan and of those of the same page; those too that are comments."""
    names = [name, *(further for further, pages in FURTHER.items() if name in pages)]
    every = [study_plans.read(each, STUDIES) for each in names]
    return {
        *(arm.name for each in every for arm in each.plan.arms),
        *(arm for each in every for arm in study_plans.COMMENTED.findall(each.text)),
    }


# --- Pages beside plans ------------------------------------------------------------------------

HOWTO = ROOT / "docs" / "howto" / "study.md"


@pytest.mark.parametrize("name", REPEATED)
def test_a_page_says_of_its_plan_what_the_plan_has(name: str) -> None:
    """`python tools/study_plans.py --write` writes what this compares."""
    page = (PAGES / f"{name}.md").read_text()
    of = study_plans.read(name, STUDIES)
    assert page == study_plans.written(of, page)
    prose = page.replace(study_plans.table(of, page), "")
    assert not study_plans.MINUTES.search(prose.split(published.BEGIN)[0]), "one place says it"


def test_every_place_says_the_same_length_of_a_plan() -> None:
    rows = re.findall(
        r"^\| \[([\w-]+)\]\(.*/studies/\1\.toml\).*\| (\d+) min \|$", HOWTO.read_text(), re.M
    )
    lengths = {name: int(minutes) for name, minutes in rows}
    plans = {name: study_plans.read(name, STUDIES).minutes for name in lengths}
    assert lengths == plans
    assert set(REPEATED) <= set(lengths)


def test_a_run_of_another_plan_is_told_by_what_differs() -> None:
    of = study_plans.read("cbc", STUDIES)
    facts = "- 4 blocks, interleaved by run, begun 2026-11-25\n- workload `cbc`, size_gb = 0.5"
    same = f"{published.BEGIN}\n\n{facts}\n\n"
    assert study_plans.differences(of.plan, same) == []
    other = same.replace("4 blocks", "3 blocks").replace("0.5", "20")
    assert study_plans.differences(of.plan, other) == ["3 blocks", "workload `cbc`, size_gb = 20"]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_the_names_of_published_sizes_stand_in_the_plan_and_have_those_sizes(study: Study) -> None:
    if study.plan is None or study.preset is None:
        return
    of = study_plans.read(study.plan, STUDIES)
    (use,) = of.plan.workloads
    loaded = workload.load(use.name, set=use.set, preset=study.preset)
    scope = {**loaded.file.parameters, **loaded.file.presets[study.preset]}
    if "clients" in loaded.file.presets[study.preset]:
        assert (scope["clients"], scope["rows"]) == (study.clients, study.rows)
    assert f'preset = "{study.preset}"' in of.text or use.preset == study.preset
    full = (PLANS / "m5-metal-full.toml").read_text() if study.plan == "m5-metal" else ""
    for config in study.configs:
        size = config.rsplit("_", 1)[1]
        assert f'"{config}"' in of.text + full or f"_{size}`" in of.text, config


# --- Small -----------------------------------------------------------------------------------

SMALLEST = {  # what makes a study last a minute or two; nothing follows from its figures
    "blocks": "2",
    "rows": "10_000",
    "rows_i1": "5_000",
    "rows_i2": "1_000",
    "seconds": "1",
    "write_seconds": "1",
    "scan_warm_s": "1",
    "wait_s": "1",
    "pause_s": "1",
    "scale": "1",
    "size_gb": "0.02",
    "run_seconds": "2",
    "at_s": "1",
}


def smallest(text: str) -> str:
    """A plan with the least of each size that it names; other tests' load voids nothing."""
    text = text.replace("[schedule]\n", "[schedule]\nvoid = { foreign = 1 }\n")
    for key, value in SMALLEST.items():
        text = re.sub(rf"(?m)\b{key} = [\d_.]+", f"{key} = {value}", text)
    return text


@pytest.mark.long
def test_the_smallest_size_is_a_plan(tmp_path: Path) -> None:
    for name in REPEATED:
        made = plan.parse(smallest((PLANS / f"{name}.toml").read_text()), tmp_path / f"{name}.toml")
        assert made.schedule.blocks == 2


@pytest.mark.live
@pytest.mark.soak
@pytest.mark.parametrize("name", REPEATED)
def test_a_study_runs_at_its_smallest_size_and_is_set_beside_its_post(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{name}.toml"
    path.write_text(smallest((PLANS / f"{name}.toml").read_text()))
    said = subprocess.run(
        own_lab.command("run", path, "--out", tmp_path / "results"),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if said.returncode and re.search(r"no MySQL|cannot be fetched|no .*9\.7", said.stderr):
        pytest.skip(f"a server of the study is not here: {said.stderr.splitlines()[-1]}")
    assert said.returncode == 0, said.stderr[-2000:]
    page = tmp_path / "page.md"
    page.write_text(f"{published.BEGIN}\n{published.END}\n")
    words = [str(tmp_path / "results" / name), "--write", str(page)]
    assert published.main(words) == 0, capsys.readouterr().err
    text = page.read_text()
    assert "| verdict |" in text and "### Counts" in text
    rows = re.findall(r"^\| .*\d\.\d\d \(.*$", text, re.M)
    assert rows, "nothing was measured beside the published figures"
