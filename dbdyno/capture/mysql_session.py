"""What SET statements of MySQL and MariaDB change in how later ones are read and planned."""

import re

from dbdyno.capture.dialect import Setting

KEPT = re.compile(
    r"sql_mode|optimizer_\w+|character_set_(?:client|connection)|collation_connection|time_zone"
    r"|join_buffer_size|join_buffer_space_limit|join_cache_level|sort_buffer_size"
    r"|read_(?:rnd_)?buffer_size|mrr_buffer_size|(?:max_heap|tmp|tmp_memory|tmp_disk)_table_size"
    r"|group_concat_max_len|sql_select_limit|max_join_size|sql_big_selects|sql_auto_is_null"
    r"|sql_safe_updates|div_precision_increment|eq_range_index_dive_limit|default_week_format"
    r"|lc_time_names|range_\w+|use_stat_tables|histogram_\w+|max_sort_length|old_mode|in_predicate_"
    r"conversion_threshold|windowing_use_high_precision|max_length_for_sort_data|big_tables"
    r"|internal_tmp_\w+|use_secondary_engine|default_collation_for_utf8mb4|character_set_collations"
)
"""Variables that decide what a query means or how it is planned; others are not kept."""
HEAD = re.compile(r"\s*SET\s+", re.IGNORECASE)
PART = re.compile(
    r"(?:[^,'\"`()]|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\([^()]*\)|[()'\"`])+", re.DOTALL
)
"""What stands between commas that are outside of quotes and of brackets."""
NAMES = re.compile(
    r"(?:NAMES|(?P<set>CHARACTER\s+SET|CHARSET))\s+(?P<names>'[^']*'|\"[^\"]*\"|\w+)"
    r"(?:\s+COLLATE\s+(?P<collation>'[^']*'|\"[^\"]*\"|\w+))?\s*",
    re.IGNORECASE,
)
VARIABLE = re.compile(
    r"(?:(?P<scope>GLOBAL|PERSIST|PERSIST_ONLY|SESSION|LOCAL)\s+"
    r"|@@(?:(?P<at>GLOBAL|PERSIST|PERSIST_ONLY|SESSION|LOCAL)\s*\.\s*)?)?"
    r"`?(?P<key>\w+)`?\s*:?=\s*(?P<value>.+?)\s*",
    re.IGNORECASE | re.DOTALL,
)
VALUE = re.compile(r"'((?:[^'\\]|'')*)'|\"([^\"\\]*)\"|(-?[\w.+]+)")
"""A value that is no expression."""
CHANGED = re.compile(
    r"\(?\s*(?:SELECT\s+)?(?P<function>CONCAT|REPLACE)\s*\(\s*"
    r"@@(?:(?:GLOBAL|SESSION|LOCAL)\s*\.\s*)?(?P<key>\w+)\s*"
    r"(?P<words>(?:,\s*(?:'[\w,\s]*'|\"[\w,\s]*\")\s*)+)\)\s*\)?",
    re.IGNORECASE,
)
"""An expression that adds words to a variable's own value, or takes some away."""
QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
FOR_OTHERS = re.compile(r"(?:STATEMENT|PASSWORD|ROLE|DEFAULT\s+ROLE)\b", re.IGNORECASE)
"""What sets nothing of the session: variables of a single statement, accounts."""
SESSIONS = frozenset({"", "session", "local"})


def settings_of(text: str) -> list[Setting]:
    """What a statement sets, as far as queries depend on it."""
    head = HEAD.match(text)
    if head is None:
        return []
    whole = text[head.end() :].rstrip().rstrip(";")
    if FOR_OTHERS.match(whole):
        return []
    scope, settings = "", []
    for assignment in map(str.strip, PART.findall(whole)):
        match = VARIABLE.fullmatch(assignment)
        if match is not None and match.group("scope"):
            scope = match.group("scope")
        setting = setting_of(assignment, scope)
        if setting is not None:
            settings.append(setting)
    return settings


def setting_of(assignment: str, scope: str) -> Setting | None:
    """What an assignment sets; None: nothing that a query depends on.

    `scope`: that of the last assignment that named one, which holds for those after it.
    """
    if match := NAMES.fullmatch(assignment):
        collation = match.group("collation")
        if collation:
            return Setting("collation_connection", unquoted(collation))
        name = unquoted(match.group("names"))
        if match.group("set") or name.lower() == "default":
            return Setting("character_set_connection", None)
        return Setting("character_set_connection", name)
    match = VARIABLE.fullmatch(assignment)
    if match is None:
        return None
    of_session = not assignment.startswith("@@") and scope
    if (match.group("at") or of_session or "").lower() not in SESSIONS:
        return None
    key = match.group("key").lower()
    value = VALUE.fullmatch(match.group("value"))
    if value is None and KEPT.fullmatch(key) and (made := changed(key, match.group("value"))):
        return Setting(key, made)
    if (
        value is None
        or not KEPT.fullmatch(key)
        or (assignment.startswith("@") and "@@" not in assignment)
    ):
        return None
    written = unquoted(match.group("value"))
    return Setting(key, None if written.lower() == "default" else written)


def changed(key: str, expression: str) -> str:
    """An expression that changes the words of the variable itself, in one form; empty: another."""
    match = CHANGED.fullmatch(expression)
    if match is None or match.group("key").lower() != key:
        return ""
    words = (f"'{single or double}'" for single, double in QUOTED.findall(match.group("words")))
    return f"{match.group('function').upper()}(@@{key}, {', '.join(words)})"


def unquoted(written: str) -> str:
    """What a literal says; a word as it stands."""
    if written[:1] in ("'", '"') and written[-1:] == written[:1]:
        return written[1:-1].replace(written[0] * 2, written[0])
    return written
