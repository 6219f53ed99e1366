"""Extensions, found by their names: what nobody needs in order to release a model.

An extension is a package: a folder of ``dpnb_columnar/extensions``, or one that another distribution installs under the
entry point group ``dpnb_columnar.extensions``. Each may be deleted. The program imports one when a name of it is asked
for, and no module outside ``extensions`` imports one by a statement.

A package may have ``VERBS``, a help line by verb; the verb is the function ``command``, or the Typer ``app``, of the
package's module of that name. It may have ``FAMILIES``: by the name of a noise family a function without arguments that
makes it, a ``core.mechanisms.tuning.SmoothFamily``. The help imports the package of every extension, so that module
imports nothing heavy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from dpnb_columnar.errors import UnavailableError

GROUP = "dpnb_columnar.extensions"
"""Package of our own extensions, and group of the entry points of others."""

OWN_VERBS: Mapping[str, str] = {"audit": "audit", "export": "exports", "datasets": "datasets"}
"""Extension of each verb of our own, so that a verb whose folder was deleted names it."""

OWN_FAMILIES: Mapping[str, str] = dict.fromkeys(
    ("laplace-log-normal", "uniform-log-normal", "arsinh-normal"), "concentrated"
)
"""Extension of each noise family of our own, so that names are listed, and a deleted folder is named, without it."""


def extension(name: str, user: str = "this") -> ModuleType:
    """Import an extension, or a module of one after a dot, such as ``exports.export``; the error says who needs it."""
    name, dot, module = name.partition(".")
    if (package := _package(name)) is None:
        raise UnavailableError(
            f"{user} needs the extension {name}, which is not installed; install the whole of dpnb-columnar anew"
        )
    return import_module(f"{package}{dot}{module}")


def extension_verbs() -> dict[str, str]:
    """Return the help line of every verb of the extensions that are installed."""
    return offered("VERBS")


def verb_module(verb: str) -> str | None:
    """Return the module of an extension's verb; None if no extension has it, an error if ours is not installed."""
    package = _offering("VERBS", verb, OWN_VERBS)
    return None if package is None else f"{package.__name__}.{verb.replace('-', '_')}"


def own_families() -> tuple[str, ...]:
    """Return the noise families of our own extensions that are installed, without importing one."""
    return tuple(name for name, owner in OWN_FAMILIES.items() if _package(owner) is not None)


def extension_families() -> tuple[str, ...]:
    """Return the noise families of all extensions that are installed."""
    return tuple(offered("FAMILIES"))


@lru_cache(maxsize=64)
def noise_family(name: str) -> Any | None:
    """Make an extension's noise family; None if no extension has it, an error if ours is not installed."""
    package = _offering("FAMILIES", name, OWN_FAMILIES)
    return None if package is None else package.FAMILIES[name]()


def _offering(kind: str, name: str, own: Mapping[str, str]) -> ModuleType | None:
    """Import the extension that offers something of this name; None if none does."""
    if name in own:
        return extension(own[name], f"noise {name}" if own is OWN_FAMILIES else name)
    return next((package for package in _packages() if name in getattr(package, kind, ())), None)


def offered(kind: str) -> dict[str, Any]:
    """Return what all extensions offer by its name; the first that has a name keeps it."""
    offered: dict[str, Any] = {}
    for package in _packages():
        offered = offered | {name: each for name, each in getattr(package, kind, {}).items() if name not in offered}
    return offered


def _package(name: str) -> str | None:
    """Return the package of an extension; None if it is not installed."""
    if find_spec(GROUP) is not None and (spec := find_spec(f"{GROUP}.{name}")) is not None and spec.origin:
        return spec.name  # without an origin it is what Python left of a deleted folder, its cache
    return dict(_entry_points()).get(name)


@cache
def _packages() -> tuple[ModuleType, ...]:
    """Import the packages of all extensions, our own first."""
    names = dict.fromkeys((*_own(), *(package for _, package in _entry_points())))
    return tuple(import_module(name) for name in names)


@cache
def _entry_points() -> tuple[tuple[str, str], ...]:
    """Return name and package of the extensions that other distributions install."""
    files = (file for folder in sys.path for file in Path(folder).glob("*-info/entry_points.txt"))
    with suppress(OSError):  # what cannot be read here, the library reads or leaves
        if not any(GROUP.encode() in file.read_bytes() for file in files):
            return ()
    from importlib.metadata import entry_points  # loads a library for mail, longer than all else of the start

    return tuple((point.name, point.value) for point in entry_points(group=GROUP))


def _own() -> Iterator[str]:
    if find_spec(GROUP) is not None:
        for module in iter_modules(import_module(GROUP).__path__):
            yield f"{GROUP}.{module.name}"
