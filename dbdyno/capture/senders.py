"""Who sent a statement that is not the application's: dyno, monitoring, dumps, replication.

A sender is known by its `application_name`, its user, or how its texts begin. What it sent is left
out under its name; `--with-monitoring` keeps all but dyno's own.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from dbdyno.capture.dialect import NormalForm

OWN = "dyno's own statements"
MONITORING, DUMPS = "monitoring", "dumps of the database"
MAINTENANCE, REPLICATION = "maintenance", "replication"
DYNO = re.compile(r"dyno(?:[ -].*)?")
"""The names of dyno's own sessions: `dyno capture`, `dyno-loadgen` and the like."""
PROGRAMS = {
    reason: re.compile(rf"({names})(?:[-_ /.:(\[].*)?", re.IGNORECASE)
    for reason, names in {
        DUMPS: r"pg_dump(?:all)?|pg_restore|pg_basebackup|pgbackrest|barman|wal-g|pg_probackup"
        r"|mysqldump|mariadb-dump|mydumper|myloader|xtrabackup|mariabackup|mariadb-backup",
        MAINTENANCE: r"vacuumdb|reindexdb|clusterdb|pg_repack|pg_squeeze|pg_amcheck",
        REPLICATION: r"walreceiver|pg_receivewal|pg_recvlogical|debezium|patroni|repmgrd?"
        r"|pg_auto_?failover",
        MONITORING: r"(?:prometheus[-_])?postgres_exporter|mysqld_exporter|pganalyze|datadog"
        r"|dd-agent|pgwatch\d?|telegraf|zabbix|pmm|qan|check_postgres|pgmonitor|pgmetrics"
        r"|pg_activity|pgcenter|pghero|powa|temboard|netdata|nri|newrelic|nagios|icinga2?|munin"
        r"|collectd|otelcol|opentelemetry-collector|grafana-agent|dynatrace|instana|pgpool"
        r"|pgbouncer|cloudsqlagent|cloudsqladmin|rdsadmin|rds_?heartbeat|azuresu",
    }.items()
}
"""Names of programs by what they do; words may follow: `pganalyze_collector`."""
OF_PROVIDERS = re.compile(
    r"rds(?:admin|proxyadmin|repladmin|topmgr)|cloudsql(?:admin|agent|replica|importexport)"
    r"|azuresu|azure_superuser|alloydb(?:admin|agent)|supabase_admin"
    r"|mysql\.(?:sys|session|infoschema)|mariadb\.sys"
)
"""Users by which a service, or the server itself, looks after a database."""
OF_REPLICAS = re.compile(r"SQL_(?:SLAVE|REPLICA)|rdsrepladmin|cloudsqlreplica")
OF_AGENTS = re.compile(
    r"(?:postgres_|mysqld?_)?exporter|pganalyze|datadog|dd[-_]agent|pgwatch\d?|telegraf|zabbix"
    r"|zbx_monitor|pmm(?:[-_].*)?|pgmonitor|ccp_monitoring|powa|temboard|netdata|newrelic|nagios"
    r"|icinga2?|munin|collectd|otel(?:col)?|dynatrace|instana|pgbouncer|pgpool|proxysql"
    r"|orchestrator|xtrabackup|mariabackup|mysqlbackup",
    re.IGNORECASE,
)
"""Users of agents. An application may be called so, too, as Zabbix is: what such a user sends is
an agent's where it reads no table but the server's own."""
MARKS = re.compile(
    r"\s*(?:(?P<own>(?:\w+\s)?/\* ?dyno\b|SELECT pg_catalog\.set_config\(held\.name,)"
    r"|(?P<dump>/\*!40\d{3} SET (?:@@SQL_MODE=''|@OLD_\w+)|SELECT /\*!40001 SQL_NO_CACHE \*/)"
    r"|(?:\w+\s)?/\*\s?(?:(?:agent|service)=)?'?(?P<agent>pmm-agent|pgstatmonitor"
    r"|pganalyze-collector|datadog-agent|pgwatch\d?_generated|rds internal mark|nri-\w+)"
    r"|(?P<replication>START_REPLICATION|IDENTIFY_SYSTEM|BASE_BACKUP|TIMELINE_HISTORY"
    r"|(?:CREATE|DROP|READ|ALTER)_REPLICATION_SLOT)\b)"
)
"""How texts begin that tell who sent them."""
MARKED = (
    *("/*", "SELECT /*", "SHOW /*", "SET /*", "EXPLAIN /*", "PREPARE /*"),
    *("SELECT pg_catalog.set_config(", "START_", "BASE_"),
    *("IDENTIFY_", "TIMELINE_", "CREATE_", "DROP_", "READ_", "ALTER_"),
)
"""How all of these begin; a text that does not needs no expression."""
SCHEMAS = frozenset({"pg_catalog", "information_schema", "mysql", "performance_schema", "sys"})
"""Of catalogs, in any engine."""
NAMES_MAX = 10_000


@dataclass(frozen=True)
class Sender:
    """Somebody who is not the application."""

    reason: str  # why its statements are left out, as coverage.md says it
    of_catalogs: bool = False  # known by its user alone: what reads other tables is not its own

    def sent(self, form: NormalForm) -> bool:
        """Whether a statement of this form is the sender's."""
        if not self.of_catalogs:
            return True
        return not (form.left_out or form.refused) and all(map(is_catalog, form.tables))


def by_text(text: str) -> Sender | None:
    """The sender whose texts begin so; None: nobody's do."""
    match = MARKS.match(text) if text.lstrip().startswith(MARKED) else None
    if match is None:
        return None
    if agent := match.group("agent"):
        return Sender(f"{MONITORING} ({agent})")
    return Sender(OWN if match.group("own") else DUMPS if match.group("dump") else REPLICATION)


@lru_cache(NAMES_MAX)
def by_name(application: str, user: str) -> Sender | None:
    """The sender of this `application_name` and user; None: they are the application's."""
    if DYNO.fullmatch(application):
        return Sender(OWN)
    for reason, names in PROGRAMS.items():
        if match := names.fullmatch(application):
            return Sender(reason if reason == DUMPS else f"{reason} ({match[1].lower()})")
    if OF_REPLICAS.fullmatch(user):
        return Sender(f"{REPLICATION} (`{user}`)")
    if OF_PROVIDERS.fullmatch(user):
        return Sender(f"{MONITORING} (`{user}`)")
    return Sender(f"{MONITORING} (`{user}`)", True) if OF_AGENTS.fullmatch(user) else None


def is_catalog(table: str) -> bool:
    """Whether a table, as a statement names it, is the server's own."""
    schema, _, name = table.lower().rpartition(".")
    return schema in SCHEMAS or name[:8] == "pg_stat_" or (not schema and name[:3] == "pg_")
