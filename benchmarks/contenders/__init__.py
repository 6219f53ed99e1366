"""Processes that are measured; each module is run with ``python -m``."""
