"""The workload `decisions`: its steps, tables and queries for each engine, and what is refused."""

import pytest

from dbdyno import workload
from dbdyno.model import Step
from dbdyno.model.error import WorkloadError
from dbdyno.model.size import Capacity
from dbdyno.plan.race.sizes import fitting, whole

POWER = "14 2 9 20 6 17 18 8 21 13 3 22 16 4 11 15 1 10 19 5 7 12"
"""The order of the power test (TPC-H, revision 3, appendix A, stream 0)."""


def steps(engine: str = "postgres", **parameters: object) -> tuple[Step, ...]:
    return workload.expand(workload.load("decisions"), parameters, engine)  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["postgres", "mysql", "mariadb"])
def test_queries_come_in_the_order_of_the_power_test(engine: str) -> None:
    load, warm, *queries = steps(engine)
    assert [step.name for step in queries] == [f"q{number}" for number in POWER.split()]
    assert len(load.job.fills) == 8 and not warm.measured
    for step in queries:
        (role,) = step.job.roles
        assert role.statement_limit_s == 600 and role.stop is not None
        assert role.stop.operations == 1 and list(step.explain) == [step.name]
        assert step.headline is not None and step.headline.metric == "seconds"
        assert step.goes_on and not step.writes


def test_a_step_sends_one_query_and_the_warming_all() -> None:
    _, warm, *queries = steps()
    texts = {step.name: step.job.statements[0].pieces for step in queries}
    assert {one.name: one.pieces for one in warm.job.statements} == texts
    assert len(set(texts.values())) == 22
    assert "warm" not in [step.name for step in steps(warm=0)]


def test_the_fraction_of_q11_follows_the_scale() -> None:
    for scale, words in ((0.01, "0.0001 / 0.01\n"), (10, "0.0001 / 10\n")):
        (q11,) = [step for step in steps(scale_factor=scale) if step.name == "q11"]
        assert words in str(q11.job.statements[0].pieces[0])


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_indexes_are_those_of_foreign_keys_or_none(engine: str) -> None:
    made = {
        chosen: [sql for fill in steps(engine, indexes=chosen)[0].job.fills for sql in fill.after]
        for chosen in ("keys", "foreign")
    }
    creates = [sql for sql in made["foreign"] if sql.startswith("CREATE INDEX")]
    assert len(creates) == 7
    assert [sql for sql in made["foreign"] if sql not in creates] == made["keys"]


def test_parts_are_in_one_stream_or_small_ones_in_several() -> None:
    for streams, parts in ((1, 1), (2, 80)):
        *_, lineitem = steps(streams=streams, scale_factor=2)[0].job.fills
        assert lineitem.source is not None and len(lineitem.source.parts) == parts
        command = lineitem.source.parts[-1].command
        assert command is not None and f"--part={parts}" in command
        assert "--scale-factor=2" in command


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"scale_factor": 0}, "scale_factor has to be above 0"),
        ({"scale_factor": 400}, "order keys leave int"),
        ({"indexes": "all"}, "indexes has to be keys or foreign"),
    ],
)
def test_what_it_does_not_support_is_a_line(parameters: dict[str, object], line: str) -> None:
    with pytest.raises(WorkloadError) as raised:
        steps(**parameters)
    assert line in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["decisions", "orders"])
def test_its_note_says_that_it_is_no_result_of_tpc(name: str) -> None:
    assert "not a TPC result" in workload.load(name).file.note


def test_a_race_takes_a_scale_that_its_time_allows() -> None:
    host = Capacity(cores=2, memory_bytes=8 << 30, free_disk_bytes=100 << 30)
    names = workload.load("decisions").file.parameters
    assert fitting(names, 2, 10, host).amounts == {"scale_factor": 0.1}
    assert fitting(names, 2, 0.5, host).amounts == {"scale_factor": 0.01}


def test_an_amount_is_cut_to_one_digit() -> None:
    amounts = (87_654, 0.57, 0.057, 0.3, 0)
    assert [whole(amount) for amount in amounts] == [80_000, 0.5, 0.05, 0.3, 0]
