"""Opens and reads files of a result that somebody else may have made, within limits.

A sender can put anything into a folder: a link to a file of ours, a FIFO that never answers, a
device without an end, a small archive of something vast.
"""

import errno
import os
import stat
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

FILE_BYTES_MAX = 256 << 20
"""Of what is read whole, unpacked: far more than any lab writes into such a file."""
LINE_BYTES_MAX = 64 << 20
"""Of a line of events, which are read one by one."""
GZIP = 16 + zlib.MAX_WBITS
"""Tells zlib that a gzip header comes."""


def opened(path: Path) -> BufferedReader:
    """A regular file, to read.

    Raises FileNotFoundError; OSError for all that is no regular file, links among it.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a link", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return os.fdopen(file, "rb")


def content(path: Path) -> bytes:
    """A regular file whole, unpacked if its name ends in `.gz`.

    Raises OSError as `opened` does, also where it is larger than FILE_BYTES_MAX; EOFError or
    zlib.error where it cannot be unpacked.
    """
    with opened(path) as file:
        packed = file.read(FILE_BYTES_MAX + 1)
    if path.suffix != ".gz":
        unpacked = packed
    else:
        unpacker = zlib.decompressobj(GZIP)
        unpacked = unpacker.decompress(packed, FILE_BYTES_MAX + 1)
        if len(unpacked) <= FILE_BYTES_MAX and not unpacker.eof:
            raise EOFError("it ends early")
    if len(unpacked) > FILE_BYTES_MAX:
        raise OSError(errno.EFBIG, f"has more than {FILE_BYTES_MAX >> 20} MB", str(path))
    return unpacked


def lines(path: Path) -> Iterator[bytes]:
    """The lines of a regular file, one by one.

    Raises OSError as `opened` does, also where a line is longer than LINE_BYTES_MAX.
    """
    with opened(path) as file:
        while line := file.readline(LINE_BYTES_MAX + 1):
            if len(line) > LINE_BYTES_MAX:
                text = f"has a line of more than {LINE_BYTES_MAX >> 20} MB"
                raise OSError(errno.EFBIG, text, str(path))
            yield line
