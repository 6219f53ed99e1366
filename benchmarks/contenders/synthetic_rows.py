"""Logistic regression on synthetic rows of AIM and MST: every marginal over the bins of ``histogram``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders.classifiers import DELTA
from benchmarks.contenders.declared_rows import Codes, Matrix, Rows, indicators

LABEL = "class"

ROUNDS, STEPS_BETWEEN = 40, 100
STEPS = 1000
"""Steps of an estimate of dpmm and of OpenDP, unless told otherwise."""


class _Synthetic(ABC):
    """Logistic regression on the rows that a generator makes."""

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        """Fit the generator in the declared domain, and the regression on as many rows as it estimates."""
        from sklearn.linear_model import LogisticRegression

        names = [f"a{place}" for place in range(len(rows.columns))]
        sizes = {name: each.bins for name, each in zip(names, rows.columns, strict=True)}
        self.classes = len(rows.class_names)
        codes = {**dict(zip(names, rows.binned().T, strict=True)), LABEL: rows.classes}
        made = self._made(codes, {**sizes, LABEL: self.classes}, epsilon, seed)
        labels = made[LABEL]
        self.only = int(labels[0]) if len(set(labels)) == 1 else None
        if self.only is None:
            matrix = indicators(rows.columns, np.column_stack([made[name] for name in names]))
            self.model = LogisticRegression(max_iter=1000).fit(matrix, labels)

    def probabilities(self, rows: Rows) -> Matrix:
        if self.only is not None:
            return np.tile(np.eye(self.classes)[self.only], (len(rows.classes), 1))
        made = np.zeros((len(rows.classes), self.classes))
        made[:, self.model.classes_] = self.model.predict_proba(rows.one_hot())
        return made

    @abstractmethod
    def _made(
        self, codes: Mapping[str, Codes], sizes: Mapping[str, int], epsilon: float, seed: int
    ) -> dict[str, Codes]:
        """Make rows: codes per attribute and of the label, from those of real rows and the number of codes of each."""


class _Dpmm(_Synthetic):
    """A generator of dpmm, with a delta."""

    def _made(
        self, codes: Mapping[str, Codes], sizes: Mapping[str, int], epsilon: float, seed: int
    ) -> dict[str, Codes]:
        import pandas as pd

        generator = self._generator(dict(sizes), epsilon, np.random.RandomState(seed))
        generator.fit(pd.DataFrame(dict(codes)))
        made = generator.generate()
        return {name: made[name].to_numpy() for name in sizes}

    @abstractmethod
    def _generator(self, domain: dict[str, int], epsilon: float, random: np.random.RandomState) -> Any:
        """Make the generator of rows."""


class AIM(_Dpmm):
    """The adaptive and iterative mechanism, with noise for 40 rounds in place of 16 per column.

    An estimate between rounds goes on from the one before, and has 100 steps in place of 1,000; the last one, from
    which rows are made, begins anew, and has the library's own 1,000: with 100 it is far from the optimum.
    """

    def _generator(self, domain: dict[str, int], epsilon: float, random: np.random.RandomState) -> Any:
        from dpmm.models.aim import AIMGM

        made = AIMGM(epsilon, DELTA, rounds=ROUNDS, n_iters=STEPS_BETWEEN, domain=domain, random_state=random, n_jobs=1)
        mechanism, rounds = made.generator, made.generator._fit

        def rounds_then_all_steps(*given: Any, **options: Any) -> Any:
            measured = rounds(*given, **options)
            mechanism.n_iters = STEPS
            return measured

        mechanism._fit = rounds_then_all_steps
        return made


class FullAIM(_Dpmm):
    """The same with the library's own settings."""

    def _generator(self, domain: dict[str, int], epsilon: float, random: np.random.RandomState) -> Any:
        from dpmm.models.aim import AIMGM

        return AIMGM(epsilon, DELTA, domain=domain, random_state=random, n_jobs=1)


class MST(_Dpmm):
    """The maximum spanning tree of pairs, with 1,000 steps in place of 5,000 for the last estimate."""

    def _generator(self, domain: dict[str, int], epsilon: float, random: np.random.RandomState) -> Any:
        from dpmm.models.mst import MSTGM

        return MSTGM(epsilon, DELTA, n_iters=1000, domain=domain, random_state=random, n_jobs=1)


class PureAIM(_Synthetic):
    """OpenDP's AIM under pure privacy, of pairs in place of triples: categories are declared, noise is Laplace's."""

    def _made(
        self, codes: Mapping[str, Codes], sizes: Mapping[str, int], epsilon: float, seed: int
    ) -> dict[str, Codes]:
        """Make rows; neither the library's noise nor its rows can be seeded."""
        import opendp.prelude as dp
        import polars as pl
        from mbi.estimation import mirror_descent

        dp.enable_features("contrib")
        # What is in no list is null, and has a cell of its own: the last code takes it, so that none is wasted.
        frame = pl.DataFrame({name: pl.Series(codes[name], dtype=pl.Int64) for name in sizes})
        frame = frame.with_columns(pl.when(pl.col(name) < size - 1).then(pl.col(name)) for name, size in sizes.items())
        context = dp.Context.compositor(
            data=frame.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(epsilon=epsilon)
        )
        query = context.query(epsilon=epsilon).select(*sizes)
        keys = {name: [*range(size - 1)] for name, size in sizes.items()}
        # As for dpmm's: pairs, 40 rounds, and 100 steps per estimate between them.
        algorithm = dp.mbi.AIM(queries=2, rounds=ROUNDS, estimator=partial(mirror_descent, iters=STEPS_BETWEEN))
        table = query.contingency_table(keys=keys, algorithm=algorithm).release()
        last = mirror_descent(table.model.domain, table.marginals.flatten(), iters=STEPS)
        made = replace(table, model=last).synthesize()
        return {name: made[name].fill_null(size - 1).to_numpy() for name, size in sizes.items()}
