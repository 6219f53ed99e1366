"""Whether rows were counted for a model, as far as a ledger knows: by names of files, and by digests where it has any.

A ledger holds the names of the files of each run, or those of a database and its table. Digests of files, which are
confidential, are in an account that was opened with ``--bind``, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.cli.console import print_warning
from dpnb_columnar.domain.names import named

if TYPE_CHECKING:
    from dpnb_columnar.counting.database_input import DatabaseInput
    from dpnb_columnar.counting.inputs import LocalInput
    from dpnb_columnar.ledger.accounts import Ledger
    from dpnb_columnar.ledger.records import Charge
    from dpnb_columnar.model.model import Model


def warn_of_training_rows(ledger: Path, model: Model, rows: LocalInput, *, public: bool = False) -> None:
    """Say if the rows are files, or a table, that were counted for the model.

    Args:
        ledger: The ledger that paid for the model.
        model: The model.
        rows: The rows.
        public: Whether names alone are compared, since what is printed is public.
    """
    from dpnb_columnar.counting.file_parts import file_parts
    from dpnb_columnar.counting.inputs import LocalFiles
    from dpnb_columnar.model.model_document import document_digest

    digest = document_digest(model)
    if isinstance(rows, LocalFiles):
        parts = [None if public else next(iter(file_parts([file])), None) for file in rows.files]
        warning = _warning(ledger, digest, dict(zip(rows.names, parts, strict=True)), names_alone=public)
    else:
        warning = _warning_of_table(ledger, digest, rows, names_alone=public)
    if warning is not None:
        print_warning(warning, "training rows")


def _warning(path: Path, model: str, files: Mapping[str, str | None], *, names_alone: bool = False) -> str | None:
    """Say that files were counted for a model, or that the ledger cannot know.

    Args:
        path: The ledger's file.
        model: SHA-256 of the model's document.
        files: By the name that a run would have recorded, the digest of each file, which is compared with those of a
            bound account; None where it is not known, or a file has no rows.
        names_alone: Whether nothing is said but that a run counted files of these names.

    Returns:
        One line; None where a run released the model, and is not known to have counted one of the files.

    Raises:
        dpnb_columnar.errors.Error: if the ledger cannot be read.
    """
    from dpnb_columnar.ledger.accounts import Ledger

    with Ledger(path) as ledger:
        charges = _charges(ledger, model)
        for charge in charges:
            if same := files.keys() & set(charge.inputs.get("data", ())):
                return (
                    f"{_names(same)}: run {charge.run} counted these rows to train this model, and training rows score "
                    "too well; evaluate rows that it has not seen, such as dpnb-columnar split holds out"
                )
            bound = ledger.account(charge.dataset).parts or frozenset()
            if copies := {name for name, digest in files.items() if digest in bound}:
                return (
                    f"{_names(copies)}: the account of {charge.dataset}, which paid for this model, is bound to these "
                    "rows; if they trained it they score too well, so evaluate rows that it has not seen"
                )
    return None if charges or names_alone else _unknown(path)


def _warning_of_table(path: Path, model: str, table: DatabaseInput, *, names_alone: bool) -> str | None:
    """Say that a table was counted for a model, as ``_warning`` does of files; by its name, since it has no digest.

    A schema that one of both names leaves out is taken for the same.
    """
    from dpnb_columnar.ledger.accounts import Ledger

    with Ledger(path) as ledger:
        charges = _charges(ledger, model)
    database, name = table.names
    for charge in charges:
        counted = set(charge.inputs.get("data", ()))
        if database in counted and any(_is_same_table(each, name) for each in counted - {database}):
            return (
                f"{table.name}: run {charge.run} counted this table to train this model, and training rows score too "
                "well; evaluate rows that it has not seen, such as those of another table"
            )
    return None if charges or names_alone else _unknown(path)


def _is_same_table(one: str, other: str) -> bool:
    """Test whether two names, perhaps with their schemas, are of one table."""
    parts = [name.removeprefix("table ").replace('"', "").lower().split(".")[::-1] for name in (one, other)]
    return all(mine == theirs for mine, theirs in zip(*parts, strict=False))


def _charges(ledger: Ledger, model: str) -> list[Charge]:
    """List the charges of the runs that released a model."""
    from dpnb_columnar.ledger.codec import charge_of

    return [charge_of(spend) for spend, released in ledger.releases() if released == model]


def _unknown(path: Path) -> str:
    return f"{path}: no run in it released this model, so it cannot tell whether these rows trained it"


def _names(paths: set[str]) -> str:
    """List files by their names, without their folders."""
    return named(sorted(Path(path).name for path in paths))
