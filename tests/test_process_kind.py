"""Process titles of PostgreSQL 9.6 to 19."""

import pytest

from dbdyno.engine.postgres.process_kind import kind_of, leader_of


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


@pytest.mark.parametrize(
    ("title", "cluster_name"),
    [
        ("postgres: bgworker: parallel worker for PID 455", ""),  # 9.6 and 10
        ("postgres: parallel worker for PID 455 ", ""),  # 11 and later
        ("postgres: lab 1: parallel worker for PID 455", "lab 1"),
        ("postgres: lab 1: bgworker: parallel worker for PID 455", "lab 1"),
    ],
)
def test_a_parallel_worker_names_the_backend_that_leads_it(title: str, cluster_name: str):
    assert kind_of(title, cluster_name) == "parallel worker"
    assert leader_of(title, cluster_name) == 455


@pytest.mark.parametrize(
    "title",
    ["postgres: io worker 0", "postgres: dyno ib [local] parallel worker for PID 7", "", "a 7"],
)
def test_others_have_no_leader(title: str):
    assert leader_of(title) is None
