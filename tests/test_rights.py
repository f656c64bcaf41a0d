"""What statements need of a server's user, and what grants come to; no server."""

from typing import Any

import pytest

from dbdyno import workload
from dbdyno.engine.mysql import rights as mysql
from dbdyno.engine.mysql.rights import covers, held
from dbdyno.engine.postgres import rights as postgres
from dbdyno.engine.rights import Need, needed
from dbdyno.model.error import ServerError
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


# --- What a user lacks, by what the server answers in turn ----------------------------------------

ME, NAMED = [("tenant@%", "shop")], "'tenant'@'%'"
ALL = [("GRANT ALL PRIVILEGES ON *.* TO `tenant`@`%`",)]
READS = [("GRANT SELECT, RELOAD ON *.* TO `tenant`@`%`",)]
NOTHING = [("GRANT USAGE ON *.* TO `tenant`@`%`",)]
LACKING = "INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER"


def table_rights(**rights: object) -> list[Any]:
    """The answer of a PostgreSQL about tables."""
    may = {"user": "t", "standby": False, "schema": "s", "may": True, "read_only": "off"}
    return [tuple((may | rights).values())]


@pytest.mark.parametrize(
    ("engine", "need", "answers", "mend"),
    [
        (mysql, "warm", [], None),
        (mysql, "tables", [[(0,)], ME, ALL], None),
        (mysql, "tables", [[("OFF",)], ME, READS], f"`GRANT {LACKING} ON shop.* TO {NAMED}`"),
        (mysql, "tables", [[("ON",)], ME, ALL], "name the server that it follows"),
        (mysql, "settings", [ME, ALL], None),
        (mysql, "checkpoint", [ME, READS, [("Super",)]], f"`GRANT SUPER ON *.* TO {NAMED}`"),
        (
            mysql,
            "settings",
            [ME, NOTHING, [("Super",), ("system_variables_admin",)]],
            f"`GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO {NAMED}`",
        ),
        (mysql, "logs", [[("ON",)], ME, READS], None),
        (mysql, "logs", [[(0,)], ME, NOTHING], None),
        (mysql, "logs", [[(1,)], ME, NOTHING], f"`GRANT RELOAD ON *.* TO {NAMED}`"),
        (mysql, "load", [[(1,)]], None),
        (mysql, "load", [[("OFF",)]], "set `local_infile = ON`"),
        (postgres, "settings", [], None),
        (postgres, "tables", [table_rights()], None),
        (postgres, "tables", [table_rights(standby=True)], "name its primary"),
        (postgres, "tables", [table_rights(read_only="on")], "`ALTER ROLE t SET default_tr"),
        (postgres, "tables", [table_rights(schema=None)], "`CREATE SCHEMA AUTHORIZATION t`"),
        (postgres, "tables", [table_rights(may=False)], "`GRANT CREATE ON SCHEMA s TO t`"),
        (postgres, "checkpoint", [[("t", True, None)]], None),
        (postgres, "checkpoint", [[("t", False, True)]], None),
        (postgres, "checkpoint", [[("t", False, None)]], "name a superuser"),
        (postgres, "checkpoint", [[("t", False, False)]], "`GRANT pg_checkpoint TO t`"),
        (postgres, "warm", [ServerError(f"`DO`: {postgres.UNDONE} CONTEXT: x")], None),
        (postgres, "warm", [ServerError("`DO`: denied CONTEXT: x")], "`GRANT pg_monitor`"),
    ],
)
def test_what_a_user_lacks_is_told_with_what_gives_it(
    engine: Any, need: Need, answers: list[Any], mend: str | None
):
    left = iter(answers)

    def execute(*statements: str, limit_s: float = 0) -> list[tuple[Any, ...]]:
        answer = next(left)
        if isinstance(answer, ServerError):
            raise answer
        return list(answer)

    unmet = engine.lack(need, execute)
    assert next(left, None) is None, "it asks less than it says"
    assert (unmet is None) == (mend is None)
    assert unmet is None or (mend in unmet.mend and unmet.what)
