"""Which arms take the settings of the server that queries were captured from; without a server."""

from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.model.configuration import OF_SOURCE, described
from dbdyno.run.check import source_settings

APP = """
[source]
engine = "postgres"
settings = { random_page_cost = "1.1" }
[queries.select-t-00000001]
text = "q.sql"
calls = 1
"""
PLAN = """
[arms.a]
{arm}
[[workloads]]
name = "{app}"
"""


@pytest.mark.parametrize(
    ("arm", "taken"),
    [
        ('version = "17"', {"random_page_cost": "1.1"}),
        ('version = "17"\nconfig = "x10a"', {}),
        ('engine = "mariadb"\nversion = "11.4"', {}),
        ('dsn = "postgresql://a@b/c"', {}),
    ],
)
def test_arms_of_the_source_s_engine_without_a_configuration_take_its_settings(
    tmp_path: Path, arm: str, taken: dict[str, str]
) -> None:
    (tmp_path / "workload.toml").write_text(APP)
    (tmp_path / "q.sql").write_text("SELECT 1")
    of = plan.parse(PLAN.format(arm=arm, app=tmp_path), None)
    assert source_settings.written_for(of, of.arms[0]) == taken


def test_such_arms_are_described_by_it() -> None:
    assert described({"a": OF_SOURCE, "b": OF_SOURCE}) == "the source's settings"
