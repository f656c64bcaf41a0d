"""What all pages of `dyno serve` are made from: the results, and what was read of them before."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import Request

from dbdyno.model.flame import Draw
from dbdyno.serve.archive import Archive
from dbdyno.serve.folders import Folders, Result
from dbdyno.serve.frame import Frame
from dbdyno.serve.judged import Judged


@dataclass(frozen=True)
class Serving:
    """The parts that all pages share."""

    folders: Folders
    frame: Frame = field(default_factory=Frame)
    judged: Judged = field(default_factory=Judged)
    archive: Archive = field(default_factory=Archive)
    draw: Draw | None = None  # draws a report's flame graphs

    def result(self, request: Request) -> Result:
        """The result that an address names. Raises HTTPException where there is none."""
        found = self.folders.result(request.path_params["key"])
        if found is None:
            raise HTTPException(404, "There is no such result: was it removed or renamed?")
        return found
