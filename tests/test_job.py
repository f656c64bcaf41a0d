"""A job's types (dbdyno/model/job) beside the example jobs that dyno-loadgen reads as well."""

import json
from pathlib import Path

import msgspec
import pytest

from dbdyno.model.job import Job
from dbdyno.model.json import decoder, encoder

EXAMPLES = sorted((Path(__file__).parent.parent / "contract").glob("job-*.json"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_job_is_written_as_it_was_read(path: Path) -> None:
    written = json.loads(path.read_bytes())
    if written["server"] is not None:
        written["server"] = {"tls": None} | written["server"]  # which dyno always says
    job = msgspec.json.decode(path.read_bytes(), type=Job)
    assert json.loads(msgspec.json.encode(job)) == written
    assert decoder(Job).decode(encoder().encode(job)) == job, "as results and agents have it"


def test_what_an_older_job_lacks_has_a_default_and_what_a_newer_one_adds_is_passed_over() -> None:
    role = '{"name": "r", "per": "client", "connections": 2, "pace": {"kind": "closed"}, "new": 1}'
    job = msgspec.json.decode(f'{{"clients": 3, "roles": [{role}], "newer": {{}}}}', type=Job)
    assert (job.connections, job.engine, job.driver, job.settle_s) == (6, "fake", "loadgen", 0.2)


@pytest.mark.parametrize(
    "wrong", ['"pace": {"kind": "closed"}', '"per": "row", "pace": {"kind": "closed"}']
)
def test_what_no_role_can_be_is_refused(wrong: str) -> None:
    role = f'{{"name": "r", "connections": 2, {wrong}}}'
    with pytest.raises(msgspec.ValidationError, match=r"at `\$\.roles\[0\]"):
        msgspec.json.decode(f'{{"clients": 3, "roles": [{role}]}}', type=Job)
