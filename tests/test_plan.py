"""Plans: what is read, and the one line for what is wrong."""

import inspect
from pathlib import Path

import pytest

from dbdyno import plan, workload
from dbdyno.model import CountRequest, Observation, Plan, version
from dbdyno.model.document import Form
from dbdyno.model.error import PlanError
from dbdyno.model.verdict import Aims
from dbdyno.plan import schedule, schema

ROOT = Path(__file__).parent.parent
SMALL = """
[arms.a]
version = "17"

[[workloads]]
name = "insert-benchmark"
"""
FAKE = """
[arms.a]
engine = "fake"
fake = { service_us = { insert = 500 }, jitter = 0.02 }

[[workloads]]
name = "insert-benchmark"
"""


def parse(text: str) -> Plan:
    return plan.parse(text, Path("/plans/p.toml"))


def complaint(text: str) -> str:
    with pytest.raises(PlanError) as raised:
        parse(text)
    line = str(raised.value)
    assert "\n" not in line
    assert line.startswith("/plans/p.toml: ")
    return line.removeprefix("/plans/p.toml: ")


def test_a_small_plan_has_the_defaults() -> None:
    made = parse(SMALL)
    assert (made.name, made.seed, made.base, made.label) == ("p", 1, "a", None)
    assert (made.schedule.blocks, made.schedule.interleave) == (1, "run")
    assert made.text == SMALL
    (arm,) = made.arms
    assert (arm.engine, arm.version, arm.base_dir, arm.config, arm.memory) == (
        "postgres",
        "17",
        None,
        None,
        None,
    )
    (use,) = made.workloads
    assert (use.name, dict(use.parameters), use.steps) == ("insert-benchmark", {}, None)


def test_every_key_arrives() -> None:
    made = parse("""
name = "n"
label = "L"
seed = 7
base = "b"

[arms.a]
engine = "postgres"
version = "9.6.24"
config = "x10a"
memory = "4GB"
settings = { work_mem = "8MB", jit = false, max_connections = 50, random_page_cost = 1.1 }

[arms.b]
base_dir = "builds/mine"

[[workloads]]
name = "insert-benchmark"
parameters = { clients = 2, rates = [100] }
steps = ["l.i0", "l.x"]

[schedule]
blocks = 3
interleave = "run"

[server]
data_dir = "/data"
wal_dir = "wal"
user = "bench"

[generator]
threads = 2
""")
    assert (made.name, made.label, made.seed, made.base) == ("n", "L", 7, "b")
    first, second = made.arms
    assert first.settings == {
        "work_mem": "8MB",
        "jit": "off",
        "max_connections": "50",
        "random_page_cost": "1.1",
    }
    assert (first.memory, version.release(first)) == ("4GB", (9, 6))
    assert (second.base_dir, version.release(second)) == (Path("/plans/builds/mine"), None)
    assert made.workloads[0].steps == ("l.i0", "l.x")
    assert dict(made.workloads[0].parameters) == {"clients": 2, "rates": [100]}
    assert (made.data_dir, made.wal_dir, made.server_user) == (
        Path("/data"),
        Path("/plans/wal"),
        "bench",
    )
    assert made.schedule.blocks == 3
    assert made.threads == 2


def test_a_plan_may_go_on_until_it_is_decided_with_a_limit_of_time() -> None:
    made = parse(SMALL + '[schedule]\nblocks = "until decided"').schedule
    assert (made.until_decided, made.blocks, made.minutes_max) == (True, 30, 120.0)
    made = parse(SMALL + '[schedule]\nblocks = "until decided"\nminutes_max = 45').schedule
    assert made.minutes_max == 45.0
    made = parse(SMALL).schedule
    assert (made.until_decided, made.minutes_max, made.comparison) == (False, None, None)


def test_the_generator_may_have_a_thread_for_each_client() -> None:
    made = parse(SMALL + '[generator]\nthreads = "clients"')
    assert made.threads == 1024, "the generator's own limit: it starts none without a connection"


@pytest.mark.long
def test_what_is_observed_and_what_verdicts_tell_apart_arrives() -> None:
    made = parse(SMALL)
    assert (made.observe, made.aims) == (Observation(), Aims(margin=0.03, effect=0.03, power=0.8))
    made = parse(
        SMALL + '[observe]\nwaits = "50ms"\n[verdict]\nmargin = 0.02\neffect = 0.01\npower = 0.9'
    )
    assert made.observe == Observation(waits_s=0.05)
    assert made.aims == Aims(margin=0.02, effect=0.01, power=0.9)
    for written, waits_s in (("20ms", 0.02), ("1s", 1.0), ("2.5 s", 2.5), ("10s", 10.0)):
        assert parse(f'{SMALL}[observe]\nwaits = "{written}"').observe.waits_s == waits_s


def test_a_fake_arm_keeps_what_was_written_and_the_key_that_the_generator_needs() -> None:
    assert parse(FAKE).arms[0].fake == {
        "default_us": 100,
        "service_us": {"insert": 500},
        "jitter": 0.02,
    }


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("version", "verison", "key `arms.a.verison`: unknown key; did you mean `version`?"),
        ('"17"', "17", 'key `arms.a.version`: must be text in quotes ("…"), not 17'),
        (
            '"17"',
            '"latest"',
            "key `arms.a.version`: 'latest' is not a version; "
            'write it as "17" (the newest) or "17.6"',
        ),
        (
            'version = "17"',
            "",
            "key `arms.a`: needs one of `version`, `base_dir`, `build`, `dsn`, but none is there",
        ),
        (
            'version = "17"',
            'version = "17"\nbase_dir = "/x"',
            "key `arms.a`: needs one of `version`, `base_dir`, `build`, `dsn`, but "
            "`version` and `base_dir` are there",
        ),
        (
            'version = "17"',
            'version = "17"\nfake = { default_us = 1 }',
            'key `arms.a.fake`: only engine "fake" has it; remove it',
        ),
        (
            'version = "17"',
            'engine = "fake"',
            'key `arms.a.fake`: missing; engine "fake" needs it, as { default_us = 100 }',
        ),
        (
            'version = "17"',
            'dsn = "postgresql://h/d"\npassword = { env = "A", passfile = "b" }',
            "key `arms.a.password`: name either `env` or `passfile`",
        ),
        (
            'version = "17"',
            'engine = "postgre"',
            "key `arms.a.engine`: no engine `postgre`; did you mean `postgres`?",
        ),
        (
            'version = "17"',
            'version = "17"\nconfig = "x10a"\nmemory = "4 gigs"',
            'key `arms.a.memory`: \'4 gigs\' is not a size; write it as "4GB" or "512MB"',
        ),
        (
            'version = "17"',
            'version = "17"\nmemory = "4GB"',
            "key `arms.a.memory`: sizes a preset, but there is none; add `config`",
        ),
        (
            'version = "17"',
            'version = "17"\nsettings = { work_mem = [1] }',
            'key `arms.a.settings.work_mem`: must be text in quotes ("…") or true or false '
            "or a whole number or a number, not [1]",
        ),
        (
            "[arms.a]",
            '[arms."a/b"]',
            "key `arms.a/b`: 'a/b' cannot name a folder; use letters, digits, dots, underscores, "
            "plus and minus signs, at most 64",
        ),
        (
            "insert-benchmark",
            "insert-bench",
            "key `workloads[1]`: no workload `insert-bench`; did you mean `insert-benchmark`? "
            "(a file of your own is named by its path, such as ./mine.toml)",
        ),
        (
            "insert-benchmark",
            "./none.toml",
            "key `workloads[1]`: /plans/none.toml: cannot be read as a workload file: "
            "No such file or directory",
        ),
    ],
)
def test_a_wrong_arm_or_workload_gets_one_line(old: str, new: str, line: str) -> None:
    assert complaint(SMALL.replace(old, new)) == line


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("[schedule]\nblcks = 3", "key `schedule.blcks`: unknown key; did you mean `blocks`?"),
        (
            "[schedule]\nblocks = 0",
            "key `schedule.blocks`: must be 'until decided' or from 1 to 1,000, not 0",
        ),
        (
            '[schedule]\nblocks = "3"',
            "key `schedule.blocks`: must be 'until decided' or a whole number, not '3'",
        ),
        (
            "[schedule]\nminutes_max = 30",
            'key `schedule.minutes_max`: only blocks = "until decided" has a time limit; write '
            "that, or remove it",
        ),
        (
            '[schedule]\nblocks = "until decided"\nminutes_max = 0',
            "key `schedule.minutes_max`: must be from 0.5 to 43,200, not 0",
        ),
        (
            '[observe]\nwaits = "50"',
            'key `observe.waits`: \'50\' is not a duration; write it as "50ms" or "1s"',
        ),
        (
            '[observe]\nwaits = "10ms"',
            'key `observe.waits`: must be from "20ms" to "10s", not \'10ms\'',
        ),
        (
            '[observe]\nwaits = "1s"\n[schedule]\ninterleave = "turn"',
            'key `observe.waits`: servers cannot be asked with interleave = "turn"; remove it, or '
            'use "step"',
        ),
        (
            '[observe]\nindexes = true\n[schedule]\ninterleave = "turn"',
            'key `observe.indexes`: indexes are not read with interleave = "turn"; remove it, or '
            'use "step"',
        ),
        (
            '[observe]\nstatus = "100ms"',
            'key `observe.status`: must be from "200ms" to "600s", not \'100ms\'',
        ),
        (
            "[observe]\nwaits_sessions = true",
            "key `observe.waits_sessions`: needs `waits`, which says how often; write "
            'waits = "50ms" beside it',
        ),
        (
            "[verdict]\nmargin = 3",
            "key `verdict.margin`: must be a share from 0.001 to 0.5, not 3; 0.03 is three percent",
        ),
        (
            "[verdict]\neffect = 0",
            "key `verdict.effect`: must be a share from 0.001 to 0.5, not 0; 0.03 is three percent",
        ),
        ("[verdict]\npower = 1", "key `verdict.power`: must be from 0.5 to 0.99, not 1"),
        (
            '[schedule]\ninterleave = "rnu"',
            "key `schedule.interleave`: must be 'run', 'step' or 'turn', not 'rnu'; did "
            "you mean `run`?",
        ),
        (
            '[server]\ndata_dir = "~/data"',
            "key `server.data_dir`: '~/data' must be an absolute path, "
            "or one from the plan's folder",
        ),
        (
            '[[workloads]]\nname = "insert-benchmark"',
            "key `workloads[2]`: `insert-benchmark` is listed twice; "
            "a plan uses each workload once",
        ),
        (
            "parameters = { clinets = 2 }",
            "key `workloads[1]`: insert-benchmark.toml: key `parameters.clinets`: no such "
            "parameter; did you mean `clients`?",
        ),
        (
            'parameters = { rows = "many" }',
            "key `workloads[1]`: insert-benchmark.toml: key `parameters.rows`: must be a number, "
            "not 'many'",
        ),
        (
            "parameters = { rates = 100 }",
            "key `workloads[1]`: insert-benchmark.toml: key `parameters.rates`: must be a list, "
            "such as [100, 500]",
        ),
        (
            "parameters = { rows = -5 }",
            "key `workloads[1]`: insert-benchmark.toml: key `steps[1].roles.insert.stop.rows`: "
            "must be above 0, but `{rows}` is -5",
        ),
        (
            'steps = ["l.i0", "qr10"]',
            "key `workloads[1]`: insert-benchmark.toml: no step `qr10` with these parameters; "
            "did you mean `qr100`?",
        ),
        (
            "steps = []",
            "key `workloads[1]`: insert-benchmark.toml: no step is left; name at least one under "
            "`steps`",
        ),
    ],
)
def test_a_wrong_schedule_server_or_use_gets_one_line(more: str, line: str) -> None:
    assert complaint(SMALL + more) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = ", "not valid TOML: invalid value (at end of document)"),
        ("[[workloads]]\nname = 'insert-benchmark'", "key `arms`: missing"),
        ("arms = 3", "key `arms`: must be a table, not 3"),
        ('base = "b"\n' + SMALL, "key `base`: no arm `b`; there are `a`"),
        ('name = "a b"\n' + SMALL, None),
        ("seed = -1\n" + SMALL, "key `seed`: must be from 0 to 9,007,199,254,740,991, not -1"),
        (
            SMALL + "[generator]\nthreads = 0",
            "key `generator.threads`: must be 'clients' or from 1 to 1,024, not 0",
        ),
        (
            SMALL + "[generator]\nthread = 2",
            "key `generator.thread`: unknown key; did you mean `threads`?",
        ),
        (
            FAKE.replace('engine = "fake"', 'engine = "fake"\nversion = "17"'),
            'key `arms.a.version`: engine "fake" has no server; remove it',
        ),
        (
            FAKE.replace("jitter = 0.02", "stalls = [{ at = 5, for_s = 2 }]"),
            "key `arms.a.fake.stalls[1].at`: unknown key; did you mean `at_s`?",
        ),
    ],
)
def test_a_wrong_document_gets_one_line(text: str, line: str | None) -> None:
    found = complaint(text)
    if line is None:
        assert found.startswith("key `name`: 'a b' cannot name a folder")
    else:
        assert found == line


def test_a_lone_workload_is_named_by_its_own_key() -> None:
    said = complaint(SMALL.replace("[[workloads]]", "[workload]") + "save = 'after qr1'\n")
    assert said.startswith("key `workload.save`: no step to save after")


def test_a_plan_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"none\.toml: cannot be read: No such file or directory"):
        plan.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(PlanError, match="save it as UTF-8"):
        plan.load(tmp_path / "latin.toml")


def test_a_workload_by_path_lies_beside_the_plan(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(workload.text("insert-benchmark"))
    (tmp_path / "p.toml").write_text(SMALL.replace("insert-benchmark", "./mine.toml"))
    assert plan.load(tmp_path / "p.toml").workloads[0].name == "./mine.toml"
    assert workload.load("./mine.toml", tmp_path / "p.toml").name == "mine"
    assert workload.load("./mine.toml", tmp_path).name == "mine"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "dbdyno/plan/shipped").glob("*.toml")), ids=lambda p: p.name
)
def test_every_plan_that_is_shipped_is_valid_and_named_for_its_file(path: Path) -> None:
    made = plan.load(path)
    assert made.name == path.stem
    orders = {block.order for block in schedule.blocks(made)}
    alike = "the seed gives every block the same order"
    assert len(orders) > 1 or made.schedule.blocks == 1 or len(made.arms) == 1, alike


def test_the_demo_ends_in_time_and_says_why_its_step_was_chosen() -> None:
    demo = plan.demo()
    assert demo.count is None
    counts = plan.demo(counts=True).count
    assert counts == CountRequest(repeats=2)
    assert counts.fills_of(shared=False) > 1, "else a fresh host refuses the demo"
    (use,) = demo.workloads
    assert demo.label is not None
    assert "hot-points was chosen because its difference is known" in demo.label
    assert [arm.version for arm in demo.arms] == ["12", "18"]
    assert [arm.config for arm in demo.arms] == ["x10a", "x10b"]
    loaded = workload.load(use.name)
    steps = workload.expand(loaded, use.parameters, "postgres", version=(18,), steps=use.steps)
    measured = [step.name for step in steps if step.measured]
    assert "hot-points" in measured
    assert len(measured) > 1, "beside it a step whose difference is not known"
    assert all(step not in demo.label for step in measured if step != "hot-points")
    assert not demo.schedule.until_decided
    assert demo.schedule.blocks == 6, "fewer decide nothing where others keep the machine busy"
    assert len({block.order for block in schedule.blocks(demo)}) == 2


def test_the_reference_of_plans_names_every_key() -> None:
    reference = (ROOT / "docs" / "plan.md").read_text()
    within = (schema.FakeStallForm, schema.FakeErrorForm)  # shown by examples
    everything = [one for one in vars(schema).values() if inspect.isclass(one)]
    forms = [one for one in everything if issubclass(one, Form) and one not in within]
    assert len(forms) > 8
    for one in forms:
        for key in one.model_fields:
            assert f"`{key}`" in reference or f"{key}`" in reference, f"{one.__name__}.{key}"


@pytest.mark.long
def test_the_examples_of_the_reference_are_valid() -> None:
    reference = (ROOT / "docs" / "plan.md").read_text()
    examples = [part.split("```")[0] for part in reference.split("```toml\n")[1:]]
    whole = [example for example in examples if "[[workloads]]" in example]
    assert len(whole) >= 2
    for example in whole:
        plan.parse(example, ROOT / "docs" / "plan.toml")
