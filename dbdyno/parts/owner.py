"""The owners of costs, in words."""

from dbdyno.model.step_run import IDLE

NAMES = {
    "backend:other": "other backends",
    "exited": "unidentified processes",
    "generator": "load generator",
    "lab": "dyno",
    "lab:status": "dyno's questions for the server's state",
    "lab:waits": "dyno's samples of waits",
    "rest": "rest of the machine",
}


def words(owner: str) -> str:
    """An owner in words: `role:insert` is the insert connections."""
    name = owner.removeprefix(IDLE)
    kind, _, role = name.partition(":")
    if kind == "role":
        return f"{role} connections"
    if kind == "parallel":
        return f"parallel workers of {role}"
    return NAMES.get(name, name.removeprefix("background:"))
