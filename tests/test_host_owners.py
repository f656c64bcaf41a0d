"""The ledger of owners: sums never fall, nothing that was spent is lost or counted twice."""

from hypothesis import given
from hypothesis import strategies as st

from dbdyno.host.observe.owners import Ledger, Process, Usage


def usage(cpu_ns: int, read_bytes: int | None = 0, run_delay_ns: int | None = 0) -> Usage:
    """A usage of which only these matter."""
    return Usage(
        cpu_ns=cpu_ns,
        user_us=cpu_ns // 1000,
        system_us=0,
        voluntary=cpu_ns,
        involuntary=0,
        read_bytes=read_bytes,
        write_bytes=0,
        run_delay_ns=run_delay_ns,
    )


def child(pid: int, owner: str, cpu_ns: int, start: int = 1) -> Process:
    """A process of the server."""
    return Process(pid, start, owner, usage(cpu_ns), True)


def cpu(ledger: Ledger) -> dict[str, float | None]:
    """CPU time by owner."""
    return {owner: counters.cpu_ns for owner, counters in ledger.owners().items()}


def test_an_owner_has_the_sum_of_its_processes() -> None:
    ledger = Ledger()
    ledger.update([child(1, "role:a", 10), child(2, "role:a", 20), child(3, "b", 5)], 0)
    assert cpu(ledger) == {"role:a": 30, "b": 5, "exited": 0}
    assert ledger.owners()["role:a"].processes == 2


def test_what_a_process_spends_after_its_last_reading_is_in_exited() -> None:
    ledger = Ledger()
    ledger.update([child(1, "worker", 100)], 1000)
    ledger.update([], 1000 + 130)
    assert cpu(ledger) == {"worker": 100, "exited": 30}
    assert ledger.owners()["worker"].processes == 0


def test_a_process_first_seen_at_its_end_is_in_exited_once() -> None:
    ledger = Ledger()
    ledger.update([], 0)
    ledger.update([child(1, "exited", 80)], 0)
    assert cpu(ledger) == {"exited": 80}
    ledger.update([], 80)
    assert cpu(ledger) == {"exited": 80}


def test_a_process_never_seen_is_in_exited_whole() -> None:
    ledger = Ledger()
    ledger.update([], 1000)
    ledger.update([], 1250)
    assert cpu(ledger) == {"exited": 250}


def test_a_process_that_has_gone_but_is_not_yet_in_the_postmasters_account_makes_nothing_fall() -> (
    None
):
    ledger = Ledger()
    ledger.update([], 0)
    ledger.update([child(1, "worker", 100)], 50)
    ledger.update([], 50)
    assert cpu(ledger) == {"worker": 100, "exited": 50}
    ledger.update([], 50 + 110)
    assert cpu(ledger) == {"worker": 100, "exited": 60}


def test_what_was_spent_before_a_backend_became_a_roles_stays_where_it_was() -> None:
    ledger = Ledger()
    ledger.update([child(1, "backend:other", 10)], 0)
    ledger.update([child(1, "role:query", 25)], 0)
    assert cpu(ledger) == {"backend:other": 10, "role:query": 15, "exited": 0}


def test_a_pid_that_is_used_again_is_another_process() -> None:
    ledger = Ledger()
    ledger.update([child(1, "worker", 100, start=1)], 0)
    ledger.update([child(1, "worker", 7, start=2)], 100)
    assert cpu(ledger) == {"worker": 107, "exited": 0}


def test_the_generators_end_is_not_the_postmasters_child() -> None:
    ledger = Ledger()
    ledger.update([Process(9, 1, "generator", usage(500), False)], 0)
    ledger.update([], 0)
    assert cpu(ledger) == {"generator": 500, "exited": 0}
    assert ledger.gone_ns == 0


def test_bytes_that_may_not_be_read_are_unknown_for_the_whole_owner() -> None:
    ledger = Ledger()
    hidden = Process(2, 1, "worker", usage(5, read_bytes=None), True)
    ledger.update([child(1, "worker", 5), hidden], 0)
    worker = ledger.owners()["worker"]
    assert (worker.read_bytes, worker.write_bytes, worker.cpu_ns) == (None, 0, 10)


def test_another_postmaster_starts_its_account_anew() -> None:
    ledger = Ledger()
    ledger.update([child(1, "worker", 100)], 0)
    ledger.update([], 130)
    ledger.restart()
    ledger.update([child(2, "worker", 1)], 7000)
    ledger.update([], 7000 + 11)
    assert cpu(ledger) == {"worker": 101, "exited": 40}


lives = st.lists(
    st.tuples(
        st.integers(0, 8),  # born at this reading
        st.lists(st.integers(0, 50), max_size=8),  # spent between readings
        st.integers(0, 50),  # spent after its last reading
        st.sampled_from(["role:a", "role:b", "background:c"]),
    ),
    max_size=12,
)


@given(lives)
def test_sums_never_fall_and_add_up_to_what_was_spent(lives: list[tuple[int, list[int], int, str]]):
    ledger = Ledger()
    last: dict[str, int] = {}
    for reading in range(20):
        there = []
        ended_ns = 0
        for pid, (born, spent, after, owner) in enumerate(lives):
            age = reading - born
            if 0 <= age < len(spent):
                there.append(child(pid, owner, sum(spent[: age + 1])))
            elif age >= len(spent):
                ended_ns += sum(spent) + after
        if reading == 0:
            first_ended_ns = ended_ns
        ledger.update(there, ended_ns)
        now = cpu(ledger)
        assert all(now[owner] >= value for owner, value in last.items())
        last = now
    total = sum(sum(spent) + after for _, spent, after, _ in lives)
    assert sum(last.values()) == total - first_ended_ns


def test_run_delay_is_summed_and_unknown_where_the_kernel_does_not_count_it() -> None:
    ledger = Ledger()

    def take(*delays_ns: int | None) -> None:
        processes = (
            Process(pid, 1, "role:a", usage(0, run_delay_ns=ns), True)
            for pid, ns in enumerate(delays_ns)
        )
        ledger.update(processes, 0)

    take(5, 10)
    take(15, 10)
    assert ledger.owners()["role:a"].run_delay_ns == 25
    take(15, None)
    assert ledger.owners()["role:a"].run_delay_ns is None
