"""The parsers of /proc take what the kernel writes, whatever a process calls itself."""

from hypothesis import given
from hypothesis import strategies as st

from dbdyno.host.observe import procfs
from dbdyno.model.host_reading import DeviceCounters

STAT = """cpu  100 1 20 3000 40 5 6 7 8 9
cpu0 50 1 10 1500 20 0 3 0 0 0
intr 396731 0 0 ctxt 9 procs_running 9
ctxt 645191
btime 1763633000
processes 17000
procs_running 3
procs_blocked 1
"""
STATUS = """Name:\tpostgres
State:\tS (sleeping)
VmRSS:\t    9100 kB
RssAnon:\t    1000 kB
RssFile:\t    8000 kB
RssShmem:\t     100 kB
VmData:\t    7000 kB
voluntary_ctxt_switches:\t42
nonvoluntary_ctxt_switches:\t7
"""
DISK_STAT = "      10        2       80       38  20 4 160 32 3 165 718 1 0 8 9 31 125\n"


def process_stat_line(name: str) -> str:
    """A line of /proc/PID/stat: user 131, system 12, children 5 + 6, 3 threads, start 111."""
    return f"4711 ({name}) S 17 4711 4711 0 -1 4194560 9 0 0 0 131 12 5 6 20 0 3 0 111 99 8 0 0\n"


def test_host_times_are_microseconds_and_guest_time_is_left_out() -> None:
    found = procfs.stat(STAT, ticks_per_s=100)
    assert found.cpu_us == {
        "user": 1_000_000,
        "nice": 10_000,
        "system": 200_000,
        "idle": 30_000_000,
        "iowait": 400_000,
        "irq": 50_000,
        "softirq": 60_000,
        "steal": 70_000,
    }
    assert (found.context_switches, found.running) == (645191, 3)


def test_a_kernel_that_knows_fewer_cpu_states_has_zeros_for_them() -> None:
    found = procfs.stat("cpu  1 2 3 4\nctxt 5\nprocs_running 1\n", ticks_per_s=1000)
    assert found.cpu_us["idle"] == 4000
    assert found.cpu_us["steal"] == 0


def test_memory_is_in_bytes_and_counts_stay_counts() -> None:
    found = procfs.meminfo("MemTotal:       24684092 kB\nDirty: 136 kB\nHugePages_Total:       3\n")
    assert found == {"MemTotal": 24684092 * 1024, "Dirty": 136 * 1024, "HugePages_Total": 3}


def test_swapping_is_read_from_vmstat() -> None:
    assert procfs.swap_pages("nr_free_pages 1\npswpin 12\npswpout 34\npgalloc 5\n") == (12, 34)
    assert procfs.swap_pages("nr_free_pages 1\n") == (0, 0)


def test_a_disks_sectors_are_of_512_bytes() -> None:
    assert procfs.disk_stat(DISK_STAT, "vda") == DeviceCounters(
        device="vda",
        reads=10,
        read_merges=2,
        read_bytes=80 * 512,
        read_ms=38,
        writes=20,
        write_merges=4,
        write_bytes=160 * 512,
        write_ms=32,
        in_flight=3,
        io_ms=165,
        weighted_ms=718,
        discards=1,
        discard_merges=0,
        discard_bytes=8 * 512,
        discard_ms=9,
        flushes=31,
        flush_ms=125,
    )


def test_what_the_kernel_does_not_count_is_unknown() -> None:
    old = procfs.disk_stat("1 2 3 4 5 6 7 8 9 10 11\n", "vda")
    with_discards = procfs.disk_stat("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n", "vda")
    newer_than_known = procfs.disk_stat(" ".join(str(number) for number in range(1, 21)), "vda")
    assert (old.flushes, with_discards.flushes) == (None, None)
    assert (old.discards, old.discard_bytes, with_discards.discards) == (None, None, 12)
    assert (with_discards.flush_ms, newer_than_known.flush_ms) == (None, 17)
    assert old.weighted_ms == 11


@given(st.text(alphabet="ab() \n)(S0", max_size=15))
def test_a_process_may_be_called_anything(name: str) -> None:
    found = procfs.process_stat(process_stat_line(name))
    assert found == procfs.ProcessStat(
        name=name,
        state="S",
        parent_pid=17,
        user_ticks=131,
        system_ticks=12,
        children_ticks=11,
        threads=3,
        start_ticks=111,
        flags=4194560,
    )


def test_status_tells_switches_and_memory() -> None:
    assert procfs.status(STATUS) == procfs.TaskStatus(42, 7, 9100 * 1024, 8100 * 1024)


def test_a_zombie_has_switches_but_no_memory() -> None:
    zombie = "Name:\tx\nState:\tZ (zombie)\nvoluntary_ctxt_switches:\t5\n"
    zombie += "nonvoluntary_ctxt_switches:\t6\nx86_Thread_features:\t\n"
    assert procfs.status(zombie) == procfs.TaskStatus(5, 6, 0, 0)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_numbers_of_full_width_are_read_whole(first: int, second: int) -> None:
    text = f"a: 1\nvoluntary_ctxt_switches:\t{first}\nnonvoluntary_ctxt_switches:\t{second}\n"
    assert procfs.status(text)[:2] == (first, second)
    io = f"rchar: 1\nread_bytes: {first}\nwrite_bytes: {second}\ncancelled_write_bytes: 9\n"
    assert procfs.process_io(io) == (first, second)


def test_schedstat_gives_nanoseconds_and_tells_when_nothing_is_counted() -> None:
    assert procfs.schedstat("715082910 243859 273\n") == (715082910, 243859)
    assert procfs.schedstat_counts("0 0 1\n")
    assert not procfs.schedstat_counts("0 0 0\n")


def test_proportional_memory_is_in_bytes() -> None:
    assert procfs.pss_bytes("55-7f ---p 0 0:0 0 [rollup]\nRss: 9 kB\nPss:     12 kB\n") == 12288
    assert procfs.pss_bytes("") == 0


def test_children_are_listed_by_pid() -> None:
    assert procfs.children("12 13 14 ") == [12, 13, 14]
    assert procfs.children("") == []


def test_mounts_are_read_with_optional_fields_and_escaped_names() -> None:
    text = (
        "27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard\n"
        r"28 27 0:25 / /mnt/a\040b ro - tmpfs none ro,size=4k"
        "\n"
    )
    first, second = procfs.mountinfo(text)
    assert (first.number, first.file_system, first.source) == ("254:0", "ext4", "/dev/vda")
    assert first.options == "rw,relatime,discard"
    assert second.mount_point == "/mnt/a b"


def test_processors_are_separated_by_blank_lines() -> None:
    found = procfs.cpuinfo("processor\t: 0\nmodel name\t: A: B\n\nprocessor\t: 1\nflags\t\t:\n\n")
    assert found == [{"processor": "0", "model name": "A: B"}, {"processor": "1", "flags": ""}]
