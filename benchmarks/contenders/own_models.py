"""This program's models, by its scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.contenders.declared_rows import Matrix, Rows


class Default:
    """Naive Bayes with every option as it is when nothing is asked for."""

    options: Mapping[str, str] = {}

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        """Fit the values that the codes stand for, in the declared domain."""
        from dpnb_columnar.domain import read_domain
        from dpnb_columnar.sklearn import SmoothNaiveBayes

        domain = read_domain("peers", rows.domain, "peers")
        self.model = SmoothNaiveBayes(epsilon=repr(epsilon), domain=domain, random_state=seed, **self.options)
        self.model.fit(self._frame(rows), np.array(rows.class_names)[rows.classes])

    def probabilities(self, rows: Rows) -> Matrix:
        order = [list(self.model.classes_).index(name) for name in rows.class_names]
        return self.model.predict_proba(self._frame(rows))[:, order]

    def _frame(self, rows: Rows) -> object:
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

    options: Mapping[str, str] = {"mechanism": "smooth"}
