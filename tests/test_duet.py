"""Both arms at once: what a plan needs, cores, and each check on planted runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import read_steps
import run_builder
from dbdyno import plan
from dbdyno.analysis.compare import arms_and_blocks, conclusions, duet, step_cells
from dbdyno.analysis.compare.conclusions import Concluded
from dbdyno.host import core_sets, duet_acceptance, place
from dbdyno.host.observe.reader import Reader
from dbdyno.model import Half, Plan, StepRun
from dbdyno.model.duet import Duet
from dbdyno.model.error import HostError, PlanError
from dbdyno.model.host_facts import Cpu, DuetAcceptance, HostFacts
from dbdyno.model.plan_record import ScheduleRecord
from dbdyno.model.verdict import Aims
from dbdyno.plan import calibration
from dbdyno.run import duet as running
from workload_reader import job_of

PLAN = """
name = "duo"
[arms.a]
version = "17"
[arms.b]
version = "18"
[[workloads]]
name = "./reads.toml"
[schedule]
blocks = 6
interleave = "duet"
"""

# --- Plans -------------------------------------------------------------------------------------


def made(folder: Path, *changes: tuple[str, str]) -> Plan:
    (folder / "reads.toml").write_text(read_steps.text())
    text = PLAN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return plan.parse(text, folder / "plan.toml")


def test_a_plan_of_two_arms_is_a_duet(tmp_path: Path) -> None:
    schedule = made(tmp_path).schedule
    assert (schedule.interleave, schedule.duet_forced, schedule.together) == ("duet", False, True)
    forced = made(tmp_path, ('"duet"', '"duet"\nduet = "forced"'))
    assert forced.schedule.duet_forced


def test_an_aa_arm_is_the_second_arm(tmp_path: Path) -> None:
    alone = ('[arms.b]\nversion = "18"\n', "")
    with pytest.raises(PlanError, match="there are 1; with one add `aa_arm = true`"):
        made(tmp_path, alone)
    of = made(tmp_path, alone, ('"duet"', '"duet"\naa_arm = true'))
    assert [arm.name for arm in of.arms] == ["a", "ghost"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("[arms.b]", '[arms.c]\nversion = "16"\n[arms.b]'), 'there are 3; use "turn" for more'),
        (('version = "18"', 'dsn = "postgresql://u@h:5432/d"'), "moves servers from core to core"),
        (("[schedule]", '[server]\ncpus = "0"\n[schedule]'), "key `server.cpus`: interleave"),
        (("[schedule]", '[generator]\ncpus = "0"\n[schedule]'), "key `generator.cpus`: interleave"),
        (('"duet"', '"turn"\nduet = "forced"'), 'is for interleave = "duet"'),
        (('"duet"', '"duet"\nduet = "yes"'), "must be 'forced', not 'yes'"),
        (
            ('"duet"', '"duet"\n[observe]\nwaits = "1s"'),
            'cannot be sampled with interleave = "duet"',
        ),
        (
            ('version = "18"', 'engine = "fake"\nfake = { default_us = 100 }'),
            "has its own clock",
        ),
        (('toml"', 'toml"\nparameters = { seconds = 1 }'), "make it 2 s or longer"),
    ],
)
def test_what_cannot_be_a_duet_is_refused_in_a_line(
    tmp_path: Path, change: tuple[str, str], line: str
) -> None:
    with pytest.raises(PlanError) as refused:
        made(tmp_path, change)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_step_that_ends_with_its_work_is_refused(tmp_path: Path) -> None:
    text = read_steps.text().replace('seconds = "{seconds}"\nwarmup_s = "{warmup_s}"\n', "", 1)
    text = text.replace('run = "point" }', 'run = "point", stop = { operations = 10 } }', 1)
    (tmp_path / "reads.toml").write_text(text)
    with pytest.raises(PlanError, match="step `one` ends with its work, and a duet swaps cores"):
        plan.parse(PLAN, tmp_path / "plan.toml")


def test_an_acceptance_needs_two_planted_servers(tmp_path: Path) -> None:
    of = made(tmp_path)
    with pytest.raises(PlanError, match="--duet needs two servers that are slower"):
        calibration.duets(of, ["0.05=/x"], None)
    with pytest.raises(PlanError, match="'5=/x' is not SHARE=FOLDER"):
        calibration.duets(of, ["5=/x"], None)
    with pytest.raises(PlanError, match='--duet needs a plan with "duet"'):
        calibration.duets(made(tmp_path, ('"duet"', '"step"')), ["0.05=/x", "0.15=/y"], None)
    found = calibration.duets(of, ["0.15=/y", "0.05=/x"], 4)
    assert {share: [arm.name for arm in its.arms] for share, its in found.items()} == {
        0.0: ["a", "ghost"], 0.05: ["a", "planted"], 0.15: ["a", "planted"],
    }  # fmt: skip
    assert [its.name for its in found.values()] == ["duo.duet.0", "duo.duet.0.05", "duo.duet.0.15"]
    assert {its.schedule.blocks for its in found.values()} == {4}
    assert found[0.05].arms[1].base_dir == Path("/x")
    assert found[0.05].arms[1].version is None


# --- Cores -------------------------------------------------------------------------------------


def host(root: Path, nodes: Sequence[str], cores: Sequence[Sequence[int]]) -> Reader:
    """A host with these nodes, as lists of processors, and these cores with their threads."""
    for number, core in enumerate(cores):
        for cpu in core:
            topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
            topology.mkdir(parents=True)
            (topology / "physical_package_id").write_text("0\n")
            (topology / "core_id").write_text(f"{number}\n")
    for number, cpus in enumerate(nodes):
        node = root / f"sys/devices/system/node/node{number}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(f"{cpus}\n")
    return Reader(root=root)


def test_all_threads_of_a_core_are_in_one_set_of_one_node(tmp_path: Path) -> None:
    pairs = [(cpu, cpu + 12) for cpu in range(12)]
    reader = host(tmp_path, ["0-3,12-15", "4-11,16-23"], pairs)
    cores = core_sets.whole_cores(reader, set(range(24)))
    assert cores == tuple(frozenset(pair) for pair in pairs[4:]), "the larger node"
    first, second = core_sets.halves(cores)
    assert first.server == {4, 5, 6, 16, 17, 18}
    assert first.generator == {7, 19}
    assert second.server == {8, 9, 10, 20, 21, 22}
    assert second.generator == {11, 23}


def test_a_core_of_which_a_thread_is_not_ours_counts_for_nothing(tmp_path: Path) -> None:
    reader = host(tmp_path, ["0-7"], [(0, 4), (1, 5), (2, 6), (3, 7)])
    cores = core_sets.whole_cores(reader, {0, 1, 2, 4, 5, 7})
    assert cores == (frozenset({0, 4}), frozenset({1, 5}))


def test_of_an_odd_number_of_cores_one_is_left_out() -> None:
    first, second = core_sets.halves([frozenset({cpu}) for cpu in range(5)])
    assert (first.server, first.generator) == ({0}, {1})
    assert (second.server, second.generator) == ({2}, {3})


def test_with_one_core_each_a_generator_shares_its_servers() -> None:
    for one, cpu in zip(core_sets.halves([frozenset({0}), frozenset({1})]), (0, 1), strict=True):
        assert one.server == one.generator == {cpu}


def test_too_few_cores_are_refused_unless_forced() -> None:
    cores = [frozenset({cpu}) for cpu in range(4)]
    core_sets.refuse_few(cores, forced=False)
    core_sets.refuse_few(cores[:2], forced=True)
    with pytest.raises(HostError, match=r'dyno may use 3 here.*duet = "forced" for an estimate'):
        core_sets.refuse_few(cores[:3], forced=False)
    with pytest.raises(HostError, match=r'dyno may use 1 here; use "turn"$'):
        core_sets.refuse_few(cores[:1], forced=True)


def test_an_acceptance_holds_for_the_host_that_it_was_found_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "data_root", lambda: tmp_path / "lab")
    host = HostFacts(kernel="6.1", cpu=Cpu(cores=8), memory_bytes=1, boot_id="x")
    assert duet_acceptance.known(host) is None
    path = duet_acceptance.keep(GOOD, host)
    assert duet_acceptance.known(structs.replace(host, boot_id="y")) == GOOD
    assert duet_acceptance.known(structs.replace(host, kernel="6.2")) is None
    path.write_text("{")
    with pytest.raises(HostError, match="remove it, and run `dyno calibrate --duet` again"):
        duet_acceptance.known(host)


def test_a_solo_turn_is_shorter_and_has_a_folder_of_its_own(tmp_path: Path) -> None:
    of = made(tmp_path, ('toml"', 'toml"\nparameters = { seconds = 10, warmup_s = 1 }'))
    loaded = plan.workload.load("./reads.toml", of.path)
    step = plan.workload.expand(loaded, of.workloads[0].parameters, "postgres")[1]
    alone = running.solo(step)
    assert (alone.name, alone.solo, alone.ordinal) == ("one.solo", True, step.ordinal)
    assert job_of(alone)["stop"]["seconds"] == 5
    assert job_of(step)["stop"]["seconds"] == 10
    assert [block for block in range(1, 10) if running.has_solos(block)] == [3, 6, 9]


# --- Checks ------------------------------------------------------------------------------------

GOOD = DuetAcceptance(
    holds=True,
    text="found 1.00 of what was planted",
    slope=1.0,
    low=0.8,
    high=1.2,
    error=0.1,
    changes=(),
)
WAVE = (0.01, -0.02, 0.015, -0.005)
"""What slows both arms of a half, second by second."""


def one(
    arm: str,
    block: int,
    rates: tuple[float, float],
    *,
    solo: bool = False,
    wave: Sequence[float] = WAVE,
    late_ns: int = 0,
) -> StepRun:
    """A run of halves with these rates; CPU per operation is what the rate leaves of a core."""
    halves = tuple(
        Half(
            begun_ns=number * 10_000_000_000 + late_ns,
            ended_ns=number * 10_000_000_000 + late_ns + 4_000_000_000,
            metrics={"qps": rate, "server_cpu_per_op": 1e6 / rate},
            rates=tuple(rate * math.exp(log) for log in wave),
        )
        for number, rate in enumerate(rates)
    )
    mean = sum(rates) / 2
    its = run_builder.run(arm, block, mean, cpu=1e6 / mean, halves=halves)
    return replace(its, facts=replace(its.facts, solo=solo, step="one" + ".solo" * solo))


NOISE = (0.001, -0.002, 0.0015, -0.0005, 0.002, -0.001, 0.0005, -0.0015, 0.001)


def planted(
    change: float = 0.0,
    *,
    solo_change: float | None = None,
    loss: float = 0.03,
    cores: float = 0.02,
    blocks: int = 9,
    others: Sequence[float] = WAVE,
    late_ns: int = 0,
) -> list[StepRun]:
    """Blocks of a base and an arm that differs by `change`, each third with solo turns."""
    runs: list[StepRun] = []
    alone = change if solo_change is None else solo_change
    for block in range(1, blocks + 1):
        rate, factor = 1000.0, (1 + change) * math.exp(NOISE[block - 1])
        runs += [
            one("base", block, (rate * (1 + cores), rate)),
            one("other", block, (rate * factor, rate * factor * (1 + cores)), wave=others,
                late_ns=late_ns),
        ]  # fmt: skip
        if block % 3 == 0:
            rate /= 1 - loss
            runs += [
                one("base", block, (rate, rate), solo=True),
                one("other", block, (rate * (1 + alone), rate * (1 + alone)), solo=True),
            ]
    return runs


def judged(
    runs: Sequence[StepRun], *, forced: bool = False, accepted: DuetAcceptance | None = GOOD
) -> tuple[Concluded, Duet]:
    schedule = ScheduleRecord(interleave="duet", duet_forced=forced)
    of = structs.replace(run_builder.plan_of(["base", "other"]), schedule=schedule)
    arms = arms_and_blocks.arms(of, None)
    together, solos = duet.parted(runs)
    rows = duet.checked(
        step_cells.rows(of, arms, together), solos, arms, of, HostFacts(duet=accepted), Aims()
    )
    found = conclusions.conclude(rows, arms, run_builder.rules_of(together, arms))
    said = found.steps[0].duet
    assert said is not None
    return found, said


def failed(said: Duet) -> list[str]:
    return [check.name for check in said.failed]


def test_a_duet_that_passes_is_judged_by_the_mean_of_its_halves() -> None:
    found, said = judged(planted(-0.10, cores=0.03))
    assert (said.judged, said.failed) == ("duet", ())
    verdict = run_builder.cell(found, "other").verdict
    assert verdict is not None
    assert (verdict.word, verdict.outcome, verdict.withheld) == ("slower", "", False)
    throughput = verdict.judgements[0]
    assert throughput.blocks == 9
    assert throughput.ratio == pytest.approx(0.9 * math.exp(sum(NOISE) / 9)), "cores cancel"
    assert {check.name: check.state for check in said.checks} == dict.fromkeys(
        ["at once", "as alone (qps)", "as alone (server_cpu_per_op)", "company", "cores",
         "competition", "acceptance"], "holds",
    )  # fmt: skip


def test_halves_weigh_alike_however_fast_they_are() -> None:
    """A base that stalls in one half alone: the whole window would weigh the other half more."""
    base, other = one("base", 1, (1000.0, 250.0)), one("other", 1, (900.0, 250.0))
    (row,) = step_cells.rows(
        run_builder.plan_of(["base", "other"]),
        arms_and_blocks.arms(run_builder.plan_of(["base", "other"]), None),
        [base, other],
    )
    compared = row.faced["other"].compared("qps")
    assert compared.logs[1] == pytest.approx((math.log(0.9) + math.log(1)) / 2)
    assert compared.pairs[1].log == pytest.approx(math.log(1150 / 1250))


def test_arms_that_change_each_other_are_judged_by_their_solo_turns() -> None:
    found, said = judged(planted(-0.02, solo_change=-0.12))
    assert said.judged == "solo"
    assert failed(said) == ["as alone (qps)", "as alone (server_cpu_per_op)"]
    verdict = run_builder.cell(found, "other").verdict
    assert verdict is not None
    assert verdict.judgements[0].blocks == 3
    assert verdict.judgements[0].ratio == pytest.approx(0.88)
    assert verdict.word == "slower"
    assert "judged by the solo turns of 3 blocks; the duet fails: as alone (qps)" in verdict.outcome


def test_a_base_that_loses_by_company_fails() -> None:
    _, said = judged(planted(loss=0.5))
    assert failed(said) == ["company"]
    assert "the base reaches 50.5 % of its throughput alone" in said.failed[0].text


def test_competition_fails() -> None:
    """What one arm gets the other one lacks, second by second."""
    _, said = judged(planted(others=[-log for log in WAVE]))
    assert failed(said) == ["competition"]
    assert "correlate by -1.00" in said.failed[0].text
    assert said.judged == "solo"


def test_unequal_cores_are_said_and_do_no_harm() -> None:
    found, said = judged(planted(cores=0.14))
    assert said.judged == "duet"
    (warned,) = [check for check in said.checks if check.state == "warns"]
    assert warned.name == "cores"
    assert found.steps[0].notices == (f"duet: {warned.text}",)


def test_sets_of_cores_are_told_apart_whichever_arm_begins_on_them() -> None:
    """Where the base begins on the second set, its second half is that on the first one."""
    runs = []
    for its in planted(cores=0.14):
        first = its.block % 2 == 0 or its.facts.solo
        halves = its.halves if first else its.halves[::-1]
        began = 0 if (its.arm == "base") == first else 1
        runs.append(replace(its, halves=halves, position=began))
    _, said = judged(runs)
    (warned,) = [check for check in said.checks if check.name == "cores"]
    assert "one set is 14.0 % faster than the other" in warned.text
    unknown, _ = judged([replace(its, position=None) for its in runs])
    assert unknown.steps[0].notices == (), "one after the other they would cancel"


def test_time_in_which_one_ran_alone_fails() -> None:
    _, said = judged(planted(late_ns=200_000_000))
    assert failed(said) == ["at once"]
    assert "both ran in 95.0 % of the time" in said.failed[0].text


@pytest.mark.parametrize("accepted", [None, structs.replace(GOOD, holds=False, text="found 0.70")])
def test_a_host_that_has_not_accepted_duets_judges_solo_turns(
    accepted: DuetAcceptance | None,
) -> None:
    _, said = judged(planted(), accepted=accepted)
    assert failed(said) == ["acceptance"]
    assert said.judged == "solo"


def test_before_there_are_solo_turns_there_is_no_word() -> None:
    found, said = judged(planted(-0.2, blocks=2))
    assert said.judged == "nothing"
    verdict = run_builder.cell(found, "other").verdict
    assert verdict is not None
    assert (verdict.word, verdict.withheld) == ("cannot tell", True)
    assert "there are no solo turns yet" in verdict.outcome


def test_a_forced_duet_gives_an_estimate_and_no_word() -> None:
    found, said = judged(planted(-0.10), forced=True)
    assert (said.judged, said.failed) == ("nothing", ())
    verdict = run_builder.cell(found, "other").verdict
    assert verdict is not None
    assert (verdict.word, verdict.by, verdict.withheld) == ("cannot tell", (), True)
    assert "an estimate, as the duet is forced onto too few cores" in verdict.outcome
    throughput = verdict.judgements[0]
    assert throughput.ratio == pytest.approx(0.9, rel=1e-3)
    assert throughput.low is not None
    assert throughput.high is not None
    assert throughput.high < 1
    assert (throughput.word, throughput.q, throughput.blocks_needed) == ("cannot tell", None, None)
    assert found.overall == (), "a whole has the steps that have a word"


def test_steps_before_the_duet_are_judged_as_ever() -> None:
    runs = [run_builder.run(arm, block, rate) for block in (1, 2, 3)
            for arm, rate in (("base", 100.0 + block), ("other", 50.0))]  # fmt: skip
    schedule = ScheduleRecord(interleave="duet", duet_forced=True)
    of = structs.replace(run_builder.plan_of(["base", "other"]), schedule=schedule)
    arms = arms_and_blocks.arms(of, None)
    (row,) = duet.checked(step_cells.rows(of, arms, runs), [], arms, of, None, Aims())
    assert row.step.duet is None
    assert not row.faced["other"].withheld
