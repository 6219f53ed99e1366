"""The options of a release, each declared once: for the command line, for Python, and for the code that they reach.

An option is a field of a frozen record: its type, its default, and an ``Option`` that says the rest. What is declared
of the rows (``Declared``), the terms of a release (``Terms``) and who pays for it (``ChargedRun``) are such records.
``cli.options.expanded`` makes the options of a verb of the fields, ``api.arguments.keywords_of`` the keyword arguments
and the docstring of a function, and both hand on the record. Who adds a field has added the option to every verb, file
of settings and environment variable, and to every function, that takes the record.

A field that is declared again in a derived record keeps its place, and its ``Option`` unless it has one of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from dpnb_columnar.budget import Budget, Neighbours, is_rule, parse_delta, parse_epsilon, parse_shares
from dpnb_columnar.domain.editing import Number
from dpnb_columnar.errors import UsageError

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain

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
    """What is said of an option, and how it is typed.

    Attributes:
        text: What it is, in the docstrings of Python; empty where Python has no such argument.
        help: What it is, in the help of the command line; empty where the command line has no such option.
        type: Type of the value typed: text, a path, a whole number, an enumeration, a list of texts, or ``bool`` for a
            flag.
        metavar: Name of the value in the help.
        shown: What the help says in place of the default None.
        flag: The option as typed, where it is not the name of its field.
        hidden: Whether the help leaves it out.
    """

    text: str = ""
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
    typed = {name: option for name, option in options_of(record).items() if option.help or option.hidden}
    return {name: option.flag or f"--{name.replace('_', '-')}" for name, option in typed.items()}


@dataclass(frozen=True, kw_only=True)
class DomainSource:
    """Where the domain is declared, if not by the data themselves."""

    dataset: Annotated[
        str | None,
        Option(
            text="Catalogue entry to take the domain from; None for the domain that the data carry, or that a "
            "catalogue declares for them.",
            help="Entry of datasets.toml that declares the domain.",
            metavar="NAME",
            shown="the entry that claims the data's name",
        ),
    ] = None
    catalogue: Annotated[
        str | PathLike[str] | None,
        Option(
            text="The one catalogue to look for the entry in, which overrides a domain that the data carry; None for "
            "``datasets.toml`` in the working directory, then the packaged one.",
            help="The one catalogue to look for the entry in, a TOML file; it takes precedence over a domain that the "
            "data carry.",
            type=Path,
            metavar="FILE",
            shown="datasets.toml in the working directory, then the packaged one",
        ),
    ] = None

    @property
    def catalogue_file(self) -> Path | None:
        """The catalogue's file, if one is named."""
        return None if self.catalogue is None else Path(self.catalogue)


@dataclass(frozen=True, kw_only=True)
class LabelledDomain(DomainSource):
    """The domain, and what to predict in it."""

    label: Annotated[
        str | None,
        Option(
            text="What to predict: a condition, such as ``INCWAGE > 1000``, or a categorical column of the domain; "
            "None for the declared label.",
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
            text="Columns that name the unit, such as a household, that the guarantee is for in place of one row; None "
            "for the unit that the domain declares, if any. A row without a value in one of them does not count.",
            help="Column that names the unit which the guarantee is for in place of one row, such as a household's "
            "SERIAL; several with commas. A row without a value in it does not count.",
            metavar="COLUMN",
            shown="the unit declared, else one row",
        ),
    ] = None
    unit_rows: Annotated[
        int | None,
        Option(
            text="The most rows of one unit that count; each has epsilon divided by this number. None for as many as "
            "are declared, else 1. Without ``unit`` it is of the unit that the data are declared to have.",
            help="The most rows of one unit that count; each has epsilon divided by this number. Without --unit it is "
            "of the unit that the data are declared to have.",
            type=int,
            metavar="INTEGER",
            shown="as declared, else 1",
        ),
    ] = None
    unit_cap: Annotated[
        int | None,
        Option(
            text="Make the prior of all rows of the units, at most so many of each, in place of those that count: one "
            "more query, whose noise is made for this number. A multiple of ``unit_rows``, public, and so not to "
            "be taken from the rows. None for what the domain declares, if anything.",
            help="Make the prior of all rows of the units, such as of all persons, at most so many of each, in place "
            "of those that count alone: one more query, whose noise is made for this number. A multiple of "
            "--unit-rows, public, and so not to be taken from the rows.",
            type=int,
            metavar="INTEGER",
            shown="as declared, else none",
        ),
    ] = None
    weight: Annotated[
        str | None,
        Option(
            text="Column of the weight of a row, such as PERWT: the prior is made of its sums, for one more query. "
            "None for the weight that the domain declares, if any.",
            help="Column of the weight of a row, such as PERWT: the prior is made of its sums, for one more query. It "
            "changes nothing else.",
            metavar="COLUMN",
            shown="the weight declared, else none",
        ),
    ] = None
    weight_cap: Annotated[
        Number | None,
        Option(
            text="The most that one row weighs; the noise of the sums is made for it. Public, and so not to be taken "
            "from the rows; None for the declared one.",
            help="The most that one row weighs; the noise of the sums is made for it. Public, and so not to be taken "
            "from the rows.",
            metavar="NUMBER",
            shown="as declared",
        ),
    ] = None
    weight_step: Annotated[
        Number | None,
        Option(
            text="Weights are rounded to multiples of this step; the cap has to be one of them. None for the declared "
            "step, else 1.",
            help="Weights are rounded to multiples of this step; the cap has to be one of them.",
            metavar="NUMBER",
            shown="as declared, else 1",
        ),
    ] = None

    def counted(self, resolved: ResolvedDomain) -> ResolvedDomain:
        """Return the domain, with the unit and the weight that are declared here.

        Raises:
            UsageError: if a unit or a weight does not fit the domain.
        """
        by_unit = resolved.by_unit(self.unit, self.unit_rows, self.unit_cap)
        return by_unit.by_weight(self.weight, self.weight_cap, self.weight_step)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms of a release: its budget, and how the budget is spent."""

    epsilon: Annotated[
        Epsilon | None,
        Option(
            text="Privacy budget. Text is taken exactly as typed; a float by its shortest text, so 0.1 is one tenth. "
            "None for the one that a catalogue entry declares, else 1.",
            help="Privacy budget, taken exactly as typed.",
            metavar="NUMBER",
            shown="the entry's in datasets.toml, else 1",
        ),
    ] = None
    delta: Annotated[
        Epsilon,
        Option(
            text="The delta of (epsilon, delta)-differential privacy, for noise families that need one; exact "
            "likewise. Or a rule for the declared number of rows, ``1/n`` or ``1/n^2``.",
            help="The delta of (epsilon, delta)-differential privacy, for noise that needs it: a number such as 1e-6 "
            "or 1/50000, or a rule for the declared number of rows, 1/n or 1/n^2.",
            metavar="NUMBER",
        ),
    ] = 0
    rows: Annotated[
        int | None,
        Option(
            text="The public number of rows, such as the codebook's: the n of such a rule, and for what "
            "``mechanism`` and ``attribute_weights`` choose by ``auto``; None for what a catalogue entry of the domain "
            "declares. It is never counted.",
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
            text="``auto``, which chooses one by public facts and says why; or ``smooth``, ``paper``, "
            "``trimmed-mean``, ``global``, ``global-variance``, ``adaptive-histogram``, ``histogram``, ``majority``, "
            "or ``none`` (not private).",
            help="auto, which chooses one by public facts and says why; or smooth, paper, trimmed-mean, global, "
            "global-variance, adaptive-histogram, histogram, majority, or none (NOT PRIVATE).",
            metavar="NAME",
        ),
    ] = "auto"
    noise: Annotated[
        NoiseName | None,
        Option(
            text="Noise family of smooth releases, such as ``polyplace``, or ``gaussian`` with a ``delta``; None for "
            "the mechanism's default.",
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
            text="Weights of the attributes in the score: ``none``; ``tempered``, for histograms of two classes: "
            "d^(-1/4) for each of d attributes, 8 or more, since correlated ones say the same twice, which costs "
            "nothing; ``calibrated``, for any number of classes: that weight, and how probabilities follow from the "
            "score, fitted in a second pass over the rows, which spends a tenth of the budget; ``learned``, for two "
            "classes: a weight of each, "
            "in four further passes that spend 35 % of it; or ``auto``, which chooses one of these by mechanism, "
            "number of attributes, and epsilon times the declared number of rows. Or the path of a Parquet file of "
            "public rows in the same domain, which says what each attribute weighs, and which are not released. "
            "Statistics cannot be counted again: of these ``release`` chooses ``tempered`` or ``none`` by ``auto``, "
            "and leaves the rest of the budget for ``calibrated`` and ``learned``: ``count_given`` counts what the "
            "model waits for, ``calibrate`` releases the next weights, until its guarantee reserves nothing.",
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
        NeighboursName,
        Option(
            text="Neighbouring relation that epsilon refers to: ``add-remove`` or ``replace-one``.",
            help="Neighbouring relation that epsilon refers to.",
            type=Neighbours,
        ),
    ] = Neighbours.ADD_REMOVE
    shares: Annotated[
        str | None,
        Option(
            text="How the budget is divided: ``by-size``, what all attributes have together in proportion to the cube "
            "root of the number of their cells; ``equal``, the same for every attribute of a kind; or ``equal`` with "
            "other numbers for a numeric attribute, a categorical attribute and the class counts, such as ``2:1:1``. "
            "None for ``by-size``; of ``paper``, for ``equal``.",
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
        """Return the epsilon that was given, else the one declared beside the domain, else the default.

        Raises:
            ConfigurationError: if the declared epsilon is out of range.
        """
        return resolved.effective_epsilon(None) if self.epsilon is None else self.epsilon

    def budget(self, epsilon: Epsilon | None, rows: int | None = None) -> Budget:
        """Return the budget of the release.

        Args:
            epsilon: The effective epsilon.
            rows: The n of a rule for delta; None if there is none.

        Raises:
            UsageError: if an option is out of range, or if a rule has no n.
        """
        known = [relation.value for relation in Neighbours]
        if self.neighbours not in known:
            raise UsageError(f"neighbours: no {self.neighbours!r}; known relations: {', '.join(known)}")
        division = None if self.shares is None else parse_shares(self.shares)
        return Budget(parse_epsilon(epsilon), Neighbours(self.neighbours), division, parse_delta(self.delta, rows))


@dataclass(frozen=True, kw_only=True)
class Charged:
    """Who pays for a release."""

    ledger: Annotated[
        str | PathLike[str] | None,
        Option(
            text="File of the ledger that pays for the release, made by ``dpnb-columnar ledger init``; None to account "
            "for nothing.",
            help="Ledger that pays for the release, made by dpnb-columnar ledger init. Its limit is never passed.",
            type=Path,
            metavar="FILE",
            shown="none: budget is not accounted",
        ),
    ] = None
    account: Annotated[
        str | None,
        Option(
            text="Data set of the ledger that is charged; None for the domain's name.",
            help="Data set of the ledger to charge.",
            metavar="NAME",
            shown="the domain's name",
        ),
    ] = None

    witness: Annotated[
        str | PathLike[str] | None,
        Option(
            text="The ledger's witness, a file in another folder or on another disk that ``dpnb-columnar ledger init`` "
            "or ``ledger verify --begin-witness`` began: where it knows more than the ledger, nothing is spent. None "
            "if the ledger has none.",
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
class ChargedRun(Charged):
    """Who pays for a release, and the name under which it is charged once."""

    run_id: Annotated[
        str | None,
        Option(
            text="Name of this release in the ledger: the same name with the same files and arguments releases once "
            "and is charged once, however often it is called. None for a new one.",
            help="Name of this run in the ledger. The same name with the same inputs releases once and is charged "
            "once, however often it is started again.",
            metavar="ID",
            shown="a new one",
        ),
    ] = None
