"""Rows of a data set as codes of their declared domain, in a form that needs NumPy alone.

Other libraries run in environments of their own, where this program is not installed. What they are given is public or
follows from one row and the declaration: ranges, numbers of categories, the bins of ``histogram``. None of them has to
look at the rows for a bound.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """A declared attribute.

    Attributes:
        name: Name of the column.
        codes: Number of grid cells or categories.
        edges: First code of each bin of a numeric attribute, and the end; empty for a categorical one.
        amount: Whether the range is that of an amount, which is compared on a scale of logarithms.
        missing: Whether a missing number is one more code, after the last cell; a missing category has a code anyway.
    """

    name: str
    codes: int
    edges: tuple[int, ...] = ()
    amount: bool = False
    missing: bool = False

    @property
    def numeric(self) -> bool:
        """Whether the codes have an order."""
        return bool(self.edges)

    @property
    def bins(self) -> int:
        """Number of bins or categories; that of missing numbers is the last."""
        return len(self.edges) - 1 + self.missing if self.edges else self.codes

    def scaled(self, codes: Codes) -> Matrix:
        """Place the codes of a numeric attribute on [0, 1]; a missing one below all others."""
        last = max(self.codes - 1, 1)
        if self.missing:
            codes, last = np.where(codes == self.codes, 0, codes + 1), last + 1
        return np.log1p(codes) / np.log1p(last) if self.amount else codes / last

    def binned(self, codes: Codes) -> Codes:
        """Place codes in the bins of ``histogram``; categories stay.

        The end of the last bin is the code of missing numbers, which the search places in a bin of their own.
        """
        return np.searchsorted(self.edges, codes, side="right") - 1 if self.edges else codes


@dataclass(frozen=True)
class Rows:
    """Rows that fit a domain, and their folds. Confidential.

    Attributes:
        columns: The declared attributes.
        class_names: The declared classes.
        domain: The declaration that ``dpnb_columnar`` reads.
        codes: Shape (rows, columns).
        classes: Shape (rows,): class codes.
        folds: Shape (rows,): the fold that holds a row out.
    """

    columns: tuple[Column, ...]
    class_names: tuple[str, ...]
    domain: dict[str, Any]
    codes: Codes
    classes: Codes
    folds: Codes

    def of(self, chosen: npt.NDArray[np.bool_]) -> Rows:
        """Select rows."""
        codes, classes, folds = self.codes[chosen], self.classes[chosen], self.folds[chosen]
        return Rows(self.columns, self.class_names, self.domain, codes, classes, folds)

    def ordinal(self) -> Matrix:
        """Numeric attributes on [0, 1], categories as their codes."""
        matrix = self.codes.astype(np.float64)
        for place, column in enumerate(self.columns):
            if column.numeric:
                matrix[:, place] = column.scaled(self.codes[:, place])
        return matrix

    def bounds(self) -> tuple[list[float], list[float]]:
        """Smallest and largest value of each column of ``ordinal``, from the declaration."""
        return [0.0] * len(self.columns), [1.0 if each.numeric else max(each.codes - 1, 1) for each in self.columns]

    def one_hot(self) -> Matrix:
        """A column of 0 and 1 per bin and category."""
        return indicators(self.columns, self.binned())

    def norm(self) -> float:
        """The Euclidean norm of every row of ``one_hot``: each attribute adds 1 to its square."""
        return float(np.sqrt(len(self.columns)))

    def binned(self) -> Codes:
        """Every attribute as the number of its bin or category."""
        return np.column_stack(
            [each.binned(codes) for each, codes in zip(self.columns, self.codes.T, strict=True)]
        ).astype(np.int64)

    def write(self, path: Path) -> None:
        """Write the rows to a file of NumPy arrays."""
        declared = json.dumps([[asdict(each) for each in self.columns], self.class_names, self.domain])
        np.savez(path, declared=declared, codes=self.codes, classes=self.classes, folds=self.folds)


def indicators(columns: Sequence[Column], binned: Codes) -> Matrix:
    """Make a column of 0 and 1 per bin and category, from the numbers of bins and categories."""
    return np.hstack([np.eye(each.bins)[codes] for each, codes in zip(columns, binned.T, strict=True)])


def read_rows(path: Path) -> Rows:
    """Read what ``Rows.write`` wrote."""
    with np.load(path) as file:
        columns, class_names, domain = json.loads(str(file["declared"]))
        made = tuple(Column(**{**each, "edges": tuple(each["edges"])}) for each in columns)
        return Rows(made, tuple(class_names), domain, file["codes"], file["classes"], file["folds"])
