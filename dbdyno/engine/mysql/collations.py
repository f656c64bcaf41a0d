"""Which collation stands for one that a server lacks (docs/restore.md has the map).

MySQL 8 compares by Unicode 9, MariaDB from 10.10 on by Unicode 14, older servers by Unicode 5.2.
What is compared as equal stays so for all but rare letters, and so does whether trailing spaces
count; an index may have another order.
"""

import re
from collections.abc import Mapping

MYSQL = re.compile(r"utf8mb4_(?:(?P<language>\w+?)_)?0900_(?P<how>ai_ci|as_ci|as_cs|bin)(?:_ks)?")
MARIADB = re.compile(
    r"(?:(?P<charset>[a-z]\w*?)_)?uca1400_(?:(?P<language>[a-z]+2?)_)??(?P<nopad>nopad_)?"
    r"(?P<how>a[is]_c[is])"
)
LANGUAGES: Mapping[str, str] = {
    "cs": "czech",
    "da": "danish",
    "de_pb": "german2",
    "eo": "esperanto",
    "es": "spanish",
    "es_trad": "spanish2",
    "et": "estonian",
    "hr": "croatian",
    "hu": "hungarian",
    "is": "icelandic",
    "la": "roman",
    "lt": "lithuanian",
    "lv": "latvian",
    "nb": "danish",
    "nn": "danish",
    "pl": "polish",
    "ro": "romanian",
    "sk": "slovak",
    "sl": "slovenian",
    "sv": "swedish",
    "tr": "turkish",
    "vi": "vietnamese",
}
"""What MariaDB calls the languages of MySQL; those that are not here sort as the root does."""
CODES = {name: code for code, name in reversed(list(LANGUAGES.items()))}


def substitutes(name: str) -> list[str]:
    """Collations that may stand for one, the nearest first; those that a server lacks, too."""
    if match := MYSQL.fullmatch(name):
        return _of_mysql(match.group("language"), match.group("how"))
    if match := MARIADB.fullmatch(name):
        return _of_mariadb(match)
    if name.startswith("utf8mb3_"):
        return [name.replace("utf8mb3_", "utf8_", 1)]
    if "_nopad_" in name:
        return [name.replace("_nopad_", "_")]
    return []


def _of_mysql(language: str | None, how: str) -> list[str]:
    if how == "bin":
        return ["utf8mb4_nopad_bin", "utf8mb4_bin"]
    named = LANGUAGES.get(language or "")
    middle = f"{named}_" if named else ""
    older = [f"utf8mb4_{named}_ci"] if named else []
    older += ["utf8mb4_unicode_520_nopad_ci", "utf8mb4_unicode_520_ci", "utf8mb4_unicode_ci"]
    return [
        f"utf8mb4_uca1400_{middle}nopad_{how}",
        *(older if how == "ai_ci" else ["utf8mb4_nopad_bin"] if how == "as_cs" else []),
    ]


def _of_mariadb(match: re.Match[str]) -> list[str]:
    charset, how, named = (
        match.group("charset") or "utf8mb4",
        match.group("how"),
        match.group("language"),
    )
    code = CODES.get(named or "")
    mysql = [f"utf8mb4_{code}_0900_{how}"] if code else []
    mysql += [f"utf8mb4_0900_{how}"]
    if how != "ai_ci":
        return [*mysql, *([f"{charset}_bin"] if how == "as_cs" else [])]
    pad = "nopad_" if match.group("nopad") else ""
    older = [f"{charset}_{named}_{pad}ci", f"{charset}_{named}_ci"] if named else []
    older += [f"{charset}_unicode_520_{pad}ci"]
    older += [f"{charset}_unicode_520_ci", f"{charset}_unicode_ci"]
    return [*mysql, *older] if pad and charset == "utf8mb4" else [*older, *mysql]
