"""Mechanisms, each in one place: what draws, what is made of it, its words, its look, and how it is audited.

An extension adds one: its package has ``MECHANISMS``, a ``MechanismRecord`` by name. Nothing heavy is imported early.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any

from dpnb_columnar.registry import offered

CORE = "dpnb_columnar.core.mechanisms"
NORMALS = "dpnb_columnar.model.postprocessing"


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismRecord:
    """All that is known of a mechanism by its name.

    Attributes:
        drawn_by: Class that asks and draws, as ``module:class``; it satisfies ``core.mechanisms.mechanism.Mechanism``.
        normal: Function that makes normal distributions of released means and spreads, as ``module:function``; None
            where the mechanism releases none. Its arguments are those of ``postprocessing.trimmed_normal``.
        moments: Queries for the mean and the spread within every class.
        placing: Queries for the mean and the variance of all classes together, which place bins.
        binned: Whether it counts bins.
        samples: Whether it uses samples of public size, so that where rows skip a missing value it asks how many do
            not.
        smooth: Whether moments have noise for smooth sensitivity, of the family that the model names.
        truncated: Whether counts below zero are truncated and one row is added to each, and nothing else.
        private: Whether its models carry a guarantee.
        attributes: Whether it releases attributes.
        counts_noise: Noise of the class counts where that of the moments spends a delta; None for Laplace noise.
        words: What it releases, for people who sign, as the rest of a sentence.
        colours: On a light page, and on a dark one; None for the ink of text.
        marker: Of points in figures; empty for none.
        line: On and off lengths of the dashes of its line, in widths of the line; none for an unbroken line.
        width: Width of its line.
        preference: Place among mechanisms that ``plan`` advises, the first of those that are as good; None for one
            that is there to compare with.
        audited: Noise families that the audit attacks it with beside its default one; ``all`` for every one.
    """

    drawn_by: str
    words: str
    normal: str | None = None
    moments: tuple[str, ...] = ()
    placing: tuple[str, ...] = ()
    binned: bool = False
    samples: bool = True
    smooth: bool = False
    truncated: bool = False
    private: bool = True
    attributes: bool = True
    counts_noise: str | None = None
    colours: tuple[str, str] | None = None
    marker: str = ""
    line: tuple[float, ...] = ()
    width: float = 1.4
    preference: int | None = None
    audited: tuple[str, ...] = ()

    @property
    def mechanism(self) -> Any:
        """What asks and draws."""
        return _drawn_by(self.drawn_by)

    def normals(self, *arguments: Any) -> Any:
        """Make normal distributions; only of a mechanism that releases moments."""
        assert self.normal is not None
        return resolve_name(self.normal)(*arguments)


@cache
def _drawn_by(name: str) -> Any:
    return resolve_name(name)()


OWN: Mapping[str, MechanismRecord] = MappingProxyType(
    {
        "smooth": MechanismRecord(
            drawn_by=f"{CORE}.smooth:Smooth",
            normal=f"{NORMALS}:trimmed_normal",
            moments=("mean", "variance"),
            smooth=True,
            words="a noisy count of each class and category, and of each numeric attribute a noisy mean and a noisy "
            "variance, computed without the few most extreme values; their noise is as large as the rows at hand need",
            colours=("#003a78", "#3a90ff"),
            marker="o",
            width=2.8,
            preference=2,
            audited=("all",),
        ),
        "paper": MechanismRecord(
            drawn_by=f"{CORE}.smooth:Paper",
            normal=f"{NORMALS}:truncated_normal",
            moments=("mean", "variance"),
            smooth=True,
            truncated=True,
            counts_noise="cauchy",
            words="a noisy count of each class and category, and of each numeric attribute a noisy mean and a noisy "
            "variance, as Zafarani and Clifton (2021) print their algorithm",
            colours=("#8a1a00", "#e0601a"),
            marker="s",
            line=(5, 2),
            audited=("gaussian",),
        ),
        "trimmed-mean": MechanismRecord(
            drawn_by=f"{CORE}.smooth:TrimmedMean",
            normal=f"{NORMALS}:squares_normal",
            moments=("mean", "mean of squares"),
            smooth=True,
            words="a noisy count of each class and category, and of each numeric attribute noisy means of its values "
            "and of their squares, computed without the few most extreme values",
            colours=("#12825a", "#5df2a0"),
            marker="^",
            line=(6, 2, 1, 2),
        ),
        "global": MechanismRecord(
            drawn_by=f"{CORE}.baselines:Global",
            normal=f"{NORMALS}:deviation_normal",
            moments=("mean", "deviation"),
            words="a noisy count of each class and category, and of each numeric attribute a noisy mean and a noisy "
            "standard deviation, with noise for the worst case",
            colours=("#b41cac", "#dca0c0"),
            marker="v",
            line=(2, 1.5),
        ),
        "global-variance": MechanismRecord(
            drawn_by=f"{CORE}.baselines:GlobalVariance",
            normal=f"{NORMALS}:variance_normal",
            moments=("mean", "variance"),
            words="a noisy count of each class and category, and of each numeric attribute a noisy mean and a noisy "
            "variance, with noise for the worst case",
            colours=("#f93aae", "#d845ad"),
            marker="D",
            line=(1, 1.5),
        ),
        "adaptive-histogram": MechanismRecord(
            drawn_by=f"{CORE}.histogram:AdaptiveHistogram",
            placing=("mean", "variance"),
            binned=True,
            smooth=True,
            words="a noisy count of each class, category and bin; a first part of the budget releases a mean and a "
            "variance of each numeric attribute, which place its bins",
            colours=("#2c99ec", "#9beaff"),
            marker="P",
            line=(8, 2),
            preference=1,
        ),
        "histogram": MechanismRecord(
            drawn_by=f"{CORE}.histogram:BinCounts",
            binned=True,
            samples=False,
            words="a noisy count of each class, category and bin; the bins divide the declared range of each numeric "
            "attribute",
            colours=("#b28c16", "#ffa62b"),
            marker="X",
            preference=3,
        ),
        "majority": MechanismRecord(
            drawn_by=f"{CORE}.baselines:Majority",
            attributes=False,
            words="a noisy count of each class, and nothing else",
            line=(1.5, 2.5),
            width=1.3,
            preference=4,
        ),
        "none": MechanismRecord(
            drawn_by=f"{CORE}.baselines:Plain",
            normal=f"{NORMALS}:variance_normal",
            moments=("mean", "variance"),
            samples=False,
            truncated=True,
            private=False,
            words="exact counts, means and variances, without noise: it protects nobody",
            line=(7, 3),
            width=1.1,
        ),
    }
)
"""Mechanisms of the program, in the order of every list, legend and table."""


def record_named(name: str) -> MechanismRecord | None:
    """Look up a mechanism; None if neither the program nor an extension has it."""
    return OWN.get(name) or offered("MECHANISMS").get(name)


def mechanism_names() -> tuple[str, ...]:
    """List the names of all mechanisms, those of extensions last."""
    return tuple(dict.fromkeys((*OWN, *offered("MECHANISMS"))))
