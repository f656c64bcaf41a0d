"""The prefix of a log's lines is told by the lines: published ones in their meaning, or asked."""

import random
from collections.abc import Sequence

import pytest

from dbdyno.capture.log.line_prefix import Prefix, prefix_of
from dbdyno.capture.log.prefix_choice import detected
from dbdyno.model.error import DynoError

TOLD = (
    *("%m [%p] ", "%m [%c] ", "%t [%p] ", "%t-%c-", "%m [%c] %q%u@%d/%a ", "%n [%p] %u@%d "),
    *("%m [%p] %q%u@%d ", "%t [%p-%l] %q%u@%d ", "%h %m [%p] %q%u@%d "),  # Debian, Supabase
    *("%t:%r:%u@%d:[%p]:", "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:"),  # RDS, Aurora
    "%m [%p] %q[user=%u,db=%d,app=%a] ",  # pganalyze, Azure
    "%m [%p] %q[user=%u,db=%d,app=%a,host=%h] ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",  # pgBadger
    *("%t [%p]: user=%u,db=%d,app=%a,client=%h ", "%t [%p]: [%l-1] user=%u,db=%d,client=%h "),
    *("%t [%p]: [%l-1] user=%u,db=%d ", "%t [%p]: [%l-1] user=%u,db=%d - PG-%e "),
    "%t [%p]: [%l-1] [trx_id=%x] user=%u,db=%d ",
    *("%m [%p]: [%l-1] db=%d,user=%u ", "%m [%p]: [%l-1] db=%d,user=%u,app=%a,client=%h "),
    *("%m [%p][%v] : [%l-1] %q[app=%a] ", "%m [%p][%b][%v][%x] %q[user=%u,db=%d,app=%a] "),
    "%m [%p]: [%l-1] xact=%x,user=%u,db=%d,client=%h, app=%a",  # ends without a blank
    "%t [%p]: ts=%m,db=%d,user=%u,app=%a,client=%h,cmdtag=%i,statecode=%e,vtxid=%v,txid=%x",
    *("%m [%p] queryid=%Q user=%u db=%d app=%a host=%h ", "%m [%p] %q[queryid=%Q] %u@%d/%a at %h "),
    *("< %m > [%p] user=%u,db=%d ", "pid=%p,user=%u,db=%d,app=%a,client=%h,time=%m "),
    *("'%t [ db=%d user=%u pid=%p xid=%x ]' ", "%m | %p | %e | user='%u' | db='%d' | app='%a' | "),
    *("%t [%p]  sql_error_code = %e ", "%m [%p] %q%u@%d [%a] ", "%m [%p] %q%u@%d app=%a "),
    *("%t [%p]: user=%u,db=%d,host=%h,app=%a ", "%m [%p] user=%u,db=%d [queryid=%Q] "),
    *("%m [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h,queryid=%Q ", "%m [%p] %u@%d (%h) "),
    *("%m [%p] db=%d user=%u rhost=%r app=%a ", "%m %c %p %q%u@%d %v %x "),
)
"""What people have, and what the lines alone tell."""
ASKED = (
    *("%m [%p] %d ", "%m [%p] %d %u ", "%m [%p] %u %d %a ", "[%t] [%p] [%h] [%u] [%d] "),
    *("%t [%p]: [%l-1] %c %x %d %u %a %h ", "%m|%u|%d|%r|%p|%l|%e|%s|%v|%x|%c|%i||%a|%Q|"),
)
"""What lines tell only where some say of their session who it is, as those of Spilo."""
USERS, DATABASES = ("app", "reporting", "batch-1"), ("shop", "billing_prod")
NAMED = ("user", "database", "application", "state")


APPLICATIONS = ("psql", "PostgreSQL JDBC Driver", "[unknown]", "web-1")


def lines_of(
    written: str,
    *,
    says_who: bool = False,
    count: int = 300,
    users: Sequence[str] = USERS,
    applications: Sequence[str] = APPLICATIONS,
) -> list[str]:
    """Lines that this prefix begins, one in twenty of another process than a session's."""
    draw, counts, made = random.Random(written), dict.fromkeys(range(1000, 1010), 0), []
    for number in range(count):
        other = number % 20 == 7
        process = 1000 if other else draw.randrange(1001, 1010)
        counts[process] += 1
        user, database = draw.choice(users), draw.choice(DATABASES)
        values = {
            "m": f"2026-11-26 10:00:{number // 10:02d}.{number % 1000:03d} UTC",
            "t": f"2026-11-26 10:00:{number // 10:02d} UTC",
            "n": f"1790000000.{number % 1000:03d}",
            "p": process,
            "l": counts[process],
            "c": f"6b0a062e.{process:x}",
            "u": user,
            "d": database,
            "e": "00000",
            "s": "2026-11-26 09:00:00 UTC",
            "a": draw.choice(applications),
            "h": draw.choice(("10.0.0.1", "[local]", "fe80::1")),
            "r": draw.choice(("10.0.0.1(5432)", "[local]", "ec2-1-2.compute.internal(33)")),
            "v": f"{process - 1000}/{number}",
            "x": draw.choice((0, 0, 0, 5000 + number)),
            "Q": draw.choice((1, -1)) * (10**17 + draw.randrange(9)),
            "i": "SELECT",
            "b": "client backend",
        }
        message = f"duration: 0.{number} ms  statement: SELECT a FROM t"
        if says_who and number % 50 == 3:
            message = f"connection authorized: user={user} database={database} SSL enabled"
        if other:
            values |= dict.fromkeys("udahrvi", "") | {"b": "checkpointer", "x": 0}
            message = "checkpoint starting: time"
        begin = written.partition("%q")[0] if other else written.replace("%q", "")
        for letter, value in values.items():
            begin = begin.replace(f"%{letter}", str(value))
        made.append(f"{begin}LOG:  {message}\n")
    return made


def reading(prefix: Prefix, lines: list[str]) -> list[dict[str, str]]:
    """What a prefix reads in lines."""
    matches = [prefix.pattern.match(line) for line in lines]
    assert all(matches)
    return [
        {key: value for key, value in match.groupdict().items() if value and key in NAMED}
        for match in matches
        if match is not None
    ]


@pytest.mark.parametrize("written", TOLD)
def test_lines_tell_their_prefix(written: str) -> None:
    lines = lines_of(written)
    assert reading(detected(lines, "x.log"), lines) == reading(prefix_of(written), lines)


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("count", [3, 40])
@pytest.mark.parametrize("written", TOLD)
def test_few_lines_of_one_application_tell_it_too(written: str, count: int, application: str):
    lines = lines_of(written, count=count, users=["app"], applications=[application])
    read, expected = (
        reading(prefix, lines) for prefix in (detected(lines, "x.log"), prefix_of(written))
    )
    names = [{key: each.get(key) for key in ("user", "database")} for each in read]
    assert names == [{key: each.get(key) for key in ("user", "database")} for each in expected]


@pytest.mark.parametrize("written", ASKED)
def test_names_that_nothing_tells_apart_are_asked_for_and_else_told_by_connections(written: str):
    with pytest.raises(
        DynoError, match=r"may be written by `.*` \(database .* or by .* --prefix '"
    ):
        detected(lines_of(written), "x.log")
    lines = lines_of(written, says_who=True)
    found = detected(lines, "x.log")
    names = {"user": "%u", "database": "%d"}
    for said, expected in zip(
        reading(found, lines), reading(prefix_of(written), lines), strict=True
    ):
        for key, letter in names.items():
            assert letter not in written or said.get(key) == expected.get(key)


def test_the_answer_is_taken_and_a_server_s_own_prefix_needs_no_question() -> None:
    lines = lines_of("%m [%p] %d %u ")
    for answer in ("%m [%p] %d %u ", "%m [%p] %u %d "):
        assert detected(lines, "x.log", given=answer).written == answer
        assert detected(lines, "x.log", server=answer).written == answer
    assert detected(lines_of("%m [%c] "), "x.log", server="%t [%p] %u ").written == "%m [%c] "


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("%m [%p] %u ", r"does not fit the line that begins `2026-11-26 10:00:00 UTC \[100"),
        ("%t [%p]: [%l-1] user=%u,db=%d ", r"lines have database `\w+,client=.*goes on behind it"),
        ("%t %u ", "has no time .* or no session"),
    ],
)
def test_a_prefix_that_is_named_and_does_not_fit_is_refused(given: str, said: str) -> None:
    with pytest.raises(DynoError, match=said):
        detected(lines_of("%t [%p]: [%l-1] user=%u,db=%d,client=%h "), "x.log", given=given)


def test_what_no_prefix_has_begun_is_refused_with_its_first_line() -> None:
    with pytest.raises(DynoError, match="no known prefix fits the line that begins `hello `"):
        detected(["hello LOG:  duration: 1.0 ms\n"], "x.log")
    with pytest.raises(DynoError, match="no known prefix fits line 1"):
        detected(["secret\n", "secret\n"], "x.log")
