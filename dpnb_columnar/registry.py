"""Extensions, found by their names: what nobody needs in order to release a model.

An extension is a package: a folder of ``dpnb_columnar/extensions``, or one that another distribution installs under the
entry point group ``dpnb_columnar.extensions``. Each may be deleted. The program imports one when a name of it is asked
for, and no module outside ``extensions`` imports one by a statement.

A package may have ``VERBS``, a help line by verb; the verb is the function ``command``, or the Typer ``app``, of the
package's module of that name. Other names are those that whoever asks for the extension looks up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

from dpnb_columnar.errors import UnavailableError

GROUP = "dpnb_columnar.extensions"
"""Package of our own extensions, and group of the entry points of others."""

OWN_VERBS: Mapping[str, str] = {"audit": "audit", "export": "exports", "datasets": "datasets"}
"""Extension of each verb of our own, so that a verb whose folder was deleted names it."""


def extension(name: str) -> ModuleType:
    """Import an extension.

    Raises:
        UnavailableError: if it is not installed.
    """
    if (package := _package(name)) is None:
        raise UnavailableError(f"this needs the extension {name}, which is not installed here")
    return import_module(package)


def extension_verbs() -> dict[str, str]:
    """Return the help line of every verb of the extensions that are installed."""
    return {verb: line for package in _packages() for verb, line in _verbs(package).items()}


def verb_module(verb: str) -> str | None:
    """Return the module of an extension's verb; None if no extension has it.

    Raises:
        UnavailableError: if it is a verb of an extension that is not installed.
    """
    if verb in OWN_VERBS:
        return f"{extension(OWN_VERBS[verb]).__name__}.{verb}"
    package = next((package for package in _packages() if verb in _verbs(package)), None)
    return None if package is None else f"{package}.{verb.replace('-', '_')}"


def _package(name: str) -> str | None:
    """Return the package of an extension; None if it is not installed."""
    if find_spec(GROUP) is not None and find_spec(f"{GROUP}.{name}") is not None:
        return f"{GROUP}.{name}"
    return next((point.value for point in entry_points(group=GROUP, name=name)), None)


@cache
def _packages() -> tuple[str, ...]:
    """List the packages of all extensions, our own first."""
    return tuple(dict.fromkeys((*_own(), *(point.value for point in entry_points(group=GROUP)))))


def _own() -> Iterator[str]:
    if find_spec(GROUP) is not None:
        for module in iter_modules(import_module(GROUP).__path__):
            yield f"{GROUP}.{module.name}"


def _verbs(package: str) -> Mapping[str, str]:
    verbs: Mapping[str, str] = getattr(import_module(package), "VERBS", {})
    return verbs
