"""The build that an arm asks for, by its engine: compiled by dyno, found here, or fetched."""

from __future__ import annotations

from pathlib import Path

from dbdyno.builds import Build
from dbdyno.builds import cache as built
from dbdyno.engine.mysql import build
from dbdyno.engine.postgres import build as fetch
from dbdyno.host import account as accounts
from dbdyno.host.account import Account
from dbdyno.model import Arm
from dbdyno.model.error import ServerError


def locate(arm: Arm, cache: Path | None = None, account: Account | None = None) -> Build:
    """The build that an arm asks for; a version that is not in the cache is fetched.

    Raises ServerError where there is none, or where the account cannot run it.
    """
    account = account or accounts.choose(arm.engine)
    if arm.build is not None and arm.version is not None:
        where = f"arms.{arm.name}.build"
        folder = built.of_release(arm.engine, arm.version, arm.build, cache)
        if folder is None:
            command = f"dyno server build {arm.engine} {arm.version} --recipe {arm.build}"
            raise ServerError(f"{where}: not built yet: {command}")
        return inspect(folder, arm.engine, where, account)
    if arm.build is not None:
        where = f"arms.{arm.name}.build"
        return inspect(built.find(arm.build, arm.engine, where, cache), arm.engine, where, account)
    if arm.base_dir is not None:
        return inspect(arm.base_dir.absolute(), arm.engine, f"arms.{arm.name}.base_dir", account)
    if arm.engine in build.OLDEST:
        return build.find(arm, cache, account)
    assert arm.version is not None, "a plan that exists names a version or a base_dir"
    where = f"arms.{arm.name}.version"
    base_dir = fetch.fetch(arm.engine, arm.version, cache)
    return fetch.inspect(base_dir, where, account)


def inspect(base_dir: Path, engine: str, where: str, account: Account) -> Build:
    """The build of `engine` in a folder. Raises ServerError that begins with `where`."""
    if engine in build.OLDEST:
        return build.inspect(base_dir, engine, where, account)
    return fetch.inspect(base_dir, where, account)
