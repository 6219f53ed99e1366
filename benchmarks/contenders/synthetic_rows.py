"""Logistic regression on synthetic rows of AIM and MST, by dpmm: every marginal over the bins of ``histogram``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from benchmarks.contenders.classifiers import DELTA
from benchmarks.contenders.declared_rows import Matrix, Rows, indicators

LABEL = "class"


class _Synthetic(ABC):
    """Logistic regression on the rows that a generator makes."""

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        """Fit the generator in the declared domain, and the regression on as many rows as it estimates."""
        import pandas as pd
        from sklearn.linear_model import LogisticRegression

        names = [f"a{place}" for place in range(len(rows.columns))]
        frame = pd.DataFrame(rows.binned(), columns=names).assign(**{LABEL: rows.classes})
        domain = {
            **{name: each.bins for name, each in zip(names, rows.columns, strict=True)},
            LABEL: len(rows.class_names),
        }
        generator = self._generator(domain, epsilon, np.random.RandomState(seed))
        generator.fit(frame)
        made = generator.generate()
        self.classes = len(rows.class_names)
        labels = made[LABEL].to_numpy()
        self.only = int(labels[0]) if len(set(labels)) == 1 else None
        if self.only is None:
            self.model = LogisticRegression(max_iter=1000).fit(indicators(rows.columns, made[names].to_numpy()), labels)

    def probabilities(self, rows: Rows) -> Matrix:
        if self.only is not None:
            return np.tile(np.eye(self.classes)[self.only], (len(rows.classes), 1))
        return self.model.predict_proba(rows.one_hot())

    @abstractmethod
    def _generator(self, domain: dict[str, int], epsilon: float, random: np.random.RandomState) -> Any:
        """Make the generator of rows."""


class AIM(_Synthetic):
    """The adaptive and iterative mechanism, with 40 rounds in place of 16 per column, of 100 steps in place of 1,000.

    With the library's own numbers of both a fit takes hours.
    """

    def _generator(self, domain: dict[str, int], epsilon: float, random: np.random.RandomState) -> Any:
        from dpmm.models.aim import AIMGM

        return AIMGM(epsilon, DELTA, rounds=40, n_iters=100, domain=domain, random_state=random, n_jobs=1)


class MST(_Synthetic):
    """The maximum spanning tree of pairs, with 1,000 steps in place of 5,000 for the last estimate."""

    def _generator(self, domain: dict[str, int], epsilon: float, random: np.random.RandomState) -> Any:
        from dpmm.models.mst import MSTGM

        return MSTGM(epsilon, DELTA, n_iters=1000, domain=domain, random_state=random, n_jobs=1)
