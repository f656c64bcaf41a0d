"""The package as it is installed: its command, its binaries, its data, its distributions."""

import ast
import importlib.metadata
import json
import os
import platform
import re
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import dbdyno
import tidy
from dbdyno import model
from dbdyno.model import extra

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = Path(sysconfig.get_path("scripts"))
UV = os.environ.get("UV") or shutil.which("uv")
BINARIES = ("dyno-loadgen", "dyno-flame")
IN_WHEEL = f"dbdyno-{dbdyno.__version__}.data/scripts"
WHEEL_BYTES_MAX = 8_000_000
OF_EVERY_LINUX = {"libc", "libm", "libdl", "librt", "libpthread", "libgcc_s", "ld-linux-x86-64"}
HEAVY = {"duckdb", "hdrh", "jinja2", "numpy", "pandas", "psycopg", "scipy", "vl_convert"}

needs_install = pytest.mark.skipif(
    not (SCRIPTS / "dyno").exists(),
    reason="the package is not installed in this environment: run `make setup`",
)
needs_uv = pytest.mark.skipif(
    UV is None, reason="no uv here: `make setup` brings it, and `make test` has it"
)


@pytest.fixture
def lean() -> Iterator[dict[str, str]]:
    """What makes a wheel of the programs that tests have compiled already.

    Of links to them in a folder: maturin takes a program away to put it into the wheel, and tests
    that run beside it would look for theirs in vain. All but the lock: a link to that would wait
    until the cargo of others has compiled their tests.
    """
    compiled = ROOT / "target" / "lean"
    compiled.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=compiled.parent) as folder:
        subprocess.run(["cp", "-al", compiled, folder], check=True)
        Path(folder, compiled.name, ".cargo-lock").unlink(missing_ok=True)
        yield {"MATURIN_PEP517_ARGS": "--profile lean", "CARGO_TARGET_DIR": folder}


def output(*command: str | Path, environment: Mapping[str, str] = {}) -> str:
    """The standard output of a command that has to end well."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def cargo() -> dict[str, Any]:
    """Cargo.toml as a dictionary."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())


def dependencies() -> tuple[set[str], set[str]]:
    """The distributions that pyproject.toml asks for, and those of extras; without versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    return bare(project["dependencies"]), bare(extras) - {"dbdyno"}


def bare(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~ ]", requirement)[0] for requirement in requirements}


def test_the_version_is_the_same_in_rust_and_python() -> None:
    assert cargo()["package"]["version"] == dbdyno.__version__


@needs_install
def test_the_installed_version_is_this_one() -> None:
    assert importlib.metadata.version("dbdyno") == dbdyno.__version__


@needs_install
@pytest.mark.parametrize("program", ["dyno", *BINARIES])
def test_each_program_lies_in_the_environment_and_says_its_version(program: str) -> None:
    assert dbdyno.__version__ in output(SCRIPTS / program, "--version")


@needs_install
def test_the_command_runs_with_the_environments_own_interpreter() -> None:
    first, second, *_ = (SCRIPTS / "dyno").read_text().splitlines()
    if first == "#!/bin/sh":  # as installers write where the path has a space
        first = "#!" + shlex.split(second.removeprefix("'''exec'"))[0]
    assert first == f"#!{SCRIPTS / 'python'}" or Path(first[2:]).samefile(sys.executable)


def test_the_package_runs_as_a_module() -> None:
    assert dbdyno.__version__ in output(sys.executable, "-m", "dbdyno", "--version")


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    code = "import sys, dbdyno.cli; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    assert not HEAVY & set(output(sys.executable, "-c", code).split())


def test_the_command_line_starts_without_the_types_of_plans_and_results() -> None:
    """They are a third of the time that `dyno --help` would take."""
    code = "import sys, dbdyno.cli; print(*sys.modules)"
    loaded = set(output(sys.executable, "-c", code).split())
    assert not {"dbdyno.model.plan", "dbdyno.model.step", "dbdyno.model.comparison"} & loaded


def test_each_type_of_the_model_is_loaded_from_where_it_stands() -> None:
    tree = ast.parse((ROOT / "dbdyno/model/__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    static = {(str(node.module), alias.name) for node in imports for alias in node.names}
    assert static == {
        (f"dbdyno.model.{module}", name)
        for module, names in model.NAMES.items()
        for name in names.split()
    }
    for module, name in static:
        assert getattr(model, name) is getattr(importlib.import_module(module), name)


@pytest.mark.long
def test_rust_that_the_set_up_asks_for_is_new_enough_for_every_dependency() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo here: `make setup` brings it, and `make test` has it")
    asked = next(
        line.split("=")[1].split()[0]
        for line in (ROOT / "tools/setup").read_text().splitlines()
        if line.startswith("rust_needed=")
    )
    metadata = json.loads(
        output(
            "cargo",
            "metadata",
            "--locked",
            "--format-version=1",
            f"--manifest-path={ROOT}/Cargo.toml",
        )
    )
    needed = {
        package["name"]: version(package["rust_version"])
        for package in metadata["packages"]
        if package["rust_version"]
    }
    newest = max(needed, key=needed.__getitem__)
    assert version(asked) >= needed[newest], f"`{newest}` needs {needed[newest]}"


def version(text: str) -> tuple[int, ...]:
    """`1.94.0` as (1, 94): Rust's patch releases change nothing here."""
    return tuple(int(part) for part in text.split(".")[:2])


@pytest.mark.long
def test_every_dependency_is_used_and_whatever_is_used_is_a_dependency() -> None:
    sources = tidy.read(ROOT / "dbdyno").of(".py")
    imported = {name.split(".")[0] for source in sources for name, _ in tidy.imported(source)}
    foreign = imported - sys.stdlib_module_names - {"dbdyno"}
    distributions = importlib.metadata.packages_distributions()
    plain, extras = dependencies()
    used = {distributions[name][0].lower() for name in foreign}
    assert plain <= used <= plain | extras
    assert plain | extras >= extra.OF_JUDGES


@pytest.fixture(scope="module")
def locked() -> dict[str, list[str]]:
    """The entries of requirements.lock by their distribution, each as its text."""
    entries = re.split(r"(?m)^(?=[\w-]+==)", (ROOT / "requirements.lock").read_text())
    assert not entries[0], f"what is this? {entries[0]}"
    by_name: dict[str, list[str]] = {}
    for entry in entries[1:]:
        by_name.setdefault(entry.partition("==")[0], []).append(entry)
    return by_name


def asked() -> Iterator[tuple[Requirement, str]]:
    """What pyproject.toml asks for, plainly, for extras and by groups, and where."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = pyproject["project"]
    for lines in (project["dependencies"], *project["optional-dependencies"].values()):
        yield from ((Requirement(line), "") for line in lines)
    for group in pyproject["dependency-groups"].values():
        yield from ((Requirement(line), ":dev") for line in group if isinstance(line, str))


def test_the_lock_file_is_of_what_the_project_asks_for(locked: dict[str, list[str]]) -> None:
    requirements = [(each, place) for each, place in asked() if each.name != dbdyno.__name__]
    for requirement, place in requirements:
        for entry in locked[canonicalize_name(requirement.name)]:
            version = re.split("==| ", entry, maxsplit=2)[1]
            assert requirement.specifier.contains(version), f"`{requirement}` and {version}"
            assert f"dbdyno (pyproject.toml{place})" in entry, f"`{requirement}`: `make update`"
    direct = {name for name, entries in locked.items() if "dbdyno (pyproject" in "".join(entries)}
    assert direct == {canonicalize_name(each.name) for each, _ in requirements}


def test_each_line_of_the_lock_file_has_hashes_and_names_no_host_and_no_path(
    locked: dict[str, list[str]],
) -> None:
    for entry in (entry for entries in locked.values() for entry in entries):
        pinned, _, hashes = re.sub(r"(?m)^ +#.*\n?", "", entry).partition(" \\\n")
        assert re.fullmatch(r"[\w-]+==[\w.]+( ; [\w\s<>=!.']+)?", pinned)
        assert re.fullmatch(r"( {4}--hash=sha256:[0-9a-f]{64}( \\)?\n)+", hashes), pinned


def data_files() -> set[str]:
    """The files of the package that are no Python and have to be installed with it."""
    found = (path for path in (ROOT / "dbdyno").rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT).as_posix()
        for path in found
        if path.suffix not in (".py", ".pyc") and "__pycache__" not in path.parts
    }


@needs_uv
@pytest.mark.long
def test_the_wheel_holds_the_command_its_binaries_and_all_data(
    tmp_path: Path, lean: Mapping[str, str]
) -> None:
    output(UV, "build", "--wheel", "--quiet", "--out-dir", tmp_path, ROOT, environment=lean)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"dbdyno-{dbdyno.__version__}-py3-none-")
    look_into(wheel)


def look_into(wheel: Path) -> None:
    """Looks whether a wheel is whole."""
    with zipfile.ZipFile(wheel) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    for program in ("dyno", *BINARIES):
        assert modes[f"{IN_WHEEL}/{program}"] & stat.S_IXUSR
    assert data_files() <= modes.keys()
    assert {"dbdyno/workload/shipped/insert-benchmark.toml", "dbdyno/py.typed"} <= modes.keys()


@needs_uv
@pytest.mark.long
def test_the_source_distribution_holds_what_a_wheel_is_built_from(tmp_path: Path) -> None:
    output(UV, "build", "--sdist", "--quiet", "--out-dir", tmp_path, ROOT)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"dbdyno.data/scripts/dyno", "Cargo.toml", "Cargo.lock", "pyproject.toml", "LICENSE"}
    for crate in ("loadgen", "fetch", "flame"):
        sources = (ROOT / crate / "src").rglob("*.rs")
        needed |= {path.relative_to(ROOT).as_posix() for path in sources}
    assert needed | data_files() <= names


# --- The wheel for other machines ---------------------------------------------------------------


def oldest_glibc() -> tuple[int, ...]:
    """The oldest glibc that the wheel is made for, as the Makefile says."""
    found = re.search(r"^GLIBC := (\d+)_(\d+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found
    return tuple(map(int, found.groups()))


def test_the_page_of_installing_names_the_glibc_that_the_wheel_is_made_for() -> None:
    assert f"glibc {numbered(oldest_glibc())} or newer" in (ROOT / "docs/install.md").read_text()


def numbered(glibc: tuple[int, ...]) -> str:
    """(2, 17) as `2.17`."""
    return ".".join(map(str, glibc))


@pytest.fixture(name="wheel")
def _wheel() -> Path:
    """The wheel that `make soak` made beforehand."""
    made = [*ROOT.glob("dist/*.whl")]
    if not made:
        pytest.skip("no wheel in dist/: `make wheel`")
    (wheel,) = made
    return wheel


@pytest.mark.soak
def test_the_wheel_for_other_machines_is_whole_and_its_tag_names_an_old_glibc(wheel: Path) -> None:
    name, version, python, abi, tags = wheel.stem.split("-")
    assert (name, version, python, abi) == ("dbdyno", dbdyno.__version__, "py3", "none")
    glibc = "_".join(map(str, oldest_glibc()))
    assert f"manylinux_{glibc}_{platform.machine()}" in tags.split(".")
    assert wheel.stat().st_size < WHEEL_BYTES_MAX
    look_into(wheel)


@pytest.mark.soak
@pytest.mark.skipif(
    shutil.which("readelf") is None, reason="no readelf here: `apt-get install binutils`"
)
@pytest.mark.parametrize("program", BINARIES)
def test_its_binaries_run_with_an_old_glibc_and_ask_for_no_other_library(
    wheel: Path, program: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        binary = archive.extract(f"{IN_WHEEL}/{program}", tmp_path)
    said = output("readelf", "--wide", "--version-info", "--dynamic", binary)
    versions = {tuple(map(int, one.split("."))) for one in re.findall(r"GLIBC_([\d.]+)", said)}
    assert (2, 2, 5) in versions  # of the oldest functions on x86-64, and every program has some
    assert max(versions) <= oldest_glibc()
    needed = {name.split(".so")[0] for name in re.findall(r"NEEDED.*\[(.*)\]", said)}
    assert "libc" in needed
    assert needed <= OF_EVERY_LINUX


@needs_uv
@pytest.mark.soak
def test_it_installs_and_runs_without_rust_and_c(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    bare = {"PATH": f"{environment}/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    python = environment / "bin" / "python"
    output(UV, "venv", "--quiet", "--python", sys.executable, environment)
    output(UV, "pip", "install", "--quiet", "--only-binary", ":all:", "--python", python, wheel)
    for command in (["dyno", "workload", "list"], ["dyno-flame", "--version"]):
        assert subprocess.run(command, env=bare, capture_output=True, check=True).stdout
    with (ROOT / "contract/job-fake.json").open() as job:
        ended = subprocess.run(
            "dyno-loadgen", env=bare, stdin=job, capture_output=True, text=True, check=True
        )
    assert json.loads(ended.stdout.splitlines()[-1])["event"] == "done"
