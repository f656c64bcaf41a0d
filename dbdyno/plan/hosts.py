"""The hosts that a plan names, and which of its arms and generators run on them."""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbdyno.model import Arm, Host, Plan
from dbdyno.model.document import suggestion
from dbdyno.plan.schema import NAMING, HostForm, PlanForm, refusal
from dbdyno.workload.file import NAME


def hosts_of(forms: Mapping[str, HostForm], source: str) -> dict[str, Host]:
    """The hosts that are written. Raises PlanError."""
    return {name: _host(name, form, source) for name, form in forms.items()}


def _host(name: str, form: HostForm, source: str) -> Host:
    key = f"hosts.{name}"
    if not NAME.fullmatch(name):
        raise refusal(source, key, f"{name!r} cannot name a host; {NAMING}")
    if form.address is not None:
        _check_address(form.address, f"{key}.address", source)
    return Host(name=name, ssh=form.ssh, address=form.address)


def _check_address(address: str, key: str, source: str) -> None:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        sentence = f'{address!r} is no IP address; write it as "10.0.0.1"'
        raise refusal(source, key, sentence) from None
    if found.is_unspecified or found.is_multicast:
        sentence = f"{address} is not one host's; name the address by which the others reach it"
        raise refusal(source, key, sentence)


def placed(arms: Sequence[Arm], form: PlanForm) -> tuple[Arm, ...]:
    """The arms, on the servers' host where they name none. A server elsewhere has no host."""
    return tuple(
        arm if arm.host or arm.dsn is not None else replace(arm, host=form.server.host)
        for arm in arms
    )


def check(plan: Plan, source: str) -> None:
    """Raises PlanError where a host is not written, or cannot do what it is named for."""
    for arm in plan.arms:
        key = f"arms.{arm.name}.host"
        if arm.host is not None:
            _check_named(arm.host, plan, key, source)
        if arm.host is not None and arm.dsn is not None:
            raise refusal(source, key, "a server with a `dsn` runs where that says; remove it")
    if plan.schedule.together and len({arm.host for arm in plan.arms}) > 1:
        sentence = (
            f'with interleave = "{plan.schedule.interleave}" all servers run at once, on one host; '
            'name the same `host` for all arms, or use interleave = "run"'
        )
        raise refusal(source, "schedule.interleave", sentence)
    for host in plan.generator_hosts:
        _check_named(host, plan, "generator.hosts", source)
    if plan.generator_hosts:
        _check_generators(plan, source)


def refuse_unaddressed(plan: Plan) -> None:
    """Raises PlanError where load comes from a host, or goes to one, whose address is not known.

    By Slurm it is: that of the job's node.
    """
    servers = [arm.host for arm in plan.arms if arm.host is not None]
    for name in dict.fromkeys((*servers, *plan.generator_hosts)) if plan.generator_hosts else ():
        if plan.hosts[name].address is None:
            sentence = "missing; servers and generators on several hosts need the address of each"
            raise refusal(str(plan.path or "the plan"), f"hosts.{name}.address", sentence)


def _check_named(host: str, plan: Plan, key: str, source: str) -> None:
    if host not in plan.hosts:
        remedy = suggestion(host, plan.hosts) if plan.hosts else f"write a table [hosts.{host}]"
        raise refusal(source, key, f"no host `{host}`; {remedy}")


def _check_generators(plan: Plan, source: str) -> None:
    """Generators elsewhere reach the servers by an address, from addresses of their own."""
    if len(set(plan.generator_hosts)) < len(plan.generator_hosts):
        raise refusal(source, "generator.hosts", "a host is listed twice; name each once")
    for arm in plan.arms:
        if arm.dsn is not None or arm.fake:
            sentence = (
                f"arm `{arm.name}` has a `dsn`, or is a fake: its load is made on this machine; "
                "remove `hosts`, or run dyno where the load is to come from"
            )
            raise refusal(source, "generator.hosts", sentence)
        if arm.host is None:
            sentence = (
                "missing; generators on other hosts connect to an address: name a host that has "
                "one (for this machine, a table [hosts.NAME] with `address` and no `ssh`)"
            )
            raise refusal(source, f"arms.{arm.name}.host", sentence)
