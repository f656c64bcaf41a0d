"""What statements need of a server's user, and what grants come to; no server."""

import pytest

from dbdyno import workload
from dbdyno.engine.mysql import rights as mysql
from dbdyno.engine.mysql.rights import covers, held
from dbdyno.engine.postgres import rights as postgres
from dbdyno.engine.rights import Need, needed
from workload_reader import job_of

ADMINISTERED = ("insert-benchmark", "sysbench")
ENGINES = {"postgres": postgres.NEEDED, "mysql": mysql.NEEDED, "mariadb": mysql.NEEDED}


def needs(name: str, engine: str, administer: int) -> set[Need]:
    """The needs of all statements of a workload."""
    steps = workload.expand(workload.load(name), {"administer": administer}, engine)
    texts = [sql for step in steps for sql in step.setup]
    texts += [
        piece
        for step in steps
        for one in job_of(step)["statements"]
        for piece in one["pieces"]
        if isinstance(piece, str)
    ]
    return {need for sql in texts if (need := needed(sql, ENGINES[engine])) is not None}


@pytest.mark.parametrize("name", ADMINISTERED)
@pytest.mark.long
def test_workloads_that_administer_need_more_than_tables_and_with_administer_0_they_do_not(
    name: str,
):
    assert needs(name, "postgres", 1) == {"tables", "checkpoint"}
    assert needs(name, "mysql", 1) == needs(name, "mariadb", 1) == {"tables", "settings", "logs"}
    for engine in ENGINES:
        assert needs(name, engine, 0) == {"tables"}, engine


@pytest.mark.parametrize("name", [one for one in workload.names() if one not in ADMINISTERED])
def test_no_other_workload_administers(name: str):
    for engine, shapes in ENGINES.items():
        chosen = "outside" if name == "ybio" and engine != "postgres" else None  # no procedures
        steps = workload.expand(workload.load(name, set=chosen), {}, engine)
        texts = [sql for step in steps for sql in step.setup]
        assert {needed(sql, shapes) for sql in texts} <= {None, "tables"}, engine


def test_what_only_names_a_checkpoint_or_reads_a_setting_needs_nothing():
    assert needed("SELECT 'CHECKPOINT'", postgres.NEEDED) is None
    assert needed("checkpoint", postgres.NEEDED) == "checkpoint"
    assert needed("SET @lwm = @@GLOBAL.innodb_max_dirty_pages_pct_lwm", mysql.NEEDED) is None
    assert needed("RESET MASTER", mysql.NEEDED) == "logs"


def test_grants_hold_in_the_databases_that_their_patterns_cover():
    lines = [
        "GRANT USAGE ON *.* TO `tenant`@`%`",
        "GRANT PROCESS, SYSTEM_VARIABLES_ADMIN ON *.* TO `tenant`@`%`",
        "GRANT SELECT, CREATE ON `shop%`.* TO `tenant`@`%`",
        "GRANT INSERT, UPDATE (`a`, `b`) ON `other`.* TO `tenant`@`%`",
        "GRANT DROP ON `shop`.`one_table` TO `tenant`@`%`",
        "GRANT `a_role`@`%` TO `tenant`@`%`",
    ]
    found = held(lines, "shop_2")
    assert found.everywhere == {"USAGE", "PROCESS", "SYSTEM_VARIABLES_ADMIN"}
    assert found.here - found.everywhere == {"SELECT", "CREATE"}
    assert held(lines, "other").here >= {"INSERT", "UPDATE"}


@pytest.mark.parametrize(
    ("pattern", "database", "does"),
    [
        ("shop", "shop", True),
        ("shop", "shops", False),
        ("a_b", "axb", True),
        (r"a\_b", "axb", False),
        (r"a\_b", "a_b", True),
        ("%", "anything", True),
        ("a.b", "axb", False),
    ],
)
def test_a_database_is_matched_as_mysql_does(pattern: str, database: str, does: bool):
    assert covers(pattern, database) is does
