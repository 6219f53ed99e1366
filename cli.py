"""The checkout's front door: ``python cli.py train census.parquet`` without installing the package."""

from dpnb_columnar.__main__ import run

if __name__ == "__main__":
    run()
