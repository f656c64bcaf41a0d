"""Commits between two builds, what they touched, and which functions' costs changed with them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from dbdyno.analysis import compare
from dbdyno.builds import Build, cache, touched
from dbdyno.builds.source import Source
from dbdyno.findings.profiles.facts import FunctionCost, ProfileFacts
from dbdyno.findings.suspects import show as section
from dbdyno.findings.suspects.plan import LEADING_MAX, derived, suspects
from dbdyno.model.error import ResultError
from dbdyno.model.profile import NO_SYMBOL
from dbdyno.model.suspects import CommitBetween, CommitsBetween
from dbdyno.parts.part import Finding, Text, flat
from dbdyno.report import page
from dbdyno.run import commits
from dbdyno.store import Results
from doubted import doubted
from fake_source import commit, git
from profile_builder import beside, comparison, cost
from result_builder import build, make_plan

SCAN = """static int
ExecScanFetch(int node)
{
    return node;
}

int
ExecScan(int node)
{
    int found = 0;
retry:
    found += ExecScanFetch(node);
    return found;
}
"""


BURNS = SCAN.replace("    found += Exec", "    found += 0; /* work */\n    found += Exec")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Four commits: the first, one in ExecScan, one in words alone, one in another file."""
    git(tmp_path, "init", "--quiet", "source")
    folder = tmp_path / "source"
    first = "int\nsort(int a)\n{\n    return a;\n}\n"
    commit(folder, "first", ("scan.c", SCAN), ("sort.c", first))
    commit(folder, "Burn in scans", ("scan.c", BURNS))
    commit(folder, "Words", ("README", "words"))
    commit(folder, "Sort more", ("sort.c", first.replace("return a", "return a + 1")))
    return folder


def ends(repository: Path) -> tuple[str, str]:
    first, *_, last = git(repository, "rev-list", "--reverse", "HEAD").split()
    return first, last


def source(repository: Path, at: str) -> Source:
    return Source(kind="git", origin=str(repository), identity=f"commit:{at}")


# --- What git tells -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("ExecScan(ScanState *node,", "ExecScan"),
        ("static void add_one(int a)", "add_one"),
        ("bool JOIN::optimize(bool finalize) {", "JOIN::optimize"),
        ("Foo::~Foo() {}", "Foo::~Foo"),
        ("int *pointer(void)", "pointer"),
        ("    pub(crate) async fn read(&self) -> u8 {", "read"),
        ("fn main() {", "main"),
        ("extern int ExecScan(int node);", None),
        ("static const int sizes = sizeof(int)", None),
        ("    found += ExecScanFetch(node);", None),
        ("if (a)", None),
        ("pub(crate) struct Scan {", None),
        ("typedef struct Scan", None),
        ("#define MAX(a, b) (a)", None),
        ("", None),
    ],
)
def test_a_functions_beginning_is_told_from_other_lines(line: str, name: str | None) -> None:
    assert touched.function_of(line) == name


def test_commits_have_the_functions_that_they_touched_and_words_have_none(repository: Path) -> None:
    """The label before the change in ExecScan is no function, and README is no code."""
    first, last = ends(repository)
    found = touched.between(repository, arm=("new", last), base=("old", first))
    assert [(one.subject, one.of, one.touched) for one in found.commits] == [
        ("Sort more", "arm", {"sort.c": ("sort",)}),
        ("Burn in scans", "arm", {"scan.c": ("ExecScan",)}),
    ]
    assert found.defined == {"scan.c": ("ExecScanFetch", "ExecScan"), "sort.c": ("sort",)}
    assert found.missing is None


def test_a_function_that_is_added_or_goes_away_is_touched(repository: Path) -> None:
    first, _ = ends(repository)
    more = BURNS + "\nint\nExecReScan(int node)\n{\n    return -node;\n}\n"
    commit(repository, "Add", ("scan.c", more))
    git(repository, "rm", "--quiet", "sort.c")
    last = commit(repository, "Remove")
    found = touched.between(repository, arm=("new", last), base=("old", first))
    assert found.commits[0].touched == {"sort.c": ("sort",)}
    assert "ExecReScan" in found.commits[1].touched["scan.c"]


def test_commits_of_the_base_alone_are_told_as_such(repository: Path) -> None:
    first, last = ends(repository)
    git(repository, "checkout", "--quiet", "-b", "old", first)
    older = commit(repository, "Backport", ("sort.c", "int\nsort(int a)\n{\n    return -a;\n}\n"))
    found = touched.between(repository, arm=("new", last), base=("old", older))
    assert {one.subject: one.of for one in found.commits} == {
        "Backport": "base",
        "Burn in scans": "arm",
        "Sort more": "arm",
    }


def test_lines_of_a_patch_that_look_like_its_heads_are_lines() -> None:
    log = [
        "\x01> " + "a" * 40 + " 1 Subject (with brackets)",
        "",
        "diff --git a/one.c b/one.c",
        "--- a/one.c",
        "+++ b/one.c",
        "@@ -3 +3 @@ first(int a)",
        "--- a/two.c",
        "+++ b/three.c",
        "@@ -9,0 +10 @@ second(int a)",
        "+    x;",
    ]
    (found,) = touched.read(log)
    assert found.touched == {"one.c": ("first", "second")}


def test_what_is_added_after_a_function_touches_none(repository: Path) -> None:
    first, _ = ends(repository)
    after = "\n/*\n * A note.\n */\n#define NOTE 1\n"
    last = commit(repository, "Note", ("scan.c", BURNS + after))
    found = touched.between(repository, arm=("new", last), base=("old", first))
    assert found.commits[0].touched == {"scan.c": ()}


def test_a_change_that_spans_two_functions_touches_both(repository: Path) -> None:
    first, _ = ends(repository)
    both = BURNS.replace("return node", "return -node").replace("return found", "return -found")
    last = commit(repository, "Both", ("scan.c", both))
    found = touched.between(repository, arm=("new", last), base=("old", first))
    assert found.commits[0].touched == {"scan.c": ("ExecScanFetch", "ExecScan")}


def test_what_git_cannot_tell_is_said_in_one_line(repository: Path, tmp_path: Path) -> None:
    first, _ = ends(repository)
    found = touched.between(repository, arm=("new", "f" * 40), base=("old", first))
    assert found.commits == () and found.missing is not None
    assert found.missing.startswith("git: ") and "\n" not in found.missing
    gone = touched.between(tmp_path / "gone", arm=("new", first), base=("old", first))
    assert gone.missing is not None


# --- In a result ----------------------------------------------------------------------------------


def builds(folder: Path, sources: Mapping[str, Source]) -> dict[str, Build]:
    """A build of each arm, as far as its record says what it was made of."""
    found = {}
    for arm, source in sources.items():
        base_dir = folder / arm
        base_dir.mkdir(exist_ok=True)
        record = cache.BuildRecord(
            name=arm, engine="postgres", version="17", key="k", parts={}, source=source,
            recipe=None, flags="", options=(), configure=None, features=(), compiler="cc",
            made_unix_s=0,
        )  # fmt: skip
        text = json.dumps({"format": cache.FORMAT, **msgspec.to_builtins(record)})
        (base_dir / cache.RECORD).write_text(text)
        program = base_dir / "postgres"
        found[arm] = Build(
            engine="postgres", base_dir=base_dir, program=program, version="17", version_num=170000
        )
    return found


def kept(tmp_path: Path, sources: Mapping[str, Source], said: list[str]) -> Results:
    folder = build(tmp_path, arms=tuple(sources), blocks=1, steps=("qr100",))
    results = Results.open(folder)
    plan = make_plan("example", tuple(sources), 1)
    commits.keep(plan, builds(tmp_path, sources), results, said.append)
    return results


def test_a_result_keeps_the_commits_between_builds_of_one_repository(
    repository: Path, tmp_path: Path
) -> None:
    first, last = ends(repository)
    tarball = Source(kind="tarball", origin="/x.tar", identity="sha256:00")
    said: list[str] = []
    sources = {"old": source(repository, first), "new": source(repository, last), "tar": tarball}
    results = kept(tmp_path, sources, said)
    (found,) = results.commits()
    assert (found.arm, found.base, len(found.commits)) == ("new", "old", 2)
    assert found == touched.between(repository, arm=("new", last), base=("old", first))
    assert said == ["commits: 2 commits with code between the builds of old and new"]
    commits.keep(make_plan("example", tuple(sources), 1), builds(tmp_path, sources), results, print)
    assert results.commits() == (found,)


def test_builds_of_one_commit_and_of_a_checkout_that_is_gone_have_no_file(
    repository: Path, tmp_path: Path
) -> None:
    first, last = ends(repository)
    gone = Source(kind="git", origin=str(tmp_path / "gone"), identity=f"commit:{last}")
    same = {"old": source(repository, first), "new": source(repository, first)}
    results = kept(tmp_path, same, [])
    assert results.commits() == ()
    assert touched.repository(gone, replace(gone, identity=f"commit:{first}")) is None
    assert touched.repository(gone, source(repository, first)) == repository


def test_changes_that_are_in_no_commit_are_said(repository: Path, tmp_path: Path) -> None:
    first, last = ends(repository)
    identity = f"commit:{last} with changes sha256:00"
    changed = replace(source(repository, last), kind="git with changes", identity=identity)
    results = kept(tmp_path, {"old": source(repository, first), "new": changed}, [])
    (found,) = results.commits()
    assert found.missing == "new with changes that are in no commit"


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b nonsense", b"{}"])
def test_a_damaged_file_is_one_warning(tmp_path: Path, content: bytes) -> None:
    folder = build(tmp_path, arms=("old", "new"), blocks=1, steps=("qr100",))
    (folder / "commits.json.gz").write_bytes(content)
    with pytest.raises(ResultError, match=r"commits\.json\.gz: cannot be read"):
        Results.open(folder).commits()
    warnings = doubted(compare.load(folder))
    assert sum("commits.json.gz" in one for one in warnings) == 1


# --- Joined with costs ----------------------------------------------------------------------------


def between(subject: str, at: int, **names: Sequence[str]) -> CommitBetween:
    its = {file.replace("_", "."): tuple(one) for file, one in names.items()}
    return CommitBetween(commit=f"{at:040x}", unix_s=at, subject=subject, of="arm", touched=its)


WIDE = between("Indent everything", 3, scan_c=("ExecScan", "ExecScanFetch"), sort_c=("sort",))
SCANS = between("Recheck quals", 2, scan_c=("ExecScan",))
FETCH = between("Fetch twice", 1, scan_c=("ExecScanFetch",))
BETWEEN = CommitsBetween(
    arm="new",
    base="old",
    arm_commit="a" * 40,
    base_commit="b" * 40,
    commits=(WIDE, SCANS, FETCH),
    defined={"scan.c": ("ExecScan", "ExecScanFetch"), "sort.c": ("sort",)},
)


def test_commits_that_touched_least_come_first_and_those_of_the_file_beside_them() -> None:
    found = suspects(beside(cost("ExecScan", 0.9), cost("memcpy", 0.1)), BETWEEN)
    scan, copy = found.functions
    assert [one.subject for one in scan.touched] == ["Recheck quals", "Indent everything"]
    assert [one.subject for one in scan.beside] == ["Fetch twice"]
    assert (copy.touched, copy.beside) == ((), ())


def test_only_changes_that_were_found_are_suspect() -> None:
    sure, unsure = cost("ExecScan", 0.9), cost("sort", 2.0, changed=False, q=0.4)
    nameless = cost(NO_SYMBOL, 3.0)
    found = suspects(beside(unsure, nameless, sure), BETWEEN)
    assert found.sure
    assert [one.function.name for one in found.functions] == ["ExecScan"]


def test_of_one_block_the_largest_changes_are_taken() -> None:
    many = [cost(f"f{size}", size / 10, changed=False, q=None) for size in range(20)]
    found = suspects(beside(*many, cost("fewer", -5.0, changed=False, q=None)), BETWEEN)
    assert not found.sure
    assert [one.function.name for one in found.functions][:2] == ["fewer", "f19"]
    assert len(found.functions) == LEADING_MAX


def test_where_no_change_is_sure_those_that_lead_are_taken_in_their_order() -> None:
    leads, follows = (
        cost("sort", 0.1, changed=False, q=0.2),
        cost("ExecScan", 2.0, changed=False, q=0.4),
    )
    untested = cost("rare", 3.0, changed=False, q=None)
    found = suspects(beside(leads, follows, untested), BETWEEN)
    assert not found.sure
    assert [one.function.name for one in found.functions] == ["sort", "ExecScan"]


def told(*functions: FunctionCost, known: Sequence[CommitsBetween] = (BETWEEN,)) -> list[Finding]:
    return list(section.findings(derived([beside(*functions)], known).suspects))


def test_the_report_names_functions_with_their_commits() -> None:
    (found,) = told(cost("ExecScan", 0.9), cost("memcpy", -0.3))
    assert found.text == (
        "new: 3 commits with code between bbbbbbbbbb (old) and aaaaaaaaaa; of 2 functions whose"
        " cost surely changed 1 was touched."
    )
    assert [item.text for item in found.items] == [
        "`ExecScan`, +0.90 µs per query [0.70, 1.10]: touched by 0000000000 (Recheck quals),"
        " 0000000000 (Indent everything); its file by 0000000000 (Fetch twice)",
        "`memcpy`, −0.30 µs per query [−0.50, −0.10]: no commit touched its file",
    ]


def test_a_page_tells_suspects_in_the_step_that_was_profiled() -> None:
    made = comparison(beside(cost("ExecScan", 0.9)))
    facts = derived(made.of(ProfileFacts).functions, [BETWEEN])
    shown = page.make(replace(made, findings={**made.findings, "SuspectFacts": facts}))
    (told,) = (part for part in flat(shown.parts) if part.name.endswith("-suspects"))
    assert isinstance(told, Text) and told.name.endswith("-qr100-suspects")
    assert told.items[0].items[0].text.startswith("`ExecScan`, +0.90 µs per query")
    assert told.items[-1].text == section.CAUTION


def test_without_changes_it_says_so_and_without_commits_nothing() -> None:
    (found,) = told(cost("ExecScan", 0.9, changed=False))
    assert found.text.endswith(
        "; no function's cost surely changed; those that lead, which may be chance, are listed."
    )
    (empty,) = told()
    assert empty.text.endswith("; no function's cost surely changed.")
    assert told(cost("ExecScan", 0.9), known=()) == []


def test_another_base_sees_the_same_commits_from_the_other_side() -> None:
    turned = replace(beside(cost("ExecScan", 0.9)), arm="old", base="new")
    (found,) = derived([turned], [BETWEEN]).suspects
    assert (found.between.arm_commit, found.between.base_commit) == ("b" * 40, "a" * 40)
    assert {one.of for one in found.between.commits} == {"base"}
