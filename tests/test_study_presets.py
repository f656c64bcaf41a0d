"""Presets of single studies: their settings on their hosts, their shares elsewhere."""

from test_config import GB, rendered


def test_the_medium_server_of_2023_has_its_two_configurations():
    """As published: they differ in these three, and in nothing else."""
    cached, larger = (rendered(name, 15, 120 * GB, None, 160001) for name in ("a27", "a28"))
    assert cached.departures == larger.departures == ()
    differing = {
        name: (cached.values[name], larger.values[name])
        for name in cached.values
        if cached.values[name] != larger.values[name]
    }
    assert differing == {
        "wal_compression": ("lz4", "off"),
        "autovacuum_vacuum_cost_limit": ("2000", "4000"),
        "max_wal_size": ("70GB", "32GB"),
    }
    assert cached.values["shared_buffers"] == "70GB"


def test_the_m5_metal_study_has_its_settings_on_its_host_and_its_shares_elsewhere():
    study = rendered("m5.metal", 96, 384 * GB, None, 120001)
    assert study.departures == ()
    assert study.values["shared_buffers"] == "100GB"
    assert study.values["min_wal_size"] == "20GB"
    small = rendered("m5.metal", 8, 16 * GB, None, 120001).values
    assert (small["shared_buffers"], small["max_wal_size"]) == ("4268MB", "4268MB")
