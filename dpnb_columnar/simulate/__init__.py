"""Census-like extracts for demonstrations, tests and benchmarks. Importing this package loads no heavy library."""

from dpnb_columnar.simulate.census import simulate_census

__all__ = ["simulate_census"]
