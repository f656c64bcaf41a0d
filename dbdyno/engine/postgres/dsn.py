"""How a place is written for PostgreSQL's clients: every parameter that libpq has, and what dyno
does with it (PostgreSQL documentation, "Parameter Key Words")."""

from dbdyno.engine import dsn_form

NAMES = "dyno names its connections itself"
KEPT = "connections are kept as the system keeps them"
TLS_VERSIONS = "dyno speaks TLS 1.2 and 1.3"
NO_GSSAPI = "dyno lets nobody in by GSSAPI"
IN_PLAN = "contains a secret, which results would keep: remove it"
BY_FILE = "names a service, whose file says where the server is: write here what the file says"
DSN = dsn_form.DsnForm(
    schemes=("postgresql", "postgres"),
    port=5432,
    keys={
        "host": dsn_form.HOST,
        "hostaddr": dsn_form.ADDRESS,
        "port": dsn_form.PORT,
        "user": dsn_form.USER,
        "dbname": dsn_form.DATABASE,
        "passfile": dsn_form.PASSFILE,
        "options": dsn_form.OPTIONS,
        "target_session_attrs": dsn_form.SESSION,
        "sslmode": dsn_form.MODE,
        "sslrootcert": dsn_form.ROOT,
        "sslcert": dsn_form.CERTIFICATE,
        "sslkey": dsn_form.KEY,
        "sslnegotiation": dsn_form.NEGOTIATION,
        "channel_binding": dsn_form.BINDING,
        "gssencmode": dsn_form.GSSAPI,
    },
    modes={mode: mode for mode in ("prefer", "require", "verify-ca", "verify-full")},
    no_tls="disable",
    choices={
        dsn_form.SESSION: (
            "any",
            "read-write",
            "read-only",
            "primary",
            "standby",
            "prefer-standby",
        ),
        dsn_form.NEGOTIATION: ("postgres", "direct"),
        dsn_form.BINDING: ("prefer", "disable", "require"),
        dsn_form.GSSAPI: ("prefer", "disable", "require"),
    },
    ignored={
        "application_name": NAMES,
        "fallback_application_name": NAMES,
        "client_encoding": "dyno speaks UTF-8",
        "connect_timeout": "dyno waits 10 seconds for a connection",
        "load_balance_hosts": "a plan measures one server",
        "keepalives": KEPT,
        "keepalives_idle": KEPT,
        "keepalives_interval": KEPT,
        "keepalives_count": KEPT,
        "tcp_user_timeout": KEPT,
        "requirepeer": "dyno asks no socket who has it",
        "require_auth": "dyno sends no password that others can read",
        "sslcompression": "TLS is not compressed",
        "sslcertmode": "dyno sends the certificate that the DSN names",
        "sslcrl": "dyno reads no revoked certificates",
        "sslcrldir": "dyno reads no revoked certificates",
        "sslsni": "dyno tells the server the host's name",
        "sslkeylogfile": "dyno writes no keys",
        "ssl_min_protocol_version": TLS_VERSIONS,
        "ssl_max_protocol_version": TLS_VERSIONS,
        "min_protocol_version": "dyno speaks protocol 3.0",
        "max_protocol_version": "dyno speaks protocol 3.0",
        "krbsrvname": NO_GSSAPI,
        "gsslib": NO_GSSAPI,
        "gssdelegation": NO_GSSAPI,
        "replication": "dyno's connections are ordinary ones",
        "oauth_issuer": "dyno lets nobody in by OAuth",
        "oauth_client_id": "dyno lets nobody in by OAuth",
        "oauth_scope": "dyno lets nobody in by OAuth",
    },
    refused={
        "password": "contains a password, which results would keep: remove it",
        "sslpassword": "contains a key's passphrase, which results would keep: remove it, and name "
        "a key without one that only you can read",
        "scram_client_key": IN_PLAN,
        "scram_server_key": IN_PLAN,
        "oauth_client_secret": IN_PLAN,
        "service": BY_FILE,
        "servicefile": BY_FILE,
    },
)
