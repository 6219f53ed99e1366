"""Rows and results that live in a database: DuckDB files and PostgreSQL connections."""
