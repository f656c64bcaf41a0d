"""void.json of a block that was set aside: why, and whether it is done again by itself."""

from pathlib import Path

from dbdyno.model.block_files import VoidReason
from dbdyno.model.error import ResultError
from dbdyno.store.file import read_struct_if_there, write_json

NAME = "void.json"


def say(folder: Path, reason: str, cause: str | None) -> None:
    """Writes why a block is void, before its folder gets another name.

    One that has a reason already, as dyno ended in between, keeps that one.
    """
    if not is_there(folder):
        write_json(folder / NAME, VoidReason(reason, cause))


def is_there(folder: Path) -> bool:
    """Whether the block was made void."""
    return (folder / NAME).exists()


def reason(folder: Path) -> str | None:
    """Why a void block is void."""
    try:
        void = read_struct_if_there(folder / NAME, VoidReason)
    except ResultError as error:
        return str(error)
    return None if void is None else void.reason


def cause(folder: Path) -> str | None:
    """For what it was done again by itself, a word; None: it was broken off, or nobody can tell."""
    try:
        void = read_struct_if_there(folder / NAME, VoidReason)
    except ResultError:
        return None
    return None if void is None else void.cause
