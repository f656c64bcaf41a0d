"""The Insert Benchmark's other forms: sets of steps, switches, sizes; SQL texts by their value."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno import plan, workload
from dbdyno.model import Step
from dbdyno.model.error import WorkloadError
from workload_reader import job_of, role, sql

ROOT = Path(__file__).parent.parent


def made(
    parameters: Mapping[str, Any] | None = None,
    *,
    steps: list[str] | None = None,
    version: tuple[int, ...] | None = None,
    **chosen: Any,
) -> dict[str, Step]:
    """The workload's steps by name; `chosen` are its set, its preset and its fill."""
    loaded = workload.load("insert-benchmark", **chosen)
    expanded = workload.expand(loaded, parameters or {}, "postgres", version=version, steps=steps)
    return {step.name: step for step in expanded}


def test_orioledb_s_tables_are_made_by_using_it_where_the_server_has_it() -> None:
    step = made({"storage_engine": "orioledb"})["l.i0"]
    _, extension, table, *_ = step.setup
    assert extension == "CREATE EXTENSION IF NOT EXISTS orioledb"
    assert table.endswith(") USING orioledb")
    (requirement,) = step.requires
    assert requirement.part == "storage engine `orioledb`"
    assert "OrioleDB" in requirement.remedy


def refused(parameters: Mapping[str, Any] | None = None, **more: Any) -> str:
    with pytest.raises(WorkloadError) as raised:
        made(parameters, **more)
    line = str(raised.value)
    assert "\n" not in line
    return line.removeprefix("insert-benchmark.toml: ")


def spaced(text: str) -> str:
    return " ".join(text.split())


# --- Sets --------------------------------------------------------------------------------------

LOADS = ("l.i0", "l.x")
SETS = {
    "current": (
        *("l.i1", "l.i2", "cleanup"),
        *("qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"),
    ),
    "smooth": (
        *("l.i1", "l.i2", "cleanup"),
        *("qr100e", "qp100e", "qr500e", "qp500e", "qr1000e", "qp1000e"),
    ),
    "prepared": ("l.i1p", "l.i2p", "cleanup"),
    "2023": ("l.i1", "vacuum", "q100", "q500", "q1000"),
    "2020": (
        *("l.i1", "vacuum"),
        *(f"q{rate}.{time}" for rate in (100, 200, 400, 600, 800, 1000) for time in (1, 2)),
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_a_set_has_its_steps_in_the_files_order(name: str) -> None:
    expanded = made(set=name)
    assert tuple(expanded) == LOADS + SETS[name]
    assert [step.ordinal for step in expanded.values()] == list(range(1, len(expanded) + 1))


def test_a_plan_that_says_nothing_gets_todays_form() -> None:
    assert made() == made(set="current")


def test_steps_of_another_set_are_there_where_they_are_named() -> None:
    expanded = made({"rates": [100]}, steps=["l.i0", "l.x", "l.i1p", "qr100", "qr100e"])
    assert {name: step.ordinal for name, step in expanded.items()} == {
        "l.i0": 1,
        "l.x": 2,
        "l.i1p": 5,
        "qr100": 7,
        "qr100e": 9,
    }


def test_of_two_steps_with_one_name_the_plans_set_has_its_own() -> None:
    for chosen, roles in {"2020": ["insert"], "2023": ["insert", "delete"]}.items():
        step = made(set=chosen, steps=["l.i0", "l.x", "l.i1"])["l.i1"]
        assert [one["name"] for one in job_of(step)["roles"]] == roles


def test_a_name_that_several_other_sets_have_is_refused() -> None:
    line = refused(set="prepared", steps=["l.i0", "l.x", "l.i1"])
    assert line == (
        "step `l.i1` is in the sets `2020` and `2023` and `current` and `smooth`; "
        "choose one with the key `set`"
    )


def test_an_unknown_set_step_or_preset_names_what_is_near() -> None:
    assert refused(set="curent") == "no set `curent`; did you mean `current`?"
    assert refused(preset="8c32g-cache") == (
        "no preset `8c32g-cache`; did you mean `8c32g-cached`?"
    )
    assert refused(steps=["l.i1pp"]).endswith("; did you mean `l.i1p`?")


# --- The form of mid-2023 ----------------------------------------------------------------------


def test_the_form_of_2023_has_eight_clients_and_ten_times_the_rows_in_l_i1() -> None:
    expanded = made({"rows": 20_000_000, "start_each_s": 0}, set="2023")
    assert {job_of(step)["clients"] for step in expanded.values()} == {8}
    assert expanded["q100"].tables == tuple(f"pi{number}" for number in range(1, 9))
    assert role(expanded["l.i1"], "insert")["stop"] == {"operations": 200_000_000 // 50}
    nominal = [expanded[name].nominal_s for name in ("q100", "q500", "q1000")]
    assert nominal == [3600, 3610, 3610]
    short = made({"clients": 2, "seconds": 10, "start_each_s": 0}, set="2023")
    assert short["q500"].nominal_s == 20


@pytest.mark.parametrize("name", ["l.i1", "q100", "q1000"])
def test_the_delete_of_2023_takes_a_range_of_keys(name: str) -> None:
    step = made(set="2023")[name]
    assert sql(step, "delete_range") == (
        "DELETE FROM <pi> WHERE transactionid >= <cursor tail> AND transactionid < <tail_end>"
    )
    (end,) = [one for one in job_of(step)["values"] if one["name"] == "tail_end"]
    assert end["uniform"] == [{"cursor": 0, "plus": 50}] * 2
    (tail,) = job_of(step)["cursors"]
    assert job_of(step)["statements"][tail["on"]]["name"] == "delete_range"
    assert (tail["advance"], tail["resync_every"]) == (50, None)
    assert role(step, "delete")["pace"] == {"kind": "tied", "to": "insert", "lead": 8}


def test_queries_of_2023_and_2020_are_ranges_only() -> None:
    for chosen, name in (("2023", "q500"), ("2020", "q400.2")):
        step = made(set=chosen)[name]
        sent = [
            job_of(step)["programs"][one["program"]]["name"]
            for one in role(step, "query")["choose"]
        ]
        assert sent == ["market", "register", "pdc"]
        assert step.sla is not None
        assert step.sla.rows_per_s == job_of(step)["clients"] * int(name[1:4])


def test_between_writes_and_queries_came_a_vacuum_without_a_wait() -> None:
    step = made(set="2023")["vacuum"]
    assert sql(step, "vacuum") == "VACUUM (VERBOSE) <pi>"
    assert (role(step, "vacuum")["connections"], step.pad_to_s, step.measured) == (8, None, False)


# --- The form of 2020 --------------------------------------------------------------------------


def test_the_form_of_2020_inserts_only_and_its_tables_grow() -> None:
    parameters = {"clients": 2, "rows": 1_000_000, "seconds": 60}
    expanded = made(parameters, set="2020")
    index = expanded["l.x"]
    (program,) = job_of(index)["programs"]
    sent = [job_of(index)["statements"][number]["name"] for _, number in program["code"]]
    assert sent == ["insert"] * 500 + ["create_market", "create_register", "create_pdc"]
    assert index.headline is not None
    assert index.headline.work == 2 * 1_000_000 + 100_000
    for name, step in expanded.items():
        assert "delete" not in [one["name"] for one in job_of(step)["roles"]], name
    assert [one["name"] for one in job_of(expanded["q100.1"])["roles"]] == ["insert", "query"]
    assert job_of(expanded["q100.1"])["stop"]["roles"] == ["insert"]
    loaded = workload.load("insert-benchmark", set="2020")
    guess = workload.estimate(loaded, parameters, tuple(expanded.values()))
    assert guess.rows == 2 * (2_000_000 + 50_000 + 2 * 60 * 3100)


# --- Steps of other names ----------------------------------------------------------------------


def test_smooth_steps_differ_in_their_arrivals_alone() -> None:
    today, smooth = made(set="current"), made(set="smooth")
    for name in ("qr100", "qp100", "qr1000", "qp1000"):
        burst, even = job_of(today[name]), job_of(smooth[f"{name}e"])
        paces = [role(step, "insert")["pace"] for step in (today[name], smooth[f"{name}e"])]
        assert [pace["arrivals"] for pace in paces] == ["burst", "even"]
        burst["roles"][0]["pace"]["arrivals"] = "even"
        assert {**burst, "step": ""} == {**even, "step": ""}


def test_prepared_steps_have_todays_statements_in_another_protocol() -> None:
    today, prepared = made(set="current"), made(set="prepared")
    for name in ("l.i1", "l.i2"):
        plain, parsed = job_of(today[name]), job_of(prepared[f"{name}p"])
        assert {one["protocol"] for one in parsed["statements"]} == {"prepared"}
        for one in parsed["statements"]:
            one["protocol"] = "simple"
        assert {**plain, "step": ""} == {**parsed, "step": ""}


# --- Switches ----------------------------------------------------------------------------------

INDEXES = ("create_market", "create_register", "create_pdc")
SHAPES = ("market", "register", "pdc")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_with_fewer_indexes_the_queries_that_need_them_are_left_out(count: int) -> None:
    expanded = made({"indexes": count})
    (program,) = job_of(expanded["l.x"])["programs"]
    numbers = [number for _, number in program["code"]]
    sent = [job_of(expanded["l.x"])["statements"][number]["name"] for number in numbers]
    assert sent == ["insert", *INDEXES[:count]]
    names = [one["name"] for one in job_of(expanded["qr100"])["statements"]]
    assert names == ["insert", "delete", *SHAPES[:count]]
    assert len(role(expanded["qr100"], "query")["choose"]) == count


def test_without_indexes_there_is_no_l_x_and_range_steps_are_one_clear_error() -> None:
    expanded = made({"indexes": 0}, steps=["l.i0", "l.i1", "qp100"])
    assert list(expanded) == ["l.i0", "l.i1", "qp100"]
    assert refused({"indexes": 0}) == (
        "key `choices.qr`: nothing to choose from: all weights are 0; "
        "change `indexes`, which is 0, or leave the step out"
    )


def test_indexes_can_be_made_with_the_table() -> None:
    expanded = made({"secondary_at_start": 1, "indexes": 2, "clients": 2})
    assert "l.x" not in expanded
    assert [one for one in expanded["l.i0"].setup if "INDEX" in one] == [
        "CREATE INDEX pi1_marketsegment ON pi1 (productid,customerid,price)",
        "CREATE INDEX pi1_registersegment ON pi1 (cashregisterid,customerid,price)",
        "CREATE INDEX pi2_marketsegment ON pi2 (productid,customerid,price)",
        "CREATE INDEX pi2_registersegment ON pi2 (cashregisterid,customerid,price)",
    ]
    loaded = workload.load("insert-benchmark")
    for at_start, per_row in ((0, 103), (1, 206)):
        parameters = {"secondary_at_start": at_start}
        steps = workload.expand(loaded, parameters, "postgres", steps=["l.i0"])
        assert workload.estimate(loaded, parameters, steps).disk_bytes == per_row * 1_000_000


def test_partitions_share_out_what_is_ever_inserted() -> None:
    parameters = {"clients": 2, "rows": 3000, "rows_i1": 600, "rows_i2": 300, "partitions": 3}
    (step,) = made({**parameters, "rates": [10, 20], "seconds": 50}, steps=["l.i0"]).values()
    setup = [spaced(one) for one in step.setup[:6]]
    assert setup[0] == "DROP TABLE IF EXISTS pi1"
    assert setup[1].endswith("data varchar(4000) ) PARTITION BY RANGE (transactionid)")
    # All tables: (3000 + 600 + 300)*2 + 100 + 2 steps a rate * 30 rows/s * 50 s * 2 clients.
    each = (7800 + 100 + 6000) // 3 // 2
    assert setup[3:] == [
        f"CREATE TABLE pi1_p0 PARTITION OF pi1 FOR VALUES FROM (0) TO ({each})",
        f"CREATE TABLE pi1_p1 PARTITION OF pi1 FOR VALUES FROM ({each}) TO ({2 * each})",
        f"CREATE TABLE pi1_p2 PARTITION OF pi1 FOR VALUES FROM ({2 * each}) TO (MAXVALUE)",
    ]
    given = made({"partitions": 1, "rows_per_partition": 7}, steps=["l.i0"])["l.i0"].setup
    assert given[-1] == "CREATE TABLE pi1_p0 PARTITION OF pi1 FOR VALUES FROM (0) TO (MAXVALUE)"
    assert not any("PARTITION" in one for one in made()["l.i0"].setup)


def test_the_other_switches_are_where_they_should_be() -> None:
    parameters = {
        "keys": 3,
        "rows_per_query": 7,
        "resync": 50,
        "lead": 2,
        "query_connections": 4,
        "data_shortest": 5,
        "data_longest": 9,
        "delete_form": "range",
    }
    expanded = made(parameters)
    assert sql(expanded["qp100"], "points").endswith("transactionid IN ([3× <key>])")
    for name in SHAPES:
        assert sql(expanded["qr100"], name).endswith("LIMIT 7")
    shapes = [one for one in job_of(expanded["qr100"])["statements"] if one["name"] in SHAPES]
    assert [one["rows"] for one in shapes] == [7] * 3
    assert job_of(expanded["qr100"])["cursors"][0]["resync_every"] == 50
    assert role(expanded["l.i1"], "delete")["pace"]["lead"] == 2
    assert role(expanded["qr100"], "query")["connections"] == 4
    data = [one for one in job_of(expanded["l.i1"])["values"] if one["name"] == "data"]
    assert data[0]["text"]["length"] == [5, 9]
    assert sql(expanded["l.i2"], "delete_range").startswith("DELETE FROM <pi> WHERE transactionid")


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("indexes", 4, "0, 1, 2 or 3"),
        ("indexes", 1.5, "0, 1, 2 or 3"),
        ("secondary_at_start", 2, "0 or 1"),
        ("delete_form", "rnge", "limit or range"),
    ],
)
def test_a_switch_that_is_set_to_what_is_none_is_refused(name: str, value: object, wanted: str):
    line = refused({name: value})
    assert line == f"key `checks`: `{name}` has to be {wanted}, but `{name}` is {value!r}"


def test_protocols_are_switches_too() -> None:
    expanded = made({"write_protocol": "extended", "query_protocol": "prepared"})
    protocols = {one["name"]: one["protocol"] for one in job_of(expanded["qr100"])["statements"]}
    assert protocols == {
        "insert": "extended",
        "delete": "extended",
        "market": "prepared",
        "register": "prepared",
        "pdc": "prepared",
    }
    assert all(one["types"] == [] for one in job_of(expanded["qp100"])["statements"])
    assert "no protocol `prepare`; did you mean `prepared`?" in refused(
        {"query_protocol": "prepare"}
    )


# --- Long transactions -------------------------------------------------------------------------


def test_long_transactions_are_off_by_default() -> None:
    for chosen in SETS:
        for step in made(set=chosen).values():
            assert "htap" not in [one["name"] for one in job_of(step)["roles"]]
            assert not any(
                verb == "sleep"
                for one in job_of(step)["programs"]
                for verb, _ in one["code"]
                if one["name"] != "wait"  # between rounds of vacuum
            )


@pytest.mark.parametrize("name", ["l.i1", "l.i2", "qr100", "qp1000"])
def test_a_long_transaction_of_each_client_is_held_open(name: str) -> None:
    step = made({"htap_seconds": 2.5, "clients": 3})[name]
    htap = role(step, "htap")
    assert (htap["per"], htap["connections"], htap["pace"]) == ("client", 1, {"kind": "closed"})
    assert (htap["stop"], htap["table"]) == (None, {"of": "pi", "by": "own"})
    assert step.roles["htap"] == "other"
    code = job_of(step)["programs"][htap["choose"][0]["program"]]["code"]
    names = [one["name"] for one in job_of(step)["statements"]]
    assert [(verb, n if verb == "sleep" else names[n]) for verb, n in code] == [
        ("send", "begin"),
        ("send", "peek"),
        ("sleep", 2_500_000),
        ("send", "COMMIT"),
    ]
    assert sql(step, "begin") == "BEGIN ISOLATION LEVEL READ COMMITTED"
    assert sql(step, "peek") == "SELECT * FROM <pi> LIMIT 1"
    assert step.nominal_s == made({"clients": 3})[name].nominal_s


# --- Presets -----------------------------------------------------------------------------------

PUBLISHED = {
    "8c32g-cached": (1, 30, 40, 10),
    "8c32g-cached-4": (4, 10, 16, 4),
    "8c32g-io-bound": (1, 800, 4, 1),
    "8c32g-io-bound-4": (4, 200, 4, 1),
    "24c64g-io-bound": (8, 250, 4, 1),
    "32c128g-cached": (12, 15, 40, 10),
    "32c128g-io-bound": (12, 300, 4, 1),
    "48c128g-cached": (20, 10, 16, 4),
    "48c128g-io-bound": (20, 200, 4, 1),
    "8c32g-cached-2025-06": (1, 20, 40, 10),
    "48c128g-cached-2024-09": (20, 20, 40, 10),
    "48c128g-less-io-bound-2024-09": (20, 64, 4, 1),
    "48c128g-more-io-bound-2024-09": (20, 200, 4, 1),
}


def sizes(step_of: Mapping[str, Step]) -> tuple[int, ...]:
    """Clients, then millions of rows of each in l.i0, l.i1, l.i2."""
    rows = {"l.i0": 100, "l.i1": 50, "l.i2": 5}
    stops = {
        name: role(step_of[name], "insert")["stop"]["operations"] * each
        for name, each in rows.items()
    }
    return job_of(step_of["l.i0"])["clients"], *(count // 1_000_000 for count in stops.values())


@pytest.mark.parametrize("name", PUBLISHED)
def test_presets_have_the_published_sizes(name: str) -> None:
    assert sizes(made(preset=name)) == PUBLISHED[name]


def test_presets_of_2023_have_the_published_sizes() -> None:
    for name, millions in {"15c120g-cached": (20, 200), "15c120g-io-bound": (500, 40)}.items():
        expanded = made(preset=name, set="2023")
        found = [role(expanded[one], "insert")["stop"]["operations"] for one in ("l.i0", "l.i1")]
        assert job_of(expanded["l.i0"])["clients"] == 8
        assert (found[0] * 100 // 10**6, found[1] * 50 // 10**6) == millions


@pytest.mark.parametrize(("cores", "gb", "clients"), [(8, 32, 3), (32, 128, 12), (2, 2, 1)])
def test_cached_and_io_bound_are_scaled_to_the_host(cores: int, gb: int, clients: int) -> None:
    for preset, share in (("cached", 0.35), ("io-bound", 7)):
        loaded = workload.load("insert-benchmark", preset=preset)
        host = workload.host(cores, gb << 30)
        steps = workload.expand(loaded, host, "postgres")
        guess = workload.estimate(loaded, host, steps)
        assert job_of(steps[0])["clients"] == clients
        assert guess.disk_bytes / (gb << 30) == pytest.approx(share, rel=0.01)


def test_a_plans_parameters_go_before_its_preset_and_that_before_its_set() -> None:
    host = workload.host(64, 64 << 30)
    expanded = made({**host, "clients": 4}, preset="cached")
    assert job_of(expanded["l.i0"])["clients"] == 4
    rows = role(expanded["l.i0"], "insert")["stop"]["operations"] * 100
    assert rows == pytest.approx(0.35 * (64 << 30) / 300 / 4, rel=0.001)
    assert job_of(made(host, preset="cached", set="2023")["l.i0"])["clients"] == 24
    smaller = made({**host, "host_memory_gb": 1, "clients": 1}, preset="cached")
    assert role(smaller["l.i0"], "insert")["stop"]["operations"] * 100 < 1_300_000


# --- Plans -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        path
        for folder in ("dbdyno/plan/shipped", "dbdyno/plan/shipped/studies")
        for path in sorted((ROOT / folder).glob("*.toml"))
    ],
    ids=lambda path: path.stem,
)
def test_a_shipped_plan_is_right_at_its_size_and_at_the_sizes_that_its_comment_names(path: Path):
    text = path.read_text()
    read = plan.parse(text, path)
    assert text.startswith("# ")
    for preset in set(re.findall(r'`preset = "([^"]+)"`', text)):
        (use,) = read.workloads
        loaded = workload.load(use.name, set=use.set, preset=preset)
        assert workload.expand(loaded, workload.host(8, 32 << 30), "postgres", version=(18,))


def test_the_tail_is_read_while_deletes_are_queued_and_only_where_there_are_any() -> None:
    steps = made()
    found = {
        name: [
            (one["name"], one["on"], one.get("queued")) for one in job_of(steps[name])["cursors"]
        ]
        for name in ("l.x", "l.i1", "qp100")
    }
    assert found == {
        "l.x": [],
        "l.i1": [("tail", 1, True)],
        "qp100": [("tail", 1, True), ("head", 2, None)],
    }


def test_keys_are_int_up_to_two_thousand_million_rows() -> None:
    def types(rows: int) -> set[str]:
        step = made({"rows": rows, "rows_i1": 1_000, "rows_i2": 1_000})["qp100"]
        return {
            kind
            for one in job_of(step)["statements"]
            if one["name"] == "points"
            for kind in one["types"]
        }

    assert types(1_990_000_000) == {"int"}
    assert types(2_000_000_000) == {"bigint"}
