"""The options of a release: frozen records whose fields are options of the command line and arguments of ``api``.

A new field is an option of every verb that takes the record (``cli.options.expanded``), and
``tests/cli/test_new_option.py`` names each function of ``api`` that lacks it. A field that is declared again in a
derived record keeps its place, and its ``Option`` unless it has one of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from dpnb_columnar.core.budget import Budget, Neighbours, is_rule, parse_delta, parse_epsilon, parse_shares
from dpnb_columnar.domain.editing import Number
from dpnb_columnar.domain.names import entry_and_file
from dpnb_columnar.errors import UsageError

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.releases.model_plan import ReleasePlan

Epsilon = Number
"""A budget, or a delta, that is taken exactly: text as it is typed, a float by its shortest text."""

MechanismName: TypeAlias = Literal[
    "auto",
    "smooth",
    "paper",
    "trimmed-mean",
    "global",
    "global-variance",
    "adaptive-histogram",
    "histogram",
    "majority",
    "none",
]
NoiseName: TypeAlias = (
    Literal[
        "polyplace",
        "student-3",
        "cauchy",
        "nissim-cauchy",
        "gaussian",
        "laplace",
        "classical-gaussian",
        "classical-laplace",
        "laplace-log-normal",
        "uniform-log-normal",
        "arsinh-normal",
    ]
    | str
)
"""Names of noise families, which an editor offers; or ``student-NU`` for other degrees of freedom."""

AttributeWeights: TypeAlias = Literal["auto", "none", "tempered", "calibrated", "learned"] | str | PathLike[str]
"""Names of ways to weight attributes, which an editor offers; or the path of a public file."""

NeighboursName: TypeAlias = Literal["add-remove", "replace-one"] | Neighbours
"""Texts, or members of the enumeration: a type checker refuses others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What is said of an option, and how it is typed; ``shown`` stands for the default None, ``flag`` for its name."""

    help: str = ""
    type: Any = str
    metavar: str | None = None
    shown: str | None = None
    flag: str = ""
    hidden: bool = False


@cache
def _own_options(record: type) -> Mapping[str, Option]:
    """Return the options that a class itself declares, by its fields."""
    annotations = inspect.get_annotations(record, eval_str=True)
    metadata = {name: getattr(annotation, "__metadata__", ()) for name, annotation in annotations.items()}
    return {name: said for name, each in metadata.items() for said in each if isinstance(said, Option)}


def options_of(record: type) -> dict[str, Option]:
    """Return the options of a record, in the order of its fields."""
    options: dict[str, Option] = {}
    for base in reversed(record.__mro__):
        options |= _own_options(base)
    return {field.name: options[field.name] for field in fields(record) if field.name in options}


def flags_of(record: type) -> dict[str, str]:
    """Return the options of a record as they are typed, such as ``--unit-rows``, by field."""
    return {name: option.flag or f"--{name.replace('_', '-')}" for name, option in options_of(record).items()}


@dataclass(frozen=True, kw_only=True)
class DomainSource:
    """Where the domain is declared, if not by the data themselves."""

    dataset: Annotated[
        str | PathLike[str] | None,
        Option(
            help="Entry of datasets.toml that declares the domain; or the file that does, FILE.toml or FILE.toml:NAME. "
            "It takes precedence over a domain that the data carry.",
            metavar="NAME|FILE",
            shown="the entry that claims the data's name",
        ),
    ] = None

    @property
    def entry(self) -> str | None:
        """The data set as text, if one is named."""
        return None if self.dataset is None else str(self.dataset)

    @property
    def catalogue_file(self) -> Path | None:
        """The file of the entry, if one is named."""
        return None if self.entry is None else entry_and_file(self.entry)[1]


@dataclass(frozen=True, kw_only=True)
class LabelledDomain(DomainSource):
    """The domain, and what to predict in it."""

    label: Annotated[
        str | None,
        Option(
            help='What to predict: a categorical column of the domain, or a condition such as "INCWAGE > 1500".',
            metavar="TEXT",
            shown="the label declared",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Declared(LabelledDomain):
    """What is declared of the rows: their domain and label, and the unit and weight by which they are counted."""

    unit: Annotated[
        str | Sequence[str] | None,
        Option(
            help="Column that names the unit which the guarantee is for in place of one row, such as a household's "
            "SERIAL; several with commas. A row without a value in it does not count.",
            metavar="COLUMN",
            shown="the unit declared, else one row",
        ),
    ] = None
    unit_rows: Annotated[
        int | None,
        Option(
            help="The most rows of one unit that count; each has epsilon divided by this number. Without --unit it is "
            "of the unit that the data are declared to have.",
            type=int,
            metavar="INTEGER",
            shown="as declared, else 1",
        ),
    ] = None
    weight: Annotated[
        str | None,
        Option(
            help="Column of the weight of a row, such as PERWT: the prior is made of its sums, for one more query. It "
            "changes nothing else.",
            metavar="COLUMN",
            shown="the weight declared, else none",
        ),
    ] = None
    weight_cap: Annotated[
        Number | None,
        Option(
            help="The most that one row weighs; the noise of the sums is made for it. Public, and so not to be taken "
            "from the rows.",
            metavar="NUMBER",
            shown="as declared",
        ),
    ] = None

    def counted(self, resolved: ResolvedDomain) -> ResolvedDomain:
        """Return the domain, with the unit and the weight that are declared here."""
        by_unit = resolved.by_unit(self.unit, self.unit_rows)
        return by_unit.by_weight(self.weight, self.weight_cap)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms of a release: its budget, and how the budget is spent."""

    epsilon: Annotated[
        Epsilon | None,
        Option(
            help="Privacy budget, taken exactly as typed.",
            metavar="NUMBER",
            shown="the entry's in datasets.toml, else 1",
        ),
    ] = None
    delta: Annotated[
        Epsilon,
        Option(
            help="The delta of (epsilon, delta)-differential privacy, for noise that needs it: a number such as 1e-6 "
            "or 1/50000, or a rule for the declared number of rows, 1/n or 1/n^2.",
            metavar="NUMBER",
        ),
    ] = 0
    rows: Annotated[
        int | None,
        Option(
            help="The public number of rows, such as the codebook's: the n of --delta 1/n or 1/n^2, and for what "
            "--mechanism and --attribute-weights choose by auto. It is never counted.",
            type=int,
            metavar="INTEGER",
            shown="the entry's in datasets.toml",
            flag="--declared-rows",
        ),
    ] = None
    mechanism: Annotated[
        MechanismName,
        Option(
            help="auto, which chooses one by public facts and says why; or smooth, paper, trimmed-mean, global, "
            "global-variance, adaptive-histogram, histogram, majority, or none (NOT PRIVATE).",
            metavar="NAME",
        ),
    ] = "auto"
    noise: Annotated[
        NoiseName | None,
        Option(
            help="Noise of smooth releases. Pure: polyplace, student-3 (or student-NU), cauchy, nissim-cauchy. With "
            "--delta: gaussian, laplace, classical-gaussian, classical-laplace; concentrated: laplace-log-normal, "
            "uniform-log-normal, arsinh-normal.",
            metavar="NAME",
            shown="polyplace; cauchy for paper",
        ),
    ] = None
    attribute_weights: Annotated[
        AttributeWeights,
        Option(
            help="Weights of the attributes in the score: none (ordinary naive Bayes); tempered, d^(-1/4) for each of "
            "d attributes, 8 or more, since correlated ones say the same twice, free, for histograms of two classes; "
            "calibrated, for any number of classes: that weight, and how probabilities follow from the score, "
            "fitted in a second pass over the rows that spends a tenth of the budget; learned, one for each attribute, "
            "for two classes alone, in "
            "four further passes that spend 35 % of it: for many rows; or auto, which chooses one of these by "
            "mechanism, number of attributes, and epsilon times the declared number of rows. Or a Parquet file of "
            "public rows in the same domain, never the confidential ones: weights and shares are learned from it, "
            "free.",
            metavar="NAME|FILE",
        ),
    ] = "auto"
    neighbours: Annotated[
        NeighboursName, Option(help="Neighbouring relation that epsilon refers to.", type=Neighbours)
    ] = Neighbours.ADD_REMOVE
    shares: Annotated[
        str | None,
        Option(
            help="How the budget is divided: by-size, what all attributes have together in proportion to the cube root "
            "of the number of their cells; equal, the same for every attribute of a kind; or equal with other numbers "
            "for a numeric attribute, a categorical attribute and the class counts, such as 2:1:1.",
            metavar="RULE|N:C:K",
            shown="by-size; equal for paper",
        ),
    ] = None

    @property
    def need_rows(self) -> bool:
        """Whether a rule for delta, or a choice, depends on the declared number of rows."""
        return is_rule(self.delta) or self.chooses

    @property
    def chooses(self) -> bool:
        """Whether the mechanism, or the way to weight attributes, is left to the program."""
        return "auto" in (self.mechanism, self.attribute_weights)

    def effective_epsilon(self, resolved: ResolvedDomain) -> Epsilon:
        """Return the epsilon that was given, else the one declared beside the domain, else the default."""
        return resolved.effective_epsilon(None) if self.epsilon is None else self.epsilon

    def budget(self, epsilon: Epsilon | None, rows: int | None = None) -> Budget:
        """Return the budget of the release."""
        known = [relation.value for relation in Neighbours]
        if self.neighbours not in known:
            raise UsageError(f"neighbours: no {self.neighbours!r}; known relations: {', '.join(known)}")
        division = None if self.shares is None else parse_shares(self.shares)
        return Budget(parse_epsilon(epsilon), Neighbours(self.neighbours), division, parse_delta(self.delta, rows))

    def planned(self, domain: Domain, budget: Budget, rows: int | None, **given: Any) -> ReleasePlan:
        """Plan a release on these terms, given what ``planned_release`` asks besides."""
        from dpnb_columnar.public_sample import planned_release

        return planned_release(domain, budget, self.mechanism, self.noise, self.attribute_weights, rows, **given)


@dataclass(frozen=True, kw_only=True)
class Charged:
    """Who pays for a release."""

    ledger: Annotated[
        str | PathLike[str] | None,
        Option(
            help="Ledger that pays for the release, made by dpnb-columnar ledger init. Its limit is never passed.",
            type=Path,
            metavar="FILE",
            shown="none: budget is not accounted",
        ),
    ] = None
    account: Annotated[
        str | None, Option(help="Data set of the ledger to charge.", metavar="NAME", shown="the domain's name")
    ] = None

    witness: Annotated[
        str | PathLike[str] | None,
        Option(
            help="The ledger's witness, a file on another disk that dpnb-columnar ledger init or ledger verify "
            "--begin-witness began: where it knows more than the ledger, which was rolled back then, nothing is spent. "
            "A ledger that has one is not charged without it.",
            type=Path,
            metavar="FILE",
            shown="none, for a ledger without one: a roll-back is not noticed",
        ),
    ] = None

    @property
    def ledger_file(self) -> Path | None:
        """The ledger's file, if one pays."""
        return None if self.ledger is None else Path(self.ledger)

    @property
    def witness_file(self) -> Path | None:
        """The witness's file, if there is one."""
        return None if self.witness is None else Path(self.witness)


@dataclass(frozen=True, kw_only=True)
class PaymentOptions(Charged):
    """Who pays for a release, and the name under which it is charged once."""

    run_id: Annotated[
        str | None,
        Option(
            help="Name of this run in the ledger. The same name with the same inputs releases once and is charged "
            "once, however often it is started again.",
            metavar="ID",
            shown="a new one",
        ),
    ] = None
