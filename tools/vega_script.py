"""Bundles Vega, Vega-Lite and Vega-Embed into dbdyno/report/vega.js; a test compares.

python tools/vega_script.py
"""

from pathlib import Path

import vl_convert

SCRIPT = Path(__file__).parent.parent / "dbdyno" / "report" / "vega.js"
ENTRY = "window.vegaEmbed = vegaEmbed;"
"""What the bundle does beyond defining Vega."""


def heading() -> str:
    """The versions and the licence of what is bundled."""
    vega, lite = vl_convert.get_vega_version(), max(vl_convert.get_vegalite_versions())
    embed = vl_convert.get_vega_embed_version()
    return (
        f"/* Vega {vega}, Vega-Lite {lite}, Vega-Embed {embed}: BSD-3-Clause, University of "
        "Washington Interactive Data Lab. Made by tools/vega_script.py. */\n"
    )


if __name__ == "__main__":
    SCRIPT.write_text(heading() + vl_convert.javascript_bundle(ENTRY), encoding="utf-8")
