"""Engines that count rows: Polars and DuckDB on this machine, frames in memory, databases, Spark."""
