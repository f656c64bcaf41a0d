"""What perf prints is read as its manual pages say: samples, lost samples, counters, refusals."""

import sys
from pathlib import Path

import pytest

from dbdyno.host.perf import counters, elf, program, script
from dbdyno.host.perf.program import Perf, call_graph_of
from dbdyno.model.error import HostError

SCRIPT = """
  101     10101010 cpu-clock:\x20
\t    55d0c8 ExecInterpExpr (/opt/pg/bin/postgres)
\t    5601aa ExecScan (/opt/pg/bin/postgres)
\t    27249 __libc_start_main@@GLIBC_2.34 (/lib/libc.so.6)

  101     10101010 cpu-clock:\x20
\t    55d0ff ExecInterpExpr (/opt/pg/bin/postgres)
\t    5601aa ExecScan (/opt/pg/bin/postgres)
\t    27249 __libc_start_main@@GLIBC_2.34 (/lib/libc.so.6)

  102 PERF_RECORD_LOST lost 16
  102     10101010 cpu-clock:\x20
\tffffffff81000000 schedule ([kernel.kallsyms])
\tffffffffc0000000 ext4_sync ([ext4])
\t    1234 [unknown] (/opt/pg/bin/postgres (deleted))
\t     aff std::vector<int (*)(char), x>::at(int) const (/usr/sbin/mysqld)

  103     10101010 cpu-clock:\x20

"""


def owner_of(tid: int) -> str:
    """Owners as the sampler names them."""
    return {101: "role:client", 102: "background:checkpointer"}.get(tid, "exited")


def test_samples_are_folded_by_owner_from_the_root_to_the_leaf():
    found = script.read(SCRIPT.splitlines(), owner_of)
    assert found.stacks() == {
        (
            "role:client",
            "__libc_start_main@libc.so.6",
            "ExecScan@postgres",
            "ExecInterpExpr@postgres",
        ): 2,
        (
            "background:checkpointer",
            "std::vector<int (*)(char), x>::at(int) const@mysqld",
            "?@postgres",
            "ext4_sync@[kernel]",
            "schedule@[kernel]",
        ): 1,
        ("exited", "?@[unknown]"): 1,
    }
    assert found.samples == 4
    assert found.lost == 16
    assert found.leaves == {"/opt/pg/bin/postgres": 2, "[kernel.kallsyms]": 1, "[unknown]": 1}
    assert found.named == {"/opt/pg/bin/postgres": 2, "[kernel.kallsyms]": 1}


def test_the_last_sample_counts_without_an_empty_line_after_it():
    lines = SCRIPT.rstrip().splitlines()
    assert script.read(lines, owner_of).samples == 4


def test_samples_of_cycles_count_by_their_periods():
    # Not tried on hardware: perf varies the period of `cycles`, short ones are fewer cycles.
    text = ""
    for period, function in ((100, "brief"), (3_000_000, "long"), (1_000_000, "short")):
        text += f" 7 {period} cycles:\n\t 1 {function} (/bin/postgres)\n\n"
    stacks = script.read(text.splitlines(), lambda _tid: "role:client").stacks()
    counts = {stack[-1]: count for stack, count in stacks.items()}
    assert counts == {"long@postgres": 2, "short@postgres": 1}


def test_lost_samples_are_those_of_the_event_and_not_the_number_of_records():
    text = """
Aggregated stats:
            LOST events:         43  ( 1.0%)
    LOST_SAMPLES events:          2  ( 0.0%)
cpu-clock stats:
          SAMPLE events:       2182
    LOST_SAMPLES events:        451
"""
    assert script.lost_samples(text) == 451
    assert script.lost_samples("Aggregated stats:\n LOST events: 3\n") == 0


def test_objects_have_short_names():
    names = ["/usr/lib/libc.so.6", "[kernel.kallsyms]", "[nvme]", "[vdso]", "[unknown]", "//anon"]
    names.append("/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz")
    short = [script.binary_of(name) for name in names]
    kernel = "[kernel]"
    assert short == ["libc.so.6", kernel, kernel, "[vdso]", "[unknown]", "anon", kernel]


def test_counters_are_read_as_the_manual_page_orders_their_fields():
    text = """# started on Mon Nov 23 19:12:22 2026

98765432100,,instructions:uD,9000000,100.00,1.50,insn per cycle
1234,,cache-misses:k,4500000,50.00,,
<not supported>,,cycles:u,0,100.00,,
<not counted>,,branches:u,0,0.00,,
637.41,msec,task-clock,637413253,100.00,0.529,CPUs utilized
92,,context-switches,666678219,100.00,137.998,/sec
"""
    events = ("instructions:u", "cache-misses:k", "cycles:u", "branches:u", "task-clock")
    assert counters.read(text, events) == {
        "instructions:u": 98765432100.0,
        "cache-misses:k": 1234.0,
        "cycles:u": None,
        "branches:u": None,
        "task-clock": 637_410_000.0,
        "context-switches": 92.0,
    }


def test_user_code_and_the_kernel_are_counted_apart_where_both_may_be():
    both, user = counters.wanted(kernel=True), counters.wanted(kernel=False)
    assert {"instructions:u", "instructions:k", "task-clock", "context-switches"} < set(both)
    assert "task-clock:u" in user
    assert not [event for event in user if not event.endswith(":u")]
    assert counters.as_asked(("instructions:u", "cycles:u")) == "instructions:uD,cycles:u"


def test_a_host_without_hardware_events_says_so():
    assert counters.why_none({f"{event}:u": 5.0 for event in counters.HARDWARE}) is None
    assert "counts nothing" in str(counters.why_none({}))
    assert "hardware events" in str(counters.why_none({"instructions:u": None, "task-clock": 1.0}))


PLANTED = """\
812345678,,instructions:uD,5000000,100.00,1.20,insn per cycle
676000000,,cycles:u,2500000,50.00,,
1200000,,branches:u,2500000,50.00,,
9000,,branch-misses:u,2500000,50.00,0.75,of all branches
70000,,cache-references:u,2500000,50.00,,
8000,,cache-misses:u,2500000,50.00,11.4,of all cache refs
700,,dTLB-load-misses,2500000,50.00,,
600,,iTLB-load-misses,2500000,50.00,,
4200000,,L1-dcache-load-misses,2500000,50.00,,
3100000,,L1-icache-load-misses,2500000,50.00,,
<not supported>,,stalled-cycles-frontend:u,0,100.00,,
<not supported>,,stalled-cycles-backend:u,0,100.00,,
"""
"""What `perf stat` prints on a processor that counts misses of L1 and no stalls."""


def test_misses_of_l1_and_stalls_are_counted_where_a_host_has_them_and_named_where_not():
    events = counters.wanted(kernel=False)
    assert {"L1-dcache-load-misses:u", "stalled-cycles-backend:u"} < set(events)
    counted = counters.read(PLANTED, events)
    assert counted["L1-dcache-load-misses:u"] == 4_200_000
    assert counters.why_none(counted) == (
        "this host counts no stalled-cycles-frontend, stalled-cycles-backend"
    )
    stalls = "5,,stalled-cycles-frontend:u,1,1\n7,,stalled-cycles-backend:u,1,1\n"
    assert counters.why_none(counted | counters.read(stalls, events)) is None


def test_events_of_the_caches_are_told_apart_by_their_order_as_perf_prints_no_modifier():
    text = "5,,dTLB-load-misses,1,1\n7,,dTLB-load-misses,1,1\n9,,cycles:k,1,1\n"
    events = ("dTLB-load-misses:u", "dTLB-load-misses:k", "cycles:u", "cycles:k")
    assert counters.read(text, events) == {
        "dTLB-load-misses:u": 5.0,
        "dTLB-load-misses:k": 7.0,
        "cycles:k": 9.0,
    }


def test_a_refusal_names_the_setting_and_the_command_that_mends_it():
    said = program.refusal(3, 1000, "Error:\nAccess is limited.")
    assert "`kernel.perf_event_paranoid` is 3" in said
    assert "sudo sysctl kernel.perf_event_paranoid=1" in said
    assert "Access is limited" in program.refusal(2, 0, "Error:\nAccess is limited.\nmore")


def test_a_host_without_perf_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="`perf` is not installed: install Debian's `linux-perf`"):
        program.find()


def script_named(folder: Path, text: str) -> None:
    """A program `perf` in `folder` that runs `text`."""
    path = folder / "perf"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo WARNING: perf not found for kernel 6.1", "install the perf of this kernel"),
        ("echo perf version 5.4.255", r"is 5\.4: profiles need perf 5\.10"),
        ('[ "$1" = --version ] && echo perf version 6.1.2 || { echo No permission >&2; exit 1; }',
         r"perf may not sample"),
    ],
)  # fmt: skip
def test_a_perf_that_is_of_no_use_here_is_refused_in_one_line(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    script_named(tmp_path, text)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(HostError, match=said) as error:
        program.find()
    assert "\n" not in str(error.value)


def a_perf(*, lbr: bool) -> Perf:
    return Perf(program=Path("perf"), version="6.1", event="cycles", kernel=True, lbr=lbr)


@pytest.mark.parametrize(
    ("frame_pointers", "lbr", "how"),
    [(True, True, "fp"), (False, True, "lbr"), (False, False, "dwarf"), (None, False, "dwarf")],
)
def test_call_stacks_are_followed_by_what_the_build_and_the_host_have(
    frame_pointers: bool | None, lbr: bool, how: str, monkeypatch: pytest.MonkeyPatch
):
    told = elf.Binary(build_id=None, symbols=True, frame_pointers=frame_pointers)
    monkeypatch.setattr(elf, "read", lambda _path: told)
    assert call_graph_of(Path("postgres"), a_perf(lbr=lbr)) == how


def test_a_file_that_is_no_elf_file_tells_nothing(tmp_path: Path):
    path = tmp_path / "mysqld"
    path.write_text("#!/bin/sh\nexec ld.so mysqld\n")
    assert elf.read(path) is None
    path.write_bytes(Path(sys.executable).resolve().read_bytes()[:200])
    assert elf.read(path) is None


MAPS = """\
5590d3a76000-5590d3a78000 r--p 00000000 fe:00 247278                     /usr/sbin/my sqld
5590d3a78000-5590d5a7e000 r-xp 00002000 fe:00 247278                     /usr/sbin/my sqld
7f4b73033000-7f4b73189000 r-xp 00026000 fe:00 326269                     /lib/libc.so.6
7f4b7329a000-7f4b7329c000 r-xp 00000000 00:00 0                          [vdso]
7f4b80000000-7f4b90000000 rw-p 00000000 00:00 0
"""


def test_the_program_behind_a_loader_is_what_most_code_is_of():
    assert program.largest(MAPS) == Path("/usr/sbin/my sqld")
    assert program.largest("") is None
    loaders = ["ld-linux-x86-64.so.2", "ld-musl-aarch64.so.1", "ld.so", "postgres", "ld"]
    assert [bool(program.LOADER.match(name)) for name in loaders] == [True] * 3 + [False] * 2
