"""Words of the office for names of the code: mechanisms, noise, weights, relations, amounts, and a glossary.

What a disclosure officer reads stands here, once: the release sheet and the model card take it from this table.

What other bodies have published about the strength of their guarantees. Public, each with its source.

Figures are as published: none is converted or added up here. Those of the Privacy Deployments Registry were read in
its data (github.com/opendp/deployments-registry-data).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from dpnb_columnar.core.budget import Neighbours, Remaining, Share, Spent
from dpnb_columnar.core.guarantee import Guarantee
from dpnb_columnar.domain import Domain, Unit
from dpnb_columnar.domain.names import named
from dpnb_columnar.ledger.records import Account
from dpnb_columnar.ledger.refusals import format_amount
from dpnb_columnar.mechanisms import record_named
from dpnb_columnar.model.mechanism_rules import CALIBRATED, LEARNED, PUBLIC, TEMPERED
from dpnb_columnar.model.parameters import NaiveBayes


class PublishedChoice(NamedTuple):
    """A published guarantee.

    Attributes:
        body: Who released.
        product: What, and when.
        protects: What its amounts are for.
        amounts: Epsilon, delta and rho, as published.
        source: Where that is published.
    """

    body: str
    product: str
    protects: str
    amounts: str
    source: str


HEADER = ("who", "what", "protects", "amounts, as published", "source")

PUBLISHED_CHOICES = (
    PublishedChoice(
        "U.S. Census Bureau",
        "2020 Census redistricting data (2021)",
        "one person's record, or one housing unit's, changed; state populations are exact",
        "persons: rho 2.56, epsilon 17.14 at delta 1e-10; housing units: rho 0.07, epsilon 2.47 at delta 1e-10",
        "Privacy Deployments Registry; Abowd et al. 2022, arXiv:2204.08986",
    ),
    PublishedChoice(
        "U.S. Census Bureau",
        "2020 Census Demographic and Housing Characteristics File (2023)",
        "one person's record, or one housing unit's, changed; state populations are exact",
        "persons: rho 4.96, epsilon 26.34 at delta 1e-10; housing units: rho 7.70, epsilon 34.33 at delta 1e-10",
        "Privacy Deployments Registry; Cumings-Menon et al. 2023, arXiv:2312.10863",
    ),
    PublishedChoice(
        "Ministry of Health, Israel",
        "microdata of live births in 2014 (2024)",
        "one birth",
        "epsilon 9.98",
        "Hod and Canetti 2024, arXiv:2405.00267",
    ),
    PublishedChoice(
        "Wikimedia Foundation",
        "views of each page by country (2023)",
        "one device on one day",
        "rho 0.015 a day",
        "Privacy Deployments Registry; Adeleye et al. 2023, arXiv:2308.16298",
    ),
)

REMARK = (
    "Amounts compare only where unit, relation and delta are alike. That others chose them does not make them right "
    "for these persons: the choice is the signer's."
)


NOISE_WORDS: Mapping[str, str] = {
    "laplace": "the Laplace distribution",
    "classical-laplace": "the Laplace distribution, scaled by the constants of 2007",
    "gaussian": "the normal distribution",
    "classical-gaussian": "the normal distribution, scaled by the constants of 2007",
    "polyplace": "a distribution with long tails (Hladik and Tetek 2025)",
    "cauchy": "the Cauchy distribution, as the algorithm is printed",
    "nissim-cauchy": "the Cauchy distribution (Nissim, Raskhodnikova and Smith 2007)",
    "laplace-log-normal": "a Laplace variable times a log-normal one (Bun and Steinke 2019)",
    "uniform-log-normal": "a uniform variable times a log-normal one (Bun and Steinke 2019)",
    "arsinh-normal": "the inverse hyperbolic sine of a normal variable (Bun and Steinke 2019)",
}
"""Distributions that noise is drawn from, by the name of their family."""

WEIGHT_WORDS: Mapping[str, str] = {
    TEMPERED: "one weight below 1 for all attributes, chosen by their number alone, since columns of a census repeat "
    "one another; it costs nothing",
    CALIBRATED: "one weight below 1 for all attributes, and probabilities corrected by noisy counts of how often the "
    "score was right; these counts were paid from the budget",
    LEARNED: "a weight of its own for each attribute, fitted by noisy further looks at the rows that were paid from "
    "the budget",
    PUBLIC: "a weight of its own for each attribute, learned from a file that the curator declares public; it costs "
    "nothing",
}
"""How attributes are weighted, by the name of the method."""

NO_WEIGHTS = "no weights: every attribute counts in full, as in ordinary naive Bayes"

UNRECORDED_REASON = (
    "The model records what was chosen, not who chose it or whether the program did by its own rule (auto): for that, "
    "see the record of the release."
)
"""What is said of the reason for a mechanism, which no model holds."""


def mechanism_words(guarantee: Guarantee) -> str:
    """Say what the mechanism of a release releases."""
    known = record_named(guarantee.mechanism)
    return guarantee.mechanism if known is None else known.words


def noise_words(share: Share) -> str:
    """Say what distribution a query's noise has."""
    family = share.noise
    if family.startswith("student-"):
        return f"Student's t distribution with {family.removeprefix('student-')} degrees of freedom"
    return NOISE_WORDS.get(family, family)


def weight_words(model: NaiveBayes) -> str:
    """Say how the attributes of a model are weighted."""
    weights = model.attribute_weights
    return NO_WEIGHTS if weights is None else WEIGHT_WORDS.get(weights.method, weights.method)


def unit_words(domain: Domain) -> str:
    """Name what is protected as a whole."""
    if domain.unit is None:
        return "one row"
    return f"all rows of one unit, such as a household, that {named(domain.unit.columns)} names"


def neighbour_words(neighbours: Neighbours, unit: Unit | None) -> str:
    """Say what changes between the two data sets that nobody may tell apart."""
    whose = "one row" if unit is None else f"one unit of {named(unit.columns)}"
    if neighbours is Neighbours.ADD_REMOVE:
        return f"the data with {whose}, or without"
    return f"the data as they are, or with {whose} changed in any way"


def amount_words(amounts: Spent | Remaining) -> str:
    """Write what was spent, or is left; numbers that are 0 are left out."""
    numbers: Mapping[str, Fraction] = {"epsilon": amounts.epsilon, "delta": amounts.delta, "rho": amounts.rho}
    stated = [f"{name} {format_amount(number)}" for name, number in numbers.items() if number]
    return ", ".join(stated) or "nothing"


def account_words(account: Account) -> list[tuple[str, str]]:
    """State the account of a data set in a ledger."""
    whose = "one row" if not account.unit else f"one unit of {named(account.unit)}"
    change = "added or removed" if account.neighbours is Neighbours.ADD_REMOVE else "changed"
    delta = f", delta {format_amount(account.limit.delta)}" if account.limit.delta else ""
    return [
        ("data set", account.dataset),
        ("amounts are for", f"{whose} {change}"),
        ("all releases may cost", f"epsilon {format_amount(account.limit.epsilon)}{delta}"),
        ("they have cost", amount_words(account.spent)),
        ("one more may cost", amount_words(account.remaining)),
    ]


def glossary(model: NaiveBayes, *, scores: bool = False) -> list[tuple[str, str]]:
    """Explain the words of a model's sheet: those alone that stand on it."""
    guarantee = model.guarantee
    terms = [
        (
            "differential privacy",
            "a promise about how a release was made: with or without any one person's data, each possible outcome is "
            "nearly as likely. It holds whatever else a reader knows, now or later.",
        ),
        ("epsilon", "how much more likely at most: by the factor exp(epsilon). The smaller, the stronger."),
        ("delta", "a probability with which the promise of epsilon may fail; 0 where none is stated."),
        (
            "rho",
            "another measure of the same (zero-concentrated differential privacy, zCDP), in which many noisy answers "
            "add up better. It implies pairs of an epsilon and a delta.",
        ),
        ("noise", "a random number that is added to an exact one; the sum alone is released."),
        ("budget", "the epsilon that all noisy answers together may cost. Each answer is given a share of it."),
        ("declared", "written down by the curator before the rows were read, and public."),
        ("missing", "without a value, by the rules that were declared."),
        (
            "bits",
            "how much of the uncertainty about the class an attribute takes away by itself: 0 for nothing; 1 bit is "
            "the whole uncertainty of two equally large classes.",
        ),
        ("mechanism", f"the way in which noisy answers are made. This one releases {mechanism_words(guarantee)}."),
    ]
    families = {share.noise: noise_words(share) for share in guarantee.composition}
    terms += [(family, f"noise that is drawn from {words}.") for family, words in families.items() if words != family]
    if model.attribute_weights is not None and model.attribute_weights.method in WEIGHT_WORDS:
        terms.append((f"{model.attribute_weights.method} weights", f"{weight_words(model)}."))
    if scores:
        terms.append(
            (
                "95 % interval",
                "of a hundred such intervals, some 95 hold the figure of the population that the scored rows were "
                "drawn from. It counts the noise, and that the rows are a sample.",
            )
        )
    return terms
