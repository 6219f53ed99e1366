"""Public data sets: raw files as published, checked and converted to one Parquet file that carries its domain."""

from dpnb_columnar.datasets.prepare import Prepared, prepare

__all__ = ["Prepared", "prepare"]
