"""Values of plain options and arguments: texts, paths, whole numbers, and choices by their name.

Typer builds a validator of pydantic for every option of a verb, typed or not. To load pydantic and to build them takes
longer than to import NumPy. What is plain becomes a value here; all else goes to Typer, which knows what to say of it.
"""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from typer.core import TyperCommand, TyperGroup


class PlainValues:
    """Stand-in for Typer's validator of one option or argument.

    Attributes:
        parameter: The option or argument.
    """

    def __init__(self, parameter: Any) -> None:
        self.parameter = parameter

    def validator(self) -> PlainValues:
        """Return what Typer asks for the value, in place of its own validator."""
        return self

    def coerce(self, value: Any, **place: Any) -> Any:
        """Return the value that the verb's function takes.

        Args:
            value: Typed, from a variable, from a file of settings, or the default.
            place: What Typer needs to name the option in an error.
        """
        several, kind = self.parameter.nargs == -1 or self.parameter.multiple, self.parameter.type_descriptor.annotation
        if value is None:
            return () if several else None
        if several and isinstance(value, list | tuple):
            values = [self._plain(each, *get_args(kind)) for each in value]
            if None not in values:
                return values
        elif not several and (plain := self._plain(value, kind)) is not None:
            return plain
        return type(self.parameter).get_runtime_param(self.parameter).coerce(value, **place)

    def _plain(self, value: Any, kind: type) -> Any:
        """Return the value of one text or default; None where Typer has to look at it."""
        info = self.parameter.type_descriptor.parameter_info
        if kind is str:
            return value if isinstance(value, str) else None
        if kind is Path:
            return Path(value) if os.access(value, os.R_OK) or not os.access(value, os.F_OK) else None
        if kind is int:
            whole = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19
            number = int(value) if whole or type(value) is int else None
            low, high = info.min, info.max
            inside = number is not None and (low is None or low <= number) and (high is None or number <= high)
            return number if inside else None
        if isinstance(kind, type) and issubclass(kind, Enum):
            return value if isinstance(value, kind) else {each.value: each for each in kind}.get(value)
        return None


class PlainParameters:
    """Mixin of parsers: plain values of their options and arguments need none of Typer's validators."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List options and arguments, that for help among them."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if hasattr(parameter, "get_runtime_param"):  # versions of Typer without pydantic have no such thing
                parameter.get_runtime_param = PlainValues(parameter).validator
        return parameters


class PlainCommand(PlainParameters, TyperCommand):
    """Parser of a verb, or of one command of a verb that has several."""


class PlainGroup(PlainParameters, TyperGroup):
    """Parser of a verb that has several commands."""
