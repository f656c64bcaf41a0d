"""What statements of a session change in how its later ones are read and planned."""

import re

from dbdyno.capture.dialect import ALL, ROLE, Setting

KEPT = re.compile(
    r"search_path|role|timezone|datestyle|intervalstyle|enable_\w+|\w+_cost|work_mem"
    r"|hash_mem_multiplier|effective_\w+|random_page_cost|jit\w*|plan_cache_mode|geqo\w*"
    r"|\w+_collapse_limit|constraint_exclusion|cursor_tuple_fraction|default_statistics_target"
    r"|max_parallel_workers_per_gather|parallel_\w+|default_text_search_config|row_security"
    r"|transform_null_equals|xmloption|lc_\w+|standard_conforming_strings|recursive_worktable_factor"
)
"""Settings that decide what a query means or how it is planned; others are not kept."""
SET = re.compile(
    r"\s*SET\s+(?:(?P<scope>SESSION|LOCAL)\s+)?"
    r"(?:(?P<role>ROLE|SESSION\s+AUTHORIZATION)\s+(?P<name>.+?)"
    r"|TIME\s+ZONE\s+(?P<zone>.+?)"
    r"|(?P<key>[\w.\"]+)\s*(?:=|\bTO\b)\s*(?P<value>.+?))\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
RESET = re.compile(r"\s*(?:RESET\s+(?P<key>[\w.\"]+)|DISCARD\s+ALL)\s*;?\s*", re.IGNORECASE)
SET_CONFIG = re.compile(
    r"\s*SELECT\s+(?:pg_catalog\.)?set_config\s*\(\s*'(?P<key>[\w.]+)'\s*,\s*"
    r"'(?P<value>(?:[^']|'')*)'\s*,\s*(?P<local>true|false)\s*\)\s*;?\s*",
    re.IGNORECASE,
)
PLAIN = re.compile(r"[a-z_][a-z0-9_$]*|\"(?:[^\"]|\"\")*\"")
"""A name that needs no quotes, or has them."""


def setting_of(text: str) -> Setting | None:
    """What a statement sets; None: nothing that a query depends on."""
    head = text.lstrip()[:7].upper()
    if head.startswith("SET"):
        return of_set(text)
    if head.startswith(("RESET", "DISCARD")):
        match = RESET.fullmatch(text)
        if match is None:
            return None
        key = (match.group("key") or ALL).strip('"').lower()
        return Setting(key, None) if key == ALL or KEPT.fullmatch(key) else None
    if head.startswith("SELECT") and (match := SET_CONFIG.fullmatch(text)):
        return kept(
            match.group("key"),
            match.group("value").replace("''", "'"),
            match.group("local").lower() == "true",
        )
    return None


def of_set(text: str) -> Setting | None:
    """What a SET sets."""
    match = SET.fullmatch(text)
    if match is None:
        return None
    local = (match.group("scope") or "").upper() == "LOCAL"
    if match.group("role"):
        name = value_of(match.group("name"))
        return Setting(ROLE, None if name.lower() in ("none", "default") else name, local)
    if match.group("zone"):
        return kept("timezone", value_of(match.group("zone")), local)
    return kept(match.group("key").strip('"'), value_of(match.group("value")), local)


def kept(key: str, value: str, local: bool) -> Setting | None:
    """The setting, if a query depends on it."""
    key = key.lower()
    if not KEPT.fullmatch(key):
        return None
    return Setting(key, None if value.lower() == "default" else value, local)


def value_of(written: str) -> str:
    """A setting's value as set_config takes it: a list with commas, without quotes of literals."""
    parts = [part.strip() for part in re.split(r",(?=(?:[^'\"]|'[^']*'|\"[^\"]*\")*$)", written)]
    if len(parts) == 1:
        return without_quotes(parts[0])
    return ", ".join(as_name(without_quotes(part)) for part in parts)


def without_quotes(part: str) -> str:
    """What a literal says; anything else as it stands."""
    quoted = part[:1] == "'" and part[-1:] == "'"
    return part[1:-1].replace("''", "'") if quoted else part


def as_name(part: str) -> str:
    """A part of a list, in quotes where it would be read otherwise without."""
    return part if PLAIN.fullmatch(part) else '"' + part.replace('"', '""') + '"'
