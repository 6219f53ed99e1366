"""This program's models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.contenders.declared_rows import Matrix, Rows

if TYPE_CHECKING:
    import polars as pl

LABEL = "class, by its name"
"""Column of the labels, which no attribute has for a name."""


class Default:
    """Naive Bayes with every option of ``train`` as it is when nothing is asked for.

    The number of rows is declared, which ``auto`` goes by; other libraries take it from the rows.
    """

    mechanism = "auto"

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        """Release a model of the values that the codes stand for, in the declared domain, with noise from a seed."""
        import polars as pl

        from dpnb_columnar.api.model import Model
        from dpnb_columnar.core.noise import ExactSampler, SeededBits
        from dpnb_columnar.counting.inputs import FrameInput
        from dpnb_columnar.domain.declaration import read_domain
        from dpnb_columnar.options import Terms
        from dpnb_columnar.public_sample import planned_release
        from dpnb_columnar.training import carry_out

        label = {"column": LABEL, "classes": list(rows.class_names)}
        domain = read_domain("peers", {"label": label, "attributes": rows.domain["attributes"]}, "peers")
        budget = Terms().budget(repr(epsilon))
        plan = planned_release(domain, budget, self.mechanism, None, "auto", rows=len(rows.classes))
        frame = self._frame(rows).with_columns(pl.Series(LABEL, np.array(rows.class_names)[rows.classes]))
        self.model = Model.of(carry_out(plan, FrameInput(frame), draw=ExactSampler(SeededBits(seed))))

    def probabilities(self, rows: Rows) -> Matrix:
        from dpnb_columnar.model.scoring import probability_column

        scores = self.model.predict(self._frame(rows))
        return scores.select(probability_column(name) for name in rows.class_names).to_numpy()

    def _frame(self, rows: Rows) -> pl.DataFrame:
        """The values of all attributes: numbers by their codes, categories by their first text."""
        import polars as pl

        columns = {}
        for column, codes in zip(rows.columns, rows.codes.T, strict=True):
            declared = rows.domain["attributes"][column.name]
            if column.numeric:
                numbers = float(declared["lower"]) + codes * float(declared["step"])
                columns[column.name] = pl.Series(np.where(codes < column.codes, numbers, np.nan)).fill_nan(None)
            else:
                values = [each if isinstance(each, str) else each[0] for each in declared["values"]]
                columns[column.name] = pl.Series([*values, None], dtype=pl.String).gather(codes)
        return pl.DataFrame(columns)


class Smooth(Default):
    """Naive Bayes by the mechanism ``smooth``."""

    mechanism = "smooth"
