"""What each factor has of a change: planted effects in blocks, in words, and in a whole run."""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import typer

import command
import dbdyno
from comparison_builder import comparison
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.cli import attribute
from dbdyno.findings.attribution import plan as attribution
from dbdyno.findings.attribution import show as section
from dbdyno.findings.attribution.facts import AttributionFacts, FactorEffect
from dbdyno.model import Comparison
from dbdyno.model.attribution import Design, DesignKind, Factor
from dbdyno.model.error import DynoError
from dbdyno.parts import table_layout
from dbdyno.parts.part import Text
from dbdyno.parts.table import Table
from dbdyno.stats import factorial
from dbdyno.store import Results
from server_place import a_place, ends

ROWS = {"one at a time": factorial.one_at_a_time, "factorial": factorial.full}
NOISE = 0.01


def design(kind: DesignKind, factors: int) -> Design:
    rows = dict.fromkeys([*ROWS[kind](factors), (1,) * factors])
    names = {row: f"mix{place}" for place, row in enumerate(rows)}
    names |= {(0,) * factors: "old", (1,) * factors: "new"}
    return Design(
        kind=kind,
        base="old",
        arm="new",
        factors=tuple(Factor(name=f"s{place}", base="off", arm="on") for place in range(factors)),
        values={names[row]: row for row in rows},
    )


def logs(
    of: Design, effects: Sequence[float], *, blocks: int = 6, seed: int = 1, both: float = 0.0
) -> dict[str, dict[int, float]]:
    """Logarithms of a metric with these effects and noise; `both`: what s0 and s1 add together."""
    draw = random.Random(seed)
    return {
        arm: {
            block: 8.0
            + 0.2 * math.sin(block)  # what a block has, all its arms have
            + math.fsum(effect * level for effect, level in zip(effects, row, strict=True))
            + both * row[0] * row[1]
            + draw.gauss(0, NOISE)
            for block in range(1, blocks + 1)
        }
        for arm, row in of.values.items()
    }


def told(of: Design, figures: Mapping[str, Mapping[int, float]]) -> list[FactorEffect]:
    step = comparison(blocks=1, names=["l.i0"]).steps[0]
    where = {"workload": step.workload, "ordinal": step.ordinal, "step": step.step}
    return list(attribution.effects(partial(FactorEffect, metric="qps", **where), figures, of))


def of_kind(found: Sequence[FactorEffect], kind: str = "effect") -> list[FactorEffect]:
    return [effect for effect in found if effect.kind == kind]


def changes(found: Sequence[FactorEffect]) -> list[float]:
    return [math.log(effect.ratio.value) for effect in of_kind(found) if effect.ratio is not None]


@pytest.mark.parametrize(("kind", "factors"), [("factorial", 3), ("one at a time", 5)])
def test_planted_effects_are_told_from_none_and_others_are_not(kind: DesignKind, factors: int):
    effects = [-0.12, 0.05, *[0.0] * (factors - 2)]
    found = told(design(kind, factors), logs(design(kind, factors), effects))
    assert changes(found) == pytest.approx(effects, abs=0.02)
    assert [effect.significant for effect in of_kind(found)[:2]] == [True, True]
    assert sum(effect.significant for effect in of_kind(found)[2:]) <= 1
    (whole,) = of_kind(found, "whole")
    assert whole.ratio is not None and math.log(whole.ratio.value) == pytest.approx(-0.07, abs=0.03)


def test_intervals_hold_the_planted_effect_as_often_as_they_say() -> None:
    of, inside, total = design("factorial", 2), 0, 0
    for seed in range(200):
        found = told(of, logs(of, [-0.12, 0.0], seed=seed, blocks=4))
        for effect, planted in zip(of_kind(found), (-0.12, 0.0), strict=True):
            ratio = effect.ratio
            assert ratio is not None and ratio.low is not None and ratio.high is not None
            inside += ratio.low <= math.exp(planted) <= ratio.high
            total += 1
    assert 0.91 <= inside / total <= 0.99


def test_what_two_factors_add_together_is_an_interaction_where_the_design_tells_it() -> None:
    full = told(design("factorial", 2), logs(design("factorial", 2), [0.1, 0.1], both=0.08))
    (pair,) = of_kind(full, "interaction")
    assert (pair.factor, pair.other, pair.significant) == ("s0", "s1", True)
    assert pair.ratio is not None
    assert math.log(pair.ratio.value) == pytest.approx(0.08, abs=0.03)
    assert not of_kind(full, "remainder")
    chain = design("one at a time", 4)
    found = told(chain, logs(chain, [0.1, 0.1, 0.0, 0.0], both=0.08))
    assert {effect.kind for effect in found} == {"whole", "effect"}
    assert changes(found)[:2] == pytest.approx([0.1, 0.18], abs=0.03)


def test_a_factorial_of_three_says_what_its_effects_lack_of_the_whole() -> None:
    of = design("factorial", 3)
    figures = logs(of, [0.1] * 3)
    figures["new"] = {block: value + 0.2 for block, value in figures["new"].items()}
    found = told(of, figures)
    (left,) = of_kind(found, "remainder")
    assert left.ratio is not None and math.log(left.ratio.value) == pytest.approx(0.05, abs=0.03)


def test_a_block_without_an_arm_is_left_out_of_the_effects_that_need_it() -> None:
    of = design("one at a time", 4)
    figures = logs(of, [0.1] * 4)
    middle = next(arm for arm, row in of.values.items() if sum(row) == 2)
    del figures[middle][3]
    assert [effect.blocks for effect in of_kind(told(of, figures))] == [6, 5, 5, 6]
    del figures[middle]
    unknown = [effect.ratio is None for effect in of_kind(told(of, figures))]
    assert unknown == [False, True, True, False]


def test_one_block_has_no_intervals_and_tells_nothing_from_none() -> None:
    of = design("factorial", 2)
    found = told(of, logs(of, [0.1, 0.0], blocks=1))
    assert all(effect.ratio is not None and effect.ratio.low is None for effect in found)
    assert not any(effect.significant or effect.q is not None for effect in found)


# --- In words --------------------------------------------------------------------------------


def shown(of: Design, found: Sequence[FactorEffect]) -> Comparison:
    made = comparison(blocks=2, arms=tuple(of.values), troubles=False, names=["l.i0"])
    facts = AttributionFacts(effects=tuple(found))
    return replace(made, design=of, findings={"AttributionFacts": facts})


def sentence(of: Design, figures: Mapping[str, Mapping[int, float]]) -> str:
    step = replace(comparison(blocks=1, names=["l.i0"]).steps[0], step="point-query")
    return section.sentence(step, told(of, figures))


def test_the_sentence_gives_a_single_factor_the_rest() -> None:
    of = design("factorial", 2)
    said = sentence(of, logs(of, [0.0, -0.128]))
    figure = r"[+−][\d.]+\s% \[[+−][\d.]+, [+−][\d.]+\]"
    assert re.fullmatch(
        rf"point-query: of throughput's {figure}, `s0` has throughput {figure}, "
        rf"`s1` the rest: throughput −1[12]\.\d\s% \[−1\d\.\d, −1\d\.\d\]\.",
        said,
    ), said


def test_the_sentence_names_several_or_says_that_none_is_told() -> None:
    of = design("one at a time", 4)
    assert re.search(
        r"`s0` has throughput −.+, `s1` has throughput \+.+; not told from none: `s",
        sentence(of, logs(of, [-0.1, 0.05, 0, 0])),
    )
    of = design("one at a time", 9)
    said = sentence(of, logs(of, [0.0] * 9, blocks=3))
    assert "no factor's effect is told from none: " in said and "and 5 more" in said


def test_the_sentence_is_of_cpu_where_throughput_tells_nothing() -> None:
    of = design("factorial", 2)
    quiet, loud = (told(of, logs(of, [effect, 0.0])) for effect in (0.0, 0.1))
    assert not any(effect.significant for effect in quiet)
    assert section.surest({"qps": quiet, "cpu_per_op": loud}) is loud
    assert section.surest({"qps": quiet, "cpu_per_op": list(quiet)}) is quiet


def test_the_table_has_the_whole_each_factor_and_what_is_left() -> None:
    of = design("factorial", 3)
    made = shown(of, told(of, logs(of, [0.1, 0, 0], both=0.1)))
    tables = [part for part in section.parts(made) if isinstance(part, Table)]
    rows = [[cell.text for cell in row.cells] for row in tables[0].rows]
    names = [row[0] for row in rows]
    assert names[:4] == ["whole", "s0", "s1", "s2"]
    *_, values = [part for part in section.parts(made) if isinstance(part, Text)]
    assert [one.text for one in values.items][:2] == ["s0: off → on", "s1: off → on"]
    assert {"s0 × s1", "s1 × s2"} <= set(names), names
    assert [row.cells[0].text for row in tables[1].rows] == list(of.values)


def test_the_figures_of_long_names_fit_a_terminal_in_one_piece() -> None:
    of = design("one at a time", 4)
    of = replace(
        of, factors=(replace(of.factors[0], name="vacuum_buffer_usage_limit"), *of.factors[1:])
    )
    found = told(of, logs(of, [-0.12, 0, 0, 0]))
    cpu = [replace(effect, metric="cpu_per_op") for effect in found]
    (_, table, *_) = section.parts(shown(of, [*found, *cpu]))
    assert isinstance(table, Table) and table_layout.total(table) <= 80


def test_each_figure_stands_under_its_own_metric() -> None:
    of = design("factorial", 2)
    found = told(of, logs(of, [0.1, 0]))
    made = shown(of, found)
    load = replace(made.steps[0], ordinal=2)
    of_load = [replace(effect, metric="seconds", ordinal=2) for effect in found]
    facts = AttributionFacts(effects=(*found, *of_load))
    table = section.table(facts, [made.steps[0], load], of)
    assert [column.text for column in table.columns] == ["factor", "throughput", "time"]
    assert [bool(cell.text) for cell in table.rows[-1].cells] == [True, False, True]


def test_a_single_factor_has_no_rest_where_a_remainder_is_left() -> None:
    of = design("factorial", 3)
    said = sentence(of, logs(of, [-0.12, 0.0, 0.0]))
    assert "the rest" not in said and "; not told from none: " in said


@pytest.mark.parametrize("kind", ROWS)
def test_the_table_says_how_its_design_is_read(kind: DesignKind) -> None:
    of = design(kind, 3)
    (_, table, *_) = section.parts(shown(of, told(of, logs(of, [0.1, 0, 0]))))
    assert isinstance(table, Table)
    assert table.note.startswith(section.BY_DESIGN[kind])


# --- A whole run -----------------------------------------------------------------------------

PLAN = """
arms.old = { engine = "fake", fake = { default_us = 100 } }
arms.new = { engine = "fake", fake = { default_us = 110, jitter = 0.01 } }
[workload]
name = "sysbench"
steps = ["point-query"]
parameters = { rows = 1000, seconds = 1, clients = 1 }
[schedule]
blocks = 3
"""


def asked(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str = PLAN, **wish: object
) -> str:
    """Runs the command; what it prints."""
    file = folder / "mine.toml"
    file.write_text(text)
    with pytest.raises(typer.Exit) as ended:
        attribute.attribute(file, "new", out=folder / "results", quiet=True, **wish)  # type: ignore[arg-type]
    assert ended.value.exit_code == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.long
def test_the_command_runs_the_mixed_arms_and_names_the_factor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = asked(tmp_path, capsys)
    assert "`default_us` the rest: throughput −9.1" in said
    made = tmp_path / "mine-attribute-new.toml"
    folder = tmp_path / "results" / made.stem
    assert set(compare.load(folder).arms) == {"old", "new", "old+default_us", "old+jitter"}
    assert (folder / "report.html").is_file()
    effects = dbdyno.read(folder).effects
    told = effects[effects.metric == "qps"].set_index(["kind", "factor"])
    assert told.ratio["effect", "default_us"] == pytest.approx(1 / 1.1, abs=0.02)
    assert {kind for kind, _ in told.index} == {"whole", "effect", "interaction"}
    before = made.read_text()
    assert asked(tmp_path, capsys) == said, "the same command goes on, with nothing left to do"
    assert made.read_text() == before
    with pytest.raises(DynoError, match="from another command"):
        asked(tmp_path, capsys, design="one-at-a-time")


def test_the_plan_of_a_dry_run_is_the_one_that_the_command_goes_on_with(
    tmp_path: Path,
) -> None:
    file, made = tmp_path / "mine.toml", tmp_path / "mine-attribute-new.toml"
    file.write_text(PLAN)
    words = ("attribute", file, "--arm", "new", "--base", "old", "--dry-run", "--blocks", "2")
    words += ("--design", "one-at-a-time", "--file", made, "--out", tmp_path / "results")
    said = command.dyno(*words)
    assert not made.exists() and said.returncode == 0, said.stderr
    text = said.stdout[: said.stdout.index("\nplan ")]
    made.write_text(text)
    again = command.dyno(*words)
    assert (again.stdout, again.stderr) == (said.stdout, f"goes on with {made}\n")
    other = command.dyno(*words, "--together", "default_us,jitter")
    assert other.returncode == 2 and "is there already, from another command" in other.stderr


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"design": "factorail"}, "--design: no `factorail`; did you mean `factorial`"),
        ({"blocks": 0}, "--blocks: must be at least 1"),
        ({"file": Path("elsewhere.toml")}, "--file elsewhere.toml: must lie in "),
        ({"base": "odl"}, "--base: .* has no arm `odl`; did you mean `old`"),
        ({"base": "new"}, "--arm: `new` is the base itself"),
        ({"together": ["jitter,rows"]}, "--together: no factor `rows`"),
        ({"together": ["jitter,default_us"]}, "mine.toml: arms .* differ in .* alone"),
    ],
)
def test_a_wish_that_cannot_be_met_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wish: dict[str, object], said: str
) -> None:
    with pytest.raises(DynoError, match=said):
        asked(tmp_path, capsys, **wish)
    assert not (tmp_path / "results").exists()


def test_a_setting_that_a_mixed_arm_refuses_is_exchanged_with_the_version() -> None:
    factors = [Factor(name=name, base="", arm="") for name in ("s0", "version+io_method")]
    made = replace(plan.demo(), attribution=replace(design("factorial", 2), factors=tuple(factors)))
    refused = "p.toml: arms.mix1.settings.s0: PostgreSQL 17.6 has no such setting: drop it"
    assert attribute.remedy(made, refused).endswith(": --together s0,version")
    assert attribute.remedy(made, "p.toml: no room on the disk") == ""


LIVE = """
[arms.old]
base_dir = "{base_dir}"
[arms.new]
base_dir = "{base_dir}"
settings = {{ random_page_cost = 1e9, work_mem = "8MB" }}
[server]
data_dir = "{data}"
[workload]
name = "sysbench"
steps = ["point-query"]
parameters = {{ tables = 1, rows = 20_000, seconds = 1, clients = 1, warmup_s = 0, pause_s = 0 }}
[schedule.void]
foreign = 1
"""


@pytest.mark.capability("attribute")
@pytest.mark.live
def test_on_a_server_the_setting_that_hides_the_index_has_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with a_place() as place:
        text = LIVE.format(base_dir=ends()[-1], data=place.data_root)
        asked(tmp_path, capsys, text, design="one-at-a-time")
    results = Results.open(tmp_path / "results" / "mine-attribute-new")
    made = compare.load(results)
    facts = made.of(AttributionFacts)
    (throughput, cpu) = next(effects for step in made.steps if (effects := facts.of(step))).values()
    cost, memory = changes(cpu)
    assert abs(cost) > math.log(3) and abs(memory) < abs(cost) / 3
    # A second in which the host stands still changes throughput, not what a transaction costs.
    cost, memory = changes(throughput)
    assert abs(cost) > math.log(3) and abs(memory) < abs(cost)
