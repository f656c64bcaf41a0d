"""A report names what it lacks of a server elsewhere, and nothing of one of the lab's own."""

from dataclasses import replace

from msgspec import structs

import report_parts
from comparison_builder import comparison
from dbdyno.model import Comparison
from dbdyno.report import page
from dbdyno.report.render import html, markdown
from run_builder import changed

DENIED = "permission denied for function pg_ls_waldir"


def elsewhere(**unread: str) -> Comparison:
    """A comparison whose first arm runs elsewhere and did not tell these parts."""
    made = comparison(blocks=1, names=["l.i0", "qr100"])
    (cell, *others), rest = made.steps[0].cells, made.steps[1:]
    runs = tuple(changed(run, unread=unread) for run in cell.runs)
    first = replace(made.steps[0], cells=(replace(cell, runs=runs), *others))
    servers = dict(made.servers) | {
        "pg17": structs.replace(made.servers["pg17"], external="db:5432")
    }
    return replace(made, steps=(first, *rest), servers=servers)


def test_what_only_the_host_knows_is_said_of_the_arm_that_runs_elsewhere():
    made = page.make(elsewhere())
    (text,) = report_parts.texts(made, "unseen")
    assert text.startswith("pg17 runs elsewhere (db:5432). Only its host knows CPU, ")
    for shown in (markdown.render(made), html.render(made)):
        assert "Only its host knows CPU, context switches, memory, log" in shown


def test_what_the_server_did_not_tell_stands_with_its_reason_once():
    found = elsewhere(**{"sizes.wal_dir_bytes": DENIED, "leaves": DENIED, "buffers": "no such"})
    _, *told = report_parts.texts(page.make(found), "unseen")
    assert told == [
        f"pg17: the server does not tell leaves, sizes.wal_dir_bytes: {DENIED}.",
        "pg17: the server does not tell buffers: no such.",
    ]


def test_nothing_is_said_where_all_servers_are_the_labs_own():
    assert report_parts.texts(page.make(comparison(blocks=1, names=["l.i0"])), "unseen") == ()
