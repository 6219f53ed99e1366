"""Processes that are measured, and those that make their inputs: each a module with a ``main``."""
