"""PostgreSQL's official source: brought from a site of the official layout, built, found again."""

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fake_source
from archive_site import Site, served
from dbdyno import cli, engine, plan
from dbdyno.builds import cache as built
from dbdyno.builds import compile, download, release, source
from dbdyno.builds import flags as recipe
from dbdyno.builds.compile import BuildRequest
from dbdyno.host import lock, place
from dbdyno.model import Arm, Plan
from dbdyno.model.error import PlanError, ServerError
from dbdyno.run import blocks
from dbdyno.run.check import dry_run, plan_record, preflight
from server_place import a_place

ARM = """
[arms.{name}]
version = "{version}"
build = "{build}"
{more}
"""
WORKLOAD = """
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 1000, rates = [100], seconds = 1 }
steps = ["l.i0", "l.x", "qr100"]
warm = "prewarm"
save = "post-l.x"

[server]
data_dir = "DATA"
"""
SIMPLE = WORKLOAD.replace('warm = "prewarm"\nsave = "post-l.x"\n', "")


def put(site: Site, version: str) -> Path:
    """Puts a release there, as the project does; returns its tarball."""
    here = site.folder / f"v{version}"
    here.mkdir(parents=True)
    tree = fake_source.make(site.folder.parent / f"tree-{version}", version)
    tarball = here / f"postgresql-{version}.tar.bz2"
    shutil.move(fake_source.tarball(tree), tarball)  # tar looks at the content, not the name
    checksum = hashlib.sha256(tarball.read_bytes()).hexdigest()
    (here / f"{tarball.name}.sha256").write_text(f"{checksum}  {tarball.name}\n")
    return tarball


@pytest.fixture(name="site")
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(lock, "default_path", lambda: tmp_path / "dyno.lock")
    with served(tmp_path / "site") as site:
        monkeypatch.setenv(release.VARIABLE, f"{site.address}/")
        yield site


@pytest.fixture(name="cache")
def _cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of our own, which the servers' account can enter."""
    with a_place() as made:
        monkeypatch.setattr(place, "cache_root", lambda: made.cache_root)
        yield made.cache_root


def quiet(text: str) -> None:
    """Takes lines of progress."""


def a_wish(version: str, name: str = "o2nofp", *, options: tuple[str, ...] = ()) -> BuildRequest:
    flags = recipe.named(engine.recipes("postgres"), name)
    found = compile.source_of("postgres", version, None)
    called = compile.name_of(found, flags, options) or "mine"
    return BuildRequest(engine="postgres", name=called, source=found, flags=flags, options=options)


def left(cache: Path) -> list[str]:
    """What lies in the cache beside logs."""
    return [str(one.relative_to(cache)) for one in cache.glob("[!b]*")] + [
        one.name for one in (cache / "builds").glob("*")
    ]


# --- The source --------------------------------------------------------------------------------


def test_a_version_is_brought_built_and_found_again_by_version_and_recipe(site: Site, cache: Path):
    tarball = put(site, "18.6")
    prefix = compile.build(a_wish("18.6"), engine.of("postgres").method(), quiet, cache)
    assert prefix == cache / "builds" / "postgres-18.6_o2nofp"
    assert left(cache) == ["postgres-18.6_o2nofp"]  # no tarball stays
    record = built.record(prefix)
    assert record is not None
    assert record["source"]["kind"] == "release"
    assert record["source"]["origin"].endswith("/v18.6/postgresql-18.6.tar.bz2")
    # A tarball that somebody brought by hand is the same source.
    by_hand = source.identify(str(shutil.copy(tarball, cache.parent / "by-hand.tar.bz2")))
    assert record["parts"]["source"] == by_hand.identity
    for version, name, found in (
        ("18.6", "o2nofp", prefix), ("18", "o2nofp", prefix), ("1", "o2nofp", None),
        ("18.60", "o2nofp", None), ("17", "o2nofp", None), ("18", "o3", None),
    ):  # fmt: skip
        assert built.of_release("postgres", version, name, cache) == found
    put(site, "18.7")  # is not asked for where one is here
    arm = Arm(name="a", engine="postgres", version="18", build="o2nofp")
    assert compile.settled([arm], engine.recipes, cache) == [replace(arm, version="18.6")]


def test_only_a_release_by_the_recipe_alone_is_found_by_its_version(site: Site, cache: Path):
    put(site, "18.6")
    with_options = a_wish("18.6", options=("--without-icu",))
    assert with_options.name == "mine"
    compile.build(with_options, engine.of("postgres").method(), quiet, cache)
    tarball = fake_source.tarball(fake_source.make(site.folder.parent / "patched"))
    own = BuildRequest(
        engine="postgres", name="patched", source=source.identify(str(tarball)),
        flags=recipe.named(engine.recipes("postgres"), "o2nofp"),
    )  # fmt: skip
    compile.build(own, engine.of("postgres").method(), quiet, cache)
    assert built.of_release("postgres", "18.6", "o2nofp", cache) is None


def test_the_newest_minor_is_the_highest_number_in_the_sites_list(site: Site):
    for version in ("18.6", "18.10", "18beta1", "18rc1", "17.11", "9.6.24"):
        (site.folder / f"v{version}").mkdir()
    assert (release.newest("18"), release.newest("17")) == ("18.10", "17.11")
    site.asked.clear()
    assert release.newest("18.6") == "18.6"
    assert site.asked == []
    with pytest.raises(ServerError) as caught:
        release.newest("19")
    assert str(caught.value) == (
        f"no source of PostgreSQL 19 is at `{release.address()}/`: see its list"
    )


def test_a_wrong_checksum_is_one_line_and_leaves_nothing(site: Site, cache: Path):
    tarball = put(site, "18.6")
    with tarball.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(ServerError) as caught:
        compile.build(a_wish("18.6"), engine.of("postgres").method(), quiet, cache)
    said = str(caught.value)
    assert said.startswith(f"`{release.url_of('18.6')}` has the SHA-256 ")
    assert said.endswith("it is not built; try again later, or name a tarball")
    assert "\n" not in said
    assert left(cache) == []


def test_a_version_that_is_not_there_is_one_line(site: Site):
    with pytest.raises(ServerError) as caught:
        a_wish("18.99")
    assert str(caught.value) == (
        f"`{release.url_of('18.99')}.sha256`: 404 File not found: is there such a version?"
    )


def test_a_site_that_is_out_of_reach_is_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(release.VARIABLE, "http://127.0.0.1:1/pub")
    with pytest.raises(ServerError) as caught:
        a_wish("18")
    assert str(caught.value) == (
        "`http://127.0.0.1:1/pub/` cannot be reached: [Errno 111] Connection refused: check the "
        "network, name a mirror by `DYNO_POSTGRES_SOURCE`, or a tarball that is here"
    )
    monkeypatch.setenv(release.VARIABLE, "nowhere")
    with pytest.raises(ServerError, match="`nowhere/` cannot be reached: unknown url type"):
        a_wish("18")


def test_what_is_no_checksum_is_not_taken_for_one(site: Site):
    tarball = put(site, "18.6")
    (tarball.parent / f"{tarball.name}.sha256").write_text("<html>please log in</html>")
    with pytest.raises(ServerError, match=r"\.sha256` is no checksum: see `DYNO_POSTGRES_SOURCE`"):
        a_wish("18.6")


def test_a_download_that_is_interrupted_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def interrupted(url: str, remedy: str) -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "chunks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        release.bring("http://127.0.0.1:1/x", "0" * 64, tmp_path / "source")
    assert list(tmp_path.iterdir()) == []


def test_the_official_site_is_asked_where_nothing_else_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(release.VARIABLE, raising=False)
    assert release.url_of("18.6") == (
        "https://ftp.postgresql.org/pub/source/v18.6/postgresql-18.6.tar.bz2"
    )


def test_the_command_builds_a_version_by_its_recipe_and_finds_it_again(site: Site, cache: Path):
    put(site, "18.6")
    for _ in range(2):
        ended = CliRunner().invoke(
            cli.app, ["server", "build", "postgres", "18", "--recipe", "o2nofp"]
        )
        assert ended.exit_code == 0, ended.output
        assert str(cache / "builds" / "postgres-18.6_o2nofp") in ended.output
    assert site.asked.count("postgresql-18.6.tar.bz2") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["postgres", "18.6", "--cflags", "-O1"], "--name: missing: name this build for plans"),
        (["mysql", "8.4", "--name", "m"], "only PostgreSQL's source is brought: name a tarball of"),
        (["postgres", "18.6", "--tag", "x"], "`18.6` is no git checkout: drop the option"),
    ],
)
def test_what_the_command_cannot_do_is_one_line(site: Site, arguments: list[str], says: str):
    put(site, "18.6")
    ended = CliRunner().invoke(cli.app, ["server", "build", *arguments])
    assert says in str(ended.exception)


# --- In a plan ---------------------------------------------------------------------------------


def a_plan(cache: Path, *arms: str, workload: str = WORKLOAD) -> Plan:
    data = cache.parent / "data"
    return plan.parse("".join(arms) + workload.replace("DATA", str(data)), Path("/plans/p.toml"))


def an_arm(name: str, version: str = "18", build: str = "o2nofp", more: str = "") -> str:
    return ARM.format(name=name, version=version, build=build, more=more)


def test_a_check_says_what_would_be_brought_and_built_and_builds_nothing(site: Site, cache: Path):
    put(site, "18.6")
    made = a_plan(cache, an_arm("a"), an_arm("b", more='config = "x10b"'))
    lines = dry_run.describe(made, preflight.prepare(made))
    folder = cache / "builds" / "postgres-18.6_o2nofp"
    text = " ".join(" ".join(lines).split())
    assert f"arm a (base): PostgreSQL 18.6 in {folder}, still to be built" in text
    at = lines.index("before the first block postgres-18.6_o2nofp is built, which takes minutes")
    assert lines[at + 1 : at + 3] == [
        f"  source {release.url_of('18.6')}",
        "  recipe o2nofp: -O2 -fno-omit-frame-pointer",
    ]
    assert sum("before the first block" in line for line in lines) == 1
    assert left(cache) == []


@pytest.mark.long
def test_a_run_builds_what_is_missing_once_and_then_needs_no_network(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    put(site, "18.6")
    said: list[str] = []
    made = a_plan(cache, an_arm("a"), an_arm("b", "18.6"), workload=SIMPLE)
    prepared = blocks.ready(made, None, said.append)
    assert prepared.wishes == {}
    assert {build.version for build in prepared.builds.values()} == {"18.6"}
    assert said[0] == f"bringing {release.url_of('18.6')}"
    written = plan_record.plan_json(made, prepared)
    assert written["arms"][0]["build"]["key"] == written["arms"][1]["build"]["key"]
    put(site, "18.7")  # a plan that goes on keeps its version
    site.asked.clear()
    monkeypatch.setenv(release.VARIABLE, "http://127.0.0.1:1")
    again = blocks.ready(made, written, said.append)
    assert [build.version for build in again.builds.values()] == ["18.6", "18.6"]
    assert site.asked == []


def test_all_recipes_of_a_plan_are_of_one_release(site: Site, cache: Path):
    put(site, "18.6")
    compile.build(a_wish("18"), engine.of("postgres").method(), quiet, cache)
    made = a_plan(cache, an_arm("a"), an_arm("b", build="o3"), workload=SIMPLE)
    assert {one.version for one in preflight.prepare(made).builds.values()} == {"18.6"}
    put(site, "18.7")  # the o2nofp that is here is older than what an o3 would be made of
    prepared = preflight.prepare(made)
    assert {one.version for one in prepared.builds.values()} == {"18.7"}
    assert set(prepared.wishes) == {"a", "b"}


def test_nothing_is_built_where_anything_else_is_wrong(site: Site, cache: Path):
    put(site, "18.6")
    wrong = 'settings = { listen_addresses = "*" }'
    made = a_plan(cache, an_arm("a"), an_arm("b", more=wrong))
    with pytest.raises(PlanError, match=r"arms\.b\.settings\.listen_addresses"):
        blocks.ready(made, None, quiet)
    assert left(cache) == []


def test_a_build_that_fails_in_a_run_names_plan_and_arm(site: Site, cache: Path):
    tarball = put(site, "18.6")
    with tarball.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(ServerError, match=r"^/plans/p\.toml: arms\.a\.build: `http.* SHA-256 "):
        blocks.ready(a_plan(cache, an_arm("a")), None, quiet)
    assert left(cache) == []


def test_a_recipe_that_there_is_not_is_named_with_the_plans_key(cache: Path):
    with pytest.raises(ServerError) as caught:
        preflight.prepare(a_plan(cache, an_arm("a", build="o2nofb")))
    assert str(caught.value) == (
        "/plans/p.toml: arms.a.build: postgres has no recipe `o2nofb`; did you mean `o2nofp`?"
    )


def test_only_postgres_is_built_by_a_plan(cache: Path):
    with pytest.raises(PlanError, match="no version of mysql can be built from source by a plan"):
        a_plan(cache, an_arm("a", "8.4", "rel", 'engine = "mysql"'))
