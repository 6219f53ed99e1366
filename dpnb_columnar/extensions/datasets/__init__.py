"""Public data sets: raw files as published, checked and converted to one Parquet file that carries its domain."""

VERBS = {"datasets": "List the data sets of datasets.toml, prepare raw files."}
