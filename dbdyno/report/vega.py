"""Vega as one script for the HTML report, bundled once a version and kept in the cache folder."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from importlib import metadata

from dbdyno.host import place
from dbdyno.model.error import DiskError, HostError
from dbdyno.store.file import write_atomically

ENTRY = "window.vegaEmbed = vegaEmbed;"
"""What the bundle does beyond defining Vega."""
FOLDER = "vega"


@cache
def library() -> str:
    """The script; bundling it takes seconds, so that a file of this account alone keeps it.

    Where that file cannot be read or written, the script is bundled anew.
    """
    import vl_convert

    version = f"{metadata.version('vl-convert-python')} {ENTRY}"
    name = f"{hashlib.sha256(version.encode()).hexdigest()}.js"
    path = None
    with suppress(OSError, HostError):
        place.cache_root().mkdir(parents=True, exist_ok=True)
        path = place.private_folder(place.cache_root() / FOLDER) / name
        return path.read_bytes().decode()
    bundle = str(vl_convert.javascript_bundle(ENTRY))
    if path is not None:
        with suppress(OSError, DiskError):
            write_atomically(path, bundle.encode())
    return bundle
