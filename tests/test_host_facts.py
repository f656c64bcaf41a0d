"""The facts of this machine are real, complete in their keys, and can be written as JSON."""

import json
import os
import platform
from pathlib import Path

import msgspec
import pytest

from dbdyno.host.observe import facts, files
from dbdyno.host.observe.reader import HostReader


def test_the_facts_of_this_machine_are_its_own(tmp_path: Path) -> None:
    found = json.loads(msgspec.json.encode(facts.collect(tmp_path)))
    assert found["kernel"] == platform.release()
    assert found["memory_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert found["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert found["cpu"]["cpus"] == os.cpu_count()
    assert found["sysctl"]["vm.swappiness"] == int(Path("/proc/sys/vm/swappiness").read_text())
    assert found["data"]["path"] == str(tmp_path)
    assert found["data"]["free_bytes"] > 0


def test_every_documented_key_is_there(tmp_path: Path) -> None:
    found = msgspec.to_builtins(facts.collect(tmp_path))
    documented = {
        "": "cpu memory_bytes swap_bytes kernel os boot_id hostname_hash thp huge_pages "
        "clock_source virtual container data sysctl",
        "cpu": "model cores sockets threads_per_core mhz_max governor smt flags_short",
        "thp": "enabled defrag",
        "data": "path file_system mount_options device devices model rotational scheduler "
        "size_bytes free_bytes unsure",
    }
    for part, keys in documented.items():
        assert set(keys.split()) <= (found[part] if part else found).keys()


def test_a_missing_program_to_detect_machines_is_made_up_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert facts.detect("--vm") is None
    assert isinstance(facts.container(HostReader()), bool)
    assert facts.virtual(HostReader(), [{"flags": "fpu hypervisor"}]) is not None


def test_the_host_is_named_by_a_hash_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts.socket, "gethostname", lambda: "a-name-of-its-own")
    found = facts.collect(tmp_path)
    assert "a-name-of-its-own" not in str(found)
    monkeypatch.setattr(facts.socket, "gethostname", lambda: "another")
    assert facts.collect(tmp_path).hostname_hash != found.hostname_hash


def test_the_chosen_word_is_the_one_in_brackets(tmp_path: Path) -> None:
    path = tmp_path / "enabled"
    path.write_text("always [madvise] never\n")
    assert files.chosen(path) == "madvise"
    path.write_text("none\n")
    assert files.chosen(path) == "none"
    assert files.chosen(tmp_path / "missing") is None


def test_a_file_that_is_no_number_or_not_there_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("notsupported\n")
    (tmp_path / "number").write_text("7\n")
    assert files.number(tmp_path / "word") is None
    assert files.number(tmp_path / "number") == 7
    assert files.number(tmp_path / "missing") is None
    assert files.line(tmp_path) is None


def test_a_record_longer_than_one_read_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "status"
    path.write_text("x" * (3 * files.RECORD_BYTES) + "end")
    assert files.record(str(path)) == path.read_text()
    path.write_text("y" * files.RECORD_BYTES)
    assert files.record(str(path)) == path.read_text()
