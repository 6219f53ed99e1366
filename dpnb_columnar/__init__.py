"""Differentially private naive Bayes classifiers from confidential Parquet extracts and frames.

::

    import dpnb_columnar as dpnb

    model = dpnb.train("census.parquet", epsilon="0.5")
    model.save("census.model.json")
    scored = model.predict(polars.scan_parquet("other.parquet")).collect()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpnb_columnar.version import __version__ as __version__

if TYPE_CHECKING:
    from dpnb_columnar.api import (
        aggregate,
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
        simulate,
        split,
        train,
    )

__all__ = [
    "aggregate",
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
    "simulate",
    "split",
    "train",
]


if not TYPE_CHECKING:  # a type checker that sees this function takes every name, misspelt or not, for Any

    def __getattr__(name: str) -> Any:
        # Imported on first use: the command line's --help must not wait for the engines.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from dpnb_columnar import api

        return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
