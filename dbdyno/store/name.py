"""Names in a result folder: of arms and workloads as folders, and those that are still free."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from dbdyno.store.file import sync_folder


def safe_name(name: str) -> str:
    """`name` as a folder's name: unsafe characters become `_`, a hash keeps such names apart."""
    safe = re.sub(r"[^A-Za-z0-9._@=,+-]", "_", name)
    if safe == name and name and not name.startswith("."):
        return name
    return f"{safe.lstrip('.')[:80] or '_'}.{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def made(folder: Path) -> Path:
    """The folder, made with those above it where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    sync_folder(folder.parent)
    return folder


def free_name(folder: Path, stem: str = "plan") -> Path:
    """The first of plan.001.json, plan.002.json … that is not taken."""
    number = 1
    while (path := folder / f"{stem}.{number:03d}.json").exists():
        number += 1
    return path


def folders(path: Path) -> list[Path]:
    """The folders in `path` by name, without hidden ones; none where it is none."""
    if not path.is_dir():
        return []
    return sorted(item for item in path.iterdir() if item.is_dir() and item.name[0] != ".")
