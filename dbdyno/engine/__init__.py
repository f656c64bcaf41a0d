"""The registry of engines: `of` is the one place that picks by family.

The registry imports a family's folder when it is asked, so that nothing else knows one.
"""

from importlib import import_module

from dbdyno.builds import Build
from dbdyno.builds.flags import Recipes
from dbdyno.engine.interface import Engine, LabServer, Server
from dbdyno.host.place import Place
from dbdyno.model import engine
from dbdyno.model.error import ServerError

__all__ = ["Build", "Engine", "LabServer", "Place", "Server", "of", "recipes"]


def of(name: str) -> Engine:
    """The engine of that name. Raises PlanError that names the nearest."""
    traits = engine.of(name)
    found: Engine = import_module(f"{__name__}.{traits.family}").of(traits)
    return found


def recipes(name: str) -> Recipes:
    """The recipes by which an engine is compiled. Raises ServerError if there are none."""
    if name not in (there := engine.having("source")):
        raise ServerError(f"no engine `{name}` can be built: there are {engine.named(there)}")
    return of(name).recipes
