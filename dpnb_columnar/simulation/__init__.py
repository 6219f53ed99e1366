"""Census-like extracts for demonstrations, tests and benchmarks."""

from dpnb_columnar.simulation.census import simulate_census

__all__ = ["simulate_census"]
