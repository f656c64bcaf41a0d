"""The commits between the arms' builds, kept in the result before its first block.

The repository may be gone, or may have moved on, when somebody reads the result.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from dbdyno.builds import Build, cache, touched
from dbdyno.builds.source import Source
from dbdyno.model import Plan
from dbdyno.model.suspects import CommitsBetween
from dbdyno.store import Results


def keep(
    plan: Plan, builds: Mapping[str, Build], results: Results, say: Callable[[str], None]
) -> None:
    """Writes commits.json.gz: of each arm whose build is of another commit than the base's.

    What is there stays; nothing is written where no two builds are of one repository.
    """
    sources = {
        arm: source for arm, build in builds.items() if (source := source_of(build)) is not None
    }
    base = sources.get(plan.base)
    if base is None:
        return
    kept = list(results.commits())
    known = {
        (between.arm, between.arm_commit, between.base, between.base_commit) for between in kept
    }
    before = len(kept)
    for arm, source in sources.items():
        folder = touched.repository(source, base)
        commit, base_commit = touched.commit_of(source), touched.commit_of(base)
        if folder is None or commit is None or base_commit is None or commit == base_commit:
            continue
        if (arm, commit, plan.base, base_commit) in known:
            continue
        between = touched.between(folder, arm=(arm, commit), base=(plan.base, base_commit))
        between = _with_changes(between, {plan.base: base, arm: source})
        kept.append(between)
        count = len(between.commits)
        words = f"{count:,} commit{'s' * (count != 1)} with code"
        missing = f" ({between.missing})" if between.missing else ""
        say(f"commits: {words} between the builds of {plan.base} and {arm}{missing}")
    if len(kept) > before:
        results.keep_commits(kept)


def _with_changes(between: CommitsBetween, sources: Mapping[str, Source]) -> CommitsBetween:
    """Says which of the builds has changes that are in no commit."""
    changed = [arm for arm, source in sources.items() if source.kind == "git with changes"]
    if not changed:
        return between
    words = f"{' and '.join(changed)} with changes that are in no commit"
    return replace(between, missing=f"{between.missing}; {words}" if between.missing else words)


def source_of(build: Build) -> Source | None:
    """What a build of the lab was made of; None of a server that dyno did not build."""
    record = cache.kept(build.base_dir)
    return None if record is None else record.source
