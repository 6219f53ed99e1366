"""IPUMS's own reader: a fixed-width extract to Parquet, in chunks of 100,000 lines.

Usage: python -m benchmarks.contenders.ipums_chunks EXTRACT.dat CODEBOOK.xml OUTPUT.parquet
"""

from __future__ import annotations

import sys
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
from ipumspy import readers

if __name__ == "__main__":
    extract, codebook, output = sys.argv[1:]
    warnings.simplefilter("ignore")  # it prints how to cite IPUMS
    ddi = readers.read_ipums_ddi(codebook)
    writer = None
    for chunk in readers.read_microdata_chunked(ddi, extract, chunksize=100_000):
        table = pa.Table.from_pandas(chunk, preserve_index=False)
        if writer is None:
            writer = pq.ParquetWriter(output, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()
