"""Who is compared in docs/journal/peers.md, and what each guarantee leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from benchmarks.contenders.classifiers import DELTA, Classifier

CLASSES = "classes are those of the rows"
SIZE = "the number of rows counts as public"
FLOATS = "floating point"
SYNTHETIC = (FLOATS, "choices by NumPy's Mersenne Twister", "the domain is that of the rows unless declared")


@dataclass(frozen=True)
class Contender:
    """A classifier to compare.

    Attributes:
        name: Its name in the tables.
        package: The module to import.
        made_by: Module and class of its adapter in ``benchmarks.contenders``.
        delta: The delta of its guarantee; None without one.
        leaves_open: What the guarantee does not cover.
        folds: The most folds that are run; None for all.
    """

    name: str
    package: str
    made_by: tuple[str, str]
    delta: float | None
    leaves_open: tuple[str, ...] = ()
    folds: int | None = None

    @property
    def private(self) -> bool:
        """Whether it spends a budget."""
        return self.delta is not None

    @property
    def installed(self) -> bool:
        """Whether this interpreter has its package."""
        return find_spec(self.package) is not None

    def classifier(self) -> Classifier:
        """Make the adapter; its library is imported by ``fit``."""
        module, name = self.made_by
        made: Classifier = getattr(import_module(f"benchmarks.contenders.{module}"), name)()
        return made


CONTENDERS = {
    each.name: each
    for each in (
        Contender("dpnb-columnar (default)", "dpnb_columnar.training", ("own_models", "Default"), 0.0, ("timing",)),
        Contender("dpnb-columnar smooth", "dpnb_columnar.training", ("own_models", "Smooth"), 0.0, ("timing",)),
        Contender(
            "AIM + logistic regression",
            "dpmm",
            ("synthetic_rows", "AIM"),
            DELTA,
            SYNTHETIC,
            folds=2,
        ),
        Contender(
            "AIM with all its steps + logistic regression",
            "dpmm",
            ("synthetic_rows", "FullAIM"),
            DELTA,
            SYNTHETIC,
            folds=1,
        ),
        Contender(
            "AIM of OpenDP (pure epsilon) + logistic regression",
            "mbi",
            ("synthetic_rows", "PureAIM"),
            0.0,
            ("scores of marginals in floating point", "part of OpenDP's `contrib`, whose proofs are not complete"),
            folds=1,
        ),
        Contender(
            "MST + logistic regression",
            "dpmm",
            ("synthetic_rows", "MST"),
            DELTA,
            SYNTHETIC,
            folds=2,
        ),
        Contender(
            "DP-EBM",
            "interpret",
            ("classifiers", "DPEBM"),
            DELTA,
            ("classes and categories are those of the rows", SIZE, FLOATS),
        ),
        Contender(
            "diffprivlib LogisticRegression",
            "diffprivlib",
            ("classifiers", "PrivateLogisticRegression"),
            0.0,
            (CLASSES, SIZE, FLOATS, "the proof needs the exact minimum", "its curvature has R/4 in place of R^2/4"),
        ),
        Contender(
            "diffprivlib GaussianNB",
            "diffprivlib",
            ("classifiers", "GaussianNaiveBayes"),
            0.0,
            (CLASSES, SIZE, FLOATS, "a row that changes its class costs more than epsilon"),
        ),
        Contender(
            "diffprivlib RandomForestClassifier",
            "diffprivlib",
            ("classifiers", "PrivateForest"),
            0.0,
            (SIZE, FLOATS),
            folds=2,
        ),
        Contender("logistic regression", "sklearn", ("classifiers", "LogisticRegression"), None),
        Contender("gradient boosting", "sklearn", ("classifiers", "GradientBoosting"), None),
    )
}
