"""Locales of this host's C library, by name; nothing of this process's own locale is changed."""

import ctypes
import locale
import os

CATEGORIES = (
    locale.LC_CTYPE,
    locale.LC_NUMERIC,
    locale.LC_TIME,
    locale.LC_COLLATE,
    locale.LC_MONETARY,
    locale.LC_MESSAGES,
)
"""Those that a PostgreSQL cluster has (initdb's manual, `--locale`)."""
UTF8 = "UTF-8"


def encoding(name: str) -> str | None:
    """The encoding of a locale, such as "UTF-8"; None where the host has no such locale."""
    library = ctypes.CDLL(None, use_errno=True)
    library.newlocale.restype = ctypes.c_void_p
    library.newlocale.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]
    library.nl_langinfo_l.restype = ctypes.c_char_p
    library.nl_langinfo_l.argtypes = [ctypes.c_int, ctypes.c_void_p]
    library.freelocale.restype = None
    library.freelocale.argtypes = [ctypes.c_void_p]
    mask = sum(1 << category for category in CATEGORIES)  # as in <locale.h> of glibc and musl
    found = library.newlocale(mask, name.encode(), None)
    if not found:
        return None
    try:
        said: bytes = library.nl_langinfo_l(locale.CODESET, found)
        return said.decode("ascii")
    finally:
        library.freelocale(found)


def library() -> str:
    """The C library that sorts by these locales, as "glibc 2.39"; "unknown" if it has no name."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    except (ValueError, OSError):  # a library that is not GNU's
        return "unknown"
