"""Libraries that an arm's environment preloads into its server's program."""

import re

from dbdyno.builds import VERSION_S_MAX, Build
from dbdyno.host import account as accounts
from dbdyno.host.account import Account
from dbdyno.model import Arm
from dbdyno.model.error import PlanError

PRELOAD = "LD_PRELOAD"
REFUSED = re.compile(r"object '([^']+)' from LD_PRELOAD cannot be preloaded \(([^)]+)\)")
"""The loader's complaint, after which it goes on without the library."""


def refuse_unloaded(arm: Arm, build: Build, account: Account) -> None:
    """Raises PlanError where a library that the arm preloads is not loaded into its program."""
    if not arm.environment.get(PRELOAD):
        return
    env = {**account.options()["env"], **build.environment, **arm.environment}
    done = accounts.answer([build.program, "--version"], account, limit_s=VERSION_S_MAX, env=env)
    found = REFUSED.search(done.stderr)
    if found is not None:
        raise PlanError(
            f"arms.{arm.name}.environment.{PRELOAD}: `{found[1]}` cannot be loaded ({found[2]}): "
            "install the library, or remove the key"
        )
