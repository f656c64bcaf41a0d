"""Flame graphs: from a profile's call stacks to a picture, in reports and as files."""

import base64
import gzip
import io
import json
import sysconfig
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import report_parts
from dbdyno.cli import app
from dbdyno.findings.profiles import flame
from dbdyno.findings.profiles.facts import ProfileComparison, ProfileFacts
from dbdyno.host import flame as program
from dbdyno.model.error import DynoError, ExportError
from dbdyno.model.flame import FlameGraph
from dbdyno.parts.part import Flame, flat
from dbdyno.report import page
from dbdyno.report.export import flames as exporting
from dbdyno.report.render import flames, html, markdown, terminal
from profile_builder import (
    ARM,
    BASE,
    COMPARE,
    GONE,
    OWNER,
    SCAN,
    comparison,
    many_stacks,
    of_stacks,
)

INSTALLED = Path(sysconfig.get_path("scripts")) / program.NAME
needs_program = pytest.mark.skipif(
    not INSTALLED.exists(), reason=f"{program.NAME} is not installed: run `make setup`"
)


def graph(*profiles: ProfileComparison, of: Callable[..., FlameGraph] = flame.graph) -> FlameGraph:
    """The graph of the first profile: of pg18 in qr100, unless another is given."""
    return of(comparison(*profiles).of(ProfileFacts).functions[0])


def drawn(graph: FlameGraph) -> str:
    """Stands for the program where only the way to the page matters."""
    return f'<?xml version="1.0"?><svg height="10"><title>{graph.title}</title></svg>'


# --- Data ------------------------------------------------------------------------------------


def test_costs_are_whole_nanoseconds_of_both_arms_for_each_operation() -> None:
    made = graph()
    assert made.unit == "ns per query"
    assert made.costs[COMPARE] == (8_500, 9_400)
    assert made.costs[GONE] == (400, 0)
    assert sum(arm for _, arm in made.costs.values()) == 58_400


def test_the_bases_own_graph_has_what_only_the_base_calls() -> None:
    made = graph(of=flame.base_graph)
    assert made.title == "pg17 beside pg18"
    assert made.costs[GONE] == (0, 400)


def test_a_stack_too_cheap_for_a_nanosecond_in_both_arms_is_left_out() -> None:
    tiny = (OWNER, "tiny@postgres")
    made = graph(of_stacks({SCAN: 1.0, tiny: 0.0004}, {SCAN: 1.0, tiny: 0.0003}))
    assert set(made.costs) == {SCAN}


def test_many_stacks_of_one_sample_add_up_to_what_they_cost_together() -> None:
    alike = {
        (OWNER, f"f{place % 7}@postgres", f"g{place}@postgres"): 0.0404 for place in range(1000)
    }
    costs = graph(of_stacks(alike, alike)).costs
    assert sum(arm for _, arm in costs.values()) == 40_400
    assert {base - arm for base, arm in costs.values()} == {0}
    lines = flame.folded(alike, 10).splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == 4_040
    caller = [line for line in lines if line.startswith(f"{OWNER};f3@postgres;")]
    assert abs(sum(int(line.rsplit(" ", 1)[1]) for line in caller) - 143 * 4.04) <= 1


@pytest.mark.parametrize(
    ("cost_us", "scale"), [(0.5, 1), (1_000.0, 1), (1_000.1, 10), (40_000.0, 100), (7e6, 10_000)]
)
def test_counts_of_folded_stacks_stay_few_enough_for_a_viewer(cost_us: float, scale: int) -> None:
    assert flame.scale({SCAN: cost_us}, {}) == scale
    count = int(flame.folded({SCAN: cost_us}, scale).rsplit(" ", 1)[1])
    assert count <= flame.COUNTS_MAX


def test_folded_stacks_are_lines_from_the_root_with_a_count() -> None:
    lines = flame.folded(ARM, 10).splitlines()
    assert f"{';'.join(COMPARE)} 940" in lines
    assert lines == sorted(lines) and len(lines) == 3


def test_a_speedscope_file_has_a_profile_for_each_arm_over_the_same_frames() -> None:
    whole = json.loads(flame.speedscope("qr100", {"pg17": BASE, "pg18": ARM}))
    assert whole["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in whole["shared"]["frames"]]
    assert len(names) == len(set(names))
    for made, stacks in zip(whole["profiles"], (BASE, ARM), strict=True):
        assert (made["type"], made["unit"]) == ("sampled", "microseconds")
        read = {
            tuple(names[place] for place in sample): weight
            for sample, weight in zip(made["samples"], made["weights"], strict=True)
        }
        assert read == stacks
        assert made["endValue"] == pytest.approx(sum(made["weights"]))
    assert whole["profiles"][whole["activeProfileIndex"]]["name"] == "pg18"


# --- The program -----------------------------------------------------------------------------


@needs_program
def test_the_program_draws_widths_and_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DYNO_FLAME", raising=False)
    svg = program.draw(graph())
    assert "<title>_bt_compare@postgres (9,400 ns per query, 16.10%; +1.54%)</title>" in svg
    assert "<title>all (58,400 ns per query, 100%)</title>" in svg
    assert "ExecInitExpr" not in svg
    assert "pg18 beside pg17" in svg


@needs_program
def test_names_of_others_stay_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DYNO_FLAME", raising=False)
    evil = (OWNER, "</script><script>alert(1)</script>@x", "operator<<@x", "tab\there 5@x")
    svg = program.draw(graph(of_stacks({evil: 1.0}, {evil: 2.0})))
    assert "alert(1)&lt;/script&gt;" in svg and "<script>alert" not in svg
    assert "tab?here 5@x" in svg


def a_program(folder: Path, script: str) -> str:
    path = folder / "flame"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("cat > /dev/null; echo 'dyno-flame: line 1: bad' >&2; exit 2", "cannot be drawn: line 1"),
        ("cat > /dev/null; exit 3", "ended with status 3"),
    ],
)
def test_a_program_that_fails_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    monkeypatch.setenv("DYNO_FLAME", a_program(tmp_path, script))
    with pytest.raises(DynoError, match=said) as caught:
        program.draw(graph())
    assert "\n" not in str(caught.value)


def test_a_missing_program_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_FLAME", "/nowhere/dyno-flame")
    with pytest.raises(DynoError, match="`DYNO_FLAME` names `/nowhere/dyno-flame`") as caught:
        program.draw(graph())
    assert "\n" not in str(caught.value)


# --- In reports ------------------------------------------------------------------------------


def test_a_profiled_step_has_a_flame_graph_of_each_arm_and_others_have_none() -> None:
    made = page.make(comparison(of_stacks(), of_stacks(name="pg19")))
    by_step = {
        step.title: [part for part in flat(step.parts) if isinstance(part, Flame)]
        for step in report_parts.steps(made)
    }
    assert [part.arm for part in by_step.pop("qr100")] == ["pg18", "pg19"]
    assert not any(by_step.values())


@pytest.mark.long
def test_html_holds_the_graph_packed_in_a_fold_of_its_arm() -> None:
    text = html.render(page.make(comparison()), draw=drawn)
    (found,) = [
        line for line in text.splitlines() if "data-flame" in line and line.startswith("<details")
    ]
    assert '<details class="flame of-1"' in found
    data = found.split('data-flame="')[1].split('"')[0]
    assert gzip.decompress(base64.b64decode(data)).decode() == drawn(graph())


@pytest.mark.long
def test_html_says_why_a_graph_is_missing() -> None:
    def missing(_: FlameGraph) -> str:
        raise DynoError("`dyno-flame` is not installed: tried `/x`")

    text = html.render(page.make(comparison()), draw=missing)
    assert "Not drawn: `dyno-flame` is not installed: tried `/x`." in text
    assert "data-flame=" not in text.split("<script")[0]


@pytest.mark.long
def test_html_without_what_draws_says_what_does() -> None:
    text = html.render(page.make(comparison()))
    assert "`dyno export . --flame flames` draws it" in text


def test_graphs_that_would_fill_the_page_are_left_out_and_said(monkeypatch: pytest.MonkeyPatch):
    made = page.make(comparison(of_stacks(), of_stacks(name="pg19")))
    found = [part for part in flat(made.parts) if isinstance(part, Flame)]
    one = len(flames.flames(found, drawn)[found[0].name].data)
    monkeypatch.setattr(flames, "BYTES_MAX", one)
    first, second = flames.flames(found, drawn).values()
    assert first.data and not first.missing
    assert not second.data and second.missing.startswith("The page has no room for it")


def test_a_post_and_the_terminal_say_what_draws_it() -> None:
    made = page.make(comparison())
    line = "Flame graph of pg18 beside pg17: `dyno export . --flame flames` draws it."
    assert line in markdown.render(made)
    console = Console(file=io.StringIO(), width=200)
    terminal.print_page(made, console, full=True)
    assert isinstance(console.file, io.StringIO)
    assert line.replace("`", "") in console.file.getvalue()


# --- As files --------------------------------------------------------------------------------


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose result is the profiled one."""
    monkeypatch.setattr(exporting.compare, "load", lambda folder, base=None: comparison())
    folder = tmp_path / "demo"
    folder.mkdir()
    return folder


def test_the_files_lie_by_workload_step_and_arms(result: Path, tmp_path: Path) -> None:
    found = exporting.files([result], tmp_path / "out", drawn)
    (workload,) = {path.relative_to(tmp_path / "out").parts[0] for path in found}
    place = tmp_path / "out" / workload
    (step,) = {path.relative_to(place).parts[0] for path in found}
    assert step.endswith("-qr100")
    assert sorted(path.relative_to(place / step).as_posix() for path in found) == [
        "pg18-beside-pg17/pg17-1ns.folded.txt",
        "pg18-beside-pg17/pg17.svg",
        "pg18-beside-pg17/pg18-1ns.folded.txt",
        "pg18-beside-pg17/pg18.speedscope.json",
        "pg18-beside-pg17/pg18.svg",
    ]


def test_an_arm_alone_is_beside_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = comparison(replace(of_stacks(ARM, ARM), base="pg18"))
    monkeypatch.setattr(exporting.compare, "load", lambda folder, base=None: alone)
    found = exporting.files([tmp_path], tmp_path / "out", drawn)
    assert sorted("/".join(path.parts[-2:]) for path in found) == [
        "pg18/pg18-1ns.folded.txt",
        "pg18/pg18.speedscope.json",
        "pg18/pg18.svg",
    ]
    assert flame.graph(alone.of(ProfileFacts).functions[0]).title == "pg18"


def test_several_results_have_a_folder_each(result: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    found = exporting.files([result, other], tmp_path / "out", drawn)
    assert {path.relative_to(tmp_path / "out").parts[0] for path in found} == {"demo", "other"}


def test_results_of_one_name_are_refused(result: Path, tmp_path: Path) -> None:
    other = tmp_path / "further" / "demo"
    with pytest.raises(ExportError, match="two results are named `demo`"):
        exporting.files([result, other], tmp_path / "out", drawn)


def run(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["export", *map(str, words)])
    return done.exit_code, done.output


@needs_program
def test_the_command_writes_the_files(result: Path, tmp_path: Path) -> None:
    status, said = run(result, "--flame", tmp_path / "out")
    assert status == 0, said
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) == 5 and "5 files of flame graphs" in said


def test_a_result_without_profiles_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    bare = replace(comparison(), findings={})
    monkeypatch.setattr(exporting.compare, "load", lambda folder, base=None: bare)
    with pytest.raises(ExportError, match="no step was profiled in two arms"):
        exporting.files([tmp_path], tmp_path / "out", drawn)
    assert not (tmp_path / "out").exists()


@needs_program
@pytest.mark.long
def test_a_graph_of_many_stacks_is_small_on_a_page() -> None:
    stacks = many_stacks(4_000)
    made = page.make(comparison(of_stacks(stacks, many_stacks(4_000, seed=2) | stacks)))
    (found,) = [part for part in flat(made.parts) if isinstance(part, Flame)]
    packed = flames.flames([found], program.draw)[found.name]
    assert 1_000 < len(packed.data) < 100_000
