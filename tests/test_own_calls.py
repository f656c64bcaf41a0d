"""Captured values become literals or bound values of calls, as the application sent them."""

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.model import engine
from dbdyno.model.error import WorkloadError
from dbdyno.model.job.statements import Protocol
from dbdyno.model.own_query import OwnQuery
from dbdyno.run import own_calls

POSTGRES, MYSQL = engine.of("postgres"), engine.of("mysql")


def query(tmp_path: Path, text: str, *lines: str, protocol: Protocol = "simple") -> OwnQuery:
    """A query with a file of these lines."""
    values = tmp_path / "values.jsonl"
    values.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return OwnQuery(
        name="q",
        text=text,
        calls=1,
        time_s=0,
        protocol=protocol,
        types=("int4", ""),
        values=values if lines else None,
    )


def test_literals_stand_as_the_application_wrote_them(tmp_path: Path) -> None:
    own = query(
        tmp_path,
        "SELECT $1, -$2, '$1', $3, $4, $5 -- $1",
        r'{"values": [1.50, -5, "O\u0027Brien \\", null, true]}',
    )
    (call,) = own_calls.calls(own, POSTGRES, 5)
    assert call.text == r"SELECT 1.50, - -5, '$1', 'O''Brien \', NULL, true -- $1"
    assert call.values is None
    (call,) = own_calls.calls(own, MYSQL, 5)
    assert r"'O''Brien \\'" in call.text


def test_a_backslash_stands_as_the_session_reads_it(tmp_path: Path) -> None:
    own = query(tmp_path, "SELECT $1", r'{"values": ["a\\b"]}')
    mode = {"sql_mode": "ANSI_QUOTES,no_backslash_escapes"}
    texts = [
        call.text
        for settings in ({}, mode)
        for call in own_calls.calls(replace(own, settings=settings), MYSQL, 5)
    ]
    assert texts == [r"SELECT 'a\\b'", r"SELECT 'a\b'"]


def test_bound_values_are_texts_with_their_types(tmp_path: Path) -> None:
    own = query(tmp_path, "SELECT $1, $2", '{"values": ["5", null]}', protocol="prepared")
    (call,) = own_calls.calls(own, POSTGRES, 5)
    assert (call.text, call.values, call.types) == ("SELECT $1, $2", ("5", None), ("int4", ""))
    (call,) = own_calls.calls(own, MYSQL, 5)
    assert (call.text, call.values) == ("SELECT '5', NULL", None)


def test_the_heaviest_tuples_are_tried(tmp_path: Path) -> None:
    lines = [f'{{"weight": {weight}, "values": [{weight}]}}' for weight in (1, 5, 3)]
    own = query(tmp_path, "SELECT $1", *lines)
    assert [call.text for call in own_calls.calls(own, POSTGRES, 2)] == ["SELECT 5", "SELECT 3"]


def test_a_query_without_parameters_is_one_call_and_without_values_none(tmp_path: Path) -> None:
    assert len(own_calls.calls(query(tmp_path, "SELECT 1"), POSTGRES, 5)) == 1
    assert own_calls.calls(query(tmp_path, "SELECT $1"), POSTGRES, 5) == ()


def test_a_damaged_file_is_named_without_its_values(tmp_path: Path) -> None:
    own = query(tmp_path, "SELECT $1", '{"values": ["secret"')
    with pytest.raises(WorkloadError, match=r"values\.jsonl") as refused:
        own_calls.calls(own, POSTGRES, 5)
    assert "secret" not in str(refused.value)
