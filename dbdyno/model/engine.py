"""What is known of engines without a server of them."""

from __future__ import annotations

from collections.abc import Mapping

PRODUCTS: Mapping[str, str] = {"postgres": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB"}
"""The engines of servers, and what they are called."""
FAMILIES: Mapping[str, str] = {"postgres": "postgres", "mysql": "mysql", "mariadb": "mysql"}
"""Whose protocol, catalogues and account an engine has: MariaDB has MySQL's."""
