"""Rows that Spark can read: the session that reads them, files and tables, and what their columns hold."""
