"""Measurements, apart from the tests: ``python -m benchmarks``."""
