"""Results of the same machine that lie beside another one."""

from dbdyno.model.error import ResultError
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.plan import LENGTH, WorkloadUse
from dbdyno.model.plan_record import WorkloadRecord
from dbdyno.store import Results


def is_of_machine(results: Results, host: HostFacts) -> bool:
    """Whether all of it was measured on the machine of these facts; not where they are damaged."""
    try:
        named = results.hosts()
        nodes = dict.fromkeys(block.host for block in results.blocks() if block.host)
        hosts = [results.host(), *results.earlier_hosts(), *map(named.get, nodes)]
    except ResultError:
        return False
    return all(facts is not None and facts.machine == host.machine for facts in hosts)


def parameters(use: WorkloadRecord | WorkloadUse) -> dict[str, object]:
    """The parameters of a workload's use, without the length of its steps."""
    return {key: value for key, value in use.parameters.items() if key != LENGTH}


def begun(results: Results) -> int:
    """When its host came to be as it is, by which the newest of several is known."""
    host = results.host()
    return 0 if host is None else host.since_unix_ns or 0
