"""Differentially private naive Bayes classifiers from confidential Parquet extracts and frames.

::

    import dpnb_columnar as dpnb

    model = dpnb.train("census.parquet", epsilon="0.5")
    model.save("census.model.json")
    scored = model.predict(polars.scan_parquet("other.parquet")).collect()
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if sys.platform == "win32":
    raise ImportError(
        "dpnb_columnar runs on Linux and other POSIX systems. Windows has neither the locks nor the permissions that "
        "keep other runs and users from ledgers and outputs; use the Windows Subsystem for Linux, or a container"
    )

from dpnb_columnar.version import __version__ as __version__

if TYPE_CHECKING:
    from dpnb_columnar.api import (
        aggregate,
        attack,
        calibrate,
        check,
        count_given,
        evaluate,
        ingest,
        load_model,
        load_scores,
        plan,
        read_domain,
        release,
        release_scores,
        save,
        sheet,
        simulate,
        split,
        train,
    )
    from dpnb_columnar.api.model import Model as Model
    from dpnb_columnar.core.queries.statistics import Statistics as Statistics
    from dpnb_columnar.domain import Domain as Domain
    from dpnb_columnar.errors import Error as Error


__all__ = [
    "aggregate",
    "attack",
    "calibrate",
    "check",
    "count_given",
    "evaluate",
    "ingest",
    "load_model",
    "load_scores",
    "plan",
    "read_domain",
    "release",
    "release_scores",
    "save",
    "sheet",
    "simulate",
    "split",
    "train",
]


PLACES = {
    "Domain": "domain.domain_text",
    "Error": "errors",
    "Model": "api.model",
    "Statistics": "core.queries.statistics",
}
"""Modules of the classes, for annotations (a domain is shown by ``domain_text``); functions are those of ``api``."""

if not TYPE_CHECKING:  # a type checker that sees this function takes every name, misspelt or not, for Any

    def __getattr__(name: str) -> Any:
        # Imported on first use: the command line's --help must not wait for the engines.
        if name not in __all__ and name not in PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"dpnb_columnar.{PLACES.get(name, 'api')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *PLACES})
