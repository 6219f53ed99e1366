"""Census-like extracts for demonstrations, tests and benchmarks. Importing this package loads no heavy library."""

from dpnb_columnar.simulation.census import simulate_census

__all__ = ["simulate_census"]
