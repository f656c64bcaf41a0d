"""The nodes of a job as hosts of its plan: the server's, and those that make its load."""

import re
import socket
from collections.abc import Mapping
from dataclasses import replace

from dbdyno.model import Host, Plan
from dbdyno.model.error import HostError
from dbdyno.run.slurm import cluster

ADDRESS = re.compile(r"NodeAddr=(\S+)")


def names(plan: Plan) -> tuple[str, ...]:
    """The plan's hosts that a job has a node for, the server's first; one without generators."""
    servers = dict.fromkeys(arm.host or "" for arm in plan.arms)
    return tuple(dict.fromkeys((*servers, *plan.generator_hosts)))


def placed(plan: Plan, environment: Mapping[str, str]) -> tuple[Plan, dict[str, str]]:
    """The plan on the nodes of this job, and by host the node's name. Raises HostError.

    The first node is this one. Keys `ssh` and `address` of the plan mean nothing here.
    """
    nodes = nodes_of(environment)
    hosts = names(plan)
    if len(nodes) != len(hosts):
        raise HostError(f"the job has {len(nodes)} nodes, and the plan needs {len(hosts)}")
    by_host = dict(zip(hosts, nodes, strict=True))
    return replace(plan, hosts=hosts_on(by_host, environment)), by_host


def hosts_on(by_host: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Host]:
    """The hosts with the nodes' addresses; the first is this machine."""
    own = environment.get("SLURMD_NODENAME", next(iter(by_host.values())))
    return {
        name: Host(name=name, node=None if node == own else node, address=address_of(node))
        for name, node in by_host.items()
    }


def nodes_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The nodes of a job, this one first. Raises HostError."""
    nodes = cluster.expanded(environment.get("SLURM_JOB_NODELIST", ""))
    own = environment.get("SLURMD_NODENAME")
    return tuple(sorted(nodes, key=lambda node: node != own))


def address_of(node: str) -> str:
    """The IP address of a node, as Slurm reaches it. Raises HostError."""
    match = ADDRESS.search(cluster.run("scontrol", "show", "node", "--oneliner", node))
    name = node if match is None else match[1]
    try:
        return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise HostError(f"node {node}: `{name}` has no address: {error.strerror}") from error
