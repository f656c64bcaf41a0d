"""Servers of MySQL and MariaDB: what `server/` has for PostgreSQL, for the other two engines."""
