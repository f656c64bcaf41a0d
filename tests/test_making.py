"""How clusters are made and reached, without a server: keys `initdb`, `transport`, `rest_s`."""

import json
import locale
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from dbdyno import plan
from dbdyno.engine.mysql import settings as mysql_settings
from dbdyno.engine.postgres import initdb, settings
from dbdyno.engine.preset import study
from dbdyno.engine.preset.show import show
from dbdyno.engine.settings import ArmSettings, Demand
from dbdyno.findings.setup import show as setup
from dbdyno.host import locales
from dbdyno.judge import differences
from dbdyno.model import Arm, Initdb, Json
from dbdyno.model.error import HostError, PlanError
from dbdyno.model.plan_record import ArmRecord
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.size import Capacity
from dbdyno.plan import attribute as attributes
from dbdyno.plan.attribute import Sides
from dbdyno.run import blocks
from dbdyno.run.check import dry_run, plan_record, preflight
from dbdyno.run.check.block_time import rests_s
from dbdyno.run.progress import REST
from dbdyno.store import continuation
from test_server_mysql_parts import a_build

HOST = Capacity(cores=8, memory_bytes=32 << 30, free_disk_bytes=500 << 30)
WORKLOAD = '\n[workload]\nname = "sysbench"\nsteps = ["point-query"]\n'
EN_US = "en_US.UTF-8"
LAB_S = ("-U", "dyno", "-A", "trust", "--data-checksums", "--no-locale", "-E", "UTF8", "-N")
"""As every cluster was made before there was a choice; golden copies are found by it."""


def arm(written: str) -> Arm:
    (one,) = plan.parse(f"[arms.a]\n{written}{WORKLOAD}", Path("/plans/p.toml")).arms
    return one


def settled(
    written: str, version_num: int = 17_00_06, workloads: tuple[str, ...] = ("sysbench",)
) -> ArmSettings:
    return settings.settle(arm(written), version_num, HOST, Demand(workloads=workloads))


def of_mysql(written: str, *workloads: str) -> ArmSettings:
    made = arm(f'engine = "mysql"\nversion = "8.4"\n{written}')
    return mysql_settings.settle(made, a_build("mysql", 80406), HOST, Demand(workloads=workloads))


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that has every locale of UTF-8, and the others in their own encoding."""
    known = {"de_DE": "ISO-8859-1"}
    monkeypatch.setattr(locales, "encoding", lambda name: known.get(name, "UTF-8"))


# --- As they are written ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "key", "sentence"),
    [
        ('engine = "mysql"\nversion = "8.4"\ninitdb = { locale = "C" }', "initdb",
         "no cluster of mysql is made by initdb; remove it"),
        ('engine = "mariadb"\nbase_dir = "/opt/m"\ninitdb = { wal_segment_mb = 1 }', "initdb",
         "no cluster of mariadb is made by initdb; remove it"),
        ('engine = "fake"\nfake = { default_us = 1 }\ninitdb = { locale = "C" }', "initdb",
         'engine "fake" has no server; remove it'),
        ('engine = "fake"\nfake = { default_us = 1 }\ntransport = "tcp"', "transport",
         'engine "fake" has no server; remove it'),
        ('dsn = "postgresql://u@h/d"\ninitdb = { locale = "C" }', "initdb",
         "a server that runs elsewhere cannot be set up by dyno; remove it"),
        ('dsn = "postgresql://u@h/d"\ntransport = "socket"', "transport",
         "a server that runs elsewhere cannot be set up by dyno; remove it"),
        ('version = "17"\ntransport = "tpc"', "transport",
         "must be 'socket' or 'tcp', not 'tpc'; did you mean `tcp`?"),
        ('version = "17"\ninitdb = { locale = "" }', "initdb.locale",
         '\'\' is not a locale; write it as "en_US.UTF-8" or "C"'),
        ('version = "17"\ninitdb = { locale = "--lc-time=C" }', "initdb.locale",
         '\'--lc-time=C\' is not a locale; write it as "en_US.UTF-8" or "C"'),
        *((f'version = "17"\ninitdb = {{ wal_segment_mb = {size} }}', "initdb.wal_segment_mb",
           f"must be a power of two from 1 to 1024, not {size}") for size in (0, 3, 2048)),
        ('version = "17"\ninitdb = { local = "C" }', "initdb.local",
         "unknown key; did you mean `locale`?"),
        ('version = "17"\nconfig = "m5.metal_study"', "config",
         "`m5.metal_study`: of m5.metal nothing is published that `_study` could take: "
         "leave it out"),
    ],
)  # fmt: skip
def test_what_an_arm_cannot_have_is_one_line(written: str, key: str, sentence: str) -> None:
    with pytest.raises(PlanError) as raised:
        arm(written)
    assert str(raised.value) == f"/plans/p.toml: key `arms.a.{key}`: {sentence}"


@pytest.mark.parametrize("rest_s", [-1, 7_201])
def test_a_rest_has_its_limits(rest_s: int) -> None:
    text = f'[arms.a]\nversion = "17"\n[schedule]\nrest_s = {rest_s}\n{WORKLOAD}'
    with pytest.raises(PlanError, match=r"key `schedule.rest_s`: must be from 0 to 7,200, not"):
        plan.parse(text, None)


# --- What comes of it ------------------------------------------------------------------------


def test_without_keys_clusters_are_made_and_found_as_before_there_was_a_choice() -> None:
    for version_num in (9_06_24, 12_00_22, 18_00_06):
        made = settled('version = "17"\nconfig = "x10a"', version_num)
        assert (made.initdb, made.transport) == (Initdb(), "socket")
        assert initdb.arguments(made.initdb, version_num) == LAB_S
        assert initdb.identity(made.initdb, version_num) == {"initdb": list(LAB_S)}
        assert plan_record.in_force(made) == {}


def test_what_is_asked_for_becomes_arguments_of_initdb() -> None:
    asked = Initdb(locale=EN_US, data_checksums=False, wal_segment_mb=64)
    shared = (f"--locale={EN_US}", "--lc-messages=C", "--wal-segsize=64", "-E", "UTF8", "-N")
    assert initdb.arguments(asked, 17_00_06) == ("-U", "dyno", "-A", "trust", *shared)
    assert initdb.arguments(asked, 18_00_06)[4:] == ("--no-data-checksums", *shared)
    # What sorts is a part of what the data are: indexes of one library are not another's.
    assert initdb.identity(asked, 17_00_06)["collation"] == locales.library()


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    ("written", "version_num", "sentence"),
    [
        ("initdb = { wal_segment_mb = 1 }", 10_00_23,
         "arms.a.initdb.wal_segment_mb: initdb knows it since version 11: remove the key"),
        ('initdb = { wal_segment_mb = 64 }\nsettings = { min_wal_size = "80MB" }', 17_00_06,
         "arms.a.initdb.wal_segment_mb: min_wal_size of 80MB holds less than 2 segments of 64 MB: "
         "make it 128MB or more in `settings`"),
        ('initdb = { wal_segment_mb = 64 }\nsettings = { max_wal_size = 100 }', 17_00_06,
         "arms.a.initdb.wal_segment_mb: max_wal_size of 100 holds less than 2 segments of 64 MB: "
         "make it 128MB or more in `settings`"),
        ('initdb = { locale = "de_DE" }', 17_00_06,
         "arms.a.initdb.locale: locale `de_DE` is of ISO-8859-1, and the lab's databases are UTF8: "
         'write one of UTF-8, such as "en_US.UTF-8"'),
    ],
)  # fmt: skip
def test_what_a_version_or_its_settings_cannot_have_is_one_line(
    written: str, version_num: int, sentence: str
) -> None:
    with pytest.raises(PlanError) as raised:
        settled(f'version = "17"\n{written}', version_num)
    assert str(raised.value) == sentence


def test_a_locale_that_is_not_here_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    remedy = (
        "install it by `localedef -i xx_YY -f UTF-8 xx_YY.UTF-8` (of Debian's package `locales`), "
        'or write initdb = { locale = "C.UTF-8" }'
    )
    with pytest.raises(HostError) as raised:
        settled('version = "17"\ninitdb = { locale = "xx_YY.UTF-8" }')
    lacks = "this host has no locale `xx_YY.UTF-8`: "
    assert str(raised.value) == f"arms.a.initdb.locale: {lacks}{remedy}"
    monkeypatch.setattr(locales, "encoding", lambda name: None)
    with pytest.raises(HostError, match=r"^arms\.a\.config: `x10a_study` names it: this host has"):
        settled('version = "17"\nconfig = "x10a_study"')


def test_looking_for_a_locale_leaves_that_of_the_process_alone() -> None:
    before = locale.setlocale(locale.LC_ALL)
    assert locales.encoding("xx_YY.UTF-8") is None
    assert locales.encoding("C") is not None
    assert locale.setlocale(locale.LC_ALL) == before


# --- The constants of studies ----------------------------------------------------------------


@pytest.mark.usefixtures("everywhere")
def test_a_study_s_constants_come_by_the_tag_and_the_arm_s_own_keys_go_before() -> None:
    made = settled('version = "17"\nconfig = "x10a_study_c8r32"')
    assert (made.initdb, made.transport) == (Initdb(locale=EN_US), "tcp")
    own = 'initdb = { locale = "C.UTF-8" }\ntransport = "socket"'
    made = settled(f'version = "18"\nconfig = "x10b_study"\n{own}', 18_00_06)
    assert (made.initdb, made.transport) == (Initdb(locale="C.UTF-8"), "socket")
    plain, tagged = (settled(f'version = "17"\nconfig = "{of}"') for of in ("x10a", "x10a_study"))
    assert plain.values == tagged.values


def test_studies_of_mysql_used_tcp_but_for_the_insert_benchmark() -> None:
    assert of_mysql('config = "z12a_study"', "sysbench").transport == "tcp"
    assert of_mysql('config = "z13a_study"', "insert-benchmark").transport == "socket"
    assert of_mysql('config = "z11a_study"', "insert-benchmark").transport == "tcp"  # of 2024
    both = ("sysbench", "insert-benchmark")
    assert of_mysql('config = "z12a"', *both).transport == "socket"
    assert of_mysql('config = "z12a_study"\ntransport = "tcp"', *both).transport == "tcp"
    with pytest.raises(PlanError) as raised:
        of_mysql('config = "z12a_study"', *both)
    assert str(raised.value) == (
        "arms.a.config: the studies of `z12a_study` used tcp for sysbench and socket for "
        "insert-benchmark: write `transport`, or a plan for each workload"
    )


def test_a_preset_s_constants_are_shown() -> None:
    written = show("x10a", capacity=HOST)
    constants = f"locale = {EN_US}, data_checksums = true, transport = tcp"
    assert f"# constants of its studies, by `_study`: {constants}" in written
    assert "_study" not in show("m5.metal", capacity=HOST)


# --- In a folder, and in reports -------------------------------------------------------------


def kept(of: ArmSettings) -> Json:
    """plan.json of a plan of one arm, as far as it depends on how that is set."""
    return {"arms": [{"name": "a"} | plan_record.in_force(of)], "blocks": 1}


@pytest.mark.usefixtures("everywhere")
def test_neither_key_changes_in_a_plan_that_goes_on() -> None:
    before = kept(settled('version = "17"\nconfig = "x10a"'))
    assert before == {"arms": [{"name": "a"}], "blocks": 1}, "as older versions wrote it"
    for more, refusal in (
        ('transport = "tcp"', '`arms.a.transport` is "tcp" now and was null'),
        ('initdb = { locale = "C.UTF-8" }',
         '`arms.a.initdb.locale` is "C.UTF-8" now and was null'),
        ("initdb = { data_checksums = false }",
         "`arms.a.initdb.data_checksums` is false now and was null"),
        ('transport = "socket"\ninitdb = { locale = "C", wal_segment_mb = 16 }', None),
    ):  # fmt: skip
        now = kept(settled(f'version = "17"\nconfig = "x10a"\n{more}'))
        assert continuation.refused(before, now, 1) == refusal
    tagged = kept(settled('version = "17"\nconfig = "x10a_study"'))
    assert tagged["arms"][0]["initdb"] == {"locale": EN_US}
    assert continuation.refused(before, tagged, 1) is not None
    other = settled('version = "17"\nconfig = "x10a_study"\ntransport = "socket"')
    refusal = '`arms.a.transport` is null now and was "tcp"'
    assert continuation.refused(tagged, kept(other), 1) == refusal


def of_servers(**changes: object) -> dict[str, ServerFacts]:
    plain = ServerFacts(
        initdb=Initdb(),
        transport="socket",
        settings={"lc_time": "C", "work_mem": "4MB"},
        nondefault={},
    )
    other = structs.replace(plain, settings={"lc_time": EN_US, "work_mem": "4MB"})
    return {"a": plain, "b": structs.replace(other, **changes)}


def test_a_planned_way_is_a_planned_difference() -> None:
    servers = of_servers(initdb=Initdb(locale=EN_US), transport="tcp")
    named = ArmRecord(name="b", initdb={"locale": EN_US}, transport="tcp")
    found = differences.differences("ab", servers, [ArmRecord(name="a"), named])
    assert all(one.planned for one in found)
    told: Mapping[str, Mapping[str, str]] = {one.what: one.values for one in found}
    assert told["transport"] == {"a": "socket", "b": "tcp"}
    assert told["initdb"]["b"] == f"data_checksums=True, locale={EN_US}, wal_segment_mb=16"
    # Nothing of it where nobody asked.
    arms = [ArmRecord(name="a"), ArmRecord(name="b")]
    (only,) = differences.differences("ab", of_servers(), arms)
    assert (only.what, only.planned) == ("setting lc_time (default)", False)


def test_the_introduction_says_how_a_server_was_made_and_reached() -> None:
    named = ArmRecord(name="b", initdb={"locale": "C.UTF-8"}, transport="tcp")
    said = setup._build("b", ServerFacts(engine="postgres", version="17.6"), named)
    made = "made by initdb with locale = C.UTF-8, reached over TCP at 127.0.0.1"
    assert said == f"b is PostgreSQL 17.6, {made}."


def test_a_plan_that_is_taken_apart_exchanges_both() -> None:
    texts = ('version = "17"', 'version = "17"\ninitdb = { locale = "C.UTF-8" }\ntransport = "tcp"')
    old, new = (
        study.spelled_out(replace(arm(text), name=name), settled(text))
        for name, text in zip(("old", "new"), texts, strict=True)
    )
    numbers = {"old": 17_00_06, "new": 17_00_06}
    its = Sides(base=old, arm=new, version_nums=numbers, host={"old": HOST, "new": HOST})
    found = attributes.exchanges(its)
    assert {one.name: one.values for one in found} == {
        "locale": ("unset", "C.UTF-8"),
        "transport": ("unset", "tcp"),
    }
    _, arms = attributes.designed(its, found)
    assert [(dict(one.initdb), one.transport) for one in arms] == [
        ({}, None),
        ({"locale": "C.UTF-8"}, None),
        ({}, "tcp"),
        ({"locale": "C.UTF-8"}, "tcp"),
    ]


@pytest.mark.usefixtures("everywhere")
def test_what_the_tag_means_is_spelled_out_for_arms_that_mix_it() -> None:
    text = 'version = "17"\nconfig = "x10a_study_c8r32"'
    spelled = study.spelled_out(arm(text), settled(text))
    assert (spelled.config, dict(spelled.initdb), spelled.transport) == (
        "x10a_c8r32",
        {"locale": EN_US},
        "tcp",
    )


# --- The rest between servers ----------------------------------------------------------------

FAKES = """
[arms.a]
engine = "fake"
fake = { default_us = 100 }
[arms.b]
engine = "fake"
fake = { default_us = 100 }
[workload]
name = "insert-benchmark"
parameters = { rows = 1000, seconds = 1 }
steps = ["l.i0"]
[schedule]
blocks = 2
interleave = "{interleave}"
rest_s = {rest_s}
"""


def fakes(rest_s: float, interleave: str = "run") -> plan.Plan:
    text = FAKES.replace("{rest_s}", str(rest_s)).replace("{interleave}", interleave)
    return plan.parse(text, Path("/plans/p.toml"))


def test_the_host_rests_before_each_server_but_the_first(tmp_path: Path) -> None:
    begun_s = time.monotonic()
    folder = blocks.run(fakes(0.3), tmp_path, wait=True).folder
    took_s = time.monotonic() - begun_s
    rested = {
        (number, name): json.loads(
            (folder / "blocks" / f"{number:03}" / name / "server.json").read_text()
        ).get("rested_s")
        for number in (1, 2)
        for name in "ab"
    }
    without = [place for place, seconds in rested.items() if seconds is None]
    order = json.loads((folder / "blocks" / "001" / "order.json").read_text())["order"]
    assert without == [(1, order[0])]
    assert all(0.3 <= seconds <= took_s for seconds in rested.values() if seconds is not None)
    assert took_s >= 3 * 0.3


def test_the_time_of_a_plan_has_its_rests() -> None:
    one, more = (preflight.prepare(fakes(60, how)) for how in ("run", "run"))
    assert [rests_s(fakes(60), number) for number in (1, 2)] == [60, 120]
    (line,) = dry_run.of_time(fakes(60), one)
    assert line.endswith(", 3 min 00 s of it rest (1 min 00 s between servers)")
    (line,) = dry_run.of_time(fakes(0), more)
    assert "rest" not in line


def test_servers_that_are_up_at_once_rest_together() -> None:
    together = plan.parse(
        FAKES.replace("{rest_s}", "60")
        .replace("{interleave}", "step")
        .replace("insert-benchmark", "sysbench")
        .replace('"l.i0"', '"fill", "point-query"'),
        None,
    )
    assert [rests_s(together, number) for number in (1, 2)] == [0, 60]


def test_what_is_left_of_a_plan_has_the_rests_that_are_to_come(tmp_path: Path) -> None:
    with blocks.opened(fakes(60), tmp_path, quiet=True) as lab:
        todo = blocks.missing_blocks(lab.plan, lab.results)
        legs = blocks.legs_of(lab, todo)
        assert [leg.workload == REST for leg in legs] == [
            *(False, False),
            *(True, False, False) * 3,
        ]
        lab.servers.began()
        lab.servers.ended()
        assert blocks.legs_of(lab, todo)[0].workload == REST


def test_a_rest_stays_as_it_was_in_a_plan_that_goes_on() -> None:
    plain, rested = ({"schedule": plan_record.schedule_json(fakes(s).schedule)} for s in (0, 60))
    assert "rest_s" not in plain["schedule"]
    refusal = "`schedule.rest_s` is 60.0 now and was null"
    assert continuation.refused(plain, rested, 1) == refusal
