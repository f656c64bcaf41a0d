"""A fake whose data can be golden copies: each fill makes it a little faster or slower."""

import math
import os
import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dbdyno.engine import fake, golden
from dbdyno.engine.fake import DEFAULTS, FakeEngine, FakePlants, FakeServer
from dbdyno.engine.golden_copy import Copy, CopyOrigin
from dbdyno.engine.interface import Fingerprint
from dbdyno.host import data_folder
from dbdyno.host.account import Account
from dbdyno.model import Arm, Json
from dbdyno.model.engine import TRAITS


def here() -> Account:
    """The account of the test itself."""
    return Account(name="me", uid=os.geteuid(), gid=os.getegid(), other=False)


@dataclass(frozen=True)
class Footprint:
    """It writes no log."""

    def log_bytes(self, tables_bytes: int, *, writes: bool = True) -> int:
        """None at all."""
        return 0


class KeepingServer(FakeServer):
    """A fake that is slower by what its fill drew; `sd`: how far fills are apart."""

    def __init__(self, arm: Arm, root: Path, sd: float) -> None:
        """Its copies lie below `root`."""
        super().__init__(arm)
        self.root, self.sd, self.keeper = root, sd, self

    @property
    def identity(self) -> Json:
        """What it is, as far as that determines its data."""
        return {"engine": "fake", "fake": dict(self._arm.fake)}

    @property
    def data_form(self) -> Json:
        """As its identity: no fake takes the data of another."""
        return self.identity

    def prepare_from(self, copy: Copy, *, shared_blocks: bool) -> None:
        """What the plan plants, slower by the offset of the copy's fill, which its key draws."""
        slower = math.exp(random.Random(copy.key).gauss(0, self.sd))
        default_us = self._arm.fake.get("default_us", DEFAULTS["default_us"])
        self.plants = FakePlants({**self._arm.fake, "default_us": default_us * slower})

    def go_on(self) -> None:
        """Nothing: what the plan plants is slower by its fill in the copy alone."""

    def keep(self, parts: Json, origin: CopyOrigin) -> Copy:
        """Keeps a folder with next to nothing in it."""
        made = data_folder.make(self.root / self.name, "data", here())
        (made / "rows").write_text("filled")
        source = golden.DataDirectory(
            engine="fake",
            arm=self.name,
            version="fake",
            data_dir=made,
            wal_dir=None,
            data_root=self.root,
            wal_root=None,
            account=here(),
        )
        return golden.keep(source, parts, origin)


@dataclass(frozen=True)
class KeepingEngine(FakeEngine):
    """The engine of such servers."""

    root: Path
    sd: float

    def unmade(self, arm: Arm) -> KeepingServer:
        """The server of an arm."""
        return KeepingServer(arm, self.root, self.sd)

    def fingerprint(self, data_dir: Path, wal_dir: Path | None) -> Fingerprint:
        """Always the same: no server is started in its data."""
        return Fingerprint(major=None, sha256="0", of="file")

    def footprint(self, setting: object) -> Footprint:
        """Of no log."""
        return Footprint()


def install(monkeypatch: pytest.MonkeyPatch, root: Path, sd: float) -> None:
    """Lets engine `fake` keep its data below `root`."""
    keeps = replace(TRAITS["fake"], can=TRAITS["fake"].can | {"kept"})
    monkeypatch.setitem(TRAITS, "fake", keeps)
    monkeypatch.setattr(fake, "of", lambda traits: KeepingEngine(traits, root, sd))
