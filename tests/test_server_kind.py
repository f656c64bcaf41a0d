"""Process titles of PostgreSQL 9.6 to 18."""

from __future__ import annotations

import pytest

from dbdyno.server.kind import kind_of


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("checkpointer", "checkpointer"),
        ("checkpointer process  ", "checkpointer"),
        ("checkpointer performing checkpoint", "checkpointer"),
        ("writer process", "background writer"),
        ("background writer", "background writer"),
        ("wal writer process", "walwriter"),
        ("walwriter", "walwriter"),
        ("autovacuum launcher process", "autovacuum launcher"),
        ("autovacuum worker process   ib", "autovacuum worker"),
        ("autovacuum worker ib", "autovacuum worker"),
        ("stats collector process", "stats collector"),
        ("bgworker: logical replication launcher", "logical replication launcher"),
        ("logical replication launcher", "logical replication launcher"),
        ("bgworker: parallel worker for PID 7", "parallel worker"),
        ("parallel worker for PID 7", "parallel worker"),
        ("io worker 2", "io worker"),
        ("archiver last was 000000010000000000000003", "archiver"),
        ("startup recovering 000000010000000000000003", "startup"),
        ("walsender rep 127.0.0.1(40002) streaming 0/3000060", "walsender"),
        ("dyno ib [local] idle", "backend"),
        ("dyno ib 127.0.0.1(40002) INSERT waiting", "backend"),
        ("checkpointer ib [local] idle", "backend"),  # a user of that name
        ("pg_cron launcher", "other"),
    ],
)
def test_a_title_tells_what_the_process_is_for(title: str, kind: str):
    assert kind_of(f"postgres: {title}") == kind


def test_the_clusters_name_in_front_is_no_matter():
    assert kind_of("postgres: lab 1: walwriter", "lab 1") == "walwriter"
    assert kind_of("postgres: lab 1: dyno ib [local] idle", "lab 1") == "backend"


def test_a_child_that_has_no_title_yet_is_asked_again():
    assert kind_of("/usr/lib/postgresql/15/bin/postgres -D /var/lib/dyno/a/data") is None
    assert kind_of("") is None
