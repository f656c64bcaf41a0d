"""Patches of a real PostgreSQL, each with the answer that `dyno gate` has to give of its work."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import command
from fake_source import commit, git

SOURCE = os.environ.get("DYNO_SOURCE", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SOURCE and shutil.which("valgrind")),
        reason="DYNO_SOURCE names no tarball of PostgreSQL: `make test-slow`; or no valgrind",
    ),
]
SCAN = "src/backend/executor/nodeIndexscan.c"
INDEX_NEXT = "IndexNext(IndexScanState *node)\n{"
HEAP = "src/backend/access/heap/heapam.c"
CATALOG = "src/include/catalog/catversion.h"
Edit = Callable[[str], str]


def at_begin(function: str, statement: str) -> Edit:
    """An edit that puts a statement at the begin of a function, which is named with its brace."""

    def edited(text: str) -> str:
        assert text.count(function) == 1
        return text.replace(function, f"{function}\n\t{{ {statement} }}\n")

    return edited


def in_update(text: str) -> str:
    """A crash after 50 updates of a session."""
    place = text.index("{\n", text.index("\nheap_update(Relation relation")) + 2
    crash = (
        "\tstatic int updates = 0;\n\n\tif (IsUnderPostmaster && ++updates > 50)\n\t\tabort();\n"
    )
    return text[:place] + crash + text[place:]


@dataclass(frozen=True, kw_only=True)
class Patch:
    """A change of one file, and what a gate says of it."""

    file: str
    edit: Edit
    status: int
    said: str  # in the answer, or in the error


PATCHES = {
    "comment": Patch(
        file=SCAN, edit=lambda text: text + "/* the end */\n", status=0, said="gate: yes"
    ),
    "more": Patch(
        file=SCAN,
        edit=at_begin(INDEX_NEXT, "for (volatile int turn = 0; turn < 24; turn++) ;"),
        status=1,
        said="IndexNext +",
    ),
    "palloc": Patch(
        file=SCAN, edit=at_begin(INDEX_NEXT, "pfree(palloc(64));"), status=1, said="AllocSet"
    ),
    "sleep": Patch(
        file=SCAN, edit=at_begin(INDEX_NEXT, "pg_usleep(2);"), status=1, said="more system calls"
    ),
    "crash": Patch(file=HEAP, edit=in_update, status=1, said="work: crash: "),
    "catalog": Patch(
        file=CATALOG,
        edit=lambda text: text.replace("CATALOG_VERSION_NO\t", "CATALOG_VERSION_NO\t9", 1),
        status=0,
        said="gate: yes",
    ),
    "broken": Patch(
        file=SCAN,
        edit=at_begin(INDEX_NEXT, "oops"),
        status=2,
        said="HEAD broken: compile failed: nodeIndexscan.c:",
    ),
}  # fmt: skip


@pytest.fixture(name="checkout", scope="module")
def _checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source as the commit `good`, and each patch as a branch of its own."""
    tree = tmp_path_factory.mktemp("postgres")
    unpacked = ["tar", "--extract", "--strip-components=1", "--file", str(Path(SOURCE).absolute())]
    subprocess.run(unpacked, cwd=tree, check=True)
    git(tree, "init", "--quiet")
    commit(tree, "good")
    git(tree, "branch", "good")
    for name, patch in PATCHES.items():
        git(tree, "checkout", "--quiet", "-B", name, "good")
        commit(tree, name, (patch.file, patch.edit((tree / patch.file).read_text())))
    git(tree, "checkout", "--quiet", "good")
    return tree


def gate(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What `dyno gate` says in the checkout, of work alone."""
    steps = "point-query,hot-points,update-index"
    out = checkout.with_name("results")
    return command.dyno(
        "gate", *words, "--source", checkout, "--steps", steps, "--time", "off", "--out", out
    )


@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_has_its_answer(checkout: Path, name: str) -> None:
    ended = gate(checkout, "good", name)
    patch = PATCHES[name]
    assert ended.returncode == patch.status, ended.stdout + ended.stderr
    assert patch.said in " ".join((ended.stdout + ended.stderr).split())


def test_a_patch_taken_back_is_a_saving_of_the_same_function(checkout: Path) -> None:
    ended = gate(checkout, "more", "good")
    assert ended.returncode == 0
    assert "less work" in ended.stdout and "IndexNext −" in ended.stdout


def test_a_tree_with_changes_is_gated_and_its_repository_stays(checkout: Path) -> None:
    before = git(checkout, "count-objects", "--verbose")
    text = PATCHES["more"].edit((checkout / SCAN).read_text())
    (checkout / SCAN).write_text(text)
    try:
        ended = gate(checkout, "good", ".")
    finally:
        git(checkout, "checkout", "--quiet", "--force", "good")
    assert ended.returncode == 1 and "IndexNext +" in ended.stdout, ended.stderr
    assert git(checkout, "count-objects", "--verbose") == before
