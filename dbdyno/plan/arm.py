"""The arms of a plan: where each one's server comes from, and how it is set."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dbdyno.engine import dsn, preset
from dbdyno.engine.preset import config_file
from dbdyno.model import Arm, Password, engine
from dbdyno.model.error import PlanError
from dbdyno.plan.schema import NAMING, ArmForm, PasswordForm, path_of, refusal
from dbdyno.workload.file import NAME

ORIGINS = ("version", "base_dir", "build", "dsn")
"""The keys that name a server; an arm has one of them, or a version that a recipe builds."""
BY_RECIPE = ["version", "build"]
OF_DSN = ("password", "allow_drop", "allow_writes", "endpoints")
"""The keys that only a server that runs elsewhere has."""
NOT_OF_DSN = (
    *("config", "memory", "settings", "environment", "initdb", "transport", "memory_max"),
    "standby",
)
NOT_OF_FAKE = (*ORIGINS, *OF_DSN, *NOT_OF_DSN)
SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
BESIDE_DATA = "golden"
"""The name that data folders themselves use where arms have theirs."""


def arms_of(forms: Mapping[str, ArmForm], path: Path | None, source: str) -> tuple[Arm, ...]:
    """The arms that are written. Raises PlanError."""
    return tuple(_arm(name, form, path, source) for name, form in forms.items())


def _arm(name: str, form: ArmForm, path: Path | None, source: str) -> Arm:
    key = f"arms.{name}"
    if not NAME.fullmatch(name) or name.endswith(".json"):
        raise refusal(source, key, f"{name!r} cannot name a folder; {NAMING}")
    if name == BESIDE_DATA:
        raise refusal(source, key, f"`{name}` is a name that data folders use; rename the arm")
    try:
        engine.of(form.engine)
    except PlanError as reason:
        raise refusal(source, f"{key}.engine", str(reason)) from None
    _check_build(form, key, source)
    _check_dsn(form, key, source)
    for setting in form.settings:
        if not SETTING.fullmatch(setting):
            raise refusal(source, f"{key}.settings", f"{setting!r} cannot be a setting's name")
    arm = Arm(
        name=name,
        engine=form.engine,
        version=form.version,
        base_dir=path_of(form.base_dir, path, f"{key}.base_dir", source),
        build=form.build,
        dsn=form.dsn,
        password=_password(form.password, path, key, source),
        allow_drop=form.allow_drop,
        allow_writes=form.allow_writes,
        standby=form.standby,
        endpoints=form.endpoints,
        config=form.config,
        config_text=_config_text(form, path, key, source),
        memory=form.memory,
        settings={setting: _setting(value) for setting, value in form.settings.items()},
        environment=form.environment,
        initdb={} if form.initdb is None else form.initdb.model_dump(exclude_none=True),
        transport=form.transport,
        memory_max=form.memory_max,
        host=form.host,
        fake={"default_us": form.fake.default_us, **form.fake.model_dump(exclude_unset=True)}
        if form.fake
        else {},
    )
    if form.initdb is not None and "initdb" not in engine.of(arm.engine).can:
        sentence = f"no cluster of {arm.engine} is made by initdb; remove it"
        raise refusal(source, f"{key}.initdb", sentence)
    if arm.standby and "standby" not in engine.of(arm.engine).can:
        sentence = f"no standby of {arm.engine} can be made here; remove it"
        raise refusal(source, f"{key}.standby", sentence)
    if arm.dsn is not None:
        places = {"dsn": arm.dsn} | {f"endpoints.{one}": to for one, to in arm.endpoints.items()}
        for where, text in places.items():
            try:
                dsn.address(replace(arm, dsn=text))
            except PlanError as reason:
                raise refusal(source, f"{key}.{where}", str(reason)) from None
    return arm


def _check_build(form: ArmForm, key: str, source: str) -> None:
    """A server comes from a version or a folder; the fake one from its description alone."""
    its = engine.of(form.engine)
    if "clock" not in its.can:
        if form.fake is None:
            sentence = f'missing; engine "{its.name}" needs it, as {{ default_us = 100 }}'
            raise refusal(source, f"{key}.fake", sentence)
        for other in NOT_OF_FAKE:
            if getattr(form, other):
                sentence = f'engine "{its.name}" has no server; remove it'
                raise refusal(source, f"{key}.{other}", sentence)
        return
    if form.fake is not None:
        raise refusal(source, f"{key}.fake", 'only engine "fake" has it; remove it')
    there = [one for one in ORIGINS if getattr(form, one) is not None]
    if len(there) != 1 and there != BY_RECIPE:
        named = (
            " and ".join(f"`{one}`" for one in there) + " are there" if there else "none is there"
        )
        choice = ", ".join(f"`{one}`" for one in ORIGINS)
        raise refusal(source, key, f"needs one of {choice}, but {named}")
    if there == BY_RECIPE and "release" not in its.can:
        sentence = f"no version of {form.engine} can be built from source by a plan; keep one"
        raise refusal(source, key, f"`version` and `build` are there: {sentence}")
    if form.memory is not None and (form.config is None or config_file.is_file(form.config)):
        raise refusal(source, f"{key}.memory", "sizes a preset, but there is none; add `config`")


def _check_dsn(form: ArmForm, key: str, source: str) -> None:
    """A server that runs elsewhere is as it is; only it has a password and others' tables."""
    if form.dsn is None:
        for only in OF_DSN:
            if getattr(form, only):
                sentence = "is for a `dsn`, but there is none; remove it"
                raise refusal(source, f"{key}.{only}", sentence)
        return
    for other in NOT_OF_DSN:
        if getattr(form, other):
            sentence = "a server that runs elsewhere cannot be set up by dyno; remove it"
            raise refusal(source, f"{key}.{other}", sentence)


def _config_text(form: ArmForm, plan: Path | None, key: str, source: str) -> str | None:
    """The text of a configuration file of one's own; checks a preset's name instead."""
    if form.config is None:
        return None
    if not config_file.is_file(form.config):
        try:
            chosen = preset.parse(form.config, form.engine)
        except PlanError as reason:
            sentence = str(reason).removeprefix("config: ")
            raise refusal(source, f"{key}.config", sentence) from None
        if chosen.size is not None and form.memory is not None:
            sentence = f"`{form.config}` is for {chosen.size.name}; drop that, or `memory`"
            raise refusal(source, f"{key}.memory", sentence)
        return None
    file = path_of(form.config, plan, f"{key}.config", source)
    assert file is not None, "a path that is written is one"
    try:
        return config_file.whole(file)
    except PlanError as reason:
        raise refusal(source, f"{key}.config", str(reason)) from None


def _password(
    form: PasswordForm | None, plan: Path | None, key: str, source: str
) -> Password | None:
    """The place of a DSN's password."""
    if form is None:
        return None
    if (form.env is None) == (form.passfile is None):
        raise refusal(source, f"{key}.password", "name either `env` or `passfile`")
    passfile = path_of(form.passfile, plan, f"{key}.password.passfile", source)
    return Password(env=form.env, passfile=passfile, insecure=form.insecure)


def _setting(value: str | bool | int | float) -> str:
    """A setting's value as the server's configuration file has it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
