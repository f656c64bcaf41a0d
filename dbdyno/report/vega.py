"""Vega as one script for the HTML report; `tools/vega_script.py` bundles it."""

import importlib.resources
from functools import cache


@cache
def library() -> str:
    """The script, which defines `vegaEmbed` of the window."""
    script = importlib.resources.files("dbdyno.report") / "vega.js"
    return script.read_text(encoding="utf-8")
