"""From raw extracts (IPUMS, ACS PUMS) and their codebooks to one Parquet file that carries its domain."""
