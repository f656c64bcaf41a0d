"""Values that may hold a secret are not kept with a server's settings."""

from dbdyno.engine.postgres import facts
from dbdyno.engine.settings import LEFT_OUT, may_hold_secret, without_secrets

SETTINGS = {
    "server_version": "18.6", "server_version_num": "180006", "block_size": "8192",
    "data_checksums": "on", "archive_command": "curl -H 'Authorization: x' %p",
    "primary_conninfo": "", "app.api_token": "tok", "password_encryption": "scram-sha-256",
}  # fmt: skip


def test_commands_connections_and_tokens_are_left_out() -> None:
    kept = without_secrets(SETTINGS)
    changed = {"archive_command": LEFT_OUT, "app.api_token": LEFT_OUT}
    assert kept == SETTINGS | changed
    names = ("ssl_passphrase_command", "wsrep_sst_auth", "init_connect", "x.db_password")
    assert all(map(may_hold_secret, names))
    names = ("validate_password.length", "log_replication_commands", "default_password_lifetime")
    assert not any(map(may_hold_secret, names))


def test_the_facts_of_a_server_have_none() -> None:
    def query(*statements: str, limit_s: float = 0.0) -> list[tuple[object, ...]]:
        version = "PostgreSQL 18.6 on x86_64, compiled by gcc 12.2.0, 64-bit"
        return [
            (name, value, name == "archive_command", version) for name, value in SETTINGS.items()
        ]

    told = facts.ask(query, "postgres")
    assert told.nondefault == {"archive_command": LEFT_OUT}
    assert "curl" not in str(told) and "tok" not in str(told.settings.values())
