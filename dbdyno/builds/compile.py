"""Builds a server from source into the cache.

What is not done yet lies in a folder whose name begins with a dot, and gets its own name when all
of it is there: a build is whole or not there. The programs are told their last place (`--prefix`)
from the start and installed below another root, so they need not be moved.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dbdyno.builds import Build, compiler_cache, features, progress, release
from dbdyno.builds import cache as built
from dbdyno.builds import flags as recipe
from dbdyno.builds import source as sources
from dbdyno.builds.flags import Flags, Recipes
from dbdyno.builds.log import BuildLog, environment_of
from dbdyno.builds.source import Ref, Source
from dbdyno.builds.step import BuildSite, BuildStep
from dbdyno.host import capacity, place
from dbdyno.host.lock import HostLock
from dbdyno.model import Arm, Json
from dbdyno.model import version as versions
from dbdyno.model.error import HostError, ServerError

Say = Callable[[str], None]
VERSION_S_MAX = 20.0
PROGRAMS = ("bin/postgres", "bin/mysqld", "sbin/mysqld", "bin/mariadbd", "sbin/mariadbd")
"""The server's program below a prefix, by whatever engine."""
COMPILER = re.compile(r"(CC|-DCMAKE_C_COMPILER(:\w+)?)=")
"""How an option of configure or cmake names the compiler of C."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """How an engine's source is built."""

    version: Callable[[Path, str], str]  # of a tree; `origin` names it in errors
    steps: Callable[[BuildSite, Flags, Sequence[str], BuildLog], tuple[BuildStep, ...]]
    ignored: Callable[[str, Sequence[str]], str | None]  # an option that was not taken notice of
    explain: Callable[[str, str], str]  # why a phase failed that said this
    version_files: tuple[str, ...] = ()  # of a commit's tree, in which it says its version
    again: tuple[str, ...] = ()  # options by which a tree can be built again once it has changed
    configures: re.Pattern[str] | None = None  # files whose change the build itself overlooks
    # The modules that texts load, where a build can be of the server and some modules alone.
    named: Callable[[Iterable[str]], tuple[str, ...]] | None = None
    # Whether a file of the source makes a server that loads these modules; None: any may.
    serves: Callable[[str, Sequence[str]], bool] | None = None


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """A build as it is asked for."""

    engine: str
    name: str
    source: Source
    flags: Flags
    options: tuple[str, ...] = ()  # of one's own, for configure or cmake
    jobs: int = 1
    replace: bool = False  # another build of the same name
    # What a server of measured steps has beside what dyno itself asks (of PostgreSQL modules of
    # contrib, by the names of their extensions); None: a whole build.
    modules: tuple[str, ...] | None = None
    beside: str | None = None  # of an extension the key of the build that it is added to

    @property
    def parts(self) -> Json:
        """What determines the build; the compiler does, too, and stands in its record alone.

        A whole build has the same server as one for measured steps, and so the same parts.
        """
        more: Json = {"modules": sorted(self.modules)} if self.modules else {}
        more |= {"beside": self.beside} if self.beside else {}
        return {
            "engine": self.engine,
            "source": self.source.identity,
            "flags": self.flags.words,
            "options": list(self.options),
            **more,
        }


def source_of(engine: str, written: str, ref: Ref | None) -> Source:
    """The source that is written: an official version, else see `sources.identify`."""
    if release.VERSION.fullmatch(written) and ref is None:
        return sources.of_release(engine, written)
    return sources.identify(written, ref)


def name_of(source: Source, flags: Flags, options: Sequence[str]) -> str | None:
    """What a build is called that nobody names: a release by a recipe; None of any other."""
    if source.kind != "release" or flags.recipe is None or options:
        return None
    return f"postgres-{source.ref}_{flags.recipe}"


RecipesOf = Callable[[str], Recipes]
"""An engine's name -> what it can be compiled with."""


def settled(arms: Sequence[Arm], recipes_of: RecipesOf, cache: Path | None = None) -> list[Arm]:
    """The arms, those by `version = "18"` and a recipe with the release that it means.

    It is one for all of them, as recipes are compared and not releases: the newest of each recipe
    that is here, where that is the same, else the newest there is. Raises ServerError.
    """
    by_version: dict[str, list[Arm]] = {}
    for arm in arms:
        if arm.version is not None and arm.build is not None:
            flags_of(arm, recipes_of)  # refused offline, too
            by_version.setdefault(arm.version, []).append(arm)
    meant = {version: _release_of(version, its, cache) for version, its in by_version.items()}
    return [
        arm
        if arm.build is None or arm.version is None
        else replace(arm, version=meant[arm.version])
        for arm in arms
    ]


def flags_of(arm: Arm, recipes_of: RecipesOf) -> Flags:
    """The flags of an arm's recipe. Raises ServerError where its engine has none of that name."""
    return recipe.named(recipes_of(arm.engine), str(arm.build), f"arms.{arm.name}.build")


def _release_of(version: str, arms: Sequence[Arm], cache: Path | None) -> str:
    """The release that `version` means for these arms."""
    found = {built.of_release(arm.engine, version, str(arm.build), cache) for arm in arms}
    records = [built.kept(folder) for folder in found if folder is not None]
    here = {record.version for record in records if record is not None}
    if None not in found and len(here) == 1:
        return str(here.pop())
    try:
        return release.newest(version)
    except ServerError as error:
        raise ServerError(f"arms.{arms[0].name}.version: {error}") from error


def missing(arm: Arm, recipes_of: RecipesOf, cache: Path | None = None) -> BuildRequest | None:
    """The build that an arm's `version` and `build` ask for, where that is not there yet.

    Raises ServerError, which names the key, where it cannot be made.
    """
    if arm.version is None or arm.build is None:
        return None
    flags = flags_of(arm, recipes_of)
    if built.of_release(arm.engine, arm.version, arm.build, cache) is not None:
        return None
    try:
        source = sources.of_release(arm.engine, arm.version)
    except ServerError as error:
        raise ServerError(f"arms.{arm.name}.version: {error}") from error
    name = name_of(source, flags, ())
    assert name is not None, "a release by a recipe has a name"
    return BuildRequest(
        engine=arm.engine, name=name, source=source, flags=flags, jobs=capacity.cores()
    )


def foreseen(wish: BuildRequest, cache: Path | None = None) -> Build:
    """What will be there when an official release is built: its folder and its version."""
    return to_be(wish.engine, wish.name, str(wish.source.ref), cache)


def to_be(engine: str, name: str, version: str, cache: Path | None = None) -> Build:
    """What will be there when a source is built whose version is this, under this name."""
    prefix = built.root(cache) / name
    number = versions.NUMBER.match(version)
    assert number is not None, "a source that says no number is refused"
    return Build(
        engine=engine,
        base_dir=prefix,
        program=prefix / PROGRAMS[0],
        version=version,
        version_num=versions.number_of(engine, number[0]),
        made=False,
    )


def build(wish: BuildRequest, method: Method, say: Say, cache: Path | None = None) -> Path:
    """The folder of the build that is wished for, made where it is not there yet.

    `method`: that of the wish's engine. `say`: takes lines of progress. Raises ServerError or
    HostError where it cannot be made; then, and when it is interrupted, nothing of it stays but its
    log.
    """
    built.check_name(wish.name, "--name")
    cache = cache or place.cache_root()
    prefix = built.root(cache) / wish.name
    if is_there(wish, prefix):
        say(f"{wish.name} is there already, of the same source and flags")
        return prefix
    scratch = built.root(cache) / f".{wish.name}"
    with ExitStack() as stack:
        log = stack.enter_context(BuildLog(built.log_of(wish.name, cache)))
        _clear(scratch)
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        try:
            scratch.mkdir(parents=True)
        except OSError as error:
            raise HostError(f"`{scratch}` cannot be made: {error.strerror}") from error
        record = _make(wish, method, scratch, log, say)
        put(record, scratch / "root" / prefix.relative_to("/"), prefix, say)
    return prefix


def is_there(wish: BuildRequest, prefix: Path) -> bool:
    """Whether that very build is there. Raises ServerError where another one has its name."""
    if not prefix.exists():
        return False
    if not (prefix / built.RECORD).is_file():
        raise ServerError(f"`{prefix}` is there, and dyno did not build it: take another --name")
    try:
        there = built.kept(prefix)
    except ServerError:
        if wish.replace:
            return False
        raise
    assert there is not None, "its file is there"
    if there.key == built.key_of(wish.parts):
        return there.whole or wish.modules is not None
    if wish.replace:
        return False
    differing = built.differing(there.parts, wish.parts)
    raise ServerError(
        f"--name {wish.name}: that is another build: {differing}: take another name, or say "
        "--replace"
    )


def _clear(scratch: Path) -> None:
    """Removes what a broken making left; nobody else makes this build, as we hold its log."""
    if scratch.exists():
        shutil.rmtree(scratch)


def _make(wish: BuildRequest, method: Method, scratch: Path, log: BuildLog, say: Say) -> Json:
    """Compiles and installs below scratch/root; returns the build's record."""
    prefix = scratch.with_name(wish.name)
    began = time.monotonic()
    if wish.source.kind == "release":
        say(f"bringing {wish.source.origin}")
    tree = sources.unpack(wish.source, scratch / "source", log)
    seconds = {"unpack": time.monotonic() - began}
    site = BuildSite(tree=tree, prefix=prefix, root=scratch / "root", jobs=wish.jobs)
    return carry_out(wish, method, site, log, say, seconds)


def carry_out(  # noqa: PLR0913 (each by its name)
    wish: BuildRequest,
    method: Method,
    site: BuildSite,
    log: BuildLog,
    say: Say,
    seconds: dict[str, float],
    *,
    configured: bool = False,
) -> Json:
    """Runs the steps of a build in a tree that is there; returns the build's record.

    `seconds`: what was spent before, by phase. `configured`: whether the tree is so already.
    Raises ServerError where a step fails.
    """
    version, begin = method.version(site.tree, wish.source.origin), log.path.stat().st_size
    whole = wish.modules is None or method.named is None or wish.flags.trained
    site = replace(site, modules=None if whole else wish.modules)
    steps = method.steps(site, wish.flags, wish.options, log)
    compiler = compiler_of((*wish.flags.options, *wish.options), site.tree)
    environment = {} if wish.flags.trained else compiler_cache.environment(site.root.parent)
    say(f"{wish.name}: {wish.engine} {version}, {wish.flags.words}, {compiler}; log: {log.path}")
    steps = tuple(replace(step, environment={**environment, **step.environment}) for step in steps)
    files = None if configured else progress.files_before(wish.engine, whole=whole)
    for phase in dict.fromkeys(step.phase for step in steps):
        if phase == "configure" and configured:
            continue
        with progress.each_minute(phase, log, say, files):
            _run([step for step in steps if step.phase == phase], method, seconds, log)
        said = log.path.read_text(errors="replace") if phase == "configure" else ""
        if option := method.ignored(said, wish.options):
            raise ServerError(f"--configure: this source takes no notice of `{option}`: drop it")
        say(f"{phase}: {seconds[phase]:.0f} s")
    made = installed_in(site)
    program = next((made / one for one in PROGRAMS if (made / one).is_file()), None)
    if program is None:
        raise ServerError(f"the build installed no server: see `{log.path}`")
    return {
        "format": built.FORMAT,
        "name": wish.name,
        "key": built.key_of(wish.parts),
        "parts": wish.parts,
        "engine": wish.engine,
        "version": version,
        "source": asdict(wish.source),
        "recipe": wish.flags.recipe,
        "flags": wish.flags.words,
        "options": list(wish.options),
        "whole": whole,
        "configure": next((list(s.command) for s in steps if s.phase == "configure"), None),
        "features": [*features.read(program).features, *features.beside(program)],
        "compiler": compiler,
        "jobs": wish.jobs,
        "files": None if configured or wish.beside else progress.files_in(log.path, begin),
        "seconds": {phase: round(spent, 1) for phase, spent in seconds.items()},
        "made_unix_s": round(time.time()),
        "host": platform.node(),
        "log": str(log.path),
    }


def installed_in(site: BuildSite) -> Path:
    """The folder below the site's root in which its build lies once it is installed."""
    return site.root / site.prefix.relative_to("/")


def _run(
    steps: Sequence[BuildStep], method: Method, seconds: dict[str, float], log: BuildLog
) -> None:
    """Runs the steps of one phase."""
    for step in steps:
        began = time.monotonic()
        said = log.run(step.command, step.folder, step.environment)
        seconds[step.phase] = seconds.get(step.phase, 0.0) + time.monotonic() - began
        if said is None:
            continue
        if step.leftover is not None and step.leftover.is_file():
            log.write(f"--- {step.leftover.name}\n" + step.leftover.read_text(errors="replace"))
        raise ServerError(
            f"{step.phase} failed: {method.explain(step.phase, said)}; see `{log.path}`"
        )


def put(record: Json, made: Path, prefix: Path, say: Say) -> None:
    """Gives what was made its record and its name, open to all accounts.

    What had the name goes, while no lab measures with it.
    """
    (made / built.RECORD).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if prefix.exists():
        say("taking the other build's place, after the lab that measures here, if there is one")
        with HostLock(plan=f"server build --replace {prefix.name}", wait=True):
            prefix.rename(made.with_name(f"{prefix.name}.replaced"))
            made.rename(prefix)
    else:
        prefix.parent.mkdir(parents=True, exist_ok=True)
        made.rename(prefix)
    built.open_to_all(prefix, prefix.parent.parent)


def compiler_of(options: Sequence[str], folder: Path) -> str:
    """What the C compiler says of itself: `gcc (Debian 12.2.0-14) 12.2.0`.

    Raises ServerError where there is none.
    """
    named = [option.split("=", 1)[1] for option in options if COMPILER.match(option)]
    candidates = named[-1:] or ["gcc", "cc"]  # the order in which configure looks
    for program in candidates:
        path = shutil.which(program.split()[0], path=os.environ.get("PATH"))
        if path is None:
            continue
        done = subprocess.run(
            [path, "--version"], cwd=folder, capture_output=True, text=True, check=False,
            timeout=VERSION_S_MAX, env=environment_of(),
        )  # fmt: skip
        return done.stdout.partition("\n")[0].strip() or program
    raise ServerError(
        f"no C compiler `{candidates[0]}` is installed: apt-get install "
        f"{candidates[0] if named else 'gcc'} libc6-dev"
    )
