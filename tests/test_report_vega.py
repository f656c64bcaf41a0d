"""The script that draws charts is shipped, and is that of the library that draws pictures."""

import pytest

import vega_script
from dbdyno.report import vega


def test_the_script_is_of_the_versions_that_draw_pictures() -> None:
    assert vega.library().startswith(vega_script.heading())
    assert "window.vegaEmbed=" in vega.library()[-100:]


@pytest.mark.long
def test_the_script_is_what_the_tool_bundles() -> None:
    import vl_convert

    bundled = vega_script.heading() + vl_convert.javascript_bundle(vega_script.ENTRY)
    assert vega.library() == bundled
