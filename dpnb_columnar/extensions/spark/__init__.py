"""Rows that Spark holds: counted there."""
