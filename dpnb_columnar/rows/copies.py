"""A Parquet file once more, with another domain in its metadata."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dpnb_columnar.domain import Declaration
from dpnb_columnar.domain.metadata import domain_metadata
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.files import atomic_output


def copy_with_domain(source: Path, domain: Declaration, output: Path, *, overwrite: bool = False) -> None:
    """Copy the rows of a Parquet file, one row group at a time, and put a domain in the copy's metadata.

    Rows, their order, types, row groups and other metadata stay as they are. The copy can be read by its owner alone,
    since it holds confidential rows.

    Args:
        source: Parquet file.
        domain: The domain that the copy is to carry; the file has its columns.
        output: File to write.
        overwrite: Replace an existing file.

    Raises:
        MissingInputError, DataError: The source cannot be read, or lacks a column of the domain.
        OutputError: The output exists, or cannot be written.
    """
    try:
        opened = pq.ParquetFile(source)
    except pa.ArrowException:
        raise _damaged(source) from None
    except OSError as error:
        raise MissingInputError(f"{source}: cannot be opened: {error.strerror}; check the path") from None
    with opened as file:
        schema = file.schema_arrow
        if absent := [column for column in domain.columns if column not in schema.names]:
            raise DataError(
                f"{source}: has no column {', '.join(map(repr, absent))}; take it out of the domain with --drop"
            )
        carrying = schema.with_metadata({**(schema.metadata or {}), **domain_metadata(domain)})
        with (
            atomic_output(output, overwrite=overwrite, confidential=True) as partial,
            pq.ParquetWriter(partial, carrying, version="2.6", compression="zstd") as writer,
        ):
            for group in range(file.num_row_groups):
                try:
                    rows = file.read_row_group(group)
                except (pa.ArrowException, OSError):
                    raise _damaged(source) from None
                writer.write_table(rows, row_group_size=max(rows.num_rows, 1))


def _damaged(source: Path) -> DataError:
    return DataError(f"{source}: cannot be read to the end (damaged or cut short); write or copy it again")
