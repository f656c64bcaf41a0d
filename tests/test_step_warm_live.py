"""A step's own relations on a real server: what stays in shared_buffers is what was read last."""

import pytest

from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from server_place import a_place, ends, started

pytestmark = pytest.mark.live
SHARED_BUFFERS = 8 << 20


def test_relations_are_read_in_their_order_and_the_last_one_stays() -> None:
    settings = {"shared_buffers": "8MB", "fsync": "off"}
    arm = Arm(name="a", engine="postgres", base_dir=ends()[-1], settings=settings)
    with a_place() as place, started(arm, place) as server:
        server.create_database("ib")
        server.use_database("ib")
        server.execute(
            "CREATE TABLE t (a bigint PRIMARY KEY)",
            "INSERT INTO t SELECT n FROM generate_series(1, 300000) n",
            "VACUUM t",
        )
        found = server.client.warm_up(["t", "t_pkey"], server.execute)
        table, key = found.resident
        assert [one.name for one in (table, key)] == ["t", "t_pkey"]
        assert found.bytes == table.bytes + key.bytes > SHARED_BUFFERS
        assert table.resident_bytes + key.resident_bytes <= SHARED_BUFFERS
        assert key.resident_bytes > 0.7 * key.bytes
        assert table.resident_bytes < 0.5 * table.bytes
        with pytest.raises(ServerError, match="key `warm` of the step: there is no table or index"):
            server.client.warm_up(["t", "u"], server.execute)
