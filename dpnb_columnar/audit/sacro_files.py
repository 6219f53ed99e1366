"""Write what SACRO-ML attacks without the model: a target's folder with predicted probabilities. CONFIDENTIAL.

SACRO-ML (sacroml, here as in version 2.0.1) is what secure data environments check models with. It cannot load a model
of this program, and takes the probabilities of the rows that trained it and of others instead, for its worst-case,
likelihood-ratio and structural attacks: ``Target().load(FOLDER)`` in Python, or ``sacroml run FOLDER attack.yaml``.
"""

from __future__ import annotations

import json
from pathlib import Path

from dpnb_columnar.audit.model_attack import scored_rows
from dpnb_columnar.errors import OutputError
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.rows.parquet import Batches
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output, check_output
from dpnb_columnar.runtime.paths import exists, is_folder
from dpnb_columnar.runtime.write_errors import output_errors

PROBABILITIES = {"proba_train": "proba_train.csv", "proba_test": "proba_test.csv"}
"""Files by the name of the array of SACRO-ML. They have a column per class, in declared order, and no header."""

TARGET = "target.yaml"
"""What SACRO-ML reads first."""


def check_folder(folder: Path, overwrite: bool) -> None:
    """Refuse a folder whose files could not be written, before any long work.

    Raises:
        OutputError: if it is none, or holds one of the files.
    """
    with output_errors(folder):
        there = exists(folder)
        if there and not is_folder(folder):
            raise OutputError(f"{folder}: is not a folder; name one for the files that SACRO-ML reads")
    if not there:
        check_output(folder, overwrite)
        return
    for name in (*PROBABILITIES.values(), TARGET):
        check_output(folder / name, overwrite)


@confined()
def write_sacro_files(
    model: NaiveBayes, members: Batches, others: Batches, folder: Path, *, overwrite: bool = False
) -> None:
    """Write the probabilities of all rows that count, in their order, and the file that names them.

    Args:
        model: A released model.
        members: Rows that trained it.
        others: Rows that did not.
        folder: The folder; ``check_folder`` has accepted it.
        overwrite: Replace files that exist.

    Raises:
        DataError: if rows do not fit the model's domain.
        OutputError: if a file exists or cannot be written.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror}") from None
    for file, rows in zip(PROBABILITIES.values(), (members, others), strict=True):
        with (
            atomic_output(folder / file, overwrite=overwrite, confidential=True) as partial,
            partial.open("w", encoding="ascii", newline="") as written,
        ):
            for scored in scored_rows(model, rows):
                written.write(scored.write_csv(include_header=False))
    target = {
        "confidential": True,  # SACRO-ML takes the names that it knows; its CSV has room for numbers alone
        "dataset_name": model.domain.name,
        "features": {},
        "safemodel": [],
        **{f"{name}_path": file for name, file in PROBABILITIES.items()},
    }
    with atomic_output(folder / TARGET, overwrite=overwrite, confidential=True) as partial:
        # JSON is YAML.
        partial.write_text(json.dumps(target, indent=2) + "\n", encoding="utf-8")
