"""How results lie on disk: the only part that knows (docs/results.md describes the folder).

`results` has a result folder as a whole, `folder` the folders in it, `file` reads and writes single
files, `derived_cache` keeps what was derived from a step.
"""

from dbdyno.store.derived_cache import Files, Shelf, code_version
from dbdyno.store.file import JsonLines, decoded_lines, read_struct, read_structs, write_json
from dbdyno.store.folder import (
    BlockFolder,
    BlockState,
    RunFolder,
    StepFolder,
    count_folder,
    safe_name,
)
from dbdyno.store.results import FORMAT, Results

__all__ = [
    "FORMAT", "BlockFolder", "BlockState", "Files", "JsonLines", "Results", "RunFolder", "Shelf",
    "StepFolder", "code_version", "count_folder", "decoded_lines",
    "read_struct", "read_structs", "safe_name", "write_json",
]  # fmt: skip
