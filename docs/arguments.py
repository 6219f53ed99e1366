"""Extension of Griffe, which reads the source alone: the arguments that ``keywords_of`` and ``described_by`` write.

The page on Python shows every function of the interface as ``help`` does.
"""

from __future__ import annotations

import ast
import inspect
from enum import Enum
from typing import Any

import griffe

from dpnb_columnar import api, options
from dpnb_columnar.api.arguments import with_arguments

DECORATOR = "described_by"


class Arguments(griffe.Extension):
    """Take arguments and docstrings of the interface's functions from the functions themselves."""

    def on_function(self, *, func: griffe.Function, **kwargs: Any) -> None:
        """Replace what the source shows of a function of the interface."""
        if func.path != f"{api.__name__}.{func.name}" or func.docstring is None or func.name[0] == "_":
            return
        function = getattr(api, func.name)
        parameters = inspect.signature(function).parameters.values()
        func.parameters = griffe.Parameters(*(_parameter(each, func) for each in parameters))
        func.docstring.value = inspect.getdoc(function) or ""

    def on_class(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """Describe the arguments of a constructor that its class leaves to records."""
        named = [str(each.value) for each in cls.decorators if str(each.value).startswith(DECORATOR)]
        if named and cls.docstring is not None:
            records = [getattr(options, name) for name in named[0].removeprefix(DECORATOR).strip("()").split(", ")]
            texts = {name: each.text for record in records for name, each in options.options_of(record).items()}
            names = [each.name for each in cls.parameters if each.name != "self"]
            cls.docstring.value = with_arguments(cls.docstring.value, names, texts)


def _parameter(parameter: inspect.Parameter, function: griffe.Function) -> griffe.Parameter:
    default = parameter.default
    written = f"{type(default).__name__}.{default.name}" if isinstance(default, Enum) else repr(default)
    assert isinstance(function.parent, griffe.Module)
    return griffe.Parameter(
        parameter.name,
        annotation=griffe.get_annotation(ast.parse(parameter.annotation, mode="eval").body, function.parent),
        kind=griffe.ParameterKind(parameter.kind.description),
        default=None if default is parameter.empty else written,
    )
